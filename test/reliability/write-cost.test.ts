/** R20: changes made at the same time share one write, and all of them wait for it. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { measured } from "../support/evidence.ts";
import { attach, callsIn, noStrace } from "../support/strace.ts";
import { introduce, type Sets, startSets, writers } from "./writers.ts";

let sets: Sets;
let daemon: TestDaemon;
beforeAll(async () => {
  sets = await startSets();
  daemon = await startTestDaemon({ config: { daemon: { log_level: "info" } } });
  await introduce(daemon, sets);
});
afterAll(async () => {
  await daemon.dispose();
  await sets.stop();
});

const many = 1_000;
const mostWrites = 30;

for (const file of ["devices.json", "config.toml"]) {
  test.skipIf(noStrace !== null)(
    `R20 ${file}: a thousand parallel changes take at most ${mostWrites} writes, and the last is there after kill -9${noStrace === null ? "" : ` (skipped: ${noStrace})`}`,
    async () => {
      const writer = writers.find((one) => one.file === file);
      if (!writer) throw new Error(`nobody writes ${file}`);
      const trace = await attach(daemon.process.pid ?? 0, { calls: ["rename", "fsync"], filesOnly: true });
      const began = performance.now();
      const answered = await Promise.all(
        Array.from({ length: many }, (_, turn) => writer.change(daemon, sets, turn + 1)),
      );
      const took = performance.now() - began;
      expect(answered.filter((status) => status !== 200)).toEqual([]);
      const calls = callsIn(await trace.end());
      const renames = calls.filter(({ name, words }) => name === "rename" && words.endsWith(`${file}"`)).length;
      const syncs = calls.filter(({ name }) => name === "fsync").length;
      expect(renames).toBeGreaterThan(0);
      expect(renames).toBeLessThanOrEqual(Math.min(mostWrites, 2 + took / 100));
      expect(syncs).toBeLessThanOrEqual(2 * renames);
      // Whichever was taken last is what the file says, now and after it.
      const last = await writer.read(daemon);
      await daemon.stop("SIGKILL");
      daemon = await startTestDaemon({ folder: daemon.folder });
      expect(await writer.read(daemon)).toBe(last);
      measured("R20", file, `${many} changes, ${renames} writes`);
    },
    60_000,
  );
}
