/** What a check is, and what it may look at. All checks run at once, each with a deadline; findings come in the order of the table. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { lstat, readFile } from "node:fs/promises";
import net from "node:net";
import { resolve } from "node:path";
import type { Arguments, Device, Result, ValueName } from "../api/client.ts";
import { type Outcome, systemCode, textOf, ZapdError } from "../api/errors.ts";
import { checkSource, readConfig, readSource } from "../config/read.ts";
import { type Config, configOf } from "../config/schema.ts";
import { type Interface, interfacesNow, wantedInterfaces } from "../discovery/interfaces.ts";
import { isHeld } from "../runtime/control-socket.ts";
import { longestSocketPath } from "../system/files.ts";
import { printable } from "../system/printable.ts";
import { sleep } from "../system/sleep.ts";
import { checkSocketOwner } from "../system/socket-owner.ts";
import { type Probe, probeMulticast } from "./probe.ts";

export type FindingStatus = "ok" | "warn" | "fail";

export interface Finding {
  /** The id, where it is not that of the check. */
  readonly id?: string;
  readonly status: FindingStatus;
  /** What was found. */
  readonly text: string;
  /** What to do about it. */
  readonly hint?: string;
}

export type NamedFinding = Finding & { readonly id: string };

export interface Check {
  /** What is checked, for the finding that the check failed or took too long. */
  readonly about: string;
  /** Milliseconds it may take. */
  readonly timeoutMs: number;
  run(exam: Examination): Promise<readonly Finding[]>;
}

/** Makes findings of one status; names of devices and files in them become printable. */
const finding =
  (status: FindingStatus) =>
  (text: string, hint?: string): Finding => ({
    status,
    text: printable(text),
    ...(hint !== undefined && { hint: printable(hint) }),
  });
export const ok = finding("ok");
export const warn = finding("warn");
export const fail = finding("fail");

/** Runs every check of a table at once, and yields the findings in its order. */
export async function* runChecks(
  checks: Readonly<Record<string, Check>>,
  exam: Examination,
): AsyncGenerator<readonly NamedFinding[]> {
  const running = Object.entries(checks).map(async ([id, check]) =>
    (await runWithDeadline(check, exam)).map((one) => ({ id, ...one })),
  );
  for (const one of running) yield await one;
}

async function runWithDeadline({ about, timeoutMs, run }: Check, exam: Examination): Promise<readonly Finding[]> {
  const ended = new AbortController();
  const late = sleep(timeoutMs, ended.signal).then(() => [
    warn(`${about} could not be checked within ${timeoutMs / 1000} s`),
  ]);
  late.catch(() => {});
  const work = run(exam).catch((error: unknown) => [warn(`${about} could not be checked: ${textOf(error)}`)]);
  return Promise.race([work, late]).finally(() => ended.abort());
}

/** Whether the daemon answers on its socket, or why not. */
export type DaemonFound =
  | { readonly state: "running"; readonly status: Result<"status"> }
  /** `absent`: no socket; `stale`: nothing listens on it; `forbidden`: another user's; `silent`: a program listens, but does not answer. */
  | { readonly state: "absent" | "stale" | "forbidden" | "silent" };

export interface ConfigFound {
  /** The settings of the file; where it is broken those of the daemon that runs, else the defaults. */
  readonly config: Config;
  /** Of lines that are no settings. */
  readonly warnings: readonly string[];
  /** Of the mode of the file, each with the command that changes it. */
  readonly modeWarnings: readonly string[];
  /** What is wrong with the file, with line and column. */
  readonly broken: ZapdError | null;
}

/** The paths of the daemon, and how to call it. */
export interface Places {
  readonly configFile: string;
  readonly stateFolder: string;
  readonly socket: string;
  /** Remarks made while the paths were looked up. */
  readonly remarks: readonly string[];
  /** Calls the daemon; never takes longer than `timeoutMs`. */
  ask<Name extends ValueName>(name: Name, given: Arguments<Name>, timeoutMs: number): Promise<Outcome<Result<Name>>>;
}

export interface Examination extends Places {
  readonly machine: Machine;
  daemon(): Promise<DaemonFound>;
  config(): Promise<ConfigFound>;
  /** The interfaces on which discovery searches. */
  searchedInterfaces(): Promise<readonly Interface[]>;
  probes(): Promise<readonly Probe[]>;
  /** Every known device; empty when the daemon does not run. Fails where it does not list them. */
  devices(): Promise<readonly Device[]>;
}

