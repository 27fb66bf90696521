/** A sample of the sweep of kill.slow.ts. */
import { afterAll, beforeAll, expect } from "bun:test";
import { noStrace, tracedTest } from "../support/strace.ts";
import { KillSweep, killCalls, newSweep } from "./kill-sweep.ts";
import { regrouping, type Sets, startSets, writers } from "./writers.ts";

let sets: Sets;
let sweep: KillSweep;
beforeAll(async () => {
  if (noStrace !== null) return;
  sets = await startSets();
  sweep = await KillSweep.begin(sets);
});
afterAll(async () => {
  if (sweep) expect(await sweep.leftAtLast()).toEqual([]);
  await sweep?.end();
  await sets?.stop();
});

/** Every other kind of call, at a number that differs from writer to writer, so that all of them are met. */
const sampled = (at: number) => (call: (typeof killCalls)[number], n: number) =>
  killCalls.indexOf(call) % 2 === at % 2 && n === 1 + (at % 3);

for (const [at, writer] of [...writers, regrouping].entries()) {
  tracedTest(
    `R6 ${writer.file}: killed at a sample of its system calls, no answered change is lost, and nothing is left`,
    async () => {
      const found = newSweep();
      // Calls are counted for each thread, and which thread works is chance: too few kills are repeated.
      for (let again = 0; again < 6 && found.kills < 2; again++)
        await sweep.over(writer, { changes: 2, only: sampled(at + again) }, found);
      expect(found.kills).toBeGreaterThanOrEqual(2);
    },
  );
}
