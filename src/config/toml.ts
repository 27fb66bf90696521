/**
 * Finds the positions of keys and values in a TOML text, which the parser does not give. The text must have been parsed: it is
 * not validated here. Offsets count UTF-16 units from 0; `to` is the first offset behind.
 */
import { parse } from "smol-toml";
import { textOf } from "../api/errors.ts";
import { isObject } from "../system/json.ts";

/** The path to a value: keys, and indexes in lists from 0. */
export type Path = readonly (string | number)[];

/**
 * Gives the function that finds the line of a path, from 1: the head of a table, the key of a value, the start of a list
 * entry. For a path that is not written, the line of its closest parent; `null` where there is none.
 */
export function lineFinder(text: string): (path: Path) => number | null {
  const starts = startsIn(text);
  return (path) => {
    for (let length = path.length; length > 0; length--) {
      const start = starts.get(JSON.stringify(path.slice(0, length)));
      if (start !== undefined) return text.slice(0, start).split("\n").length;
    }
    return null;
  };
}

/** The offset at which each path begins, by the JSON of the path. */
function startsIn(text: string): ReadonlyMap<string, number> {
  const starts = new Map<string, number>();
  /** The tables of each list of tables (`[[name]]`) so far. */
  const counts = new Map<string, number>();
  const note = (path: Path, at: number) => {
    const key = JSON.stringify(path);
    if (!starts.has(key)) starts.set(key, at);
  };
  const noteRow = (above: Path, row: Row, at: number) => {
    for (let length = 1; length <= row.path.length; length++) note([...above, ...row.path.slice(0, length)], at);
    noteValue([...above, ...row.path], row.value.from);
  };
  const noteValue = (path: Path, at: number) => {
    if (text[at] === "{") for (const { from } of itemsOf(text, at)) noteRow(path, rowAt(text, from, []), from);
    if (text[at] !== "[") return;
    for (const [index, { from }] of itemsOf(text, at).entries()) {
      note([...path, index], from);
      noteValue([...path, index], from);
    }
  };
  for (const { path: keys, head, rows } of blocksOf(text)) {
    // Above the first head there are only rows.
    const from = head?.from ?? 0;
    const isList = text.startsWith("[[", from);
    const path: (string | number)[] = [];
    for (const [at, word] of keys.entries()) {
      path.push(word);
      note(path, from);
      const list = JSON.stringify(path);
      if (isList && at === keys.length - 1) counts.set(list, (counts.get(list) ?? 0) + 1);
      const count = counts.get(list);
      if (count !== undefined) path.push(count - 1);
    }
    note(path, from);
    for (const row of rows) noteRow(path, { ...row, path: row.path.slice(keys.length) }, row.from);
  }
  return starts;
}

/** The offset at which the line of an offset begins, behind a byte order mark. */
export function lineOf(text: string, at: number): number {
  const start = text.lastIndexOf("\n", at - 1) + 1;
  return start === 0 && text.startsWith("\ufeff") ? 1 : start;
}

export interface Span {
  readonly from: number;
  readonly to: number;
}

/** An entry of a list or a row of an inline table. `comma`: the offset of the comma behind it, `null` where there is none. */
interface Item extends Span {
  readonly comma: number | null;
}

/** `key = value`: below the head of a table, with dotted keys, or in an inline table. */
export interface Row extends Span {
  /** The keys from the root. */
  readonly path: readonly string[];
  readonly value: Span;
}

/** The rows below one head; above the first head, `head` is `null`. */
interface Block {
  readonly path: readonly string[];
  readonly head: Span | null;
  readonly rows: readonly Row[];
}

