/** Houses of one runtime or another for those who read the stream of events, in real time. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { DaemonSetup, Runtime } from "../support/daemon.ts";
import { type PushingHouse, startPushingHouse } from "../support/pushing-house.ts";
import { root } from "../support/sources.ts";

/** Builds the binary where it was not built yet. */
export function buildOnce(): void {
  if (!existsSync(join(root, "dist/zapd"))) execFileSync(process.execPath, [".ci/build.ts"], { cwd: root });
}

export const runtimes: readonly Runtime[] = ["bun", "deno", "binary"];

/** What no kernel keeps for a reader: events of 4 KB by commands that fail before they reach a set. */
export async function flood({ daemon, sets }: PushingHouse, count: number): Promise<void> {
  const body = { keys: [...Array(255).fill("volume-down"), "nothing"] };
  for (let left = count; left > 0; left--) await daemon.api("POST", `/devices/${sets[0]?.id}/remote/sequence`, body);
}

/** A house on one of the runtimes, in real time. */
export function startOn(
  runtime: Runtime,
  count: number,
  setup: Pick<DaemonSetup, "inspector" | "speed"> = {},
): Promise<PushingHouse> {
  return startPushingHouse(count, { speed: 1, runtime, ...setup });
}
