/** Starts after a kill, and many at once (SECURITY.md T16). */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { currentRuntime } from "../../src/runtime/runtime.ts";
import { freePort, startTestDaemon } from "../support/daemon.ts";
import { root } from "../support/sources.ts";

/** Kills and starts so many times on one state; what was changed before each kill must be there after it. */
export async function killAndStart(times: number): Promise<{ starts: number; most: number }> {
  let daemon = await startTestDaemon();
  let [starts, most] = [0, 0];
  try {
    for (; starts < times; starts++) {
      const changed = await daemon.api("PATCH", "/config", { "discovery.interval_s": 100 + starts });
      if (changed.status !== 200) throw new Error(`the change was answered ${changed.status}`);
      const socket = join(daemon.stateFolder, "zapd.sock");
      await daemon.stop("SIGKILL");
      if (!existsSync(socket) || (await currentRuntime().isListening(socket)))
        throw new Error("a killed daemon leaves a socket that is dead");
      const began = performance.now();
      daemon = await startTestDaemon({ folder: daemon.folder });
      most = Math.max(most, performance.now() - began);
      if (!(await currentRuntime().isListening(socket))) throw new Error("the socket was not taken over");
      const { discovery } = (await daemon.api("GET", "/config")).body.data;
      if (discovery.interval_s !== 100 + starts) throw new Error(`kill ${starts} lost the change before it`);
    }
  } finally {
    await daemon.dispose();
  }
  return { starts, most };
}

/** Starts so many at once on one state, each on its own port; how many run, and how many refuse because another runs. */
export async function atOnce(many: number): Promise<{ lived: number; refused: number }> {
  const folder = mkdtempSync(join(tmpdir(), "zapd-at-once-"));
  const ports = await Promise.all(Array.from({ length: many }, () => freePort()));
  const children = ports.map((port, at) => {
    const config = join(folder, `${at}.toml`);
    writeFileSync(config, `[daemon]\nhttp_port = ${port}\n[discovery]\non_start = false\ninterval_s = 0\n`);
    return spawn(process.execPath, [join(root, "src/main.ts"), "serve", "--config", config], {
      env: { ...process.env, ZAPD_STATE_DIR: join(folder, "state") },
      stdio: ["ignore", "ignore", "pipe"],
    });
  });
  try {
    const ends = children.map((child) => {
      let said = "";
      child.stderr.on("data", (bytes: Buffer) => {
        said += bytes.toString();
      });
      return new Promise<boolean>((resolve) =>
        child.on("close", (status) => resolve(status === 1 && said.includes("already running"))),
      );
    });
    // All but one end by themselves.
    let over = 0;
    for (const end of ends) void end.then(() => over++);
    for (let tries = 0; tries < 1_500 && over < many - 1; tries++) await Bun.sleep(20);
    const lived = children.filter((child) => child.exitCode === null);
    const running = (await currentRuntime().isListening(join(folder, "state", "zapd.sock"))) ? lived.length : 0;
    for (const child of lived) child.kill("SIGKILL");
    const refused = (await Promise.all(ends)).filter(Boolean).length;
    return { lived: running, refused };
  } finally {
    for (const child of children) child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
}
