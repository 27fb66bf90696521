/**
 * R7: after a power cut only synced data is there: the file is synced before the rename, and the folder before the caller is
 * answered.
 */
import { expect } from "bun:test";
import { attach, callsIn, fileCalls, tracedTest } from "../support/strace.ts";
import { expectTaken, homeForAll, writers } from "./writers.ts";

const home = homeForAll();

for (const writer of writers) {
  tracedTest(
    `R7 ${writer.file}: the file is synced, then renamed, then the folder synced, then the caller answered`,
    async () => {
      const changes = 5;
      const trace = await attach(home.daemon.process.pid ?? 0, { calls: [...fileCalls, "sendto"] });
      for (let turn = 1; turn <= changes; turn++)
        expectTaken(await writer.change(home.daemon, home.sets, turn), writer.file);
      // The caller has the last answer before strace sees the call return: one more request follows.
      await home.daemon.api("GET", "/health");
      const calls = callsIn(await trace.end());
      const path = writer.path(home.daemon);
      const folder = path.slice(0, path.lastIndexOf("/"));
      const temporary = `${folder}/.${writer.file}.`;
      const all = calls.flatMap(({ name, words, failed, from, to }) => {
        const step =
          name === "fsync" && words.includes(temporary)
            ? "file synced"
            : name === "rename" && words.endsWith(`"${path}"`)
              ? "renamed"
              : name === "fsync" && words.includes(`<${folder}>`)
                ? "folder synced"
                : name === "sendto" && words.includes('"HTTP/1.1 200')
                  ? "answered"
                  : null;
        return step === null ? [] : [{ step, failed, from, to }];
      });
      const each = ["file synced", "renamed", "folder synced", "answered"];
      const steps = all.slice(0, changes * each.length);
      expect(all.slice(steps.length).filter(({ step }) => step !== "answered")).toEqual([]);
      expect(steps.map(({ step }) => step)).toEqual(Array.from({ length: changes }, () => each).flat());
      expect(steps.filter(({ failed }) => failed)).toEqual([]);
      // Each step ends before the next begins.
      for (const [at, step] of steps.entries())
        if (at > 0) expect(step.from).toBeGreaterThanOrEqual(steps[at - 1]?.to ?? 0);
      // Created with O_EXCL: a file or link that somebody has put there is not written to.
      const made = calls.filter(({ name, words }) => name === "openat" && words.includes(`"${temporary}`));
      expect(made.map(({ words }) => /O_CREAT\|O_EXCL/.test(words))).toEqual(
        Array.from({ length: changes }, () => true),
      );
      // Nothing of ours is ever written in its place.
      const inPlace = calls.filter(({ name, words }) => name === "write" && words.includes(`<${path}>`));
      expect(inPlace).toEqual([]);
    },
  );
}
