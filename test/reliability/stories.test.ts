/**
 * R6 by a model: random sequences of changes, alone and together, with kill -9 and restarts between and during them. Every change
 * that was answered is there, no change that was refused is.
 */
import { afterAll, expect, test } from "bun:test";
import fc from "fast-check";
import { isWhole, runs, seed, within } from "../support/whole.ts";
import { newModel, stories } from "./changes.ts";
import { House, type Sets, startHouseSets } from "./house.ts";

/** Stories run side by side: most of the time they wait for the disk. */
const lanes = isWhole ? 3 : 1;
const steps = runs(20, 50);
const perLane = runs(2, 167);
const everySet: Sets[] = [];
afterAll(async () => {
  for (const set of everySet.flatMap((sets) => Object.values(sets))) await set.stop();
});

test(
  `R6 stories of changes with kill -9 in them lose nothing that was answered, and make nothing that was refused (seed ${seed})`,
  async () => {
    let [told, taken, kills] = [0, 0, 0];
    const lane = async (at: number) => {
      const sets = await startHouseSets();
      everySet.push(sets);
      const first = await House.open(sets);
      await first.end();
      await fc.assert(
        fc.asyncProperty(stories(steps), async (story) => {
          const house = await House.open(sets, first.ids);
          try {
            await fc.asyncModelRun(() => ({ model: newModel(), real: house }), story);
            told++;
            taken += house.taken;
            kills += house.restarts;
          } finally {
            await house.end();
          }
        }),
        // A failure shows the shortest story found by then.
        { numRuns: perLane, seed: seed + at, ...(!isWhole && { interruptAfterTimeLimit: 40_000 }) },
      );
    };
    // All run to their end, so that a failure leaves no daemon behind.
    for (const ended of await Promise.allSettled(Array.from({ length: lanes }, (_, at) => lane(at))))
      if (ended.status === "rejected") throw ended.reason;
    expect(told).toBeGreaterThanOrEqual(isWhole ? lanes * perLane : lanes);
    // Few stories may hold few kills.
    if (isWhole) expect([taken > told, kills > told / 2]).toEqual([true, true]);
  },
  within(),
);