const key = /(?:[\w-]+|"(?:[^"\\]+|\\.)*"|'[^']*')(?:[ \t]*\.[ \t]*(?:[\w-]+|"(?:[^"\\]+|\\.)*"|'[^']*'))*/y;
/** White space, line ends and comments; `\s` also takes a byte order mark. */
const blankOrComment = /(?:\s+|#[^\n]*)*/y;
const equals = /[ \t]*=[ \t]*/y;
/** Every value except lists and tables. A multi-line text may end with two quotes of its own, and a date may hold one space. */
const scalar =
  /"""(?:[^"\\]+|\\[\s\S]|"{1,2}(?!"))*"{3,5}|'''(?:[^']+|'{1,2}(?!'))*'{3,5}|"(?:[^"\\]+|\\.)*"|'[^']*'|[^\s,\]}#]+(?: \d\d:[^\s,\]}#]*)?/y;

/** The blocks of the text, in order. */
export function blocksOf(text: string): Block[] {
  const blocks = [{ path: [] as string[], head: null as Span | null, rows: [] as Row[] }];
  for (let at = skip(blankOrComment, text, 0); at < text.length; at = skip(blankOrComment, text, at)) {
    if (text[at] === "[") {
      const inner = skip(/\[+[ \t]*/y, text, at);
      const end = skip(key, text, inner);
      const to = skip(/[ \t]*\]+/y, text, end);
      blocks.push({ path: pathOf(text.slice(inner, end)), head: { from: at, to }, rows: [] });
      at = to;
    } else {
      const block = blocks.at(-1);
      const row = rowAt(text, at, block?.path ?? []);
      block?.rows.push(row);
      at = row.to;
    }
  }
  return blocks;
}

/** The row, then the rows of inline tables in it, from the outside in. */
export function* rowsIn(text: string, row: Row): Generator<Row> {
  yield row;
  if (text[row.value.from] !== "{") return;
  for (const { from } of itemsOf(text, row.value.from)) yield* rowsIn(text, rowAt(text, from, row.path));
}

/** The items between the brackets that begin at `start`. */
export function itemsOf(text: string, start: number): Item[] {
  return itemsAndEnd(text, start).items;
}

function itemsAndEnd(text: string, start: number): { items: Item[]; to: number } {
  const items: Item[] = [];
  const inTable = text[start] === "{";
  let at = skip(blankOrComment, text, start + 1);
  while (at < text.length && text[at] !== "]" && text[at] !== "}") {
    const from = at;
    const to = inTable ? rowAt(text, from, []).to : endOf(text, from);
    at = skip(blankOrComment, text, to);
    const comma = text[at] === "," ? at : null;
    if (comma !== null) at = skip(blankOrComment, text, comma + 1);
    items.push({ from, to, comma });
  }
  return { items, to: at + 1 };
}

function rowAt(text: string, from: number, above: readonly string[]): Row {
  const end = skip(key, text, from);
  const value = skip(equals, text, end);
  const to = endOf(text, value);
  return { path: [...above, ...pathOf(text.slice(from, end))], from, to, value: { from: value, to } };
}

function endOf(text: string, from: number): number {
  return text[from] === "[" || text[from] === "{" ? itemsAndEnd(text, from).to : skip(scalar, text, from);
}

/** The words of a dotted key, which the TOML parser unquotes. */
function pathOf(written: string): string[] {
  const path: string[] = [];
  let table: unknown = parse(`${written} = 0`);
  while (typeof table === "object" && table !== null) {
    const [word = ""] = Object.keys(table);
    path.push(word);
    table = (table as Record<string, unknown>)[word];
  }
  return path;
}

/** The offset behind the match of a sticky pattern. */
function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  if (pattern.test(text)) return pattern.lastIndex;
  throw new Error(`the text is not the TOML that was parsed, at offset ${at}`);
}

/** A value as TOML on one line. JSON texts are TOML texts, except that TOML wants DEL escaped. */
export function tomlLiteral(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(tomlLiteral).join(", ")}]`;
  if (!isObject(value)) return JSON.stringify(value).replaceAll("\x7f", "\\u007f");
  return `{ ${Object.entries(value)
    .map(([key, one]) => `${key} = ${tomlLiteral(one)}`)
    .join(", ")} }`;
}

/** Why a text is not TOML. Only the first line of the parser's message, since the rest quotes the text, which may hold a password. */
export function parseErrorText(error: unknown): string {
  const [first = ""] = textOf(error).split("\n");
  return first.replace(/^Invalid TOML document: /, "");
}
