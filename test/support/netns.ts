/** Two network namespaces joined by a virtual cable that can be pulled: a daemon in one, sets in the other. Needs root and `ip`. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { straysIn } from "./daemon.ts";
import { saidBy } from "./said.ts";
import { root } from "./sources.ts";

/** Why that is impossible here, or `null`. */
export const noNamespaces: string | null = reason();

function reason(): string | null {
  if (Bun.which("ip") === null) return "there is no ip";
  const name = `zapd-try-${process.pid}`;
  try {
    execFileSync("ip", ["netns", "add", name], { stdio: "pipe" });
    execFileSync("ip", ["netns", "del", name], { stdio: "pipe" });
    return null;
  } catch {
    return "network namespaces cannot be made";
  }
}

export interface Cable {
  /** The set's address, at first. */
  readonly far: string;
  /** Runs a program at one end. */
  spawn(end: "near" | "far", words: readonly string[], env?: Record<string, string>): ChildProcess;
  /** Runs `ip` at one end: `ip("far", "link", "set", "eth", "down")`. The cable is called `eth` at both. */
  ip(end: "near" | "far", ...words: string[]): void;
  dispose(): void;
}

/** Joins two new namespaces, with an address at each end and a route for multicast. */
export function layCable(): Cable {
  const names = { near: `zapd-near-${process.pid}`, far: `zapd-far-${process.pid}` };
  const [near, far] = ["10.99.0.1", "10.99.0.2"];
  const run = (...words: string[]) => void execFileSync("ip", words, { stdio: "pipe" });
  const ip: Cable["ip"] = (end, ...words) => run("-n", names[end], ...words);
  const dispose = () => {
    for (const name of Object.values(names)) {
      try {
        run("netns", "del", name);
      } catch {
        // It was not made.
      }
    }
  };
  // A run that was cut off may have left those of the same number.
  dispose();
  try {
    for (const name of Object.values(names)) run("netns", "add", name);
    run("-n", names.near, "link", "add", "eth", "type", "veth", "peer", "name", "eth", "netns", names.far);
    for (const [end, address] of [
      ["near", near],
      ["far", far],
    ] as const) {
      ip(end, "link", "set", "lo", "up");
      ip(end, "addr", "add", `${address}/24`, "dev", "eth");
      ip(end, "link", "set", "eth", "up");
      ip(end, "route", "replace", "239.0.0.0/8", "dev", "eth");
    }
  } catch (error) {
    dispose();
    throw error;
  }
  return {
    far,
    ip,
    dispose,
    spawn: (end, words, env = {}) =>
      spawn("ip", ["netns", "exec", names[end], ...words], {
        cwd: root,
        stdio: ["pipe", "pipe", "pipe"],
        env: { ...process.env, ...env },
      }),
  };
}

export interface FarDaemon {
  readonly process: ChildProcess;
  /** One call over the control socket, since the port is in another namespace. */
  api(method: string, path: string, body?: unknown): Promise<{ status: number; body: Answer }>;
  log(): string;
  dispose(): Promise<void>;
}
// biome-ignore lint/suspicious/noExplicitAny: as in daemon.ts, tests look into bodies of every shape
type Answer = any;

/** Starts a daemon at the near end, and waits for its first answer. */
export async function startNearDaemon(cable: Cable, config: string): Promise<FarDaemon> {
  const folder = mkdtempSync(join(tmpdir(), "zapd-near-"));
  const file = join(folder, "config.toml");
  const socket = join(folder, "state", "zapd.sock");
  writeFileSync(file, config);
  const child = cable.spawn("near", [process.execPath, join(root, "src/main.ts"), "serve", "--config", file], {
    ZAPD_STATE_DIR: join(folder, "state"),
  });
  const said = saidBy(child);
  const exited = new Promise<void>((resolve) => child.on("exit", () => resolve()));
  const daemon: FarDaemon = {
    process: child,
    log: () => said.stderr,
    async api(method, path, body) {
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      const response = await fetch(`http://zapd/v1${path}`, { method, unix: socket, keepalive: false, ...sent });
      return { status: response.status, body: await response.json() };
    },
    async dispose() {
      child.kill("SIGKILL");
      await exited;
      rmSync(folder, { recursive: true, force: true });
      const strays = straysIn(said.stderr);
      if (strays.length > 0) throw new Error(`nobody caught in the daemon:\n${strays.join("\n")}`);
    },
  };
  for (let tries = 0; tries < 1_000; tries++) {
    const up = await daemon.api("GET", "/health").then(
      ({ status }) => status === 200,
      () => false,
    );
    if (up) return daemon;
    await Bun.sleep(25);
  }
  await daemon.dispose();
  throw new Error(`the daemon did not answer:\n${said.stderr}`);
}
