/** Text for people: columns, widths, what a terminal must not see. */
import { describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { activity, timecode } from "../../src/api/client-words.ts";
import { modelOf } from "../../src/cli/devices.ts";
import { columnsOf, cut, size, table, usesColour, wrap } from "../../src/cli/print.ts";
import { bar } from "../../src/cli/progress.ts";
import { changedText } from "../../src/cli/watch.ts";
import { printable } from "../../src/system/printable.ts";
import { shellQuote } from "../../src/system/text.ts";
import { livingRoom, playing } from "./remote-model.ts";

test.each([
  ["Kodi", "Kodi", "Kodi"],
  ["Lumora", "Lumora TV 43L520", "Lumora TV 43L520"],
  ["Lumora", "43L520", "Lumora 43L520"],
  ["Kodi", null, "Kodi"],
])("%s %s is called %s", (manufacturer, model, called) => {
  expect(modelOf({ ...livingRoom, manufacturer, model })).toBe(called);
});

describe("columns of a text", () => {
  test.each([
    ["", 0],
    ["plain", 5],
    ["Amélie", 6],
    ["Ame\u0301lie", 6],
    ["客厅", 4],
    ["ｱ", 1],
    ["한국", 4],
    ["📺", 2],
    ["⌚", 2],
    ["❤\ufe0f", 1],
    ["🇩🇪", 2],
    ["…", 1],
    ["█", 1],
    ["\u{20000}", 2],
  ])("%j takes %d", (text, columns) => expect(columnsOf(text)).toBe(columns));

  test("a text is cut by columns, and never in the middle of a character", () => {
    expect(cut("Living Room", 11)).toBe("Living Room");
    expect(cut("Living Room", 8)).toBe("Living …");
    expect(cut("客厅電視", 8)).toBe("客厅電視");
    expect(cut("客厅電視", 6)).toBe("客厅…");
    expect(cut("📺📺", 2)).toBe("…");
    const text = fc.string({ unit: "grapheme", maxLength: 40 }).map(printable);
    fc.assert(fc.property(text, fc.integer({ min: 1, max: 40 }), (one, width) => columnsOf(cut(one, width)) <= width));
  });

  test("lines break between words", () => {
    expect(wrap("one two three", 7)).toEqual(["one two", "three"]);
    expect(wrap("incomprehensibilities", 7)).toEqual(["incomprehensibilities"]);
  });
});

describe("tables", () => {
  const columns = [
    { title: "NAME", shrinkOrder: 0 },
    { title: "MODEL", shrinkOrder: 2 },
    { title: "AT", shrinkOrder: 1 },
    { title: "ON" },
  ];
  const rows = [
    ["Living Room", "Streaming Stick 4K", "192.168.100.140", "yes"],
    ["客厅", "TV", "192.168.1.41", ""],
  ];
  const linesOf = (width: number) => table(columns, rows, width).split("\n");

  test("are aligned, without blanks at their ends", () => {
    expect(linesOf(Number.POSITIVE_INFINITY)).toEqual([
      "NAME         MODEL               AT               ON",
      "Living Room  Streaming Stick 4K  192.168.100.140  yes",
      "客厅         TV                  192.168.1.41",
    ]);
  });

  test("fit, and shorten what matters least first", () => {
    expect(linesOf(48)[1]).toBe("Living Room  Streaming St…  192.168.100.140  yes");
    expect(linesOf(41)[1]).toBe("Living Room  Streami…  192.168.100.…  yes");
    expect(linesOf(34)[1]).toBe("Living R…  Streami…  192.168…  yes");
    expect(linesOf(22)[1]).toBe("Living…  St…  19…  yes");
    for (let width = 18; width < 60; width++)
      for (const line of linesOf(width)) expect(columnsOf(line)).toBeLessThanOrEqual(width);
  });

  test("leave out what matters least where shortening is not enough, and only then cut what must stay", () => {
    const some = [
      { title: "NAME", shrinkOrder: 0, keptWidth: 11 },
      { title: "MODEL", dropOrder: 2 },
      { title: "AT", dropOrder: 1 },
      { title: "ON" },
    ];
    const at = (width: number) => table(some, rows, width).split("\n")[1];
    expect(at(53)).toBe("Living Room  Streaming Stick 4K  192.168.100.140  yes");
    expect([at(52), at(33)]).toEqual(Array(2).fill("Living Room  192.168.100.140  yes"));
    expect([at(32), at(16), at(12)]).toEqual(["Living Room  yes", "Living Room  yes", "Living…  yes"]);
  });

  test("a terminal too narrow for what must stay breaks the line", () => {
    expect(linesOf(5)[1]).toBe("Li…  St…  19…  yes");
  });

  test("without titles have no head; cells are painted, not measured with their paint", () => {
    const red = { text: "off", paint: (text: string) => `<${text}>` };
    const bare = [{ title: "" }, { title: "" }];
    const rows = [
      ["a", red, ""],
      [red, "b"],
      ["longer", "y"],
    ];
    expect(table(bare, rows, 80)).toBe("a       <off>\n<off>     b\nlonger  y");
  });

  test("nothing that a terminal obeys gets through", () => {
    const evil = "\x1b]0;pwned\x07\u202eTV\u200b\r\n\x9b31m\u{e0041}\ud800";
    const shown = table([{ title: "A" }], [[evil], [{ text: evil, paint: (text) => text }]], 80);
    expect(shown).toBe("A\n]0;pwnedTV 31m\n]0;pwnedTV 31m");
    fc.assert(
      fc.property(
        fc.string({ unit: "binary" }),
        (text) => !/[\p{Cc}\p{Cs}\p{Bidi_Control}\u200b-\u200f\u2028\u2029\ufeff]/u.test(printable(text)),
      ),
    );
    expect(printable("❤\ufe0f 📺 Amélie")).toBe("❤\ufe0f 📺 Amélie");
  });
});

describe("words", () => {
  test("times are told as clocks do", () => {
    expect([0, 724_999, 3_723_000].map(timecode)).toEqual(["0:00", "12:04", "1:02:03"]);
  });

  test("bytes are told in the unit that fits", () => {
    const told = [0, 999, 1_000, 999_949, 999_950, 1_234_567].map(size);
    expect(told).toEqual(["0 bytes", "999 bytes", "1.0 kB", "999.9 kB", "1.0 MB", "1.2 MB"]);
  });

  test.each([
    ["Bedroom", "Bedroom"],
    ["Küche", "Küche"],
    ["Living Room", '"Living Room"'],
    ["Bob's", `"Bob's"`],
    ["$HOME", "'$HOME'"],
    ["it's $5", `'it'\\''s $5'`],
    ["-d", "-d"],
  ])("a shell takes %s as %s", (text, word) => expect(shellQuote(text)).toBe(word));

  test("a shell reads back what was written for it", () => {
    const text = fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(fc.array(text, { minLength: 20, maxLength: 20 }), (words) => {
        const line = words.map((word) => shellQuote(word)).join(" ");
        const read = execFileSync("sh", ["-c", `printf '%s\\n' ${line}`], { encoding: "utf8" });
        return read === words.map((word) => `${word}\n`).join("");
      }),
      { numRuns: 25 },
    );
  });

  test("a bar fills", () => {
    expect(bar(0, 100)).toBe("░".repeat(18));
    expect(bar(50, 100)).toBe("█".repeat(9) + "░".repeat(9));
    expect(bar(300, 100)).toBe("█".repeat(18));
  });
});

