/** R17, a few times; a hundred times in shutdown.timed.ts. */
import { expect, test } from "bun:test";
import { startTestDaemon } from "../support/daemon.ts";
import { unfinishedIn } from "../support/folder.ts";
import { until } from "../support/http-device.ts";
import { attach, tracedTest } from "../support/strace.ts";
import { WiredRoku } from "../support/wired-roku.ts";
import { stopUnderLoad } from "./shutdown.ts";

test("R17 SIGTERM under load: exit 0 within 5 s, each request answered, each change kept, no key after the end", async () => {
  const times = 4;
  const { most, answered } = await stopUnderLoad(times);
  expect(most).toBeLessThan(5_000);
  expect(answered).toBeGreaterThan(20);
});

test("R17 a second SIGTERM ends it at once, whatever is under way", async () => {
  const set = await WiredRoku.start();
  // Its grace is 3.5 s of its own clock, and the second signal must come within it.
  const daemon = await startTestDaemon({ speed: 1, config: { devices: { request_timeout_ms: 30_000 } } });
  try {
    await daemon.api("POST", "/devices", { ...set.address, name: "set" });
    set.answerMs = 20_000;
    const waiting = daemon.api("GET", "/devices/set/state").catch(() => "hung up");
    // Who it is, it was asked more often where it was slow to be added.
    await until("it is asked", () => set.wire.requests.some(({ target }) => target === "/query/active-app"));
    daemon.process.kill("SIGTERM");
    // Two signals within half a second count as one: Ctrl-C reaches zapd and its parent, which may pass it on.
    await Bun.sleep(1_200);
    expect(daemon.process.exitCode).toBeNull();
    const began = performance.now();
    expect(await daemon.stop("SIGTERM")).toBe(1);
    expect(performance.now() - began).toBeLessThan(3_000);
    expect(await waiting).toBe("hung up");
  } finally {
    await daemon.dispose();
    await set.stop();
  }
});

tracedTest("R17 SIGTERM while the disk does not answer: it says so and ends as a failure", async () => {
  const set = await WiredRoku.start();
  const daemon = await startTestDaemon();
  try {
    await daemon.api("POST", "/devices", { ...set.address, name: "set" });
    const more = ["-e", "inject=fsync:delay_enter=60s"];
    const trace = await attach(daemon.process.pid ?? 0, { calls: ["fsync"], more, filesOnly: true });
    const changed = daemon.api("PATCH", "/devices/set", { name: "other" }).catch(() => "hung up");
    await until("it is being written", () => unfinishedIn(daemon.stateFolder).length > 0);
    const ended = daemon.stop("SIGTERM");
    await until("it says so", () => /did not stop within \d+ s/.test(daemon.log()));
    // A process that strace delays cannot end before.
    await trace.end();
    expect([await ended, await changed]).toEqual([1, "hung up"]);
  } finally {
    await daemon.dispose();
    await set.stop();
  }
});
