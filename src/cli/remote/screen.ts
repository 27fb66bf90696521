/** The screen of the remote: what is known in, lines out. Pure. */
import type { Device } from "../../api/schemas.ts";
import { printable } from "../../system/printable.ts";
import { activity, powerWords } from "../control.ts";
import { modelOf } from "../devices.ts";
import { columnsOf, cut, shortTime, wrap } from "../print.ts";
import { appsShown, type Binding, bindings, commands, deviceOf, isAsleep, type Model } from "./model.ts";

export interface View extends Looks {
  readonly columns: number;
  readonly rows: number;
  readonly now: Date;
}

/** As many lines as the terminal has rows, each of at most its width. */
export function render(model: Model, view: View): string[] {
  const { columns, rows } = view;
  const margin = columns >= 40 ? 1 : 0;
  const width = columns - 2 * margin;
  const head = header(model, width, view.now);
  const foot = footer(model, width, rows);
  const gap = rows - head.length - foot.length >= 8 ? 1 : 0;
  const room = Math.max(0, rows - head.length - foot.length - gap);
  const middle = body(model, width, room).slice(0, room);
  const blank = Array.from({ length: Math.max(0, room - middle.length) }, (): Line => []);
  const above = gap === 1 ? [[]] : [];
  return [...head, ...above, ...middle, ...blank, ...foot]
    .slice(0, rows)
    .map((line) => " ".repeat(line.length > 0 ? margin : 0) + painted(line, width, view));
}

function header(model: Model, width: number, now: Date): Line[] {
  const device = deviceOf(model);
  if (!device) return [[piece("zapd", "bold")], [piece(model.lost ? lostText : "no set is known yet", "warn")]];
  const at = model.devices.findIndex((one) => one.id === device.id) + 1;
  const place = model.devices.length > 1 ? `${at}/${model.devices.length}` : "";
  const name: Line = [piece(device.name, "bold")];
  const full = spread(name, [piece([modelOf(device), place].filter(Boolean).join(" · "), "faint")], width);
  return [full === name ? spread(name, [piece(place, "faint")], width) : full, seenLine(model, device, now)];
}

const lostText = "the daemon does not answer; trying again …";

/** `on · YouTube · playing 12:04 / 31:20 · volume 18` */
function seenLine(model: Model, device: Device, now: Date): Line {
  const { seen, lost } = model;
  if (lost) return [piece(lostText, "bad")];
  if (seen === null) return [piece("…", "faint")];
  const turnsOn = device.capabilities.includes("power_on") ? " · p turns it on" : "";
  if ("failure" in seen) {
    if (!/^device_(unreachable|timeout)$/.test(seen.failure.code)) return [piece(seen.failure.message, "bad")];
    const last = device.last_seen === null ? "" : ` (last seen ${shortTime(new Date(device.last_seen), now)})`;
    return [piece(`does not answer${last}${turnsOn}`, "warn")];
  }
  const { power } = seen.state;
  const word = powerWords[power];
  const parts = [word, ...activity(seen.state)].filter((part) => part !== "");
  const asleep = power === "off" || power === "standby";
  const line = [piece(parts.join(" · ") + (asleep ? turnsOn : ""), asleep ? "warn" : "plain")];
  return device.access === "limited" ? [...line, piece(" · limited: keys are refused", "warn")] : line;
}

/** The bottom: what went wrong or is under way, above it what the remote itself does. */
function footer(model: Model, width: number, rows: number): Line[] {
  const asked = promptLine(model, width);
  if (asked) return [asked];
  const lines = noticeLines(model, width, rows >= 20 ? 3 : 1);
  return rows < 8 ? lines : [commandLine(model), ...lines];
}

function commandLine({ mode }: Model): Line {
  const shown = mode.name === "help" ? [{ cap: "any key", word: "back" }] : commands;
  return shown.flatMap(({ cap, word }, at) => [piece(at === 0 ? "" : "  "), piece(cap, "bold"), piece(` ${word}`)]);
}

function noticeLines({ notice }: Model, width: number, most: number): Line[] {
  const blank = Array.from({ length: most }, (): Line => []);
  if (!notice) return blank;
  const style = notice.loud ? "bad" : "faint";
  const sentence = notice.hint === undefined ? notice.text : `${notice.text.replace(/\.$/, "")}. ${notice.hint}`;
  const lines = wrap(sentence, width);
  // What does not fit stands in the last line, which is cut.
  const shown = [...lines.slice(0, most - 1), lines.slice(most - 1).join(" ")].filter((line) => line !== "");
  return [...shown.map((line): Line => [piece(line, style)]), ...blank].slice(0, most);
}

function promptLine({ mode }: Model, width: number): Line | null {
  if (mode.name === "text") return prompt("text ", mode.text, "Enter sends · Esc leaves", width);
  return mode.name === "apps" ? prompt("/", mode.filter, "Enter launches · Esc leaves", width) : null;
}

/** Of a long text the end is shown, where one writes. */
function prompt(label: string, text: string, hint: string, width: number): Line {
  const room = Math.max(0, width - label.length - 1);
  let shown = printable(text);
  while (columnsOf(shown) > room) shown = [...shown].slice(1).join("");
  return spread([piece(label, "bold"), piece(shown), piece(" ", "pressed")], [piece(hint, "faint")], width);
}

