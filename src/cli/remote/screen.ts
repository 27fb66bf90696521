/** Renders the model of the remote as lines of text. Pure. */
import { activity, isPowerOff, powerWords } from "../../api/client-words.ts";
import { printable } from "../../system/printable.ts";
import { shortTime } from "../../system/text.ts";
import { modelOf } from "../devices.ts";
import { columnsOf, cut, wrap } from "../print.ts";
import { availableBindings, availableCommands, isAsleep, lists, whyWithheld } from "./keys.ts";
import { allChoices, choicesShown, currentView, type DeviceView, type Mode, type Model, stateAt } from "./model.ts";

export interface Viewport extends TerminalFeatures {
  readonly columns: number;
  readonly rows: number;
  readonly now: Date;
}

/** The screen: as many lines as the terminal has rows, none wider than the terminal. */
export function render(model: Model, viewport: Viewport): string[] {
  const { columns, rows } = viewport;
  const margin = columns >= 40 ? 1 : 0;
  const width = columns - 2 * margin;
  const head = header(model, width, viewport.now);
  const foot = footer(model, width, rows);
  const gap = rows - head.length - foot.length >= 8 ? 1 : 0;
  const room = Math.max(0, rows - head.length - foot.length - gap);
  const middle = body(model, width, room).slice(0, room);
  const blank = Array.from({ length: room - middle.length }, (): Line => []);
  const above = gap === 1 ? [[]] : [];
  return [...head, ...above, ...middle, ...blank, ...foot]
    .slice(0, rows)
    .map((line) => " ".repeat(line.length > 0 ? margin : 0) + painted(line, width, viewport));
}

function header(model: Model, width: number, now: Date): Line[] {
  const view = currentView(model);
  if (!view)
    return [
      [piece("zapd", "bold")],
      [piece(model.isDisconnected ? disconnectedText : "no device is known yet", "warn")],
    ];
  const { device } = view;
  const at = model.devices.indexOf(view) + 1;
  const place = model.devices.length > 1 ? `${at}/${model.devices.length}` : "";
  const name: Line = [piece(device.name, "bold")];
  const full = spread(name, [piece([modelOf(device), place].filter(Boolean).join(" · "), "faint")], width);
  return [full === name ? spread(name, [piece(place, "faint")], width) : full, stateLine(model, view, now)];
}

const disconnectedText = "the daemon does not answer; trying again …";

/** `on · YouTube · playing 12:04 / 31:20 · volume 18` */
function stateLine(model: Model, view: DeviceView, now: Date): Line {
  const { device } = view;
  if (model.isDisconnected) return [piece(disconnectedText, "bad")];
  const state = stateAt(view, model.seeking, now.getTime());
  const power = state?.power ?? device.power;
  const isOff = isPowerOff(power);
  const turnsOn = device.capabilities.includes("power_on") ? " · p turns it on" : "";
  if (isAsleep(view) && !isOff) {
    const last = device.last_seen === null ? "" : ` (last seen ${shortTime(new Date(device.last_seen), now)})`;
    return [piece(`does not answer${last}${turnsOn}`, "warn")];
  }
  if (device.access === "unpaired") return [piece("not paired", "warn")];
  const word = state || power !== "unknown" ? powerWords[power] : "…";
  const line = [piece([word, ...(state ? activity(state) : [])].join(" · "), isOff ? "warn" : "plain")];
  if (isOff) return [...line, piece(turnsOn, "warn")];
  return whyWithheld(view, "keys") ? [...line, piece(` · ${device.access}: keys are refused`, "warn")] : line;
}

/** The bottom lines: the commands of the remote, then the notice or the input line. */
function footer(model: Model, width: number, rows: number): Line[] {
  const inputLine = promptLine(model, width);
  const lines = noticeLines(model, width, rows >= 20 && model.mode.name !== "help" ? 3 : 1);
  if (inputLine) return [...(model.notice ? lines.filter((line) => line.length > 0) : []), inputLine];
  return rows < 8 ? lines : [commandLine(model, width), ...lines];
}

/** The commands of the remote. What does not fit is left out, except help and quit. */
function commandLine(model: Model, width: number): Line {
  const shown =
    model.mode.name === "help"
      ? [{ cap: "any key", word: "back", availability: "works" }]
      : availableCommands(currentView(model), model.devices.length);
  const items = shown.map(({ cap, word, availability }, at): Line => {
    const style = availability === "works" && !model.isDisconnected ? "plain" : "faint";
    return [piece(at === 0 ? "" : "  "), piece(cap, style === "plain" ? "bold" : style), piece(` ${word}`, style)];
  });
  while (items.length > 2 && widthOf(items.flat()) > width) items.splice(-3, 1);
  return items.flat();
}

