import { expect, test } from "bun:test";
import { Pulse, stopwatch } from "../src/clock.ts";

test("R14 a stopwatch counts the machine's sleep, and never more than there was", () => {
  let [running, booted] = [1_000, 50];
  const waited = stopwatch({ running: () => running, booted: () => booted });
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
  const waited = stopwatch({ running: () => running, booted: refused });
  running = 70;
  expect(waited()).toBe(70);
});

test("R14 a pulse notices that nothing ran, before its timer does and ever after", async () => {
  const pulse = new Pulse();
  const { now } = performance;
  try {
    expect(pulse.missed).toBe(false);
    await Bun.sleep(700);
    expect(pulse.missed).toBe(false);
    performance.now = () => now.call(performance) + 6_000;
    expect(pulse.missed).toBe(true);
    await Bun.sleep(700);
    expect(pulse.missed).toBe(true);
  } finally {
    performance.now = now;
    pulse.end();
  }
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
