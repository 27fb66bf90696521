/** System calls of a running process, traced or made to fail by strace(1). */
import { test } from "bun:test";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { saidBy } from "./said.ts";

/** Calls that open, write and rename files. */
export const fileCalls = ["openat", "write", "fsync", "close", "rename"] as const;
export type FileCall = (typeof fileCalls)[number];

/** Why processes cannot be traced here, or `null`. */
export const noStrace: string | null = (() => {
  if (process.platform !== "linux") return "strace is for Linux";
  const tried = spawnSync("strace", ["-qq", "-e", "trace=none", "true"], { encoding: "utf8" });
  if (tried.error) return "there is no strace";
  return tried.status === 0 ? null : `strace may not trace here: ${tried.stderr.split("\n")[0]}`;
})();
if (noStrace !== null) process.stderr.write(`skipped: what needs strace: ${noStrace}\n`);

/** A test that is skipped, with the reason, where processes cannot be traced. */
export function tracedTest(title: string, run: () => Promise<void>, timeoutMs?: number): void {
  test.skipIf(noStrace !== null)(`${title}${noStrace === null ? "" : ` (skipped: ${noStrace})`}`, run, timeoutMs);
}

export interface Trace {
  /** Detaches, and returns the lines: `<thread> <seconds> <call>`. */
  end(): Promise<string[]>;
}

export interface TraceOptions {
  /** The calls to trace. */
  readonly calls: readonly string[];
  /** Further options, such as `-e inject=fsync:error=EIO:when=2`. The n-th call is counted for each thread by itself. */
  readonly more?: readonly string[];
  /** Traces only the threads of the runtime's file pool. */
  readonly filesOnly?: boolean;
  /** Traces only one of these, by its number, counted round. */
  readonly thread?: number | undefined;
}

/** Attaches to a running process. */
export async function attach(pid: number, { calls, more = [], filesOnly, thread }: TraceOptions): Promise<Trace> {
  const folder = mkdtempSync(join(tmpdir(), "zapd-strace-"));
  const file = join(folder, "trace");
  const pool = filesOnly ? poolOf(pid) : [];
  const threads = thread === undefined ? pool : pool.filter((_, at) => at === thread % pool.length);
  const whom = filesOnly ? threads.flatMap((one) => ["-p", one]) : ["-f", "-p", String(pid)];
  const words = [...whom, "-ttt", "-y", "-s", "80", "-e", `trace=${calls.join(",")}`, "-e", "signal=none"];
  const tracer = spawn("strace", [...words, ...more, "-o", file], { stdio: ["ignore", "ignore", "pipe"] });
  const said = saidBy(tracer);
  const ended = new Promise<void>((resolve) => tracer.on("close", () => resolve()));
  await new Promise<void>((resolve, reject) => {
    // It says so of each process or thread that it was given, one after another.
    const asked = filesOnly ? threads.length : 1;
    tracer.stderr.on("data", () => (said.stderr.match(/ attached| attach: /g) ?? []).length >= asked && resolve());
    tracer.on("close", () => reject(new Error(`strace ended: ${said.stderr}`)));
    tracer.on("error", reject);
  });
  return {
    async end() {
      tracer.kill("SIGINT");
      // It may hang on a thread that has ended.
      const hard = setTimeout(() => tracer.kill("SIGKILL"), 5_000);
      await ended;
      clearTimeout(hard);
      const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [];
      rmSync(folder, { recursive: true, force: true });
      return lines;
    },
  };
}

/** The threads of the runtime's file pool. */
function poolOf(pid: number): string[] {
  const threads = readdirSync(`/proc/${pid}/task`);
  const pool = threads.filter((thread) => /Pool/.test(readFileSync(`/proc/${pid}/task/${thread}/comm`, "utf8")));
  if (pool.length === 0) throw new Error(`${pid} has no thread for files`);
  return pool;
}

/** One complete call. */
export interface TracedCall {
  readonly thread: string;
  readonly name: string;
  /** Its arguments, with the file of each descriptor. */
  readonly words: string;
  readonly failed: boolean;
  /** Seconds: when it was entered, and when it returned (`from`, where strace saw no other call between). */
  readonly from: number;
  readonly to: number;
}

/** The calls of a trace in the order of their beginning; interrupted ones are joined. */
export function callsIn(lines: readonly string[]): TracedCall[] {
  const found: { thread: string; text: string; from: number; to: number }[] = [];
  for (const line of lines) {
    const [, thread = "", seconds = "", rest = ""] = /^(\d+) +([\d.]+) (.*)$/.exec(line) ?? [];
    const at = Number(seconds);
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest);
    const begun = resumed && found.findLast((one) => one.thread === thread);
    if (begun) Object.assign(begun, { text: begun.text + resumed[1], to: at });
    else if (/^\w+\(/.test(rest))
      found.push({ thread, text: rest.replace(/ ?<unfinished \.\.\.>$/, ""), from: at, to: at });
  }
  return found.flatMap(({ text, ...call }) => {
    const [, name, words, result] = /^(\w+)\((.*)\)\s+= (.*)$/.exec(text) ?? [];
    return name === undefined ? [] : [{ ...call, name, words: words ?? "", failed: (result ?? "").startsWith("-1") }];
  });
}
