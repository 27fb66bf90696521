/** The files of clients: one entry is written, and every other byte stays. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { JsonError, parseJsonc, withEntry } from "../../src/mcp/jsonc.ts";

const entry = { command: "/usr/bin/zapd", args: ["mcp"] };
const put = (text: string) => withEntry(text, "servers", "zapd", entry);

/** What is left of a text when the lines with these words are taken out. */
const without = (text: string, words: RegExp) => text.split(/\r?\n/).filter((line) => !words.test(line));

describe("an entry is put in its place", () => {
  test("in an empty file, or one without the list", () => {
    const made =
      '{\n  "servers": {\n    "zapd": {\n      "command": "/usr/bin/zapd",\n      "args": [\n        "mcp"\n      ]\n    }\n  }\n}';
    for (const text of ["", " \n", "{}", "{ }", "{\n}"]) expect(put(text).trimEnd()).toBe(made);
    expect(put("{}\n")).toBe(`${made}\n`);
    expect(JSON.parse(put('{"a": 1}'))).toEqual({ a: 1, servers: { zapd: entry } });
  });

  test("beside others, whose comments, order and commas stay", () => {
    const text = `// mine
{
\t/* servers */
\t"servers": {
\t\t"other": { "command": "x", "args": ["//", "/*"] }, // the other
\t\t// "old": {},
\t},
\t"inputs": [1, 2,], // last
}
// end
`;
    const after = put(text);
    expect(parseJsonc(after)).toEqual({
      servers: { other: { command: "x", args: ["//", "/*"] }, zapd: entry },
      inputs: [1, 2],
    });
    expect(without(after, /zapd|"args": \[$|"mcp"|^\t{3}[\]}]|^\t\t}$/)).toEqual(text.split("\n"));
    expect(after).toContain('\n\t\t"zapd": {\n\t\t\t"command"');
    expect(put(after)).toBe(after);
  });

  test("with a trailing comma, after the last comment, with the line ends of the file", () => {
    const text = '\ufeff{\r\n  "a": 1 // one\r\n}\r\n';
    const after = put(text);
    expect(after).toStartWith('\ufeff{\r\n  "a": 1, // one\r\n  "servers": {\r\n    "zapd": {');
    expect(after).toEndWith("\r\n  }\r\n}\r\n");
    expect(after.replaceAll("\r\n", "")).not.toContain("\n");
  });

  test("replacing an earlier entry, and nothing else", () => {
    const text = '{"servers": {"zapd": {"command": "old", "env": {"A": "1"}}, "b": {}}, "zapd": 1}';
    expect(put(text)).toBe(`{"servers": {"zapd": ${JSON.stringify(entry)}, "b": {}}, "zapd": 1}`);
  });

  test("of a duplicate name the last counts, as for a reader", () => {
    expect(parseJsonc(put('{"servers": {"zapd": 1, "zapd": 2}}'))).toEqual({ servers: { zapd: entry } });
  });

  test("any file has the same content afterwards except for the entry", () => {
    const text = fc.tuple(
      fc.jsonValue({ maxDepth: 4 }),
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.constantFrom(undefined, 1, 2, "\t"),
    );
    fc.assert(
      fc.property(text, ([a, servers, indent]) => {
        const before = { a, servers: { ...servers } };
        fc.pre(!("__proto__" in servers) && !JSON.stringify(before).includes("__proto__"));
        const read = JSON.parse(put(JSON.stringify(before, null, indent)));
        expect(read).toEqual(JSON.parse(JSON.stringify({ a, servers: { ...servers, zapd: entry } })));
      }),
      { numRuns: 300, seed: 7 },
    );
  });
});

describe("what is no JSON is refused with its place, and nothing is written", () => {
  test.each<[string, number, number, string]>([
    ['{\n  "a": 1\n  "b": 2\n}', 3, 3, "has no comma, and no }, here"],
    ['{\n  "a": \n}', 3, 1, "has no value here"],
    ["{\n  a: 1\n}", 2, 3, 'has no text in quotes (") here'],
    ['{"a": 1', 1, 8, "ends before its }"],
    ['{"a" 1}', 1, 6, "has no colon behind a name here"],
    ["{} x", 1, 4, "goes on behind its end"],
    ["[]", 1, 1, "holds a list where an object is meant"],
    ['{\n"servers": []}', 2, 12, "holds a list where an object is meant"],
    ['{"servers": null}', 1, 13, "holds null where an object is meant"],
    ['{"a": 01}', 1, 7, "has no value here"],
    ['{"a": "x\ny"}', 1, 7, 'has no text in quotes (") here'],
    ["/* open", 1, 1, "has no value here"],
    [`{"a":${"[".repeat(300)}`, 1, 206, "is nested deeper than 200 levels"],
  ])("%j", (text, line, column, message) => {
    let thrown: unknown;
    try {
      put(text);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(JsonError);
    expect(thrown).toMatchObject({ line, column, message });
  });
});