/** An examination of this machine, whose results are shared by the checks. `isInside`: it runs in the daemon, and need not look for it. */
export function examine(places: Places, isInside: boolean): Examination {
  const machine = thisMachine();
  const exam: Examination = {
    machine,
    ...places,
    daemon: memoize(() => (isInside ? askStatus(exam) : findDaemon(exam))),
    config: memoize(async () => {
      const found = findConfig(places.configFile);
      if (found.broken === null) return found;
      // A daemon that runs keeps its last good settings.
      const answer = await exam.ask("readConfig", {}, 2_000);
      return answer.ok ? { ...found, config: answer.data } : found;
    }),
    searchedInterfaces: memoize(async () => {
      const { config } = await exam.config();
      return wantedInterfaces(config.discovery.interfaces, machine.interfaces());
    }),
    probes: memoize(async () => Promise.all((await exam.searchedInterfaces()).map(probeMulticast))),
    devices: memoize(async () => {
      if ((await exam.daemon()).state !== "running") return [];
      const answer = await exam.ask("listDevices", {}, 2_000);
      if (!answer.ok) throw new Error(answer.message);
      return answer.data;
    }),
  };
  return exam;
}

function memoize<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => (result ??= work());
}

async function findDaemon(exam: Examination): Promise<DaemonFound> {
  if (Buffer.byteLength(exam.socket) > longestSocketPath) return { state: "absent" };
  const code = await connect({ path: exam.socket });
  if (code === "ENOENT") return { state: "absent" };
  if (code === "EACCES" || code === "EPERM") return { state: "forbidden" };
  if (code !== "") {
    // Bun gives ECONNREFUSED for everything that is no socket, and for one whose daemon lets no more callers wait.
    if (!(await lstat(exam.socket).catch(() => null))?.isSocket()) return { state: "absent" };
    return { state: (await isHeld(exam.socket)) ? "silent" : "stale" };
  }
  const found = await askStatus(exam);
  if (found.state !== "silent") return found;
  try {
    // One of another user that the config names was sent nothing.
    checkSocketOwner(exam.socket);
    return found;
  } catch {
    return { state: "forbidden" };
  }
}

async function askStatus(exam: Examination): Promise<DaemonFound> {
  const status = await exam.ask("status", {}, 2_000);
  return status.ok ? { state: "running", status: status.data } : { state: "silent" };
}

/** Connects and closes; gives the system's code of the failure, or an empty text. */
async function connect(to: net.NetConnectOpts): Promise<string> {
  const socket = net.connect(to);
  try {
    await once(socket, "connect", { signal: AbortSignal.timeout(1_000) });
    return "";
  } catch (error) {
    return error instanceof Error && error.name === "AbortError" ? "ETIMEDOUT" : systemCode(error) || "ECONNREFUSED";
  } finally {
    socket.on("error", () => {}).destroy();
  }
}

function findConfig(path: string): ConfigFound {
  try {
    const source = readSource(path);
    const { config, warnings } = readConfig(source.text, path, resolve(path));
    return { config, warnings, modeWarnings: checkSource(source, config).warnings, broken: null };
  } catch (error) {
    if (!(error instanceof ZapdError)) throw error;
    return { config: configOf(), warnings: [], modeWarnings: [], broken: error };
  }
}

export interface Machine {
  readonly platform: string;
  /** `null` on systems without user ids. */
  readonly uid: number | null;
  now(): Date;
  interfaces(): readonly Interface[];
  /** Whether a program accepts TCP connections there. */
  isListening(host: string, port: number): Promise<boolean>;
  /** The text of a file; `null` where it cannot be read. */
  read(path: string): Promise<string | null>;
  /** What a program prints, whatever its exit status; `null` where there is no such program, or it takes longer than a second. */
  output(program: string, words: readonly string[]): Promise<string | null>;
}

const programTimeoutMs = 1_000;

function thisMachine(): Machine {
  return {
    platform: process.platform,
    uid: process.getuid?.() ?? null,
    now: () => new Date(),
    interfaces: interfacesNow,
    isListening: async (host, port) => (await connect({ host, port })) === "",
    read: (path) => readFile(path, "utf8").catch(() => null),
    // `null` also where programs may not be run (Deno without the permission).
    output: (program, words) =>
      new Promise<string | null>((resolve) => {
        execFile(program, [...words], { timeout: programTimeoutMs, encoding: "utf8" }, (error, stdout) =>
          resolve(error && typeof error.code !== "number" ? null : stdout.trim()),
        );
      }).catch(() => null),
  };
}
