import { expect, spyOn, test } from "bun:test";
import { getEventListeners, getMaxListeners } from "node:events";
import { neverAborted } from "../../src/system/never-aborted.ts";
import { orAborted, sleep, until } from "../../src/system/sleep.ts";
import { TestClock } from "../support/test-clock.ts";

const never = new AbortController().signal;

/** Looks for something that holds from a moment on; when each look was, and what came of it. */
async function look(holdsAt: number, timeoutMs: number, takesMs = 0) {
  const clock = new TestClock();
  const begun = clock.now();
  const looks: number[] = [];
  const holds = async () => {
    looks.push(clock.now() - begun);
    if (takesMs > 0) await clock.sleep(takesMs, never);
    return clock.now() - begun >= holdsAt;
  };
  const held = await clock.run(until(holds, { everyMs: 40, timeoutMs, signal: never, clock }));
  return { held, looks };
}

test("what holds already is looked at once", async () => {
  expect(await look(0, 100)).toEqual({ held: true, looks: [0] });
});

test("what holds later is seen at the next look", async () => {
  expect(await look(90, 200)).toEqual({ held: true, looks: [0, 40, 80, 120] });
});

test("what does not hold in time does not hold, though a look that is under way is waited for", async () => {
  expect(await look(1_000, 100)).toEqual({ held: false, looks: [0, 40, 80, 120] });
  expect(await look(250, 100, 300)).toEqual({ held: true, looks: [0] });
});

test("who is gone does not wait, and what fails fails it", async () => {
  const caller = new AbortController();
  const waiting = until(() => false, { timeoutMs: 60_000, signal: caller.signal }).catch((reason: unknown) => reason);
  caller.abort("gone");
  expect(await waiting).toBe("gone");
  const failing = until(() => Promise.reject(new Error("broken")), { timeoutMs: 60_000, signal: never });
  expect(await failing.catch(({ message }: Error) => message)).toBe("broken");
});

test("who has waited leaves no timer and no listener, and who is gone already does not wait", async () => {
  const { signal } = new AbortController();
  await sleep(1, signal);
  await orAborted(Promise.resolve(), signal);
  expect(getEventListeners(signal, "abort")).toEqual([]);
  const caller = new AbortController();
  const cleared = spyOn(globalThis, "clearTimeout");
  const sleeping = sleep(60_000, caller.signal).catch((reason: unknown) => reason);
  caller.abort("gone");
  expect([await sleeping, cleared.mock.calls.length]).toEqual(["gone", 1]);
  cleared.mockRestore();
  expect(await orAborted(new Promise(() => {}), caller.signal).catch((reason: unknown) => reason)).toBe("gone");
});

test("as many may wait on the signal that never aborts as want to: Node warns of a leak at the eleventh listener of others", () => {
  expect(getMaxListeners(neverAborted)).toBe(0);
});
