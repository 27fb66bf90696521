/** Editing in place: over files written in every way that TOML allows, one value changes and nothing else. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parse } from "smol-toml";
import { positionOf, setValue } from "../../src/config/edit.ts";
import { seed } from "../support/whole.ts";

const blank = fc.constantFrom("", " ", "  ", "\t", " \t");
const note = fc.tuple(
  blank,
  fc.constantFrom("# why", "#", "# é 📺", "#   odd   ", "# [daemon]", "# http_port = 5", '# "quote', "#\ttab"),
);
const after = fc.option(note, { nil: ["", ""] as const }).map((parts) => parts.join(""));

/** How each setting may be written. */
const written: Readonly<Record<string, fc.Arbitrary<string>>> = {
  http_port: fc.constantFrom("7272", "0x1C68", "7_272", "+80", "0o17", "0b11"),
  log_level: fc.constantFrom('"info"', "'debug'", '"""warn"""', "'''\nerror'''", '"\\u0069nfo"'),
  cors_enabled: fc.constantFrom("true", "false"),
  cors_allowed_origins: fc.constantFrom(
    "[]",
    '["http://a.test"]',
    "[ 'http://a.test' , ]",
    "[\n\t'http://a.test',\n]",
    '["http://a.test","http://b.test" ,  "http://c.test"]',
    '[ # in\n  # own line\n  "http://a.test", # one\n  # between\n  "http://b.test" # two\n  # last\n]',
  ),
  default_device: fc.constantFrom('""', '"a # b"', "'x = 1'", '"[daemon]"'),
};
const names = Object.keys(written);
const spelled = (key: string) => fc.constantFrom(key, `"${key}"`, `'${key}'`);

/** What it may be changed to. */
const change = fc.oneof(
  fc.record({ key: fc.constant("http_port"), value: fc.integer({ min: 1, max: 65_535 }) }),
  fc.record({
    key: fc.constantFrom("log_level", "default_device"),
    value: fc.string({ unit: "grapheme", maxLength: 12 }),
  }),
  fc.record({
    key: fc.constantFrom("log_level", "default_device"),
    value: fc.constantFrom("q\"'\\", "é # 📺", "a = 1", "]", "\\u0041", "'''", '"""'),
  }),
  fc.record({ key: fc.constant("cors_enabled"), value: fc.boolean() }),
  fc.record({
    key: fc.constant("cors_allowed_origins"),
    value: fc.subarray(["http://a.test", "http://b.test", "http://x.test", "http://y.test", "http://z.test"]),
  }),
);

const row = (prefix: fc.Arbitrary<string>) => (key: string) =>
  fc
    .tuple(blank, prefix, spelled(key), blank, blank, written[key] ?? fc.constant('""'), after)
    .map(
      ([indent, section, name, before, behind, value, end]) =>
        `${indent}${section}${name}${before}=${behind}${value}${end}`,
    );
const comments = fc.array(
  fc.oneof(
    note.map((parts) => parts.join("")),
    blank,
  ),
  { maxLength: 3 },
);
const rows = (prefix: fc.Arbitrary<string>) =>
  fc
    .subarray(names)
    .chain((some) =>
      fc
        .tuple(...some.map((key) => fc.tuple(comments, row(prefix)(key))))
        .map((parts) => parts.flatMap(([above, line]) => [...above, line])),
    );
