import { expect, test } from "bun:test";
import fc from "fast-check";
import { keys } from "../../src/platforms/platform.ts";
import { nearest } from "../../src/system/nearest.ts";

test("the word that was meant is one slip away, or two in a long one", () => {
  const slips = {
    hoem: "home",
    homee: "home",
    hme: "home",
    HOME: "home",
    slect: "select",
    "volumne-up": "volume-up",
    "volum-donw": "volume-down",
    fastforward: "fast-forward",
    inputhdmi1: "input-hdmi1",
    paly: "play",
  };
  for (const [given, meant] of Object.entries(slips)) expect([given, nearest(given, keys)]).toEqual([given, meant]);
});

test("what is far from every word is near none", () => {
  for (const given of ["", "x", "xyzzy", "banana", "netflix", "x".repeat(200), "x".repeat(100_000)])
    expect([given.slice(0, 10), nearest(given, keys)]).toEqual([given.slice(0, 10), null]);
  expect(nearest("home", [])).toBeNull();
});

test("a word is nearest to itself, and a swap of neighbours is one slip", () => {
  fc.assert(
    fc.property(fc.constantFrom(...keys.filter((key) => key.length > 3)), fc.nat(20), (key, place) => {
      expect(nearest(key, keys)).toBe(key);
      const at = place % (key.length - 1);
      const swapped = key.slice(0, at) + (key[at + 1] ?? "") + (key[at] ?? "") + key.slice(at + 2);
      expect(nearest(swapped, [key])).toBe(key);
    }),
  );
});
