import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type Key, keys } from "../../../src/platforms/platform.ts";
import { paths } from "../../../src/platforms/roku/ecp.ts";
import { rokuKeys } from "../../../src/platforms/roku/keys.ts";

/** The words a set takes, from protocols/roku.md 1.8, and not from the table under test. */
const onEverySet = ["Home", "Rev", "Fwd", "Play", "Select", "Left", "Right", "Down", "Up", "Back"];
const moreOnEverySet = ["InstantReplay", "Info", "Backspace", "Search", "Enter"];
const volume = ["VolumeUp", "VolumeDown", "VolumeMute"];
const power = ["PowerOff", "PowerOn", "Power"];
const ofTvs = [
  "ChannelUp",
  "ChannelDown",
  "InputTuner",
  "InputHDMI1",
  "InputHDMI2",
  "InputHDMI3",
  "InputHDMI4",
  "InputAV1",
];

/** Keys that no Roku has, each with why. */
const absent: Partial<Record<Key, string>> = {
  stop: "there is no such button; leaving an app is another command",
  skip: "there is no such button; InstantReplay only goes back",
};

describe("the table of keys", () => {
  test("holds every key there is, but those that no Roku has", () => {
    const expected = keys.filter((key) => absent[key] === undefined);
    expect(new Set(Object.keys(rokuKeys))).toEqual(new Set<string>(expected));
  });

  test("uses words that sets take, each where it may be missing only with what it needs", () => {
    for (const [key, entry] of Object.entries(rokuKeys)) {
      const { word, needs } = entry;
      const expected = volume.includes(word)
        ? "volume"
        : power.includes(word)
          ? "power"
          : ofTvs.includes(word)
            ? "inputs"
            : undefined;
      expect([key, word, needs]).toEqual([key, word, expected]);
      if (needs === undefined) expect([...onEverySet, ...moreOnEverySet]).toContain(word);
    }
  });
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
  });

  test("is no form field: a space is %20, a plus %2B, a slash %2F, a percent %25", () => {
    expect([" ", "+", "/", "%", "?", "#", "é", "€", "📺"].map(paths.character)).toEqual([
      "/keypress/Lit_%20",
      "/keypress/Lit_%2B",
      "/keypress/Lit_%2F",
      "/keypress/Lit_%25",
      "/keypress/Lit_%3F",
      "/keypress/Lit_%23",
      "/keypress/Lit_%C3%A9",
      "/keypress/Lit_%E2%82%AC",
      "/keypress/Lit_%F0%9F%93%BA",
    ]);
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
