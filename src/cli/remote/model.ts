/** What the remote knows, and how each event changes it. Pure: what must be done in the world comes out as effects. */
import type { App, Device, State } from "../../api/schemas.ts";
import { printable } from "../../system/printable.ts";
import type { Failure } from "../failure.ts";
import type { Input } from "./terminal.ts";

export interface Model {
  readonly devices: readonly Device[];
  /** The id of the set that is driven; `null` while none is known. */
  readonly current: string | null;
  /** What is on it; `null` until it has told. */
  readonly seen: Seen | null;
  /** Whether the daemon answers. */
  readonly lost: boolean;
  readonly mode: Mode;
  readonly notice: Notice | null;
  /** The input that was pressed a moment ago, drawn as pressed. */
  readonly lit: string | null;
  /** Keys that a set has said it lacks, by its id. */
  readonly absent: Readonly<Record<string, readonly string[]>>;
  readonly apps: Readonly<Record<string, readonly App[]>>;
}

/** What a set told last, or why it told nothing. */
export type Seen = { readonly state: State } | { readonly failure: Failure };

export type Mode =
  | { readonly name: "keys" | "help" }
  | { readonly name: "text"; readonly text: string }
  | { readonly name: "apps"; readonly filter: string; readonly at: number };

/** The bottom line: calm while something is under way, loud when it failed. */
interface Notice {
  readonly text: string;
  readonly hint?: string;
  readonly loud: boolean;
}

export type Event =
  | { readonly name: "input"; readonly input: Input }
  | { readonly name: "devices"; readonly devices: readonly Device[] }
  | { readonly name: "state"; readonly id: string; readonly device: Device; readonly state: State }
  | { readonly name: "stateless"; readonly id: string; readonly failure: Failure }
  | { readonly name: "apps"; readonly id: string; readonly apps: readonly App[] }
  | { readonly name: "done"; readonly id: string; readonly what: string }
  | { readonly name: "failed"; readonly id: string; readonly what: string; readonly failure: Failure }
  /** Keys that waited too long behind a slow one. */
  | { readonly name: "dropped"; readonly id: string; readonly count: number }
  | { readonly name: "lost" }
  | { readonly name: "unlit" }
  | { readonly name: "hushed" };

export type Effect =
  /** A key of the set, or `literal:` with a text. */
  | { readonly name: "press"; readonly id: string; readonly key: string }
  | { readonly name: "launch"; readonly id: string; readonly app: string }
  | { readonly name: "list"; readonly id: string }
  /** Another set: ask at once what is on it. */
  | { readonly name: "look" }
  | { readonly name: "redraw" | "suspend" | "quit" };

export interface Step {
  readonly model: Model;
  readonly effects: readonly Effect[];
}

/** A step with what it brings about. */
function step(model: Model, ...effects: Effect[]): Step {
  return { model, effects };
}

const mode = { name: "keys" } as const;

export function begin(devices: readonly Device[], current: string | null): Model {
  return { devices, current, mode, seen: null, lost: false, notice: null, lit: null, absent: {}, apps: {} };
}

export function deviceOf(model: Model): Device | undefined {
  return model.devices.find((one) => one.id === model.current);
}

/** Whether it takes no keys now: off, in standby or silent. */
export function isAsleep({ seen }: Model): boolean {
  if (seen === null) return false;
  return "state" in seen
    ? /^(off|standby)$/.test(seen.state.power)
    : /^device_(unreachable|timeout)$/.test(seen.failure.code);
}

/** The apps of the current set that hold every word of the filter, those that begin with it first. */
export function appsShown(model: Model, filter: string): readonly App[] {
  const wanted = plain(filter);
  const apps = (model.apps[model.current ?? ""] ?? []).filter((app) => app.installed);
  if (wanted === "") return apps;
  const ranked = apps.flatMap((app) => {
    const name = plain(app.name);
    const rank = name.startsWith(wanted) ? 0 : name.includes(` ${wanted}`) ? 1 : name.includes(wanted) ? 2 : 3;
    return rank < 3 || inOrder(wanted, name) ? [{ app, rank }] : [];
  });
  return ranked.sort((one, other) => one.rank - other.rank).map(({ app }) => app);
}

function plain(text: string): string {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase().trim();
}

/** `nfx` finds Netflix. */
function inOrder(wanted: string, name: string): boolean {
  let from = 0;
  for (const character of wanted.replaceAll(" ", "")) {
    from = name.indexOf(character, from) + 1;
    if (from === 0) return false;
  }
  return true;
}

/** Which key of the terminal presses which key of the set, and where each is drawn: one table that everything reads. */

export interface Binding {
  /** As the input names it. */
  readonly input: string;
  /** The key of the set. */
  readonly key: string;
  /** What it is called on the screen. */
  readonly cap: string;
  readonly word: string;
  /** Row and column in the drawing; none for one that is drawn with another. */
  readonly place?: readonly [row: number, column: number];
}

