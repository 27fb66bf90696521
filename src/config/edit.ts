/**
 * Edits single settings in the text of a TOML file. Nothing but a changed value's own characters, or one added line,
 * differs afterwards: writing the whole document anew would straighten the user's indentation and spacing.
 * By hand, as no library does that: @decimalturn/toml-patch 3.3.0 fails test/config/edit*.test.ts. It moves or drops comments
 * when a default is put back, changes the quotes and the spacing of lists, the indentation of added lines and the end of the
 * file, and so breaks the property that one value changes and nothing else does.
 */
import { parse } from "smol-toml";
import { isObject } from "../system/json.ts";

/** The text with a setting at a new value: in its place where it is written, or as a line of its own. */
export function setValue(text: string, section: string, key: string, value: unknown): string {
  const before: Record<string, unknown> = parse(text);
  const table = before[section] as Record<string, unknown> | undefined;
  const edited = edit(text, section, key, value, table?.[key]);
  const wanted = { ...before, [section]: { ...table, [key]: value } };
  // The user's file is not ours to damage, whatever it holds.
  if (inOrder(parse(edited)) !== inOrder(wanted)) throw new Error("the text would not hold what it should");
  return edited;
}

function edit(text: string, section: string, key: string, value: unknown, before: unknown): string {
  const blocks = blocksOf(text);
  const rows = blocks.flatMap((block) => block.rows.flatMap((row) => [...rowsIn(text, row)]));
  const written = rows.find(({ path }) => isPath(path, section, key));
  if (written) return replace(text, written.value, (old) => renewed(old, before, value));
  const row = `${key} = ${literal(value)}`;
  const inline = rows.find(({ path }) => isPath(path, section));
  if (inline) {
    const last = itemsOf(text, inline.value.from).at(-1);
    const at = last?.to ?? inline.value.from + 1;
    return `${text.slice(0, at)}${last ? ", " : ""}${row}${text.slice(at)}`;
  }
  const block = blocks.find(({ head, path }) => head && isPath(path, section));
  if (block) return addLine(text, block.rows.at(-1) ?? block.head ?? { from: 0, to: 0 }, row);
  const dotted = blocks[0]?.rows.findLast(({ path }) => path[0] === section);
  if (dotted) return addLine(text, dotted, `${section}.${row}`);
  const end = newline(text);
  const gap = text === "" ? "" : text.endsWith("\n") ? end : end + end;
  return `${text}${gap}[${section}]${end}${row}${end}`;
}

/** Where a setting's value, or a section, is written; `null` when it is not. Lines and columns count from one. */
export function placeOf(text: string, path: readonly string[]): { line: number; column: number } | null {
  const blocks = blocksOf(text);
  const rows = blocks.flatMap((block) => block.rows.flatMap((row) => [...rowsIn(text, row)]));
  const value = rows.find((row) => isPath(row.path, ...path))?.value;
  const start = (value ?? blocks.find((block) => block.head && isPath(block.path, ...path))?.head)?.from;
  if (start === undefined) return null;
  return { line: text.slice(0, start).split("\n").length, column: start - lineOf(text, start) + 1 };
}

function isPath(path: readonly string[], ...wanted: string[]): boolean {
  return path.length === wanted.length && path.every((word, at) => word === wanted[at]);
}

/** A value's text for another value: in its base, its quotes, and with the comments of the entries that stay. */
function renewed(old: string, before: unknown, value: unknown): string {
  if (JSON.stringify(before) === JSON.stringify(value)) return old;
  if (Array.isArray(value) && Array.isArray(before)) return renewedList(old, before, value);
  const base = { "0x": 16, "0o": 8, "0b": 2 }[old.slice(0, 2)];
  if (typeof value === "number" && base && value >= 0) return `${old.slice(0, 2)}${value.toString(base)}`;
  const quoted = typeof value === "string" && /^'(?!'')/.test(old) && !/['\p{Cc}]/u.test(value);
  return quoted ? `'${value}'` : literal(value);
}

