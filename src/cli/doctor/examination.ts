/** What a check is. All run at once, each with a deadline, and are told in the order of their table. */

import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import dgram from "node:dgram";
import { readFile } from "node:fs/promises";
import net from "node:net";
import type { Arguments, Result, ValueName } from "../../api/client.ts";
import { systemCode, textOf, ZapdError } from "../../api/errors.ts";
import type { Device } from "../../api/schemas.ts";
import { type Config, ConfigFile } from "../../config/config.ts";
import { configOf } from "../../config/schema.ts";
import { type Interface, interfacesNow, isThisMachine, wantedInterfaces } from "../../discovery/interfaces.ts";
import { searchSsdp } from "../../discovery/ssdp.ts";
import { ScanWindow } from "../../discovery/window.ts";
import { printable } from "../../system/log.ts";
import { ask, type Outcome } from "../client.ts";
import type { Context } from "../context.ts";

export type Verdict = "ok" | "warn" | "fail";

export interface Finding {
  readonly id: string;
  readonly status: Verdict;
  /** What was found. */
  readonly text: string;
  /** What to do about it. */
  readonly hint?: string;
}

export interface Check {
  /** What is looked at, for the line that says that it took too long. */
  readonly about: string;
  /** Milliseconds it may take. */
  readonly timeoutMs: number;
  run(exam: Examination): Promise<readonly Finding[]>;
}

export const ok = (id: string, text: string): Finding => finding("ok", id, text);
export const warn = (id: string, text: string, hint?: string): Finding => finding("warn", id, text, hint);
export const fail = (id: string, text: string, hint?: string): Finding => finding("fail", id, text, hint);

/** Nothing that a device or a file is called reaches the terminal as it is. */
function finding(status: Verdict, id: string, text: string, hint?: string): Finding {
  return { id, status, text: printable(text), ...(hint !== undefined && { hint: printable(hint) }) };
}

/** Runs every check of a table; tells the findings of each as soon as those before it are told. */
export async function* runChecks(
  checks: Readonly<Record<string, Check>>,
  exam: Examination,
): AsyncGenerator<readonly Finding[]> {
  const running = Object.entries(checks).map(([id, check]) => bounded(id, check, exam));
  for (const one of running) yield await one;
}

async function bounded(id: string, check: Check, exam: Examination): Promise<readonly Finding[]> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<readonly Finding[]>((resolve) => {
    const text = `${check.about} could not be checked within ${check.timeoutMs / 1000} s`;
    timer = setTimeout(() => resolve([warn(id, text)]), check.timeoutMs);
  });
  const work = check
    .run(exam)
    .catch((error: unknown) => [warn(id, `${check.about} could not be checked: ${textOf(error)}`)]);
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** `sun_path` of unix(7) holds 108 bytes, one of them the end. */
export const longestSocket = 107;

export type DaemonStatus = Result<"status">;

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
  /** One call to the daemon. */
  ask<Name extends ValueName>(name: Name, given: Arguments<Name>, timeoutMs: number): Promise<Outcome<Result<Name>>>;
}

export interface Places {
  readonly configFile: string;
  readonly stateFolder: string;
  readonly socket: string;
  readonly remarks: readonly string[];
}

