/**
 * Edits single settings in the text of a TOML file. Nothing but a changed value's own characters, or one added line,
 * differs afterwards: writing the whole document anew would straighten the user's indentation and spacing.
 */
import { parse, parseDocument, patch, stringify, type TomlDocument } from "@decimalturn/toml-patch";

type Block = TomlDocument["cst"][number];
type Row = Extract<Block, { equals: number }>;
type Span = Row["loc"];

/** A row with its whole path, however it is written: under a table's head, with dots, or in an inline table. */
interface Found {
  readonly path: readonly string[];
  readonly row: Row;
}

/** The text with a setting at a new value: in its place where it is written, or as a line of its own. */
export function setValue(text: string, section: string, key: string, value: unknown): string {
  const { cst } = parseDocument(text);
  const rows = [...rowsOf(cst)];
  const written = rows.find(({ path }) => isPath(path, section, key));
  if (written) return replace(text, written.row.value.loc, (old) => renewed(old, value));
  const inline = rows.find(({ path }) => isPath(path, section));
  if (inline) return replace(text, inline.row.value.loc, (old) => renewed(old, { ...tableIn(old), [key]: value }));
  const row = stringify({ [key]: value }, { bracketSpacing: false }).trim();
  for (const block of cst) {
    if (!("items" in block) || !isPath(block.key.item.value, section)) continue;
    return addLine(text, block.items.findLast((item) => "equals" in item)?.loc ?? block.key.loc, row);
  }
  const dotted = rows.findLast(({ path, row }) => path[0] === section && cst.includes(row));
  if (dotted) return addLine(text, dotted.row.loc, `${section}.${row}`);
  const end = newline(text);
  const gap = text === "" ? "" : text.endsWith("\n") ? end : end + end;
  return `${text}${gap}[${section}]${end}${row}${end}`;
}

/** Where a setting's value, or a section, is written; `null` when it is not. Lines and columns count from one. */
export function placeOf(text: string, path: readonly string[]): { line: number; column: number } | null {
  const { cst } = parseDocument(text);
  const row = [...rowsOf(cst)].find((found) => isPath(found.path, ...path))?.row.value;
  const table = cst.find((block) => "items" in block && isPath(block.key.item.value, ...path));
  const start = (row ?? table)?.loc.start;
  return start ? { line: start.line, column: start.column + 1 } : null;
}

function* rowsOf(blocks: readonly Block[]): Generator<Found> {
  for (const block of blocks) {
    if ("equals" in block) yield* rowsIn([], block);
    else if ("items" in block)
      for (const item of block.items) if ("equals" in item) yield* rowsIn(block.key.item.value, item);
  }
}

function* rowsIn(above: readonly string[], row: Row): Generator<Found> {
  const path = [...above, ...row.key.value];
  yield { path, row };
  if (!("items" in row.value)) return;
  // An item with a key is a row of an inline table; an array's has none.
  for (const { item } of row.value.items) if ("equals" in item) yield* rowsIn(path, item as Row);
}

function isPath(path: readonly string[], ...wanted: string[]): boolean {
  return path.length === wanted.length && path.every((word, at) => word === wanted[at]);
}

/** A value's text changed by the library, which keeps its quotes, its base and an array's comments. */
function renewed(old: string, value: unknown): string {
  return patch(`${asRow}${old}`, { value }).slice(asRow.length);
}

function tableIn(old: string): object {
  return parse(`${asRow}${old}`).value;
}

const asRow = "value = ";

function replace(text: string, span: Span, change: (old: string) => string): string {
  const [from, to] = [offsetOf(text, span.start), offsetOf(text, span.end)];
  return text.slice(0, from) + change(text.slice(from, to)) + text.slice(to);
}

/** Adds a line below a row, indented like it. */
function addLine(text: string, above: Span, line: string): string {
  const indent = /^\s*/.exec(
    text.slice(offsetOf(text, { line: above.start.line, column: 0 }), offsetOf(text, above.start)),
  );
  const added = `${indent?.[0] ?? ""}${line}`;
  const end = text.indexOf("\n", offsetOf(text, above.end));
  if (end === -1) return `${text}${newline(text)}${added}`;
  return `${text.slice(0, end + 1)}${added}${newline(text)}${text.slice(end + 1)}`;
}

function offsetOf(text: string, { line, column }: Span["start"]): number {
  // The library does not count a byte order mark.
  let start = line === 1 && text.startsWith("\ufeff") ? 1 : 0;
  for (let before = 1; before < line; before++) start = text.indexOf("\n", start) + 1;
  return start + column;
}

function newline(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}
