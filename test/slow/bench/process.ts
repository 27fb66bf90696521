/** Processes as they are seen from outside: when they answer, and what they take. Figures of a process need Linux's /proc. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import net from "node:net";

export interface Started {
  readonly child: ChildProcess;
  readonly pid: number;
  /** Milliseconds from the start of the process to its first 200. */
  readonly first_ms: number;
}

const patience = 30_000;

/** Starts a program and waits until it answers a GET of the path with 200. */
export async function startUntilAnswer(
  command: readonly string[],
  { port, path, env = {}, cwd }: { port: number; path: string; env?: Record<string, string>; cwd?: string },
): Promise<Started> {
  const [program = "", ...words] = command;
  const began = performance.now();
  const child = spawn(program, words, { stdio: "ignore", env: { ...process.env, ...env }, ...(cwd && { cwd }) });
  while (!(await answers(port, path))) {
    if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}`);
    if (performance.now() - began > patience) {
      child.kill("SIGKILL");
      throw new Error(`${program} did not answer within ${patience / 1_000} s`);
    }
    await Bun.sleep(1);
  }
  return { child, pid: child.pid ?? 0, first_ms: performance.now() - began };
}

/** One GET over a fresh connection: whether the answer is a 200. */
function answers(port: number, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1");
    socket.on("error", () => resolve(false));
    socket.on("close", () => resolve(false));
    socket.on("connect", () =>
      socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`),
    );
    socket.on("data", (bytes) => {
      resolve(/^HTTP\/1\.1 200/.test(bytes.toString("latin1")));
      socket.destroy();
    });
  });
}

export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => child.on("exit", () => resolve()));
  child.kill("SIGKILL");
  await ended;
}

/** Resident memory in MB (1 000 000 bytes): now, or the most since `resetPeak`. */
export function memoryOf(pid: number, which: "now" | "peak" = "now"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const kilobytes = new RegExp(`^Vm${which === "now" ? "RSS" : "HWM"}:\\s+(\\d+)`, "m").exec(status)?.[1];
  return (Number(kilobytes) * 1_024) / 1_000_000;
}

/** From now on the peak is counted anew. */
export function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

/** Processor time that a process has taken so far, in milliseconds, at the kernel's grain of 10. */
export function processorOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
