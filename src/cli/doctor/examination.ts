/** What several checks need, found out once: the daemon behind its socket, the config, the network, the devices. */
import net from "node:net";
import type { z } from "zod";
import { systemCode, ZapdError } from "../../api/errors.ts";
import type { Device, operations } from "../../api/operations.ts";
import type { Config } from "../../config/config.ts";
import { type Interface, wantedInterfaces } from "../../discovery/interfaces.ts";
import { type Asked, ask } from "../ask.ts";
import type { Machine } from "./machine.ts";
import { answersAt, type Probe, probeMulticast } from "./probe.ts";

/** `sun_path` of unix(7) holds 108 bytes, one of them the end. */
export const longestSocket = 107;

export type DaemonStatus = z.infer<(typeof operations)["status"]["data"]>;

/** The daemon behind the socket: it runs, or why it does not answer there. */
export type Met =
  | { readonly as: "running"; readonly status: DaemonStatus }
  /** `absent`: no socket; `stale`: nobody behind it; `forbidden`: another user's; `silent`: connected, no answer. */
  | { readonly as: "absent" | "stale" | "forbidden" | "silent" };

export interface ConfigFound {
  /** What holds: the file's settings, or the defaults when it is broken. */
  readonly config: Config;
  readonly warnings: readonly string[];
  /** What is wrong with the file, with line and column. */
  readonly broken: string | null;
}

export interface Examination {
  readonly machine: Machine;
  readonly configFile: string;
  readonly stateFolder: string;
  readonly socket: string;
  /** What was found already while its places were looked for. */
  readonly remarks: readonly string[];
  met(): Promise<Met>;
  config(): Promise<ConfigFound>;
  /** The interfaces that discovery asks on. */
  asked(): Promise<readonly Interface[]>;
  probes(): Promise<readonly Probe[]>;
  /** Every known device; none when the daemon does not run. */
  devices(): Promise<readonly Device[]>;
  /** Whether anything takes a connection at an address. */
  answers(host: string, port: number): Promise<boolean>;
  /** One call to the daemon. */
  ask<T>(method: string, path: string, within: number): Promise<Asked<T>>;
}

export interface Places {
  readonly configFile: string;
  readonly stateFolder: string;
  readonly socket: string;
  readonly remarks: readonly string[];
}

export function examine(machine: Machine, places: Places, context: Parameters<typeof ask>[0]): Examination {
  const exam: Examination = {
    machine,
    ...places,
    answers: answersAt,
    ask: (method, path, within) => ask(context, method, path, { within }),
    met: once(() => meet(exam)),
    config: once(() => readConfig(places.configFile)),
    asked: once(async () => {
      const { config } = await exam.config();
      return wantedInterfaces(config.discovery.interfaces, [...machine.interfaces()]);
    }),
    probes: once(async () => probeMulticast(await exam.asked())),
    devices: once(async () => {
      if ((await exam.met()).as !== "running") return [];
      const asked = await exam.ask<Device[]>("GET", "/devices", 2_000);
      return asked.ok ? asked.data : [];
    }),
  };
  return exam;
}

function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => {
    result ??= work();
    return result;
  };
}

async function meet(exam: Examination): Promise<Met> {
  const code = await connect(exam.socket);
  if (Buffer.byteLength(exam.socket) > longestSocket || code === "ENOENT") return { as: "absent" };
  if (code === "EACCES" || code === "EPERM") return { as: "forbidden" };
  if (code !== "") return { as: "stale" };
  const asked = await exam.ask<DaemonStatus>("GET", "/daemon/status", 2_000);
  return asked.ok ? { as: "running", status: asked.data } : { as: "silent" };
}

/** The system's code for a connect to a socket; empty when it was let in. */
function connect(path: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = net.connect({ path });
    const done = (code: string) => {
      socket.destroy();
      resolve(code);
    };
    socket.on("connect", () => done(""));
    socket.on("error", (error) => done(systemCode(error) || "ECONNREFUSED"));
    setTimeout(() => done("ETIMEDOUT"), 1_000).unref?.();
  });
}

async function readConfig(path: string): Promise<ConfigFound> {
  const { ConfigFile } = await import("../../config/config.ts");
  try {
    const file = await ConfigFile.open(path);
    return { config: file.running, warnings: file.warnings, broken: null };
  } catch (error) {
    if (!(error instanceof ZapdError)) throw error;
    const { configOf } = await import("../../config/schema.ts");
    const defaults = configOf();
    return { config: defaults, warnings: [], broken: error.message };
  }
}
