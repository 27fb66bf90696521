/** The volume of a set that takes steps alone, and tells where they led. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { setVolume } from "../../src/devices/controls.ts";
import { asleep } from "../support/fake-platform.ts";
import { type House, never, openHouse } from "./harness.ts";

let house: House;
let level: number;
beforeEach(async () => {
  level = 40;
  house = await openHouse((set) => {
    const read = async () => ({ ...asleep, power: "on" as const, volume: { level, muted: false } });
    // As sets do, it tells of a step a moment after it took it.
    const step = async (by: 1 | -1) => void setTimeout(() => (level = Math.min(100, level + 4 * by)), 30);
    return { ...set.connection(), state: { read }, volume: { step } };
  });
});
afterEach(() => house.remove());

test("is told as it is once the last step shows, and at the end of its scale as it stays", async () => {
  const tv = house.devices.of(await house.add("1"));
  const by = (step: number) => setVolume(tv, { step }, { signal: never });
  expect(await by(1)).toEqual({ volume: { level: 44, muted: false }, confirmed: null });
  expect(await by(-3)).toEqual({ volume: { level: 32, muted: false }, confirmed: null });
  level = 100;
  expect(await by(1)).toEqual({ volume: { level: 100, muted: false }, confirmed: null });
});
