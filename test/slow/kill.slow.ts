/** SECURITY.md R6, whole: a kill at every system call of every writer, and at random moments. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { KillSweep, newSweep } from "../reliability/kill-sweep.ts";
import { regrouping, type Sets, startSets, writers } from "../reliability/writers.ts";
import { tracedTest } from "../support/strace.ts";
import { isSample, part, some } from "./length.ts";

let sets: Sets;
beforeAll(async () => {
  sets = await startSets();
});
afterAll(() => sets.stop());

/** The steps of an atomic write: the sweep must have hit each. */
const steps = [
  "openat temporary",
  "write temporary",
  "fsync temporary",
  "close temporary",
  "rename temporary",
  "openat folder",
  "fsync folder",
  "close folder",
];

/** A sample kills at the first call of each kind, and then goes on where a step was not hit. */
const sweptFirst = isSample ? 1 : Number.POSITIVE_INFINITY;

for (const writer of [...writers, regrouping]) {
  tracedTest(
    `R6 ${writer.file}: killed at every system call, no answered change is lost, and nothing is left`,
    async () => {
      const sweep = await KillSweep.begin(sets);
      try {
        const found = newSweep();
        let missing: string[] = [...steps];
        // Which thread makes a call is chance: a step that was not hit is swept again.
        for (let again = 0; again < 24 && missing.length > 0; again++) {
          const only = (call: string, n: number) =>
            again === 0 ? n <= sweptFirst : missing.some((step) => step.startsWith(call));
          const writeThread = again === 0 ? undefined : again;
          await sweep.over(writer, { changes: some(6, 2), only, writeThread }, found);
          missing = steps.filter((step) => !found.points.has(step));
        }
        expect(missing).toEqual([]);
        expect(await sweep.leftAtLast()).toEqual([]);
        const points = [...found.points].map(([point, times]) => `${point} ${times}`).sort();
        if (part === 1) expect(found.kills).toBeGreaterThanOrEqual(50);
        process.stderr.write(`${writer.file}: ${points.join(", ")}\n`);
      } finally {
        await sweep.end();
      }
    },
  );
}

test("R6 killed at random moments while all files change at once, no answered change is lost", async () => {
  const sweep = await KillSweep.begin(sets);
  const kills = some(200, 5);
  try {
    const found = newSweep();
    // A busy machine acknowledges less before each kill.
    const isEnough = () => found.acknowledged > 2 * kills;
    for (let kill = 0; kill < kills || (!isEnough() && kill < 5 * kills); kill++)
      await sweep.killAfter(writers, 5 + ((kill * 37) % 211), found);
    expect(found.acknowledged).toBeGreaterThan(2 * kills);
    expect(await sweep.leftAtLast()).toEqual([]);
  } finally {
    await sweep.end();
  }
});
