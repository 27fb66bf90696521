/**
 * Edits single settings in the text of a TOML file. Nothing but a changed value's own characters, or one added line,
 * differs afterwards: writing the whole document anew would straighten the user's indentation and spacing.
 * By hand, as no library does that: @decimalturn/toml-patch 3.3.0 fails test/config/edit*.test.ts. It moves or drops comments
 * when a default is put back, changes the quotes and the spacing of lists, the indentation of added lines and the end of the
 * file, and so breaks the property that one value changes and nothing else does.
 */
import { parse } from "smol-toml";
import { isObject } from "../system/json.ts";
import { blocksOf, type Item, itemsOf, lineOf, rowsIn, type Span, tomlLiteral } from "./toml.ts";

/** The text with a setting at a new value: in its place where it is written, or as a line of its own. */
export function setValue(text: string, section: string, key: string, value: unknown): string {
  const before: Record<string, unknown> = parse(text);
  const table = before[section] as Record<string, unknown> | undefined;
  const edited = edit(text, section, key, value, table?.[key]);
  const wanted = { ...before, [section]: { ...table, [key]: value } };
  // The user's file is not ours to damage, whatever it holds.
  if (canonicalJson(parse(edited)) !== canonicalJson(wanted)) throw new Error("the text would not hold what it should");
  return edited;
}

function edit(text: string, section: string, key: string, value: unknown, before: unknown): string {
  const blocks = blocksOf(text);
  const rows = blocks.flatMap((block) => block.rows.flatMap((row) => [...rowsIn(text, row)]));
  const written = rows.find(({ path }) => isPath(path, section, key));
  if (written) return replace(text, written.value, (old) => valueText(old, before, value));
  const row = `${key} = ${tomlLiteral(value)}`;
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
export function positionOf(text: string, path: readonly string[]): { line: number; column: number } | null {
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
function valueText(old: string, before: unknown, value: unknown): string {
  if (JSON.stringify(before) === JSON.stringify(value)) return old;
  if (Array.isArray(value) && Array.isArray(before)) return listText(old, before, value);
  const base = { "0x": 16, "0o": 8, "0b": 2 }[old.slice(0, 2)];
  if (typeof value === "number" && base && value >= 0) return `${old.slice(0, 2)}${value.toString(base)}`;
  const quoted = typeof value === "string" && /^'(?!'')/.test(old) && !/['\p{Cc}]/u.test(value);
  return quoted ? `'${value}'` : tomlLiteral(value);
}

/** An entry of a list, with all that is its own: the comments above it, the comma, the comment behind it. */
interface Entry {
  readonly above: string;
  readonly text: string;
  readonly gap: string;
  readonly behind: string;
}

/** A list's text for other entries: those that stay keep theirs, and one that goes leaves its place to one that comes. */
function listText(old: string, before: readonly unknown[], value: readonly unknown[]): string {
  const items = itemsOf(old, 0);
  const head = lineEnd(old, 1);
  const starts = items.map((_, at) => (at === 0 ? head : entryEnd(old, items[at - 1])));
  const entries = items.map(
    (item, at): Entry => ({
      above: old.slice(starts[at], item.from),
      text: old.slice(item.from, item.to),
      gap: old.slice(item.to, item.comma ?? item.to),
      behind: old.slice(item.comma === null ? item.to : item.comma + 1, entryEnd(old, item)),
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
    return kept[at] ?? { ...(place ?? surroundingsOf(last, at === 0)), text: tomlLiteral(one) };
  });
  const comma = items.at(-1)?.comma !== null && items.length > 0;
  const lines = next.map(({ above, text, gap, behind }, at) =>
    comma || at < next.length - 1 ? `${above}${text}${gap},${behind}` : `${above}${text}${gap}${behind}`,
  );
  const tail = items.length > 0 ? entryEnd(old, items.at(-1)) : head;
  // A list that was empty begins behind its bracket, whatever it holds in comments.
  return items.length === 0
    ? `[${lines.join("")}${old.slice(1)}`
    : old.slice(0, head) + lines.join("") + old.slice(tail);
}

/** What stands around a further entry: a line of its own where the one before has one. */
function surroundingsOf(before: Entry | undefined, first: boolean): Entry {
  const indent = /(?:^|\n)([ \t]*)$/.exec(before?.above ?? "x")?.[1];
  const end = /\r?\n$/.exec(before?.behind ?? "")?.[0];
  if (indent !== undefined && end !== undefined) return { above: indent, text: "", gap: "", behind: end };
  return { above: first ? "" : " ", text: "", gap: "", behind: "" };
}

/** Where what belongs to an entry ends: with its line, unless another entry is on it. */
function entryEnd(text: string, item: Item | undefined): number {
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

function newline(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

/** The JSON of a value with its keys sorted: the same for two that hold the same. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, one: unknown) =>
    isObject(one) ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1))) : one,
  );
}
