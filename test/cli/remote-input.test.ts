import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { decode, flush, type Input } from "../../src/cli/remote/terminal.ts";

const keys = (...names: string[]): Input[] => names.map((key) => ({ key }));
const read = (text: string) => decode("", text);

describe("what a terminal sends", () => {
  test("is read as keys, whichever of the usual ways it is sent", () => {
    expect(read("\x1b[A\x1b[B\x1b[C\x1b[D").inputs).toEqual(keys("up", "down", "right", "left"));
    expect(read("\x1bOA\x1bOD\x1b[1;5B").inputs).toEqual(keys("up", "left", "down"));
    expect(read("\r\n\t\x7f\b\x1b[Z\x1b[3~").inputs).toEqual(
      keys("enter", "enter", "tab", "backspace", "backspace", "shift-tab", "delete"),
    );
    expect(read("\x1b[5~\x1b[6~\x1b[H\x1b[4~").inputs).toEqual(keys("page-up", "page-down", "home", "end"));
    expect(read("\x03\x1a\x0c\x15\x17").inputs).toEqual(keys("ctrl-c", "ctrl-z", "ctrl-l", "ctrl-u", "ctrl-w"));
    expect(read("h +é📺").inputs).toEqual(keys("h", " ", "+", "é", "📺"));
  });

  test("says whether a key repeats or has come up, where it was asked to and can", () => {
    expect(read("\x1b[1;1:1B\x1b[1;1:2B\x1b[1;129:3B\x1b[5;1:2~\x1b[6;1:3~").inputs).toEqual([
      { key: "down" },
      { key: "down", phase: "repeat" },
      { key: "down", phase: "up" },
      { key: "page-up", phase: "repeat" },
      { key: "page-down", phase: "up" },
    ]);
    expect(read("\x1b[43;1:3u\x1b[104u\x1b[61:43;2u\x1b[32;1:2u").inputs).toEqual([
      { key: "+", phase: "up" },
      ...keys("h", "+"),
      { key: " ", phase: "repeat" },
    ]);
    // As some terminals send the others, too.
    expect(read("\x1b[27u\x1b[13u\x1b[9u\x1b[9;2u\x1b[127u\x1b[99;5u\x1b[122;133u\x1b[97;2u").inputs).toEqual(
      keys("escape", "enter", "tab", "shift-tab", "backspace", "ctrl-c", "ctrl-z", "a"),
    );
    // Caps Lock alone, Alt with a letter, codes that are none.
    const none = "\x1b[57358u\x1b[97;3u\x1b[u\x1b[0u\x1b[55296u\x1b[99999999u\x1b[97:99999999;2u\x1b[120;5u";
    expect(read(none)).toEqual({ inputs: [], pending: "" });
  });

  test("that means nothing here is swallowed whole: function keys, Alt, other controls, answers to questions", () => {
    for (const text of [
      "\x1b[15~",
      "\x1bOP",
      "\x1bx",
      "\x00\x01",
      "\x1b[?1;2c",
      "\x1b]11;rgb:0/0/0\x07",
      "\x1bP1$r\x1b\\",
      "\x1b[I",
    ])
      expect([text, read(`${text}q`)]).toEqual([text, { inputs: keys("q"), pending: "" }]);
  });

  test("in pieces is the same as in one", () => {
    const pieces = [
      "\x1b[A",
      "\x1bOB",
      "\x1b[1;2C",
      "\x1b[200~pa\x1b[Asted\r\x1b[201~",
      "q",
      "é",
      "\x1b[5~",
      "\x1b]0;x\x07",
      "\r",
      "\x1b[1;1:3B",
      "\x1b[43;1:2u",
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 8 }), fc.array(fc.nat(40)), (words, cuts) => {
        const text = words.join("");
        const places = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((one, other) => one - other);
        let pending = "";
        const inputs: Input[] = [];
        for (const [at, from] of [0, ...places].entries()) {
          const read = decode(pending, text.slice(from, places[at] ?? text.length));
          pending = read.pending;
          inputs.push(...read.inputs);
        }
        expect({ inputs, pending }).toEqual({ inputs: [...decode("", text).inputs], pending: "" });
      }),
    );
  });

  test("whatever it is, never throws and never grows without end", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" })), (chunks) => {
        let pending = "";
        for (const chunk of chunks) ({ pending } = decode(pending, chunk));
        flush(pending);
      }),
    );
    expect(decode("", `\x1b]0;${"x".repeat(100_000)}`).pending).toBe("");
  });
});

describe("Esc", () => {
  test("alone waits for what may follow, and is the key when nothing does", () => {
    expect(read("\x1b")).toEqual({ inputs: [], pending: "\x1b" });
    expect(flush("\x1b")).toEqual({ inputs: keys("escape"), pending: "" });
    expect(decode("\x1b", "[A")).toEqual({ inputs: keys("up"), pending: "" });
  });

  test("twice is the key and perhaps a sequence", () => {
    expect(read("\x1b\x1b")).toEqual({ inputs: keys("escape"), pending: "\x1b" });
    expect(read("\x1b\x1b[A").inputs).toEqual(keys("escape", "up"));
  });

  test("before a sequence that never ends is forgotten, but a paste goes on", () => {
    expect(flush("\x1b[1;")).toEqual({ inputs: [], pending: "" });
    expect(flush("\x1b[200~half").pending).toBe("\x1b[200~half");
  });
});

test("what is pasted is told from what is typed", () => {
  expect(read("\x1b[200~quit\rq\x1b[201~h").inputs).toEqual([{ paste: "quit\rq" }, { key: "h" }]);
});

test("a paste of any length is one, of which the beginning is kept: nothing in it is a key", () => {
  const text = `\x1b[200~begun${"q".repeat(200_000)}\x1b[201~h`;
  // The last one ends in the middle of what ends the paste.
  for (const size of [4_096, 65_536, 200_013]) {
    let pending = "";
    const inputs: Input[] = [];
    for (let from = 0; from < text.length; from += size) {
      const read = decode(pending, text.slice(from, from + size));
      pending = read.pending;
      inputs.push(...read.inputs);
      expect(pending.length).toBeLessThan(70_000);
    }
    expect(inputs).toEqual([{ paste: expect.stringMatching(/^begunq+ q+$/) }, { key: "h" }]);
  }
});
