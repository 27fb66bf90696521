import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { keys } from "../../../src/platforms/platform.ts";
import { paths } from "../../../src/platforms/roku/ecp.ts";
import { rokuKeys } from "../../../src/platforms/roku/keys.ts";

test("keys that a set may lack say what they need; of the rest, no Roku has stop and skip", () => {
  const needing = (what?: string) => keys.filter((key) => rokuKeys[key] && rokuKeys[key].needs === what);
  const inputs = ["hdmi1", "hdmi2", "hdmi3", "hdmi4", "av", "tuner"].map((input) => `input-${input}`);
  const needs = {
    volume: ["volume-up", "volume-down", "mute"],
    power: ["power", "power-on", "power-off"],
    inputs: ["channel-up", "channel-down", ...inputs],
  };
  for (const [what, wanted] of Object.entries(needs)) expect(needing(what) as string[]).toEqual(wanted);
  const none = new Set<string>([...Object.values(needs).flat(), ...needing()]);
  expect(keys.filter((key) => !none.has(key))).toEqual(["stop", "skip"]);
});

/** One word of a path as a set reads it: printable ASCII, nothing that ends a path, decoded once. */
function readBack(path: string, prefix: string): string {
  expect(path).toStartWith(prefix);
  const segment = path.slice(prefix.length);
  if (!/^[\x21-\x7e]*$/.test(segment) || /[/?#]/.test(segment))
    throw new Error(`${JSON.stringify(path)} is no one word`);
  return decodeURIComponent(segment);
}

describe("a character", () => {
  test("is one word that decodes back, for every code point there is", () => {
    for (let point = 0; point <= 0x10ffff; point++) {
      if (point >= 0xd800 && point <= 0xdfff) continue;
      const character = String.fromCodePoint(point);
      const path = paths.character(character);
      const oneWord = /^\/keypress\/Lit_[^\x00-\x20\x7f-\uffff/?#]+$/.test(path);
      if (!oneWord || decodeURIComponent(path.slice(14)) !== character)
        throw new Error(`U+${point.toString(16)} became ${path}`);
    }
    // Half a character, which no path can hold.
    expect(() => paths.character("\ud83d")).toThrow();
  });
});

describe("an app", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 20 });

  test("of any id is one word of the path, to launch and to leave", () => {
    fc.assert(
      fc.property(text, (id) => {
        expect(readBack(paths.launch(id, {}), "/launch/")).toBe(id);
        expect(readBack(paths.exit(id), "/exit-app/")).toBe(id);
        expect(readBack(paths.key(id), "/keypress/")).toBe(id);
      }),
      { numRuns: 2_000 },
    );
  });

  test("is given its parameters, all of them, as the set decodes a query", () => {
    expect(paths.launch("12", {})).toBe("/launch/12");
    expect(paths.launch("tvinput.dtv", { ch: "1.1" })).toBe("/launch/tvinput.dtv?ch=1.1");
    expect(paths.launch("837", { contentId: "a b&c=d", mediaType: "live" })).toBe(
      "/launch/837?contentId=a%20b%26c%3Dd&mediaType=live",
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(text, text), { maxLength: 5 }), (pairs) => {
        const params = Object.fromEntries(pairs);
        const [, query = ""] = paths.launch("12", params).split("?");
        expect(query).toMatch(/^[\x21-\x7e]*$/);
        expect(Object.fromEntries(new URLSearchParams(query))).toEqual(params);
      }),
      { numRuns: 2_000 },
    );
  });
});
