import { expect, spyOn, test } from "bun:test";
import { dayClock, SleepWatch, stopwatch } from "../../src/system/clock.ts";

test("R14 a stopwatch counts the machine's sleep, and never more than there was", () => {
  let [running, booted] = [1_000, 50];
  const waited = stopwatch({ monotonicMs: () => running, uptimeS: () => booted });
  running += 10;
  booted += 1;
  expect(waited()).toBe(10);
  // Asleep for a minute: one clock stood still.
  booted += 60;
  expect(waited()).toBe(60_000);
  running += 120_000;
  expect(waited()).toBe(120_010);
});

test("R14 a stopwatch goes by what runs where nothing else is told", () => {
  let running = 0;
  const refused = () => {
    throw new Error("needs a permission");
  };
  const waited = stopwatch({ monotonicMs: () => running, uptimeS: refused });
  running = 70;
  expect(waited()).toBe(70);
});

test("R13 T29 a day is not over when the time of day is set forward, and lasts longer when it is set back", () => {
  let [running, booted, today] = [0, 0, 1_000_000];
  const now = dayClock({ monotonicMs: () => running, uptimeS: () => booted }, () => today);
  for (const [jump, ms, seen] of [
    [0, 10, 1_000_010],
    [10 * 365 * 86_400_000, 10, 1_000_020],
    [-20 * 365 * 86_400_000, 10, 1_000_030 - 10 * 365 * 86_400_000],
    [10 * 365 * 86_400_000, 10, 1_000_040],
  ] as const) {
    today += jump + ms;
    running += ms;
    expect(now()).toBe(seen);
  }
  // Asleep: the day goes on.
  today += 3_600_000;
  booted += 3_600;
  expect(now()).toBeGreaterThan(1_000_000 + 3_598_000);
});

test("R13 the clocks of this machine agree, and the time of day is none of them", async () => {
  const waited = stopwatch();
  const now = Date.now;
  Date.now = () => 0;
  try {
    await Bun.sleep(60);
    expect(waited()).toBeGreaterThanOrEqual(59);
    expect(waited()).toBeLessThan(2_000);
  } finally {
    Date.now = now;
  }
});

test("R14 a watch tells a sleep from a busy moment, by either clock, and what is read half a second after it", async () => {
  let [running, booted] = [1_000, 50];
  const watch = new SleepWatch({ monotonicMs: () => running, uptimeS: () => booted });
  expect([watch.sleepCount, watch.hasSleptSince(running)]).toEqual([0, false]);
  // Late, but awake.
  running += 5_400;
  booted += 5;
  expect([watch.sleepCount, watch.hasSleptSince(running)]).toEqual([0, false]);
  // Stopped: both go on.
  running += 6_100;
  booted += 6;
  expect([watch.sleepCount, watch.hasSleptSince(running)]).toEqual([1, true]);
  running += 499;
  expect([watch.sleepCount, watch.hasSleptSince(running)]).toEqual([1, true]);
  running += 1;
  expect([watch.sleepCount, watch.hasSleptSince(running)]).toEqual([1, false]);
  // Asleep: one stands still.
  booted += 3_600;
  expect([watch.sleepCount, watch.hasSleptSince(running)]).toEqual([2, true]);
  running += 500;
  expect([watch.sleepCount, watch.hasSleptSince(running)]).toEqual([2, false]);
  // A look just before a sleep does not make it shorter.
  running += 400;
  expect(watch.hasSleptSince(running)).toBe(false);
  running += 5_101;
  expect([watch.hasSleptSince(running), watch.sleepCount]).toEqual([true, 3]);
});

test("R14 a watch looks by itself, so that a long time without a command is no sleep", () => {
  const timer = spyOn(globalThis, "setInterval");
  let running = 0;
  const watch = new SleepWatch({ monotonicMs: () => running, uptimeS: () => 0 });
  const look = timer.mock.lastCall?.[0] as () => void;
  timer.mockRestore();
  for (let times = 0; times < 20; times++) {
    running += 500;
    look();
  }
  expect(watch.sleepCount).toBe(0);
});