const head = fc.constantFrom("[daemon]", "[ daemon ]", "[\tdaemon\t]", '["daemon"]', "['daemon'] # d", "  [daemon]");
const table = fc.tuple(head, rows(fc.constant(""))).map(([first, lines]) => [first, ...lines]);
const dotted = rows(fc.constantFrom("daemon.", '"daemon".', "daemon . "));
const inline = fc
  .tuple(fc.subarray(names.filter((name) => name !== "cors_allowed_origins")), blank, after)
  .chain(([some, gap, end]) =>
    fc
      .tuple(
        ...some.map((key) =>
          row(fc.constant(""))(key).map((line) => line.replace(/\s*#.*$/, "").replace(/'''\n/, "'''")),
        ),
      )
      .map((items) => [`daemon =${gap}{${gap}${items.join(`${gap},${gap}`)}${gap}}${end}`]),
  );
const others = fc.constantFrom<string[]>(
  [],
  ["[discovery]", "on_start = false # z"],
  ["", "[discovery] # q", "# r", "  interval_s = 5", ""],
  ["[[other]]", "x = 1", "[[other]]", "y = { a = 1, b = [1, 2] }"],
  ["[daemon.extra]", "deep = 1979-05-27 # d"],
);
const body = fc.oneof(
  { weight: 4, arbitrary: table.map((lines) => ({ root: [] as string[], lines })) },
  dotted.map((root) => ({ root, lines: [] as string[] })),
  inline.map((root) => ({ root, lines: [] as string[] })),
);
const file = fc
  .tuple(comments, body, others, comments, fc.constantFrom("\n", "\r\n"), fc.boolean(), fc.boolean())
  .map(([top, { root, lines }, other, tail, newline, last, first]) => {
    const tables = first ? [...other, ...lines] : [...lines, ...other];
    return [...top, ...root, ...tables, ...tail, ...(last ? [""] : [])].join("\n").replaceAll("\n", newline);
  });

const isSubsequence = (some: readonly string[], all: readonly string[]): boolean => {
  let at = 0;
  for (const line of all) if (line === some[at]) at++;
  return at === some.length;
};

test(`one value changes and nothing else does (seed ${seed})`, () => {
  let checked = 0;
  fc.assert(
    fc.property(file, change, (text, { key, value }) => {
      const before = tryParse(text);
      // A table's rows may not be added to an inline one, nor a table follow its dotted keys.
      if (!before) return;
      checked++;
      const edited = setValue(text, "daemon", key, value);
      const wanted = structuredClone(before) as { daemon?: Record<string, unknown> };
      wanted.daemon = { ...wanted.daemon, [key]: value };
      expect<unknown>(parse(edited)).toEqual(wanted);
      // Lines of other settings and of comments are as they were, to the last blank, in their order.
      const own = linesOfValue(text, key);
      const lines = text.split("\n");
      const kept = lines.filter((_, at) => at < own.from || at > own.to).filter((line) => line !== "" && line !== "\r");
      const ended = (line: string) => line.replace(/\r$/, "");
      expect([text, edited, isSubsequence(kept.map(ended), edited.split("\n").map(ended))]).toEqual([
        text,
        edited,
        true,
      ]);
      // A value of one line leaves its line as it was around it.
      const line = own.from === own.to ? (lines[own.from] ?? "") : "";
      if (line !== "") expect(edited.split("\n")[own.from]?.startsWith(line.slice(0, own.column))).toBe(true);
      if (text.includes("\r\n")) expect(edited.replaceAll("\r\n", "")).not.toContain("\n");
      expect(setValue(edited, "daemon", key, value)).toBe(edited);
    }),
    { numRuns: 5_000, seed },
  );
  expect(checked).toBeGreaterThan(3_000);
});

function tryParse(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

/** The lines of a setting's value, from 0; where it is not written, none. An inline table is all on one line. */
function linesOfValue(text: string, key: string): { from: number; to: number; column: number } {
  const place = positionOf(text, ["daemon", key]) ?? inlinePlace(text);
  if (!place) return { from: -1, to: -1, column: 0 };
  const from = place.line - 1;
  const lines = text.split("\n");
  const first = (lines[from] ?? "").slice(place.column - 1);
  const closing = /^\[(?!.*\])/.test(first.replace(/#.*/, ""))
    ? /^\s*\]/
    : first.startsWith("'''") && !first.slice(3).includes("'''")
      ? /'''/
      : undefined;
  const to = closing ? lines.findIndex((line, at) => at > from && closing.test(line)) : from;
  return { from, to, column: place.column - 1 };
}

function inlinePlace(text: string): { line: number; column: number } | null {
  return /^\s*daemon\s*=/m.test(text) ? positionOf(text, ["daemon"]) : null;
}

describe("by hand", () => {
  test.each([
    ["a new file", "", "[daemon]\nhttp_port = 80\n"],
    ["only a comment", "# hi", "# hi\n\n[daemon]\nhttp_port = 80\n"],
    ["no newline at the end", "[daemon]\nlog_level = 'info'", "[daemon]\nlog_level = 'info'\nhttp_port = 80"],
    [
      "below the last row, indented like it",
      "[daemon]\n\tcors_enabled = true # x\n# end\n",
      "[daemon]\n\tcors_enabled = true # x\n\thttp_port = 80\n# end\n",
    ],
    ["below a head that has no rows", "[daemon] # d\n# c\n\n[dev]\n", "[daemon] # d\nhttp_port = 80\n# c\n\n[dev]\n"],
    [
      "another section",
      "[dev]\r\nvendor_password = ''\r\n",
      "[dev]\r\nvendor_password = ''\r\n\r\n[daemon]\r\nhttp_port = 80\r\n",
    ],
    ["dotted keys", "daemon.socket = '' # s\n[dev]\n", "daemon.socket = '' # s\ndaemon.http_port = 80\n[dev]\n"],
    ["an inline table", "daemon = { socket = '' } # s\n", "daemon = { socket = '', http_port = 80 } # s\n"],
    ["an empty inline table", "daemon = {}\n", "daemon = {http_port = 80}\n"],
    ["another base", "[daemon]\nhttp_port = 0x1c68 # hex\n", "[daemon]\nhttp_port = 0x50 # hex\n"],
    ["a byte order mark", "\ufeffdaemon.http_port=1\n", "\ufeffdaemon.http_port=80\n"],
    ["a list in its place", "daemon.http_port = [ 1 ] # l\n", "daemon.http_port = 80 # l\n"],
    ["a text in its place", "daemon.http_port = '1' # t\n", "daemon.http_port = 80 # t\n"],
    ["the same value, written otherwise", "daemon.http_port = 8_0\n", "daemon.http_port = 8_0\n"],
    [
      "a table further down",
      "[daemon.extra]\nx = 1\n\n[daemon]\nhttp_port = 1\n",
      "[daemon.extra]\nx = 1\n\n[daemon]\nhttp_port = 80\n",
    ],
    [
      "a comment that looks like it",
      "[daemon]\n# http_port = 1\nhttp_port = 2\n",
      "[daemon]\n# http_port = 1\nhttp_port = 80\n",
    ],
  ])("%s", (_what, before, wanted) => {
    expect(setValue(before, "daemon", "http_port", 80)).toBe(wanted);
    expect(setValue(wanted, "daemon", "http_port", 80)).toBe(wanted);
  });

  test("a text keeps its quotes", () => {
    expect(setValue("[daemon]\nlog_level = 'info'\n", "daemon", "log_level", "warn")).toContain(" 'warn'\n");
  });

  test.each([
    ["a comment with a separator of lines", "# a\u2028b = [\n"],
    ["texts that look like something else", `x = '[daemon]'\ny = """\n[daemon]\n\\""" ""\n"""""\nz = '''\n#'''''\n`],
    ["dates with a space", "x = 1979-05-27 07:32:00Z # d\ny = [1979-05-27 07:32:00, 07:32:00]\n"],
    ["quoted keys with dots", `"a.b" . 'c' = { "d\\u0065" = 1, f.g = [ { h = "}" } ] }\n`],
    ["many lines", "# a\n\n".repeat(20_000)],
    ["a long text", `x = """${'\\"é"\n'.repeat(20_000)}"""\n`],
  ])("above it: %s", (_what, above) => {
    const text = (port: string) => `${above}[daemon]\nhttp_port = ${port}\n`;
    expect(setValue(text("1"), "daemon", "http_port", 80)).toBe(text("80"));
    expect(positionOf(text("1"), ["daemon", "http_port"])).toEqual({ line: above.split("\n").length + 1, column: 13 });
  });

  test("places are told by line and column", () => {
    const text = "# http_port = 1\ndaemon.http_port = 2\n[dev]\n  vendor_password = 3\n";
    expect(positionOf(text, ["daemon", "http_port"])).toEqual({ line: 2, column: 20 });
    expect(positionOf(text, ["dev", "vendor_password"])).toEqual({ line: 4, column: 21 });
    expect(positionOf(text, ["dev"])).toEqual({ line: 3, column: 1 });
    expect(positionOf(text, ["discovery", "hosts"])).toBeNull();
    const marked = "\ufeffdaemon.http_port = 2\n[dev]\nvendor_password = 3\n";
    expect(positionOf(marked, ["daemon", "http_port"])).toEqual({ line: 1, column: 20 });
    expect(positionOf(marked, ["dev", "vendor_password"])).toEqual({ line: 3, column: 19 });
  });
});

/* Lists in place: entries come and go, and the lines and comments of those that stay, stay. */
describe("lists", () => {
  test("a list keeps its lines, and the comments of the entries that stay", () => {
    const before =
      '[daemon]\ncors_allowed_origins = [ # mine\n  # the board\n  "http://a.test", # one\n\n  # the wall\n  "http://b.test", # two\n] # end\n';
    const edit = (...value: string[]) => setValue(before, "daemon", "cors_allowed_origins", value);
    expect(edit("http://a.test", "http://b.test")).toBe(before);
    expect(edit("http://a.test", "http://c.test")).toBe(before.replace("b.test", "c.test"));
    for (const comment of ["# mine", "# the board", "# one", "# the wall", "# two", "# end"]) {
      expect(edit("http://a.test", "http://b.test", "http://c.test")).toContain(comment);
    }
    for (const comment of ["# mine", "# the board", "# one", "# end"]) expect(edit("http://a.test")).toContain(comment);
    for (const comment of ["# the wall", "# two"]) expect(edit("http://b.test")).toContain(comment);
  });

  test.each([
    ["one goes from a line", "['x', 'y'] # c", ["x"], "['x'] # c"],
    ["the first goes from a line", "['x', 'y']", ["y"], "[ 'y']"],
    ["all go", "['x', 'y']", [], "[]"],
    ["one comes behind a comma", "['x', 'y',]", ["x", "y", "z"], `['x', 'y', "z",]`],
    ["one takes the place of another", "[ 'x' , 'y' ]", ["z", "y"], `[ "z" , 'y' ]`],
    ["one comes on a line of its own", "[\n  'x',\n  'y' # y\n]", ["x", "y", "z"], `[\n  'x',\n  'y', # y\n  "z"\n]`],
    ["none there but a comment", "[ # none\n]", ["x"], `["x" # none\n]`],
    ["a comma on a line of its own", "['x' # x\n, 'y']", ["x"], "['x' # x\n]"],
    ["lists and tables in it", "[['a', ']'], { b = '}' }, 'y']", ["y"], "[ 'y']"],
    ["no list before", "5 # c", ["x"], '["x"] # c'],
  ])("a list: %s", (_what, before, value, wanted) => {
    const text = (list: string) => `[daemon]\ncors_allowed_origins = ${list}\n[dev]\n`;
    expect(setValue(text(before), "daemon", "cors_allowed_origins", value)).toBe(text(wanted));
  });
});
