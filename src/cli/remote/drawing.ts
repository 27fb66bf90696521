/** The keys, drawn where they sit on a remote; or one after another where there is no room for that. */
import { type Binding, bindings } from "./bindings.ts";
import { type Line, type Piece, piece, type Style, widthOf } from "./line.ts";
import { deviceOf, isAsleep, type Model } from "./model.ts";

/** Row and column of each key, by its input; both channel keys are drawn as one. */
const places: Readonly<Record<string, readonly [row: number, column: number]>> = {
  p: [0, 2],
  h: [0, 36],
  up: [2, 21],
  left: [3, 15],
  enter: [3, 19],
  right: [3, 27],
  down: [4, 21],
  backspace: [3, 2],
  "+": [2, 34],
  "-": [3, 34],
  m: [4, 34],
  i: [6, 2],
  "page-up": [6, 15],
  o: [6, 34],
  r: [7, 2],
  " ": [7, 14],
  f: [7, 34],
};
const inner = 45;
const rows = 8;

export const drawingWidth = inner + 2;
export const drawingHeight = rows + 2;

/** The remote in its frame. */
export function drawing(model: Model): Line[] {
  const body = Array.from({ length: rows }, (_, row) => frame(drawRow(model, row)));
  const edge = "─".repeat(inner);
  return [[piece(`╭${edge}╮`, "faint")], ...body, [piece(`╰${edge}╯`, "faint")]];
}

function frame(line: Line): Line {
  const rest = piece(" ".repeat(Math.max(0, inner - widthOf(line))));
  return [piece("│", "faint"), ...line, rest, piece("│", "faint")];
}

function drawRow(model: Model, row: number): Line {
  const line: Piece[] = [];
  const here = present(model).filter(({ input }) => places[input]?.[0] === row);
  for (const binding of here.sort((one, other) => columnOf(one) - columnOf(other))) {
    const gap = columnOf(binding) - widthOf(line);
    line.push(piece(" ".repeat(Math.max(0, gap))), ...draw(model, binding));
  }
  return line;
}

function columnOf({ input }: Binding): number {
  return places[input]?.[1] ?? 0;
}

/** The keys one after another, the most used first, in lines of at most that width. */
export function listing(model: Model, width: number): Line[] {
  const lines: Piece[][] = [[]];
  for (const item of items(model)) {
    const line = lines.at(-1) ?? [];
    const gap = line.length === 0 ? 0 : 2;
    if (widthOf(line) + gap + widthOf(item) <= width) line.push(piece(" ".repeat(gap)), ...item);
    else lines.push([...item]);
  }
  return lines;
}

function items(model: Model): Line[] {
  const all = present(model);
  const arrows = all.filter(({ word, input }) => word === "" && input !== "enter");
  const one = (input: string) => all.filter((binding) => binding.input === input);
  const rest = all.filter(({ word }) => word !== "");
  const labelled = (input: string, word: string): Line[] =>
    one(input).map((binding) => [...draw(model, binding), piece(` ${word}`, styleOf(model, binding))]);
  return [
    ...(arrows.length > 0 ? [arrows.flatMap((binding) => draw(model, binding))] : []),
    ...labelled("enter", "select"),
    ...rest.map((binding) => draw(model, binding)),
  ];
}

/** The keys that are there on this set: all but those that it has said it lacks. */
function present(model: Model): Binding[] {
  const absent = model.absent[model.current ?? ""] ?? [];
  const channels = deviceOf(model)?.kind === "tv";
  const shown = bindings.filter(({ key }) => !absent.includes(key) && (channels || !key.startsWith("channel")));
  const both = shown.filter(({ key }) => key.startsWith("channel")).length === 2;
  return shown
    .filter(({ key }) => !(both && key === "channel-down"))
    .map((one) => (both && one.key === "channel-up" ? { ...one, cap: "PgUp PgDn", word: "channel" } : one));
}

function draw(model: Model, binding: Binding): Line {
  const { cap, word, input } = binding;
  const style = styleOf(model, binding);
  const pressed = model.lit === input || (model.lit === "page-down" && input === "page-up");
  const key = piece(cap, pressed ? "pressed" : style === "plain" ? "bold" : style);
  return word === "" ? [key] : [key, piece(` ${word}`, style)];
}

/** Faint: refused by its settings, or asleep and deaf to all but power. */
function styleOf(model: Model, { key }: Binding): Style {
  const refused = deviceOf(model)?.capabilities.includes("keys") !== true;
  const deaf = model.lost || refused || (isAsleep(model) && key !== "power");
  return deaf ? "faint" : "plain";
}
