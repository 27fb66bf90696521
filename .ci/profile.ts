/**
 * Records which functions and texts of `dist/zapd` are read, in `.ci/bytecode.order`: at the start, by a key press from the
 * command line, and while devices are driven. The build lays the bytecode out by it, so that the rest of the program stays
 * on the disk. A record of an older source still fits what has not changed: run it anew when the start has grown.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { starters } from "../src/cli/demo-sets.ts";

const root = join(import.meta.dir, "..");
const program = join(root, "dist", process.platform === "win32" ? "zapd.exe" : "zapd");
const folder = mkdtempSync(join(tmpdir(), "zapd-profile-"));
const config = join(folder, "config.toml");

interface Device {
  readonly name: string;
  readonly capabilities: readonly string[];
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return typeof address === "object" && address ? address.port : 0;
}

const port = await freePort();
writeFileSync(config, `[daemon]\nhttp_port = ${port}\n[discovery]\ninterfaces = ["lo", "127.0.0.1"]\ntimeout_ms = 2000\n`);

async function api(method: string, path: string, body?: object): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${port}/v1${path}`, {
    ...{ method, headers: { "content-type": "application/json" } },
    ...(body && { body: JSON.stringify(body) }),
  });
  const { data } = (await response.json()) as { data?: unknown };
  return data;
}

/** Runs the daemon on a state of its own while `use` lasts, and gives what it read. */
async function recorded(name: string, use: () => Promise<void>): Promise<string[]> {
  const order = join(folder, `${name}.order`);
  const env = { ...process.env, ZAPD_STATE_DIR: join(folder, name), BUN_BYTECODE_ORDER_OUT: order };
  const daemon = spawn(program, ["serve", "--config", config], { env, stdio: "ignore" });
  const ended = once(daemon, "exit");
  for (let tries = 0; tries < 500; tries++) {
    if (await api("GET", "/health").then(() => true, () => false)) break;
    await Bun.sleep(10);
  }
  await use();
  daemon.kill("SIGTERM");
  await ended;
  return linesOf(order);
}

/** The functions, texts and modules that were read; those that were not need no place in front. */
function linesOf(order: string): string[] {
  return readFileSync(order, "utf8").split("\n").filter((line) => /^[FSM] /.test(line));
}

try {
  const start = await recorded("start", async () => {
    await api("GET", "/devices");
    await Bun.sleep(3_000);
  });
  const sets = await Promise.all(starters.map((startSet, at) => startSet(`127.0.0.${at + 2}`, () => {})));
  let key: string[] = [];
  const use = await recorded("use", async () => {
    await api("POST", "/devices/discover");
    for (const { name, capabilities } of (await api("GET", "/devices")) as Device[]) {
      const device = `/devices/${encodeURIComponent(name)}`;
      for (const part of ["state", "apps"]) if (capabilities.includes(part)) await api("GET", `${device}/${part}`);
      if (capabilities.includes("keys")) await api("POST", `${device}/remote/key`, { key: "home" });
    }
    const order = join(folder, "key.order");
    const env = { ...process.env, BUN_BYTECODE_ORDER_OUT: order };
    const socket = join(folder, "use", "zapd.sock");
    spawnSync(program, ["key", "home", "-d", "Living Room", "--socket", socket], { env, stdio: "ignore" });
    key = linesOf(order);
  });
  await Promise.all(sets.map((set) => set.stop()));
  const lines = new Set([...start, ...key, ...use]);
  writeFileSync(join(root, ".ci", "bytecode.order"), `v2\n${[...lines].join("\n")}\n`);
  process.stdout.write(`${lines.size} functions, texts and modules: ${start.length} at the start, ${key.length} for a key, ${use.length} in use\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit();
