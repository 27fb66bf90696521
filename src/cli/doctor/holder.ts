/** Whether a port is free, and who holds it if that can be told without root. */
import { readdir, readlink } from "node:fs/promises";
import net from "node:net";
import type { Machine } from "./machine.ts";

/** Who listens: another zapd, a program by name and pid, or somebody unknown. `null`: nobody. */
export type Holder = { readonly zapd: string } | { readonly program: string; readonly pid: number } | "unknown" | null;

const answersWithin = 1_000;
const maxAnswer = 64 * 1024;

export async function holderOf(host: string, port: number, machine: Machine): Promise<Holder> {
  if (!(await listens(host, port))) return null;
  const version = await zapdVersion(host, port);
  if (version !== null) return { zapd: version };
  return (await processAt(port, machine)) ?? "unknown";
}

/** Words for a line of text. */
export function holderText(holder: Exclude<Holder, null>): string {
  if (holder === "unknown") return "another program";
  return "zapd" in holder ? `another zapd (${holder.zapd})` : `${holder.program} (pid ${holder.pid})`;
}

export function listens(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect({ host, port });
    const done = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.on("connect", () => done(true));
    socket.on("error", () => done(false));
    setTimeout(() => done(false), answersWithin).unref?.();
  });
}

/** What the API on a port answers, if it is one. Not `fetch`, which a proxy of the environment would take elsewhere. */
export function readApi(host: string, port: number, path: string): Promise<Readonly<Record<string, unknown>> | null> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(answersWithin);
    // Not an import: the binary would hold bytecode of it, half a megabyte.
    const request = process
      .getBuiltinModule("node:http")
      .get({ host, port, path: `/v1${path}`, agent: false, signal }, (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (piece: string) => {
          text += piece;
          if (text.length > maxAnswer) response.destroy();
        });
        response.on("close", () => resolve(dataIn(text)));
      });
    request.on("error", () => resolve(null));
  });
}

function dataIn(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const { ok, data } = JSON.parse(text) as { ok?: unknown; data?: unknown };
    return ok === true && typeof data === "object" ? (data as Record<string, unknown> | null) : null;
  } catch {
    return null;
  }
}

async function zapdVersion(host: string, port: number): Promise<string | null> {
  const health = await readApi(host, port, "/health");
  const { version, uptime_s } = health ?? {};
  return typeof version === "string" && typeof uptime_s === "number" ? version.slice(0, 32) : null;
}

function processAt(port: number, machine: Machine): Promise<Holder> {
  if (machine.platform === "linux") return fromProc(port, machine);
  return machine.platform === "darwin" ? fromLsof(port, machine) : Promise.resolve(null);
}

/** The listening socket's inode in `/proc/net/tcp`, then the process of ours that has it open. */
async function fromProc(port: number, machine: Machine): Promise<Holder> {
  const tables = await Promise.all(["/proc/net/tcp", "/proc/net/tcp6"].map((path) => machine.read(path)));
  const inode = inodeOf(tables.map((table) => table ?? "").join("\n"), port);
  if (inode === null) return null;
  const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    const folder = `/proc/${pid}/fd`;
    for (const fd of await readdir(folder).catch(() => [])) {
      if ((await readlink(`${folder}/${fd}`).catch(() => "")) !== `socket:[${inode}]`) continue;
      return { program: (await machine.read(`/proc/${pid}/comm`))?.trim() || "a program", pid: Number(pid) };
    }
  }
  return null;
}

/** The inode of the socket that listens (state 0A) on a port, from the text of `/proc/net/tcp`. */
export function inodeOf(table: string, port: number): string | null {
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  for (const line of table.split("\n")) {
    const words = line.trim().split(/\s+/);
    if (words[1]?.endsWith(`:${hex}`) && words[3] === "0A") return words[9] ?? null;
  }
  return null;
}

async function fromLsof(port: number, machine: Machine): Promise<Holder> {
  const text = await machine.output("lsof", ["-nP", `-iTCP:${port}`, "-sTCP:LISTEN", "-Fpc"]);
  const pid = /^p(\d+)$/m.exec(text ?? "")?.[1];
  const program = /^c(.+)$/m.exec(text ?? "")?.[1];
  return pid === undefined || program === undefined ? null : { program, pid: Number(pid) };
}