function noticeLines(model: Model, width: number, most: number): Line[] {
  const blank = Array.from({ length: most }, (): Line => []);
  const notice = model.notice ?? standingNotice(model);
  if (!notice) return blank;
  const style = notice.isFailure ? "bad" : "faint";
  const sentence = notice.hint === undefined ? notice.text : `${notice.text.replace(/\.$/, "")}. ${notice.hint}`;
  const lines = wrap(sentence, width);
  // The last line holds the rest, and is cut.
  const shown = [...lines.slice(0, most - 1), lines.slice(most - 1).join(" ")].filter((line) => line !== "");
  return [...shown.map((line): Line => [piece(line, style)]), ...blank].slice(0, most);
}

/** The hint for withheld keys, shown while there is no notice. */
function standingNotice(model: Model): Model["notice"] {
  const view = currentView(model);
  const hint = view && !model.isDisconnected ? (whyWithheld(view, "keys")?.hint ?? null) : null;
  return hint === null ? null : { text: hint, isFailure: false };
}

function promptLine({ mode }: Model, width: number): Line | null {
  if (mode.name === "pick") {
    const { label, enters } = lists[mode.what];
    return prompt(label, mode.filter, `Enter ${enters} · Esc leaves`, width);
  }
  if (mode.name !== "line") return null;
  const hint = mode.what === "text" ? "Enter sends · Esc cancels" : "Enter sets it · Esc cancels";
  return prompt(`${mode.what} `, mode.text, hint, width);
}

/** An input line; of a long text the end is shown. */
function prompt(label: string, text: string, hint: string, width: number): Line {
  const room = Math.max(0, width - label.length - 1);
  let shown = printable(text);
  while (columnsOf(shown) > room) shown = [...shown].slice(1).join("");
  return spread([piece(label, "bold"), piece(shown), piece(" ", "pressed")], [piece(hint, "faint")], width);
}

function body(model: Model, width: number, room: number): Line[] {
  const { mode } = model;
  const view = currentView(model);
  if (mode.name === "help") return help(model, width, room);
  if (mode.name === "pick") return picker(model, mode, room);
  if (!view) return noDevice(width);
  const picture = remoteDrawing(model, view);
  return width < drawingWidth || room < picture.length ? keyList(model, view, width) : picture;
}

function noDevice(width: number): Line[] {
  const ways = ["zapd discover searches for devices", "zapd add 192.168.1.40 adds one by its address"];
  return ways.flatMap((way) => wrap(way, width)).map((line) => [piece(line)]);
}

/** The choices that match, scrolled so that the selected one is visible. */
function picker(model: Model, { what, filter, at }: Mode & { name: "pick" }, room: number): Line[] {
  if (allChoices(model, what) === undefined) return [[piece(`reading its ${what} …`, "faint")]];
  const choices = choicesShown(model, what, filter);
  if (choices.length === 0)
    return [
      [piece(filter === "" ? `the device lists no ${what}` : `no ${what.slice(0, -1)} matches "${filter}"`, "warn")],
    ];
  const first = Math.max(0, Math.min(at - Math.floor(room / 2), choices.length - room));
  return choices
    .slice(first, first + room)
    .map(({ name }, row) => (first + row === at ? [piece(`▸ ${name}`, "pressed")] : [piece(`  ${name}`)]));
}

function help(model: Model, width: number, room: number): Line[] {
  const view = currentView(model);
  const keys = view ? availableBindings(view) : [];
  const ownCommands = availableCommands(view, model.devices.length).map(({ cap, word }) => ({
    cap,
    word: word === "quit" ? "quit, as do Esc and Ctrl-C" : word,
  }));
  const all = [
    ...keys.map(({ cap, word, input }) => ({ cap, word: word || (input === "enter" ? "select" : input) })),
    ...ownCommands,
  ];
  if (keys.some(({ isHeld }) => isHeld)) all.push({ cap: "↑ …", word: "held: repeats until released" });
  const cell = 34;
  const columns = Math.max(1, Math.min(Math.floor(width / cell), Math.ceil(all.length / room)));
  const height = Math.ceil(all.length / columns);
  return Array.from({ length: height }, (_, row) =>
    Array.from({ length: columns }, (_, column) => all[column * height + row]).flatMap((entry) => {
      if (!entry) return [];
      const pad = " ".repeat(Math.max(1, 7 - columnsOf(entry.cap)));
      return [piece(entry.cap, "bold"), piece(pad + entry.word.padEnd(cell - 8))];
    }),
  );
}

const inner = 45;
const drawingWidth = inner + 2;

/** The keys as a remote in a frame. */
function remoteDrawing(model: Model, view: DeviceView): Line[] {
  const keys = drawnKeys(view);
  const rows = 1 + Math.max(7, ...keys.map(({ place }) => place?.[0] ?? 0));
  const body = Array.from({ length: rows }, (_, row) => frame(drawRow(model, view, keys, row)));
  const edge = "─".repeat(inner);
  return [[piece(`╭${edge}╮`, "faint")], ...body, [piece(`╰${edge}╯`, "faint")]];
}

function frame(line: Line): Line {
  const rest = piece(" ".repeat(Math.max(0, inner - widthOf(line))));
  return [piece("│", "faint"), ...line, rest, piece("│", "faint")];
}

