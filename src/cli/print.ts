/** Text for people: aligned, quiet, and never with a control character that a device sent. */
import { printable } from "../log.ts";

export interface Column {
  readonly title: string;
  /** Shortened first when the terminal is narrow; the highest number goes first. Without one a column is never shortened. */
  readonly yields?: number;
}

/** A table without lines, its columns aligned and cut to the width. */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[], width: number): string {
  const cells = [columns.map((column) => column.title), ...rows.map((row) => row.map(printable))];
  const widths = columns.map((_, at) => Math.max(...cells.map((row) => columnsOf(row[at] ?? ""))));
  shrink(columns, widths, width);
  return cells
    .map((row) =>
      row
        .map((cell, at) => fit(cell, widths[at] ?? 0, at === row.length - 1))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** Takes from the least important columns first, down to their titles. */
function shrink(columns: readonly Column[], widths: number[], width: number): void {
  const order = columns.map((column, at) => ({ at, yields: column.yields })).filter((one) => one.yields !== undefined);
  for (const { at } of order.sort((one, other) => (other.yields ?? 0) - (one.yields ?? 0))) {
    const over = widths.reduce((sum, one) => sum + one + 2, -2) - width;
    if (over > 0) widths[at] = Math.max(columns[at]?.title.length ?? 0, 4, (widths[at] ?? 0) - over);
  }
}

function fit(cell: string, width: number, last: boolean): string {
  const taken = columnsOf(cell);
  if (taken > width) return `${[...cell].slice(0, Math.max(0, width - 1)).join("")}…`;
  return last ? cell : cell + " ".repeat(width - taken);
}

/** How many columns a text takes: combining marks take none, wide characters two. */
export function columnsOf(text: string): number {
  let columns = 0;
  for (const character of text) {
    if (/\p{M}/u.test(character)) continue;
    columns +=
      /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}]/u.test(
        character,
      )
        ? 2
        : 1;
  }
  return columns;
}

/** `12:04`, or `1:02:03`. */
export function clock(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  const shown = parts[0] === 0 ? parts.slice(1) : parts;
  return shown.map((part, at) => (at === 0 ? String(part) : String(part).padStart(2, "0"))).join(":");
}

/** `1.2 MB`. */
export function size(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  const [unit, divisor] = bytes < 1_000_000 ? ["kB", 1_000] : ["MB", 1_000_000];
  return `${(bytes / Number(divisor)).toFixed(1)} ${unit}`;
}
