/**
 * Edits single settings in the text of a TOML file: only the characters of the value change, or one line is added. Written by
 * hand because no library does that: @decimalturn/toml-patch 3.3.0 fails test/config/edit.test.ts. It moves or drops comments,
 * and changes quotes, the spacing of lists, the indentation of added lines and the end of the file.
 */
import { isDeepStrictEqual } from "node:util";
import { parse } from "smol-toml";
import { blocksOf, itemsOf, lineOf, rowsIn, type Span, tomlLiteral } from "./toml.ts";

/** The text with a setting at a new value: in place where it is written, else on a new line. Throws where the result would not parse to that. */
export function setValue(text: string, section: string, key: string, value: unknown): string {
  const before: Record<string, unknown> = parse(text);
  const table = before[section] as Record<string, unknown> | undefined;
  const edited = edit(text, section, key, value, table?.[key]);
  const wanted = { ...before, [section]: { ...table, [key]: value } };
  // Whatever the file holds, the edit must not damage it.
  if (!isDeepStrictEqual(asJson(parse(edited)), asJson(wanted)))
    throw new Error("the edited text would not have the new value");
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
  const block = blocks.find(({ path }) => isPath(path, section));
  const above = block?.rows.at(-1) ?? block?.head;
  if (above) return addLine(text, above, row);
  const dotted = blocks[0]?.rows.findLast(({ path }) => path[0] === section);
  if (dotted) return addLine(text, dotted, `${section}.${row}`);
  const end = newline(text);
  const gap = text === "" ? "" : text.endsWith("\n") ? end : end + end;
  return `${text}${gap}[${section}]${end}${row}${end}`;
}

/** Where the value of a setting, or a section, is written; `null` where it is not. Lines and columns count from 1. */
export function positionOf(text: string, path: readonly string[]): { line: number; column: number } | null {
  const blocks = blocksOf(text);
  const rows = blocks.flatMap((block) => block.rows.flatMap((row) => [...rowsIn(text, row)]));
  const value = rows.find((row) => isPath(row.path, ...path))?.value;
  const start = (value ?? blocks.find((block) => isPath(block.path, ...path))?.head)?.from;
  if (start === undefined) return null;
  return { line: text.slice(0, start).split("\n").length, column: start - lineOf(text, start) + 1 };
}

function isPath(path: readonly string[], ...wanted: string[]): boolean {
  return path.length === wanted.length && path.every((word, at) => word === wanted[at]);
}

/** The text of a new value, in the base and quotes of the old text, and with the comments of list entries that stay. */
function valueText(old: string, before: unknown, value: unknown): string {
  if (JSON.stringify(before) === JSON.stringify(value)) return old;
  if (Array.isArray(value) && Array.isArray(before)) return listText(old, before, value);
  const base = { "0x": 16, "0o": 8, "0b": 2 }[old.slice(0, 2)];
  if (typeof value === "number" && base) return `${old.slice(0, 2)}${value.toString(base)}`;
  const quoted = typeof value === "string" && /^'(?!'')/.test(old) && !/['\p{Cc}]/u.test(value);
  return quoted ? `'${value}'` : tomlLiteral(value);
}

/** An entry of a list with its surroundings: the comments above it, the gap before the comma, the comment behind it. */
interface Entry {
  readonly above: string;
  readonly text: string;
  readonly gap: string;
  readonly behind: string;
}

/** The text of a list with other entries. Entries that stay keep their surroundings; a new one takes those of a removed one. */
function listText(old: string, before: readonly unknown[], value: readonly unknown[]): string {
  const items = itemsOf(old, 0);
  const head = lineEnd(old, 1);
  // An entry ends with its line, unless another entry is on that line.
  const ends = items.map(({ to, comma }) => lineEnd(old, comma === null ? to : comma + 1));
  const entries = items.map(
    (item, at): Entry => ({
      above: old.slice(at === 0 ? head : ends[at - 1], item.from),
      text: old.slice(item.from, item.to),
      gap: old.slice(item.to, item.comma ?? item.to),
      behind: old.slice(item.comma === null ? item.to : item.comma + 1, ends[at]),
    }),
  );
  const left = new Map(entries.entries());
  const kept = value.map((one) => {
    const found = [...left].find(([at]) => before[at] === one);
    if (found) left.delete(found[0]);
    return found?.[1];
  });
  const places = [...left.values()];
  const last = entries.at(-1);
  const next = value.map((one, at): Entry => {
    const place = kept[at] ?? places.shift();
    return kept[at] ?? { ...(place ?? surroundingsOf(last, at === 0)), text: tomlLiteral(one) };
  });
  const endsWithComma = typeof items.at(-1)?.comma === "number";
  const lines = next.map(({ above, text, gap, behind }, at) =>
    endsWithComma || at < next.length - 1 ? `${above}${text}${gap},${behind}` : `${above}${text}${gap}${behind}`,
  );
  // The first entries of an empty list stand directly behind its bracket, before any comments.
  if (items.length === 0) return `[${lines.join("")}${old.slice(1)}`;
  return old.slice(0, head) + lines.join("") + old.slice(ends.at(-1));
}

/** The surroundings of an added entry: a line of its own where the entry before has one. */
function surroundingsOf(before: Entry | undefined, first: boolean): Entry {
  const { above = "", behind = "" } = before ?? {};
  const end = /\r?\n$/.exec(behind)?.[0];
  // Indented like that one, without the comments above it.
  if (end !== undefined) return { above: above.replace(/.*\n/s, ""), text: "", gap: "", behind: end };
  return { above: first ? "" : " ", text: "", gap: "", behind: "" };
}

/** The start of the next line where only a comment follows on this one; else `at`. */
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

/** The value without what JSON does not tell apart, such as -0 and 0. */
function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