export const bindings: readonly Binding[] = [
  { input: "up", key: "up", cap: "↑", word: "", place: [2, 21] },
  { input: "left", key: "left", cap: "←", word: "", place: [3, 15] },
  { input: "enter", key: "select", cap: "Enter", word: "", place: [3, 19] },
  { input: "right", key: "right", cap: "→", word: "", place: [3, 27] },
  { input: "down", key: "down", cap: "↓", word: "", place: [4, 21] },
  { input: "backspace", key: "back", cap: "Bksp", word: "back", place: [3, 2] },
  { input: "h", key: "home", cap: "h", word: "home", place: [0, 36] },
  { input: " ", key: "play-pause", cap: "Space", word: "play/pause", place: [7, 14] },
  { input: "r", key: "rewind", cap: "r", word: "rewind", place: [7, 2] },
  { input: "f", key: "fast-forward", cap: "f", word: "forward", place: [7, 34] },
  { input: "+", key: "volume-up", cap: "+", word: "louder", place: [2, 34] },
  { input: "-", key: "volume-down", cap: "-", word: "softer", place: [3, 34] },
  { input: "m", key: "mute", cap: "m", word: "mute", place: [4, 34] },
  { input: "i", key: "info", cap: "i", word: "info", place: [6, 2] },
  { input: "o", key: "options", cap: "o", word: "options", place: [6, 34] },
  { input: "page-up", key: "channel-up", cap: "PgUp", word: "channel up", place: [6, 15] },
  { input: "page-down", key: "channel-down", cap: "PgDn", word: "channel down" },
  { input: "p", key: "power", cap: "p", word: "power", place: [0, 2] },
];

/** Other inputs that mean the same. */
const synonyms: Readonly<Record<string, string>> = { "=": "+", _: "-", delete: "backspace" };

function bindingOf(input: string): Binding | undefined {
  const meant = synonyms[input] ?? input;
  return bindings.find((one) => one.input === meant);
}

/** What the remote itself does. */
export const commands: readonly { readonly cap: string; readonly word: string }[] = [
  { cap: "/", word: "apps" },
  { cap: "t", word: "text" },
  { cap: "Tab", word: "next set" },
  { cap: "?", word: "help" },
  { cap: "q", word: "quit" },
];

export function update(model: Model, event: Event): Step {
  switch (event.name) {
    case "input":
      return updateInput(model, event.input);
    case "devices":
      return takeDevices(model, event.devices);
    case "state": {
      const devices = model.devices.map((one) => (one.id === event.id ? event.device : one));
      const seen = event.id === model.current ? { state: event.state } : model.seen;
      return step({ ...found(model), devices, seen });
    }
    case "stateless":
      return event.id === model.current ? step({ ...found(model), seen: { failure: event.failure } }) : step(model);
    case "apps":
      return step({ ...hushed(model), apps: { ...model.apps, [event.id]: event.apps } });
    case "done":
      return step(event.id === model.current ? hushed(model) : model);
    case "failed":
      return fail(model, event);
    case "dropped": {
      const text = `${nameOf(model, event.id)} is slow: ${event.count} ${event.count === 1 ? "press was" : "presses were"} dropped`;
      return step({ ...model, notice: { text, loud: true } });
    }
    case "lost":
      // A list that was asked for does not come any more.
      return step({ ...model, lost: true, mode: model.mode.name === "apps" ? mode : model.mode });
    case "unlit":
      return step({ ...model, lit: null });
    case "hushed":
      return step({ ...model, notice: null });
  }
}

function found(model: Model): Model {
  return model.lost ? { ...model, lost: false } : model;
}

function hushed(model: Model): Model {
  return model.notice === null ? model : { ...model, notice: null };
}

function takeDevices(model: Model, devices: Model["devices"]): Step {
  const kept = devices.some((one) => one.id === model.current);
  if (kept) return step({ ...found(model), devices });
  const current = devices[0]?.id ?? null;
  const left = { ...found(model), devices, current, seen: null, mode };
  return current === null ? step(left) : step(left, { name: "look" });
}

function fail(model: Model, { id, what, failure }: { id: string; what: string; failure: Failure }): Step {
  const lacks = new Set(model.absent[id]).add(what);
  const absent = failure.code === "unsupported_key" ? { ...model.absent, [id]: [...lacks] } : model.absent;
  // A list that did not come leaves nothing to pick from.
  return step({ ...model, absent, mode: what === "list" ? mode : model.mode, notice: noticeOf(failure) });
}

function noticeOf({ code, message, hint }: Failure): Model["notice"] {
  // The keys that it has are drawn already.
  const advice = hint === undefined || code === "unsupported_key" ? {} : { hint: printable(hint) };
  return { text: printable(message), ...advice, loud: true };
}

function nameOf(model: Model, id: string): string {
  return printable(model.devices.find((one) => one.id === id)?.name ?? deviceOf(model)?.name ?? "it");
}