function drawRow(model: Model, view: DeviceView, keys: readonly Shown[], row: number): Line {
  const line: Piece[] = [];
  const here = keys.filter(({ place }) => place?.[0] === row);
  for (const key of here.sort((one, other) => columnOf(one) - columnOf(other))) {
    const gap = columnOf(key) - widthOf(line);
    line.push(piece(" ".repeat(gap)), ...draw(model, view, key));
  }
  return line;
}

function columnOf({ place }: Shown): number {
  return place?.[1] ?? 0;
}

/** The keys as running text, for a terminal too small for the drawing. */
function keyList(model: Model, view: DeviceView, width: number): Line[] {
  const lines: Piece[][] = [[]];
  for (const item of items(model, view)) {
    const line = lines.at(-1) ?? [];
    const gap = line.length === 0 ? 0 : 2;
    if (widthOf(line) + gap + widthOf(item) <= width) line.push(piece(" ".repeat(gap)), ...item);
    else lines.push([...item]);
  }
  return lines;
}

function items(model: Model, view: DeviceView): Line[] {
  const named = drawnKeys(view).map((one) => (one.input === "enter" ? { ...one, word: "select" } : one));
  const arrows = named.filter(({ word }) => word === "").flatMap((one) => draw(model, view, one));
  const rest = named.filter(({ word }) => word !== "").map((one) => draw(model, view, one));
  return arrows.length > 0 ? [arrows, ...rest] : rest;
}

type Shown = ReturnType<typeof availableBindings>[number];

/** The keys of this device; channel up and down, of which no device has one alone, as one. */
function drawnKeys(view: DeviceView): readonly Shown[] {
  return availableBindings(view)
    .filter(({ input }) => input !== "page-down")
    .map((one) => (one.input === "page-up" ? { ...one, cap: "PgUp PgDn", word: "channel" } : one));
}

function draw(model: Model, view: DeviceView, shown: Shown): Line {
  const { cap, word, input, key, availability } = shown;
  // Faint: withheld, or the device is off and takes only power.
  const isDeaf = model.isDisconnected || availability === "withheld" || (isAsleep(view) && key !== "power");
  const style = isDeaf ? "faint" : "plain";
  const pressed = model.pressedInput === input || (model.pressedInput === "page-down" && input === "page-up");
  const name = piece(cap, pressed ? "pressed" : isDeaf ? style : "bold");
  return word === "" ? [name] : [name, piece(` ${word}`, style)];
}

type Style = "plain" | "bold" | "faint" | "pressed" | "bad" | "warn";

interface Piece {
  readonly text: string;
  readonly style: Style;
}

type Line = readonly Piece[];

/** What the terminal supports. */
export interface TerminalFeatures {
  readonly colour: boolean;
  /** Whether it shows more than ASCII. */
  readonly unicode: boolean;
}

/** A piece of text, without the control characters that a device may have sent. */
function piece(text: string, style: Style = "plain"): Piece {
  return { text: printable(text), style };
}

function widthOf(line: Line): number {
  return line.reduce((sum, one) => sum + columnsOf(one.text), 0);
}

/** The line, cut with an ellipsis where it is too wide. */
function cutLine(line: Line, width: number): Line {
  if (widthOf(line) <= width) return line;
  let left = width;
  return line.flatMap((one) => {
    const room = left;
    left -= columnsOf(one.text);
    if (room <= 0 || left > 0) return room > 0 ? [one] : [];
    // A space is added so that `cut` sees a text that is too wide, and puts the ellipsis.
    return [{ ...one, text: cut(`${one.text} `, room) }];
  });
}

/** The line with `right` at its right end, where both fit. */
function spread(left: Line, right: Line, width: number): Line {
  const gap = width - widthOf(left) - widthOf(right);
  return gap < 2 ? left : [...left, piece(" ".repeat(gap)), ...right];
}

/** Attributes used without colour too. */
const attributes: Partial<Record<Style, string>> = { bold: "1", faint: "2", pressed: "7" };
const colours: Partial<Record<Style, string>> = { bad: "31", warn: "33" };

const symbols = [..."↑↓←→·…─│╭╮╰╯▸"];
const ascii = "^v<>-~-|++++>";

/** ASCII of the same width, so that columns stay aligned. */
function inAscii(character: string): string {
  return ascii[symbols.indexOf(character)] ?? "?".repeat(columnsOf(character));
}

/** The line with its escape sequences, cut to the width. */
function painted(line: Line, width: number, { colour, unicode }: TerminalFeatures): string {
  return cutLine(line, width)
    .map(({ text, style }) => {
      const shown = unicode ? text : text.replace(/[^\x20-\x7e]/gu, inAscii);
      const code = attributes[style] ?? (colour ? colours[style] : undefined);
      return code === undefined || shown === "" ? shown : `\x1b[${code}m${shown}\x1b[0m`;
    })
    .join("")
    .trimEnd();
}