/** A value as TOML writes it. JSON's texts are TOML's, but for one character that TOML wants escaped. */
function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  return JSON.stringify(value).replaceAll("\x7f", "\\u007f");
}

/** An entry of a list, with all that is its own: the comments above it, the comma, the comment behind it. */
interface Entry {
  readonly above: string;
  readonly text: string;
  readonly gap: string;
  readonly behind: string;
}

/** A list's text for other entries: those that stay keep theirs, and one that goes leaves its place to one that comes. */
function renewedList(old: string, before: readonly unknown[], value: readonly unknown[]): string {
  const items = itemsOf(old, 0);
  const head = lineEnd(old, 1);
  const starts = items.map((_, at) => (at === 0 ? head : behindOf(old, items[at - 1])));
  const entries = items.map(
    (item, at): Entry => ({
      above: old.slice(starts[at], item.from),
      text: old.slice(item.from, item.to),
      gap: old.slice(item.to, item.comma ?? item.to),
      behind: old.slice(item.comma === null ? item.to : item.comma + 1, behindOf(old, item)),
    }),
  );
  const left = new Map(entries.entries());
  const kept = value.map((one) => {
    const at = [...left.keys()].find((index) => before[index] === one);
    const entry = at === undefined ? undefined : left.get(at);
    if (at !== undefined) left.delete(at);
    return entry;
  });
  const places = [...left.values()];
  const last = entries.at(-1);
  const next = value.map((one, at): Entry => {
    const place = kept[at] ?? places.shift();
    return kept[at] ?? { ...(place ?? beside(last, at === 0)), text: literal(one) };
  });
  const comma = items.at(-1)?.comma !== null && items.length > 0;
  const lines = next.map(({ above, text, gap, behind }, at) =>
    comma || at < next.length - 1 ? `${above}${text}${gap},${behind}` : `${above}${text}${gap}${behind}`,
  );
  const tail = items.length > 0 ? behindOf(old, items.at(-1)) : head;
  // A list that was empty begins behind its bracket, whatever it holds in comments.
  return items.length === 0
    ? `[${lines.join("")}${old.slice(1)}`
    : old.slice(0, head) + lines.join("") + old.slice(tail);
}

/** What stands around a further entry: a line of its own where the one before has one. */
function beside(before: Entry | undefined, first: boolean): Entry {
  const indent = /(?:^|\n)([ \t]*)$/.exec(before?.above ?? "x")?.[1];
  const end = /\r?\n$/.exec(before?.behind ?? "")?.[0];
  if (indent !== undefined && end !== undefined) return { above: indent, text: "", gap: "", behind: end };
  return { above: first ? "" : " ", text: "", gap: "", behind: "" };
}

/** Where what belongs to an entry ends: with its line, unless another entry is on it. */
function behindOf(text: string, item: Item | undefined): number {
  return item ? lineEnd(text, item.comma === null ? item.to : item.comma + 1) : 0;
}

/** Behind the end of the line, when there is nothing on it but a comment; else here. */
function lineEnd(text: string, at: number): number {
  const rest = /[ \t]*\r?(?:#[^\n]*)?\n/y;
  rest.lastIndex = at;
  return rest.test(text) ? rest.lastIndex : at;
}

function replace(text: string, { from, to }: Span, change: (old: string) => string): string {
  return text.slice(0, from) + change(text.slice(from, to)) + text.slice(to);
}

/** Adds a line below a row, indented like it. */
function addLine(text: string, above: Span, line: string): string {
  const indent = /^[ \t]*/.exec(text.slice(lineOf(text, above.from), above.from));
  const added = `${indent?.[0] ?? ""}${line}`;
  const end = text.indexOf("\n", above.to);
  if (end === -1) return `${text}${newline(text)}${added}`;
  return `${text.slice(0, end + 1)}${added}${newline(text)}${text.slice(end + 1)}`;
}

/** Where the line of an offset begins, behind a byte order mark. */
function lineOf(text: string, at: number): number {
  const start = text.lastIndexOf("\n", at - 1) + 1;
  return start === 0 && text.startsWith("\ufeff") ? 1 : start;
}

function newline(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

/** The JSON of a value with its keys sorted: the same for two that hold the same. */
function inOrder(value: unknown): string {
  return JSON.stringify(value, (_key, one: unknown) =>
    isObject(one) ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1))) : one,
  );
}