function body(model: Model, width: number, room: number): Line[] {
  const { mode } = model;
  if (mode.name === "help") return help(width, room);
  if (mode.name === "apps") return picker(model, mode, room);
  if (!deviceOf(model)) return nobody(width);
  if (width < drawingWidth || room < drawingHeight) return listing(model, width);
  return drawing(model);
}

function nobody(width: number): Line[] {
  const ways = ["zapd discover looks for some", "zapd add 192.168.1.40 adds one by its address"];
  return ways.flatMap((way) => wrap(way, width)).map((line) => [piece(line)]);
}

/** The apps that match, with the chosen one always in sight. */
function picker(model: Model, { filter, at }: { filter: string; at: number }, room: number): Line[] {
  const known = model.apps[model.current ?? ""];
  if (known === undefined) return [[piece("asking for its apps …", "faint")]];
  const apps = appsShown(model, filter);
  if (apps.length === 0) return [[piece(filter === "" ? "it lists no apps" : `no app matches "${filter}"`, "warn")]];
  const first = Math.max(0, Math.min(at - Math.floor(room / 2), apps.length - room));
  return apps
    .slice(first, first + Math.max(1, room))
    .map((app, row) => (first + row === at ? [piece(`▸ ${app.name}`, "pressed")] : [piece(`  ${app.name}`)]));
}

function help(width: number, room: number): Line[] {
  const own = commands.map(({ cap, word }) => ({ cap, word: word === "quit" ? "quit, as do Esc and Ctrl-C" : word }));
  const all = [...bindings.map(({ cap, word, key }) => ({ cap, word: word || key })), ...own];
  const cell = 34;
  const columns = Math.max(1, Math.min(Math.floor(width / cell), Math.ceil(all.length / Math.max(1, room))));
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
const rows = 8;

const drawingWidth = inner + 2;
const drawingHeight = rows + 2;

/** The remote in its frame. */
function drawing(model: Model): Line[] {
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
  const here = present(model).filter(({ place }) => place?.[0] === row);
  for (const binding of here.sort((one, other) => columnOf(one) - columnOf(other))) {
    const gap = columnOf(binding) - widthOf(line);
    line.push(piece(" ".repeat(Math.max(0, gap))), ...draw(model, binding));
  }
  return line;
}

function columnOf({ place }: Binding): number {
  return place?.[1] ?? 0;
}

/** The keys one after another, the most used first, in lines of at most that width. */
function listing(model: Model, width: number): Line[] {
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
  const named = present(model).map((one) => (one.input === "enter" ? { ...one, word: one.key } : one));
  const arrows = named.filter(({ word }) => word === "").flatMap((one) => draw(model, one));
  const rest = named.filter(({ word }) => word !== "").map((one) => draw(model, one));
  return arrows.length > 0 ? [arrows, ...rest] : rest;
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

type Style = "plain" | "bold" | "faint" | "pressed" | "bad" | "warn";

interface Piece {
  readonly text: string;
  readonly style: Style;
}

type Line = readonly Piece[];

/** What the terminal can show. */
interface Looks {
  readonly colour: boolean;
  /** Whether it shows more than ASCII. */
  readonly unicode: boolean;
}

/** A piece of text. Whatever a device sent loses here what a terminal would obey. */
function piece(text: string, style: Style = "plain"): Piece {
  return { text: printable(text), style };
}

function widthOf(line: Line): number {
  return line.reduce((sum, one) => sum + columnsOf(one.text), 0);
}

/** The line, its end replaced by an ellipsis where it is wider than that. */
function cutLine(line: Line, width: number): Line {
  if (widthOf(line) <= width) return line;
  let left = width;
  return line.flatMap((one) => {
    const room = left;
    left -= columnsOf(one.text);
    if (room <= 0 || left > 0) return room > 0 ? [one] : [];
    // With something more behind it, so that its end gives way to the ellipsis.
    return [{ ...one, text: cut(`${one.text} `, room) }];
  });
}

/** One line with something at its right end, if there is room for both. */
function spread(left: Line, right: Line, width: number): Line {
  const gap = width - widthOf(left) - widthOf(right);
  return gap < 2 ? left : [...left, piece(" ".repeat(gap)), ...right];
}

/** Not colour: these hold without it too. */
const attributes: Partial<Record<Style, string>> = { bold: "1", faint: "2", pressed: "7" };
const colours: Partial<Record<Style, string>> = { bad: "31", warn: "33" };

const drawn = [..."↑↓←→·…─│╭╮╰╯▸"];
const ascii = "^v<>-~-|++++>";

/** As wide as the character is: what is aligned stays so. */
function inAscii(character: string): string {
  return ascii[drawn.indexOf(character)] ?? "?".repeat(columnsOf(character));
}

/** The line as it is written, of at most that width. */
function painted(line: Line, width: number, { colour, unicode }: Looks): string {
  return cutLine(line, width)
    .map(({ text, style }) => {
      const shown = unicode ? text : text.replace(/[^\x20-\x7e]/gu, inAscii);
      const code = attributes[style] ?? (colour ? colours[style] : undefined);
      return code === undefined || shown === "" ? shown : `\x1b[${code}m${shown}\x1b[0m`;
    })
    .join("")
    .trimEnd();
}
