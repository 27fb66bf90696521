/**
 * R18: no error is left uncaught. Every test daemon is checked for uncaught errors when it is disposed of (support/daemon.ts); these
 * tests show that the check finds them, and that an uncaught error fails no more than its own call.
 */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startTestDaemon, straysIn } from "../support/daemon.ts";
import { testFolder } from "../support/folder.ts";
import { until } from "../support/http-device.ts";
import { WiredRoku } from "../support/wired-roku.ts";

const folder = testFolder();

/** Runs the daemon with a piece of a program in it. */
function within(program: string): string[] {
  const path = join(folder, "preload.ts");
  writeFileSync(path, program);
  return ["sh", "-c", 'bun="$1"; shift; exec "$bun" --preload "$0" "$@"', path];
}

test("R18 an uncaught error stops neither the daemon nor its keys, and fails the suite", async () => {
  const every = 20;
  const daemon = await startTestDaemon({
    fromSource: true,
    within: within(`
      process.on("SIGUSR2", () => {
        setInterval(() => void Promise.reject(new Error("stray promise")), ${every});
        setInterval(() => { throw new Error("stray throw"); }, ${every});
        setInterval(() => void Promise.reject("stray word"), ${every});
      });
    `),
  });
  const set = await WiredRoku.start();
  try {
    await daemon.api("POST", "/devices", { ...set.address, name: "set" });
    daemon.process.kill("SIGUSR2");
    for (let key = 0; key < 50; key++)
      expect((await daemon.api("POST", "/devices/set/remote/key", { key: "up" })).status).toBe(200);
    // A slow set is asked on every platform when it is added.
    expect(set.commands.filter((one) => one.startsWith("/keypress/"))).toHaveLength(50);
    await until("all are told", () =>
      ["promise", "throw", "word"].every((one) => daemon.log().includes(`stray ${one}`)),
    );
    const strays = straysIn(daemon.log());
    for (const what of ["stray promise", "stray throw", "stray word"])
      expect([what, strays.some((line) => line.includes(what))]).toEqual([what, true]);
  } finally {
    await set.stop();
    await expect(daemon.dispose()).rejects.toThrow("stray");
  }
});

test("R18 a daemon that crashes fails the suite, one that is killed does not", async () => {
  const killed = await startTestDaemon();
  await killed.stop("SIGKILL");
  await killed.dispose();
  const crashes = await startTestDaemon();
  await crashes.stop("SIGSEGV");
  await expect(crashes.dispose()).rejects.toThrow("SIGSEGV");
});

test("R18 an error that no handler caught counts as uncaught, an error that the daemon reports does not", () => {
  const line = (level: string, message: string) => JSON.stringify({ time: "2026-11-21T08:00:00.000Z", level, message });
  const strays = [
    line("error", "uncaught error: Error: x"),
    line("error", "POST /v1/devices: TypeError: x"),
    "error: uncaught error: x",
  ];
  const others = [
    line("error", "/tmp/x could not be written (ENOSPC)"),
    line("warn", "uncaught error: x"),
    line("debug", "set: uncaught error: x"),
  ];
  expect(straysIn([...strays, ...others].join("\n"))).toEqual(strays);
});
