/** Daemons on each runtime for the tests of the stream of events, in real time. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { DaemonSetup, Runtime } from "../support/daemon.ts";
import { type PushingHouse, startPushingHouse } from "../support/pushing-house.ts";
import { root } from "../support/sources.ts";

/** Builds the binary unless it exists. */
export function buildOnce(): void {
  if (!existsSync(join(root, "dist/zapd"))) execFileSync(process.execPath, [".ci/build.ts"], { cwd: root });
}

export const runtimes: readonly Runtime[] = ["bun", "deno", "binary"];

/** A daemon with sets on one of the runtimes, in real time by default. */
export function startOn(
  runtime: Runtime,
  count: number,
  setup: Pick<DaemonSetup, "inspector" | "speed"> = {},
): Promise<PushingHouse> {
  return startPushingHouse(count, { speed: 1, runtime, ...setup });
}
