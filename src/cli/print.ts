/** Text for people: aligned, and without the control characters that a device may have sent. */
import { textOf as messageOf, systemCode } from "../api/errors.ts";
import { printable } from "../system/printable.ts";
import { type Context, stdout } from "./context.ts";

interface Column {
  readonly title: string;
  /** The column with the highest number is shortened first on a narrow terminal. Without a number it is never shortened. */
  readonly shrinkOrder?: number;
  /** The width that stays as long as another column can be left out. */
  readonly keptWidth?: number;
  /** The column with the highest number is left out first where shortening is not enough. Without one it is never left out. */
  readonly dropOrder?: number;
}

/** A text, or one in a colour. */
export type Cell = string | { readonly text: string; paint(shown: string): string };

const gap = "  ";

/** A table without rules, its columns aligned and cut to the width. Without titles it has no head. */
export function table(columns: readonly Column[], rows: readonly (readonly Cell[])[], width: number): string {
  const head = columns.some(({ title }) => title !== "") ? [columns.map(({ title }) => title)] : [];
  const cells = [...head, ...rows.map((row) => row.map(clean))];
  const natural = columns.map((_, at) =>
    cells.reduce((most, row) => Math.max(most, columnsOf(textOf(row[at] ?? ""))), 0),
  );
  const { shown, widths } = fitting(columns, natural, width);
  return cells
    .map((row) => {
      const kept = shown.map((at) => row[at] ?? "");
      const last = kept.findLastIndex((cell) => textOf(cell) !== "");
      return kept
        .slice(0, last + 1)
        .map((cell, at) => fit(cell, widths[at] ?? 0, at === last))
        .join(gap);
    })
    .join("\n");
}

/** Rows of a name and a value, without a head, at their full width. */
export function listOf(rows: readonly (readonly [name: string, value: string])[]): string {
  return table([{ title: "" }, { title: "" }], rows, Number.POSITIVE_INFINITY);
}

/** The width to which a text is shortened while others can be left out, and the least width. */
const readableWidth = 8;
const minimumWidth = 3;

/** Which columns are shown, and how wide: shortened first, then left out, then shortened to the minimum. */
function fitting(
  columns: readonly Column[],
  natural: readonly number[],
  width: number,
): { shown: readonly number[]; widths: readonly number[] } {
  const droppable = inOrder(columns, "dropOrder");
  let shown = columns.map((_, at) => at);
  for (;;) {
    const widths = shown.map((at) => natural[at] ?? 0);
    const shownColumns = shown.map((at) => columns[at] ?? { title: "" });
    shrink(shownColumns, widths, width, ({ keptWidth }) => keptWidth ?? readableWidth);
    const next = droppable.shift();
    if (excess(widths, width) <= 0 || next === undefined) {
      shrink(shownColumns, widths, width, () => minimumWidth);
      return { shown, widths };
    }
    shown = shown.filter((at) => at !== next);
  }
}

function excess(widths: readonly number[], width: number): number {
  return widths.reduce((sum, one) => sum + one + gap.length, -gap.length) - width;
}

/** Shortens the least important columns first, each down to what `keeps` says. */
function shrink(columns: readonly Column[], widths: number[], width: number, keeps: (column: Column) => number): void {
  for (const at of inOrder(columns, "shrinkOrder")) {
    const now = widths[at] ?? 0;
    const fitting = now - excess(widths, width);
    widths[at] = Math.min(now, Math.max(keeps(columns[at] ?? { title: "" }), fitting));
  }
}

/** The indexes of the columns that have such a number, the highest number first. */
function inOrder(columns: readonly Column[], name: "shrinkOrder" | "dropOrder"): number[] {
  const order = (at: number) => columns[at]?.[name] ?? -1;
  return [...columns.keys()].filter((at) => order(at) >= 0).sort((one, other) => order(other) - order(one));
}

function clean(cell: Cell): Cell {
  return typeof cell === "string" ? printable(cell) : { text: printable(cell.text), paint: cell.paint };
}

function textOf(cell: Cell): string {
  return typeof cell === "string" ? cell : cell.text;
}

function fit(cell: Cell, width: number, last: boolean): string {
  const text = cut(textOf(cell), width);
  const shown = typeof cell === "string" ? text : cell.paint(text);
  return last ? shown : shown + " ".repeat(width - columnsOf(text));
}

/** The text; where it takes more than `width` columns, its beginning and an ellipsis. */
export function cut(text: string, width: number): string {
  if (columnsOf(text) <= width) return text;
  let shown = "";
  let left = width - 1;
  for (const character of text) {
    left -= columnsOf(character);
    if (left < 0) break;
    shown += character;
  }
  return `${shown}…`;
}

/** Whether to colour an output: `--no-color` and $NO_COLOR say no, $FORCE_COLOR says yes, else a terminal that is not dumb. */
export function usesColour(
  terminal: boolean,
  refused: boolean,
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = env;
  if (refused || NO_COLOR || FORCE_COLOR === "0" || FORCE_COLOR === "false") return false;
  return Boolean(FORCE_COLOR) || (terminal && TERM !== "dumb");
}

/** Whether stdout takes colour. */
export function isColoured(context: Context): boolean {
  return usesColour(stdout().isTTY === true, context.flag("no-color"), process.env);
}

/** Functions that colour a text where `colour` is set. */
export function paintFor(colour: boolean) {
  const painted = (code: number) => (text: string) => (colour && text !== "" ? `\x1b[${code}m${text}\x1b[0m` : text);
  return { good: painted(32), warn: painted(33), bad: painted(31), faint: painted(2) };
}

const wide =
  /[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1faff}\u{20000}-\u{3fffd}\p{Emoji_Presentation}]/u;

/** How many columns a text takes: combining marks take none, wide characters two. */
export function columnsOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let columns = 0;
  for (const character of text) {
    if (/\p{M}/u.test(character)) continue;
    // A flag is two regional letters and takes two columns.
    columns += wide.test(character) && !/\p{Regional_Indicator}/u.test(character) ? 2 : 1;
  }
  return columns;
}

/** The text in lines of at most `width` columns, broken between words. */
export function wrap(text: string, width: number): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1) ?? "";
    if (line === "") lines[lines.length - 1] = word;
    else if (columnsOf(line) + 1 + columnsOf(word) <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** `1.2 MB`. */
export function size(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  const [unit, divisor] = bytes < 999_950 ? ["kB", 1_000] : ["MB", 1_000_000];
  return `${(bytes / Number(divisor)).toFixed(1)} ${unit}`;
}

/** Why a file or folder cannot be read, to stand behind its path. */
export function unreadable(error: unknown): string {
  return systemCode(error) === "ENOENT"
    ? "does not exist"
    : `could not be read (${systemCode(error) || messageOf(error)})`;
}
