/**
 * Records which functions and texts of `dist/zapd` are read, in `.ci/bytecode.order`: at the start, by a key press from the
 * command line, and while devices are driven. The build lays the bytecode out by it, so that the rest of the program stays
 * on the disk. A record of an older source still fits what has not changed: run it anew when the start has grown.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { starters } from "../src/cli/demo-sets.ts";
import { startTestDaemon, type TestDaemon } from "../test/support/daemon.ts";

const root = join(import.meta.dir, "..");
const folder = mkdtempSync(join(tmpdir(), "zapd-profile-"));
process.env["ZAPD_TEST_RUNTIME"] = "binary";

/** As in a house, but for the interface and the time of a search. */
const config = {
  daemon: { log_level: "info" },
  discovery: { on_start: true, interval_s: 300, timeout_ms: 2_000, interfaces: ["lo", "127.0.0.1"] },
};

interface Device {
  readonly name: string;
  readonly capabilities: readonly string[];
}

/** Runs the daemon while `use` lasts, and gives what it read. */
async function recorded(name: string, use: (daemon: TestDaemon) => Promise<void>): Promise<string[]> {
  const order = join(folder, name);
  const daemon = await startTestDaemon({ config, env: { BUN_BYTECODE_ORDER_OUT: order } });
  await use(daemon);
  // It writes the record when it ends by itself.
  await daemon.stop();
  await daemon.dispose();
  return linesOf(order);
}

/** The functions, texts and modules that were read; those that were not need no place in front. */
function linesOf(order: string): string[] {
  return readFileSync(order, "utf8").split("\n").filter((line) => /^[FSM] /.test(line));
}

try {
  const start = await recorded("start", async ({ api }) => {
    await api("GET", "/devices");
    await Bun.sleep(3_000);
  });
  const sets = await Promise.all(starters.map((startSet, at) => startSet(`127.0.0.${at + 2}`, () => {})));
  let key: string[] = [];
  const use = await recorded("use", async ({ api, stateFolder }) => {
    await api("POST", "/devices/discover");
    const { body } = await api("GET", "/devices");
    for (const { name, capabilities } of body.data as Device[]) {
      const device = `/devices/${encodeURIComponent(name)}`;
      for (const part of ["state", "apps"]) if (capabilities.includes(part)) await api("GET", `${device}/${part}`);
      if (capabilities.includes("keys")) await api("POST", `${device}/remote/key`, { key: "home" });
    }
    const order = join(folder, "key");
    const words = ["key", "home", "-d", "Living Room", "--socket", join(stateFolder, "zapd.sock")];
    const env = { ...process.env, BUN_BYTECODE_ORDER_OUT: order };
    spawnSync(join(root, "dist", "zapd"), words, { env, stdio: "ignore" });
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