/*
 * Where the keys and values of a TOML text stand. The text has been parsed before: what is not TOML is not told from it
 * here. Offsets count UTF-16 units from 0, `to` being the first behind.
 */

interface Span {
  readonly from: number;
  readonly to: number;
}

/** A value of a list, or a row of an inline table, and where the comma behind it is; `null` behind the last. */
interface Item extends Span {
  readonly comma: number | null;
}

/** `key = value`, however it is written: under a table's head, with dots, or in an inline table. */
interface Row extends Span {
  /** The keys from the root. */
  readonly path: readonly string[];
  readonly value: Span;
}

/** What stands below one head, or above the first, where there is no head. */
interface Block {
  readonly path: readonly string[];
  readonly head: Span | null;
  readonly rows: readonly Row[];
}

const key = /(?:[\w-]+|"(?:[^"\\]+|\\.)*"|'[^']*')(?:[ \t]*\.[ \t]*(?:[\w-]+|"(?:[^"\\]+|\\.)*"|'[^']*'))*/y;
/** Space, ends of lines, comments; at the very start a byte order mark, too. */
const nothing = /(?:\s+|#[^\n]*)*/y;
const equals = /[ \t]*=[ \t]*/y;
/** Every value but lists and tables. A long text may end with two quotes of its own, a date hold one space. */
const plain =
  /"""(?:[^"\\]+|\\[\s\S]|"{1,2}(?!"))*"{3,5}|'''(?:[^']+|'{1,2}(?!'))*'{3,5}|"(?:[^"\\]+|\\.)*"|'[^']*'|[^\s,\]}#]+(?: \d\d:[^\s,\]}#]*)?/y;

/** Everything that is written, in its order. */
function blocksOf(text: string): Block[] {
  const blocks = [{ path: [] as string[], head: null as Span | null, rows: [] as Row[] }];
  for (let at = past(nothing, text, 0); at < text.length; at = past(nothing, text, at)) {
    if (text[at] === "[") {
      const inner = past(/\[+[ \t]*/y, text, at);
      const end = past(key, text, inner);
      const to = past(/[ \t]*\]+/y, text, end);
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

/** The row and those of the inline tables in it, from the outside in. */
function* rowsIn(text: string, row: Row): Generator<Row> {
  yield row;
  if (text[row.value.from] !== "{") return;
  for (const { from } of itemsOf(text, row.value.from)) yield* rowsIn(text, rowAt(text, from, row.path));
}

/** What is between the brackets that begin here. */
function itemsOf(text: string, start: number): Item[] {
  return within(text, start).items;
}

function within(text: string, start: number): { items: Item[]; to: number } {
  const items: Item[] = [];
  const inTable = text[start] === "{";
  let at = past(nothing, text, start + 1);
  while (at < text.length && text[at] !== "]" && text[at] !== "}") {
    const from = at;
    const to = inTable ? rowAt(text, from, []).to : endOf(text, from);
    at = past(nothing, text, to);
    const comma = text[at] === "," ? at : null;
    if (comma !== null) at = past(nothing, text, comma + 1);
    items.push({ from, to, comma });
  }
  return { items, to: at + 1 };
}

function rowAt(text: string, from: number, above: readonly string[]): Row {
  const end = past(key, text, from);
  const value = past(equals, text, end);
  const to = endOf(text, value);
  return { path: [...above, ...pathOf(text.slice(from, end))], from, to, value: { from: value, to } };
}

function endOf(text: string, from: number): number {
  return text[from] === "[" || text[from] === "{" ? within(text, from).to : past(plain, text, from);
}

/** The words of a key, read by the parser, which knows how they may be quoted. */
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

/** Where the text goes on behind what the pattern takes. */
function past(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  if (pattern.test(text)) return pattern.lastIndex;
  throw new Error(`this is not TOML as it was read, at ${at}`);
}
