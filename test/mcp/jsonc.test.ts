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
    expect(put("\ufeff{}")).toBe(`\ufeff${made}`);
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

  test("beside a text of some megabytes, as a history has", () => {
    const text = `{"history": "${"a pasted picture \\n".repeat(250_000)}"`;
    expect(put(`${text}}`)).toStartWith(`${text},`);
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

describe("what is not JSON is refused with its place, and nothing is written", () => {
  test.each<[string, number, number, string]>([
    ['{\n  "a": 1\n  "b": 2\n}', 3, 3, "expected a comma or }"],
    ['{\n  "a": \n}', 3, 1, "expected a value"],
    ["{\n  a: 1\n}", 2, 3, 'expected text in double quotes (")'],
    ['{"a": 1', 1, 8, "the closing } is missing"],
    ['{"a" 1}', 1, 6, "expected a colon after the name"],
    ["{} x", 1, 4, "unexpected text after the end"],
    ["[]", 1, 1, "expected an object, found a list"],
    ['{\n"servers": []}', 2, 12, "expected an object, found a list"],
    ['{"servers": null}', 1, 13, "expected an object, found null"],
    ['{"a": 01}', 1, 7, "expected a value"],
    ['{"a": "x\ny"}', 1, 7, 'expected text in double quotes (")'],
    ["/* open", 1, 1, "expected a value"],
    [`{"a":${"[".repeat(300)}`, 1, 206, "nested deeper than 200 levels"],
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