export function examine(machine: Machine, places: Places, context: Context): Examination {
  const exam: Examination = {
    machine,
    ...places,
    ask: (name, given, timeoutMs) => ask(context, name, given, timeoutMs),
    met: once(() => meet(exam)),
    config: once(() => readConfig(places.configFile)),
    asked: once(async () => {
      const { config } = await exam.config();
      return wantedInterfaces(config.discovery.interfaces, [...machine.interfaces()]);
    }),
    probes: once(async () => probeMulticast(await exam.asked())),
    devices: once(async () => {
      if ((await exam.met()).as !== "running") return [];
      const asked = await exam.ask("listDevices", {}, 2_000);
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
  const code = await connect({ path: exam.socket });
  if (Buffer.byteLength(exam.socket) > longestSocket || code === "ENOENT") return { as: "absent" };
  if (code === "EACCES" || code === "EPERM") return { as: "forbidden" };
  if (code !== "") return { as: "stale" };
  const asked = await exam.ask("status", {}, 2_000);
  return asked.ok ? { as: "running", status: asked.data } : { as: "silent" };
}

/** The system's code for a connect to a socket; empty when it was let in. */
function connect(to: net.NetConnectOpts): Promise<string> {
  return new Promise((resolve) => {
    const socket = net.connect(to);
    const done = (code: string) => {
      socket.destroy();
      resolve(code);
    };
    socket.on("connect", () => done(""));
    socket.on("error", (error) => done(systemCode(error) || "ECONNREFUSED"));
    setTimeout(() => done("ETIMEDOUT"), 1_000).unref?.();
  });
}

async function listens(host: string, port: number): Promise<boolean> {
  return (await connect({ host, port })) === "";
}

async function readConfig(path: string): Promise<ConfigFound> {
  try {
    const file = await ConfigFile.open(path);
    return { config: file.running, warnings: file.warnings, broken: null };
  } catch (error) {
    if (!(error instanceof ZapdError)) throw error;
    return { config: configOf(), warnings: [], broken: error.message };
  }
}

export interface Machine {
  readonly platform: string;
  /** `null` where files have no owner by number. */
  readonly uid: number | null;
  now(): Date;
  interfaces(): readonly Interface[];
  /** Whether anybody accepts connections there. */
  listens(host: string, port: number): Promise<boolean>;
  /** The text of a file, or `null` when it cannot be read. */
  read(path: string): Promise<string | null>;
  /** What a program prints, whatever its exit status; `null` when there is none, or it takes longer than a second. */
  output(program: string, words: readonly string[]): Promise<string | null>;
}

const programWithin = 1_000;

export function thisMachine(): Machine {
  return {
    platform: process.platform,
    uid: process.getuid?.() ?? null,
    now: () => new Date(),
    interfaces: interfacesNow,
    listens,
    read: (path) => readFile(path, "utf8").catch(() => null),
    output: (program, words) =>
      new Promise((resolve) => {
        execFile(program, [...words], { timeout: programWithin, encoding: "utf8" }, (error, stdout) =>
          resolve(error && typeof error.code !== "number" ? null : stdout.trim()),
        );
      }),
  };
}

/* Whether multicast really comes through: a datagram of ours to the group, received by a second socket, and the search of discovery. */
const group = "239.255.255.250";
const listensFor = 1_000;
const sendAt = [0, 150, 400] as const;

export interface Probe {
  readonly name: string;
  readonly address: string;
  /** Whether a datagram of ours came back. */
  readonly received: boolean;
  /** Addresses of devices that answered a search. */
  readonly answered: readonly string[];
  /** The system's code of what failed, or its words. */
  readonly trouble: string | null;
}

/** Asks on each interface at the same time; one second. */
function probeMulticast(interfaces: readonly Interface[], ms = listensFor): Promise<Probe[]> {
  return Promise.all(interfaces.map((one) => probeOn(one, ms)));
}

async function probeOn(one: Interface, ms: number): Promise<Probe> {
  const answered = new Set<string>();
  const window = new ScanWindow(ms, new AbortController().signal);
  let trouble: string | null = null;
  const search = searchSsdp({
    targets: ["ssdp:all"],
    interfaces: [one],
    window,
    onAnswer: ({ source }) => {
      // Programs of this machine answer too, whatever becomes of the network.
      if (one.loopback || !isThisMachine(source)) answered.add(source);
    },
    onTrouble: (problem) => {
      trouble ??= problem;
    },
  });
  const [own] = await Promise.all([receiveOwn(one, ms), search]);
  const { name, address } = one;
  return { name, address, received: own.received, answered: [...answered], trouble: own.trouble ?? trouble };
}

/** Sends to the group from one socket and listens on another, on a port of its own. */
function receiveOwn(one: Interface, ms: number): Promise<{ received: boolean; trouble: string | null }> {
  const token = randomBytes(16);
  const receiver = dgram.createSocket("udp4");
  const sender = dgram.createSocket("udp4");
  return new Promise((resolve) => {
    const timers: ReturnType<typeof setTimeout>[] = [];
    let open = true;
    const end = (received: boolean, problem?: unknown) => {
      if (!open) return;
      open = false;
      for (const timer of timers) clearTimeout(timer);
      for (const socket of [receiver, sender]) socket.close();
      resolve({ received, trouble: problem === undefined ? null : systemCode(problem) || textOf(problem) });
    };
    const attempt = (work: () => void) => {
      try {
        if (open) work();
      } catch (error) {
        end(false, error);
      }
    };
    for (const socket of [receiver, sender]) socket.on("error", (error) => end(false, error));
    receiver.on("message", (bytes) => token.equals(bytes) && end(true));
    const send = () =>
      attempt(() => sender.send(token, receiver.address().port, group, (error) => error && end(false, error)));
    const join = () =>
      attempt(() => {
        receiver.addMembership(group, one.address);
        sender.setMulticastInterface(one.address);
        sender.setMulticastTTL(1);
        sender.setMulticastLoopback(true);
        for (const at of sendAt) timers.push(setTimeout(send, at));
      });
    receiver.bind(0, () => attempt(() => sender.bind(0, one.address, join)));
    timers.push(setTimeout(() => end(false), ms));
  });
}
