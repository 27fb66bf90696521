/** R20: changes made at the same time share one write, and all of them wait for it. */
import { expect } from "bun:test";
import { startTestDaemon } from "../support/daemon.ts";
import { attach, callsIn, tracedTest } from "../support/strace.ts";
import { homeForAll, writers } from "./writers.ts";

const home = homeForAll({ speed: 1, config: { daemon: { log_level: "info" } } });

const many = 1_000;
const mostWrites = 30;

for (const file of ["devices.json", "config.toml"]) {
  tracedTest(
    `R20 ${file}: a thousand parallel changes take at most ${mostWrites} writes, and the last is there after kill -9`,
    async () => {
      const writer = writers.find((one) => one.file === file);
      if (!writer) throw new Error(`nobody writes ${file}`);
      // The first change starts the threads for files.
      await writer.change(home.daemon, home.sets, many + 1);
      const trace = await attach(home.daemon.process.pid ?? 0, { calls: ["rename", "fsync"], filesOnly: true });
      const began = performance.now();
      const answered = await Promise.all(
        Array.from({ length: many }, (_, turn) => writer.change(home.daemon, home.sets, turn + 1)),
      );
      const took = performance.now() - began;
      expect(answered.filter((status) => status !== 200)).toEqual([]);
      const calls = callsIn(await trace.end());
      const renames = calls.filter(({ name, words }) => name === "rename" && words.endsWith(`${file}"`)).length;
      const syncs = calls.filter(({ name }) => name === "fsync").length;
      expect(renames).toBeGreaterThan(0);
      expect(renames).toBeLessThanOrEqual(Math.min(mostWrites, 2 + took / 100));
      expect(syncs).toBeLessThanOrEqual(2 * renames);
      // The last change is in the file, before and after the kill.
      const last = await writer.read(home.daemon);
      await home.daemon.stop("SIGKILL");
      home.daemon = await startTestDaemon({ speed: 1, folder: home.daemon.folder });
      expect(await writer.read(home.daemon)).toBe(last);
    },
  );
}
