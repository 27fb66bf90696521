/** R19: the time from the start of the daemon to its first 200, with a hundred known devices and no cache. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { end, startUntilAnswer } from "../slow/bench/process.ts";
import { devicesOf } from "../slow/bench/registry.ts";
import { freePort } from "../support/daemon.ts";
import { root } from "../support/sources.ts";

export const known = 100;

/** The daemon as it is built. */
export const built = [join(root, "dist/zapd")];

/** Milliseconds of so many starts of a program, sorted. Each must list all devices. */
export async function startTimes(program: readonly string[], times: number): Promise<number[]> {
  const folder = mkdtempSync(join(tmpdir(), "zapd-starts-"));
  const state = join(folder, "state");
  const took: number[] = [];
  try {
    for (let time = 0; time < times; time++) {
      rmSync(state, { recursive: true, force: true });
      mkdirSync(state, { mode: 0o700 });
      writeFileSync(join(state, "devices.json"), JSON.stringify({ version: 1, devices: devicesOf(known) }));
      const port = await freePort();
      const config = join(folder, "config.toml");
      writeFileSync(
        config,
        `[daemon]\nhttp_port = ${port}\n[discovery]\non_start = false\ninterval_s = 0\ninterfaces = ["none"]\n`,
      );
      const { child, first_ms } = await startUntilAnswer([...program, "serve", "--config", config], {
        port,
        path: "/v1/health",
        env: { ZAPD_STATE_DIR: state },
      });
      const { data } = (await (await fetch(`http://127.0.0.1:${port}/v1/devices`)).json()) as { data: unknown[] };
      await end(child);
      if (data.length !== known) throw new Error(`it knows ${data.length} devices`);
      took.push(first_ms);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return took.toSorted((one, other) => one - other);
}

/** The 95th percentile. */
export function p95(sorted: readonly number[]): number {
  return sorted[Math.ceil(sorted.length * 0.95) - 1] ?? Number.NaN;
}