describe("colour", () => {
  test.each([
    [{ TERM: "xterm", NO_COLOR: "" }, true, false, true],
    [{ FORCE_COLOR: "0", TERM: "xterm" }, true, false, false],
    [{ FORCE_COLOR: "1", NO_COLOR: "1" }, false, false, false],
    [{ FORCE_COLOR: "1" }, true, true, false],
  ])("%j on a terminal %p, --no-color %p: %p", (env, terminal, refused, colour) => {
    expect(usesColour(terminal, refused, env)).toBe(colour);
  });
});

test("what plays is told where it is by then, and not where it was when it was read", () => {
  const now = new Date("2026-11-21T21:02:00.000Z");
  const told = (secondsAgo: number, facts: Parameters<typeof playing>[1] = {}) =>
    activity(playing(new Date(now.getTime() - 1_000 * secondsAgo), facts), now)[1];
  expect(told(60)).toBe("playing 13:04 / 31:20");
  expect(told(60, { rate: 0 })).toBe("playing 12:04 / 31:20");
  expect(told(3_600)).toBe("playing 31:20 / 31:20");
  expect(told(3_600, { title: "Song", artist: "A Singer" })).toBe('playing "Song" by A Singer 31:20 / 31:20');
});

test("what of a device has changed is told in words, lists and tables as well", () => {
  const hint = "On the Roku: …";
  const withheld = ["keys", "apps"].map((capability) => ({ capability, hint }));
  const device = {
    access: "limited",
    mac: null,
    used: true,
    ports: { installer: 80, console: 8085 },
    keys: [],
    withheld,
  };
  const said = (...changed: string[]) => changedText(device as never, changed);
  expect(said("access", "keys", "withheld")).toBe("access limited, keys none, withheld keys apps");
  expect(said("ports", "mac")).toBe("ports installer 80 console 8085, mac unknown");
  expect(said("lease", "used")).toBe("");
});