const maxText = 1_024;
const pageRows = 8;

function updateInput(model: Model, input: Input): Step {
  if ("paste" in input) return paste(model, input.paste);
  const { key } = input;
  if (key === "ctrl-c") return step(model, { name: "quit" });
  if (key === "ctrl-z") return step(model, { name: "suspend" });
  if (key === "ctrl-l") return step(model, { name: "redraw" });
  switch (model.mode.name) {
    case "keys":
      return inKeys(model, key);
    case "help":
      return step({ ...model, mode });
    case "text":
      return inText(model, model.mode, key);
    case "apps":
      return inApps(model, model.mode, key);
  }
}

function leave(model: Model, ...effects: Effect[]): Step {
  return step({ ...model, mode }, ...effects);
}

/** Pasting writes where one writes, and presses nothing anywhere else. */
function paste(model: Model, text: string): Step {
  const { mode } = model;
  const line = text.replace(/[\r\n\t]+/g, " ").replace(/[\p{Cc}\p{Cs}]/gu, "");
  if (mode.name === "text") return step({ ...model, mode: { ...mode, text: limited(mode.text + line) } });
  if (mode.name === "apps") return step({ ...model, mode: { ...mode, filter: limited(mode.filter + line), at: 0 } });
  return step(model);
}

function inKeys(model: Model, key: string): Step {
  if (key === "q" || key === "escape") return step(model, { name: "quit" });
  if (key === "?") return step({ ...model, mode: { name: "help" } });
  if (key === "tab") return turn(model, 1);
  if (key === "shift-tab") return turn(model, -1);
  const { current } = model;
  if (current === null) return step(model);
  if (key === "t") return step({ ...model, notice: null, mode: { name: "text", text: "" } });
  if (key === "/") return openApps(model, current);
  return press(model, current, key);
}

function press(model: Model, id: string, input: string): Step {
  const binding = bindingOf(input);
  if (!binding) return step(model);
  const wakes =
    binding.key === "power" && isAsleep(model) && deviceOf(model)?.capabilities.includes("power_on") === true;
  const key = wakes ? "power-on" : binding.key;
  const notice = wakes ? { text: "turning it on …", loud: false } : model.notice;
  return step({ ...model, lit: binding.input, notice }, { name: "press", id, key });
}

function openApps(model: Model, id: string): Step {
  return step({ ...model, notice: null, mode: { name: "apps", filter: "", at: 0 } }, { name: "list", id });
}

/** The next set, or the one before; a single one stays. */
function turn(model: Model, by: number): Step {
  const { devices } = model;
  const at = devices.findIndex((one) => one.id === model.current);
  const next = devices[(at + by + devices.length) % devices.length];
  if (!next || next.id === model.current)
    return step({ ...model, notice: { text: "no other set is known", loud: false } });
  return step({ ...model, current: next.id, seen: null, notice: null, lit: null }, { name: "look" });
}

function inText(model: Model, mode: Mode & { name: "text" }, key: string): Step {
  if (key === "escape") return leave(model);
  if (key === "enter") {
    const { current } = model;
    return mode.text === "" || current === null
      ? leave(model)
      : leave(model, { name: "press", id: current, key: `literal:${mode.text}` });
  }
  const text = edited(mode.text, key);
  return text === null ? step(model) : step({ ...model, mode: { ...mode, text } });
}

function inApps(model: Model, mode: Mode & { name: "apps" }, key: string): Step {
  if (key === "escape") return leave(model);
  const shown = appsShown(model, mode.filter);
  if (key === "enter") {
    const app = shown[mode.at];
    if (!app || model.current === null) return step(model);
    const notice = { text: `launching ${app.name} …`, loud: false };
    return leave({ ...model, notice }, { name: "launch", id: model.current, app: app.platform_id });
  }
  const moved = { up: -1, down: 1, "shift-tab": -1, tab: 1, "page-up": -pageRows, "page-down": pageRows }[key];
  if (moved !== undefined) {
    const at = Math.max(0, Math.min(shown.length - 1, mode.at + moved));
    return step({ ...model, mode: { ...mode, at } });
  }
  if (key === "home" || key === "end")
    return step({ ...model, mode: { ...mode, at: key === "home" ? 0 : Math.max(0, shown.length - 1) } });
  const filter = edited(mode.filter, key);
  return filter === null ? step(model) : step({ ...model, mode: { ...mode, filter, at: 0 } });
}

/** The text after a key, or `null` when the key does not write. */
function edited(text: string, key: string): string | null {
  if (key === "backspace") return [...text].slice(0, -1).join("");
  if (key === "ctrl-u") return "";
  if (key === "ctrl-w") return text.replace(/\S*\s*$/u, "");
  return [...key].length === 1 ? limited(text + key) : null;
}

function limited(text: string): string {
  return [...text].slice(0, maxText).join("");
}
