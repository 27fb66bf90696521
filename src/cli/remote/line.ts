/** Lines of the screen: pieces of text with a style each, cut to a width, and only then written as a terminal takes them. */
import { printable } from "../../system/log.ts";
import { columnsOf, cut } from "../print.ts";

export type Style = "plain" | "bold" | "faint" | "pressed" | "bad" | "warn";

export interface Piece {
  readonly text: string;
  readonly style: Style;
}

export type Line = readonly Piece[];

/** What the terminal can show. */
export interface Looks {
  readonly colour: boolean;
  /** Whether it shows more than ASCII. */
  readonly unicode: boolean;
}

/** A piece of text. Whatever a device sent loses here what a terminal would obey. */
export function piece(text: string, style: Style = "plain"): Piece {
  return { text: printable(text), style };
}

export function widthOf(line: Line): number {
  return line.reduce((sum, one) => sum + columnsOf(one.text), 0);
}

/** The line, its end replaced by an ellipsis where it is wider than that. */
export function cutLine(line: Line, width: number): Line {
  if (widthOf(line) <= width) return line;
  const kept: Piece[] = [];
  let left = width;
  for (const one of line) {
    const columns = columnsOf(one.text);
    if (columns >= left) {
      // With something more behind it, so that its end gives way to the ellipsis.
      if (left > 0) kept.push({ ...one, text: cut(`${one.text} `, left) });
      break;
    }
    kept.push(one);
    left -= columns;
  }
  return kept;
}

/** One line with something at its right end, if there is room for both. */
export function spread(left: Line, right: Line, width: number): Line {
  const gap = width - widthOf(left) - widthOf(right);
  return gap < 2 ? left : [...left, piece(" ".repeat(gap)), ...right];
}

/** Not colour: these hold without it too. */
const attributes: Partial<Record<Style, string>> = { bold: "1", faint: "2", pressed: "7" };
const colours: Partial<Record<Style, string>> = { bad: "31", warn: "33" };

const ascii: Readonly<Record<string, string>> = {
  ...{ "↑": "^", "↓": "v", "←": "<", "→": ">", "·": "-", "…": "~", "─": "-", "│": "|" },
  ...{ "╭": "+", "╮": "+", "╰": "+", "╯": "+", "▸": ">" },
};

/** As wide as the character is: what is aligned stays so. */
function inAscii(character: string): string {
  return ascii[character] ?? "?".repeat(columnsOf(character));
}

/** The line as it is written, of at most that width. */
export function painted(line: Line, width: number, { colour, unicode }: Looks): string {
  return cutLine(line, width)
    .map(({ text, style }) => {
      const shown = unicode ? text : text.replace(/[^\x20-\x7e]/gu, inAscii);
      const code = attributes[style] ?? (colour ? colours[style] : undefined);
      return code === undefined || shown === "" ? shown : `\x1b[${code}m${shown}\x1b[0m`;
    })
    .join("")
    .trimEnd();
}
