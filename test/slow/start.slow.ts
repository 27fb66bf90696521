/** SECURITY.md R19, whole; and what issue 3 asks of starts: after a hundred kills, and twenty at once. */
import { expect, test } from "bun:test";
import { p95, startTimes } from "../reliability/start-time.ts";
import { atOnce, killAndStart } from "../reliability/starts.ts";
import { measured } from "../support/evidence.ts";
import { some } from "./length.ts";

const kills = some(100, 10);
const timed = some(50, 10);

test("R19 of many starts with 100 devices and no cache, 95 in 100 answer within 300 ms", async () => {
  const took = await startTimes(timed);
  expect(p95(took)).toBeLessThanOrEqual(300);
  const [least = 0, most = 0] = [took[0], took.at(-1)];
  measured(
    "R19",
    `${timed} starts, 100 devices, from source`,
    `p95 ${Math.round(p95(took))} ms, from ${Math.round(least)} to ${Math.round(most)} ms`,
  );
}, 120_000);

test("T16 R12 kill -9 again and again, and it starts each time", async () => {
  const { starts, most } = await killAndStart(kills);
  expect(starts).toBe(kills);
  measured("R12", "a socket left by kill -9", `${starts} of ${kills} taken over`);
  measured("T16", "kill -9, then start", `${starts} of ${kills} started, the slowest after ${Math.ceil(most)} ms`);
}, 240_000);

test("T16 R12 of twenty that start at once on one state, one lives, each time", async () => {
  const rounds = some(10, 1);
  for (let round = 0; round < rounds; round++) expect(await atOnce(20)).toEqual({ lived: 1, refused: 19 });
  measured("T16", "20 starts at once", `1 of 20 lived, ${rounds} times of ${rounds}`);
}, 240_000);
