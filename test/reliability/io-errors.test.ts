/** R8: each step of a write fails with each error: the caller gets an error, nothing has changed, the next write succeeds. */
import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { TestDaemon } from "../support/daemon.ts";
import { unfinishedIn } from "../support/folder.ts";
import { until } from "../support/http-device.ts";
import { attach, tracedTest } from "../support/strace.ts";
import { expectTaken, homeForAll, type Writer, writers } from "./writers.ts";

const home = homeForAll();
let turn = 0;

const calls = ["openat", "write", "fsync", "rename"] as const;
const errors = ["EIO", "ENOSPC", "EACCES"] as const;

/** Threads also write to wake each other: a failure there does not count, and the change is tried again. */
const tries = 20;

/** Makes a change while a system call on our files fails; resolves with the caller's error. */
async function changeWhile(writer: Writer, inject: string, path?: string): Promise<string> {
  const more = ["-e", `inject=${inject}`, ...(path === undefined ? [] : ["-P", path])];
  for (let tried = 0; tried < tries; tried++) {
    const trace = await attach(home.daemon.process.pid ?? 0, { calls, more, filesOnly: true });
    const told = await code(writer, ++turn);
    const lines = await trace.end();
    if (told !== "taken") return told;
    // Another file may be written meanwhile.
    const own = `.${basename(writer.path(home.daemon))}.`;
    expect(lines.filter((line) => line.includes("(INJECTED)") && line.includes(own))).toEqual([]);
    before = { turn, bytes: readFileSync(writer.path(home.daemon), "utf8") };
  }
  throw new Error(`${inject} never met a file`);
}

let before = { turn: 0, bytes: "" };

/** The error code that a change is answered with, or `taken`. */
async function code(writer: Writer, to: number): Promise<string> {
  let said = "taken";
  const asked: TestDaemon = {
    ...home.daemon,
    async api(...call) {
      const answered = await home.daemon.api(...call);
      if (answered.status !== 200) said = `${answered.status} ${answered.body.error.code}`;
      return answered;
    },
  };
  await writer.change(asked, home.sets, to);
  return said;
}

async function failsAndRecovers(writer: Writer, inject: string, path?: string): Promise<void> {
  expectTaken(await writer.change(home.daemon, home.sets, ++turn), writer.file);
  before = { turn, bytes: readFileSync(writer.path(home.daemon), "utf8") };
  expect([inject, await changeWhile(writer, inject, path)]).toEqual([inject, "500 storage_error"]);
  // Memory and disk are as before.
  expect([inject, await writer.read(home.daemon)]).toEqual([inject, before.turn]);
  expect(readFileSync(writer.path(home.daemon), "utf8")).toBe(before.bytes);
  const unfinished = () => unfinishedIn(dirname(writer.path(home.daemon)));
  const own = `.${basename(writer.path(home.daemon))}.`;
  expect(unfinished().filter((name) => name.startsWith(own))).toEqual([]);
  // Another file may just be being written.
  await until("nothing is left", () => unfinished().length === 0);
  expectTaken(await writer.change(home.daemon, home.sets, ++turn), `${writer.file} after ${inject}`);
  expect(await writer.read(home.daemon)).toBe(turn);
}

for (const [at, writer] of writers.entries()) {
  tracedTest(
    `R8 ${writer.file}: EIO, ENOSPC and EACCES at each step are told, and leave memory and disk as they were`,
    async () => {
      for (const [step, call] of calls.entries()) {
        // All stores share one writer, at most ten writes a second: each file gets some of the errors.
        const some = at === 0 ? errors : errors.filter((_error, one) => one === (at + step) % errors.length);
        for (const error of some) await failsAndRecovers(writer, `${call}:error=${error}:when=1`);
      }
      // The sync of the folder, after the rename.
      await failsAndRecovers(writer, "fsync:error=EIO:when=1", dirname(writer.path(home.daemon)));
    },
  );
}
