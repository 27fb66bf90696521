/** The state of the remote, and how each event changes it. Pure: side effects are returned as values. */
import type { ApiEvent, Arguments } from "../../api/client.ts";
import { positionAt } from "../../api/client-words.ts";
import type { Failure } from "../../api/errors.ts";
import { pressLimits } from "../../api/limits.ts";
import type { Device, State } from "../../api/schemas.ts";
import { printable } from "../../system/printable.ts";
import { withLocalTimes } from "../explain.ts";
import {
  alternativeTo,
  availabilityOf,
  type Binding,
  bindings,
  type Capability,
  canonicalInput,
  isAsleep,
  type ListName,
  lists,
  press,
  whyWithheld,
} from "./keys.ts";
import type { Input } from "./terminal.ts";

export interface Model {
  readonly devices: readonly DeviceView[];
  /** The devices of a snapshot whose last part has not arrived. */
  readonly partialSnapshot: readonly DeviceView[];
  /** Whether a whole snapshot has arrived. */
  readonly hasSnapshot: boolean;
  /** The id of the device that is controlled; `null` while none is known. */
  readonly current: string | null;
  /** Whether the connection to the daemon is lost. */
  readonly isDisconnected: boolean;
  readonly mode: Mode;
  readonly notice: Notice | null;
  /** The key that was pressed a moment ago, and is drawn so. */
  readonly pressedInput: string | null;
  /** The position that a device was told to seek to, in milliseconds, until it is there. */
  readonly seeking: { readonly id: string; readonly to: number } | null;
  /** The choices of the pickers, by `apps ID` and the like. */
  readonly lists: Readonly<Record<string, readonly Choice[]>>;
}

/** A device and its state; `null` until it is known. */
export interface DeviceView {
  readonly device: Device;
  readonly state: State | null;
}

/** An entry of a picker. */
export interface Choice {
  readonly id: string;
  readonly name: string;
}

export type Mode =
  | { readonly name: "keys" | "help" }
  | { readonly name: "line"; readonly what: "text" | "volume"; readonly text: string }
  | { readonly name: "pick"; readonly what: ListName; readonly filter: string; readonly at: number };

/** The bottom line. */
interface Notice {
  readonly text: string;
  readonly hint?: string;
  readonly isFailure: boolean;
}

export type Event =
  | { readonly name: "input"; readonly input: Input }
  /** `whole`: the device of which the current one is a part by now. */
  | { readonly name: "daemonEvent"; readonly event: ApiEvent; readonly whole?: string | undefined }
  /** The connection to the daemon was lost, or is back. */
  | { readonly name: "connection"; readonly isLost: boolean }
  | { readonly name: "listed"; readonly id: string; readonly what: ListName; readonly choices: readonly Choice[] }
  /** `difference`: what the device shows, where that is not what it was told. */
  | { readonly name: "done"; readonly id: string; readonly command: Command; readonly difference?: string | undefined }
  | { readonly name: "failed"; readonly id: string; readonly what?: ListName; readonly failure: Failure }
  /** Commands that waited too long behind a slow one. */
  | { readonly name: "dropped"; readonly id: string; readonly count: number }
  | { readonly name: "highlightEnded" }
  | { readonly name: "noticeEnded" };

type Operation = "pressKey" | "launchApp" | "selectInput" | "selectChannel" | "setVolume" | "controlPlayback";
/** An operation of the API for one device. */
export type Command = {
  readonly [Name in Operation]: { readonly operation: Name; readonly body: BodyOf<Name> };
}[Operation];
type BodyOf<Name extends Operation> = Arguments<Name> extends { readonly body: infer Body } ? Body : never;

/** A command for a device, and the key that caused it. */
export interface Order {
  readonly id: string;
  readonly command: Command;
  /** The key of the terminal; none for a command of the input line or a picker. */
  readonly input?: string;
  /** The terminal reports a repeat of a key that is down. */
  readonly isRepeat?: boolean;
  /** The key of the device to hold while the terminal's key is down. */
  readonly holdKey?: PressedKey;
}

export type PressedKey = BodyOf<"pressKey">["key"];

export type Effect =
  | ({ readonly name: "order" } & Order)
  /** A key of the terminal has come up. */
  | { readonly name: "released"; readonly input: string }
  | { readonly name: "list"; readonly id: string; readonly what: ListName }
  | { readonly name: "redraw" | "suspend" | "quit" };

export interface Step {
  readonly model: Model;
  readonly effects: readonly Effect[];
}

function step(model: Model, ...effects: Effect[]): Step {
  return { model, effects };
}

const mode = { name: "keys" } as const;

/** The model before the first event; `current` is the device that the user named. */
export function begin(current: string | null): Model {
  const nothing = { devices: [], partialSnapshot: [], hasSnapshot: false, isDisconnected: false, lists: {} };
  return { ...nothing, current, mode, notice: null, pressedInput: null, seeking: null };
}

export function currentView(model: Model): DeviceView | undefined {
  return model.devices.find(({ device }) => device.id === model.current);
}

/** The state at a time: playback has run on since it was observed, or is at the position it seeks to. */
export function stateAt({ device, state }: DeviceView, seeking: Model["seeking"], now: number): State | null {
  const { playback } = state ?? {};
  if (!state || !playback) return state;
  const there = positionAt(playback, now);
  if (there === null) return state;
  const position_ms = Math.round(seeking?.id === device.id ? seeking.to : there);
  return { ...state, playback: { ...playback, position_ms } };
}

/** The choices that match the filter: beginnings first, then words, then parts, then its letters in order. */
export function choicesShown(model: Model, what: ListName, filter: string): readonly Choice[] {
  const wanted = normalized(filter);
  const ranked = (allChoices(model, what) ?? []).flatMap((choice) => {
    const name = normalized(choice.name);
    const rank = name.startsWith(wanted) ? 0 : name.includes(` ${wanted}`) ? 1 : name.includes(wanted) ? 2 : 3;
    return hasInOrder(wanted, name) ? [{ choice, rank }] : [];
  });
  return ranked.sort((one, other) => one.rank - other.rank).map(({ choice }) => choice);
}

/** The choices for the current device; `undefined` until they have arrived. */
export function allChoices(model: Model, what: ListName): readonly Choice[] | undefined {
  return model.lists[`${what} ${model.current}`];
}

function normalized(text: string): string {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase().trim();
}

/** `nfx` finds Netflix. */
function hasInOrder(wanted: string, name: string): boolean {
  let from = 0;
  for (const character of wanted.replaceAll(" ", "")) {
    from = name.indexOf(character, from) + 1;
    if (from === 0) return false;
  }
  return true;
}

/** The model after an event, and the effects to carry out. `now`: milliseconds since the epoch. */
export function update(model: Model, event: Event, now: number): Step {
  switch (event.name) {
    case "input":
      return updateInput(model, event.input, now);
    case "daemonEvent":
      return step(applyEvent(event.whole === undefined ? model : becoming(model, event.whole), event.event));
    case "connection":
      // A list that was requested will not arrive.
      return step({
        ...model,
        isDisconnected: event.isLost,
        mode: event.isLost && model.mode.name === "pick" ? mode : model.mode,
      });
    case "listed": {
      const lists = { ...model.lists, [`${event.what} ${event.id}`]: event.choices };
      return step({ ...model, lists });
    }
    case "done":
      return step(commandDone(model, event));
    case "failed":
      return step(commandFailed(model, event));
    case "dropped": {
      const text = `${nameOf(model, event.id)} is slow: ${event.count} ${event.count === 1 ? "press was" : "presses were"} dropped`;
      return step({ ...model, seeking: null, notice: { text, isFailure: true } });
    }
    case "highlightEnded":
      return step({ ...model, pressedInput: null });
    case "noticeEnded":
      return step({ ...model, notice: null });
  }
}

/** Applies an event of the daemon. */
export function applyEvent(model: Model, event: ApiEvent): Model {
  const { devices } = model;
  switch (event.type) {
    case "snapshot": {
      const partialSnapshot = [...(event.part === 1 ? [] : model.partialSnapshot), ...event.devices];
      if (!event.last) return { ...model, partialSnapshot };
      const next = withCurrentDevice({ ...model, devices: partialSnapshot, partialSnapshot: [], hasSnapshot: true });
      const isGone = model.hasSnapshot && model.current !== null && next.current !== model.current;
      return isGone ? { ...next, notice: goneNotice(model, model.current) } : next;
    }
    case "device.added":
    case "device.changed": {
      const { device } = event;
      const isNew = devices.every((one) => one.device.id !== device.id);
      if (isNew) return withCurrentDevice({ ...model, devices: [...devices, { device, state: null }] });
      return { ...model, devices: devices.map((one) => (one.device.id === device.id ? { ...one, device } : one)) };
    }
    case "device.removed": {
      const remaining = { ...model, devices: devices.filter(({ device }) => device.id !== event.device_id) };
      if (model.current !== event.device_id) return remaining;
      if (event.part_of !== undefined) return withCurrentDevice(becoming(remaining, event.part_of));
      return withCurrentDevice({ ...remaining, notice: goneNotice(model, event.device_id) });
    }
    case "state.changed": {
      const { device_id, state } = event;
      return { ...model, devices: devices.map((one) => (one.device.id === device_id ? { ...one, state } : one)) };
    }
    default:
      return model;
  }
}

/** The model with the device of which the current one has become a part. A picker has the list of the one that is gone. */
function becoming(model: Model, whole: string): Model {
  return { ...model, current: whole, mode: model.mode.name === "pick" ? mode : model.mode };
}

/** The model with a current device that exists: the one before, else the default, else the first. */
function withCurrentDevice(model: Model): Model {
  const { devices } = model;
  if (devices.some(({ device }) => device.id === model.current)) return model;
  const { device } = devices.find((one) => one.device.is_default) ?? devices[0] ?? {};
  return { ...model, current: device?.id ?? null, mode };
}

function commandDone(model: Model, { id, command, difference }: Event & { name: "done" }): Model {
  const { seeking } = model;
  const isThere =
    seeking?.id === id && command.operation === "controlPlayback" && command.body.position_ms === seeking.to;
  const settled = isThere ? { ...model, seeking: null } : model;
  if (id !== model.current) return settled;
  if (difference === undefined) return { ...settled, notice: null };
  return {
    ...settled,
    notice: { text: `${nameOf(model, id)} accepted the command, but ${difference}`, isFailure: false },
  };
}

function commandFailed(model: Model, { id, what, failure }: Event & { name: "failed" }): Model {
  const seeking = model.seeking?.id === id ? null : model.seeking;
  // Without its list a picker closes. A lost connection is shown at the top already.
  const isPicking = model.mode.name === "pick" && model.mode.what === what && model.current === id;
  const failed = { ...model, seeking, mode: isPicking ? mode : model.mode };
  return model.isDisconnected ? failed : { ...failed, notice: noticeOf(failure) };
}

function noticeOf({ code, message, hint }: Failure): Notice {
  // The hint would list the keys, which are drawn already.
  const advice = hint === undefined || code === "unsupported_key" ? {} : { hint: withLocalTimes(hint) };
  return { text: withLocalTimes(message), ...advice, isFailure: true };
}

function nameOf(model: Model, id: string): string {
  return printable(model.devices.find(({ device }) => device.id === id)?.device.name ?? "it");
}

function goneNotice(model: Model, id: string): Notice {
  return { text: `${nameOf(model, id)} is no longer known`, isFailure: false };
}

const pageRows = 8;

function updateInput(model: Model, input: Input, now: number): Step {
  if ("paste" in input) return paste(model, input.paste);
  const { key, phase } = input;
  if (phase === "up") return step(model, { name: "released", input: canonicalInput(key) });
  if (key === "ctrl-c") return step(model, { name: "quit" });
  if (key === "ctrl-z") return step(model, { name: "suspend" });
  if (key === "ctrl-l") return step(model, { name: "redraw" });
  switch (model.mode.name) {
    case "keys":
      return remoteKey(model, key, phase === "repeat", now);
    case "help":
      return step({ ...model, mode });
    case "line":
      return lineKey(model, model.mode, key);
    case "pick":
      return pickerKey(model, model.mode, key);
  }
}

function backToKeys(model: Model, ...effects: Effect[]): Step {
  return step({ ...model, mode }, ...effects);
}

/** Pasted text goes into an input line; elsewhere it does nothing. */
function paste(model: Model, text: string): Step {
  const { mode } = model;
  const line = text.replace(/[\r\n\t]+/g, " ").replace(/[\p{Cc}\p{Cs}]/gu, "");
  if (mode.name === "line") return step({ ...model, mode: withText(mode, mode.text + line) });
  if (mode.name === "pick") return step({ ...model, mode: { ...mode, filter: limitText(mode.filter + line), at: 0 } });
  return step(model);
}

function remoteKey(model: Model, key: string, isRepeat: boolean, now: number): Step {
  if (key === "q" || key === "escape") return step(model, { name: "quit" });
  if (key === "?") return step({ ...model, mode: { name: "help" } });
  if (key === "tab") return switchDevice(model, 1);
  if (key === "shift-tab") return switchDevice(model, -1);
  const view = currentView(model);
  if (!view) return step(model);
  if (key === "t") return openMode(model, view, "text", { name: "line", what: "text", text: "" });
  if (/^\d$/.test(key)) return openMode(model, view, "volume", { name: "line", what: "volume", text: key });
  const what = (Object.keys(lists) as ListName[]).find((one) => lists[one].input === key);
  if (what) {
    const picking = { name: "pick", what, filter: "", at: 0 } as const;
    return openMode(model, view, what, picking, { name: "list", id: view.device.id, what });
  }
  const binding = bindings.find((one) => one.input === canonicalInput(key));
  return binding ? pressBinding(model, view, binding, isRepeat, now) : step(model);
}

/** What a device says that lacks a capability. */
const lackingText: Partial<Record<Capability, string>> = {
  text: "accepts no text",
  volume: "cannot be set to a volume",
  apps: "has no list of apps",
  inputs: "has no list of inputs",
  channels: "has no list of channels",
  seek: "cannot seek",
};

function openMode(model: Model, view: DeviceView, needs: Capability, mode: Mode, ...effects: Effect[]): Step {
  const notice = refusal(model, view, needs);
  return notice ? step({ ...model, notice }) : step({ ...model, notice: null, mode }, ...effects);
}

function refusal(model: Model, view: DeviceView, needs: Capability): Notice | null {
  const worth = availabilityOf(view, needs);
  if (worth === "works") return null;
  const name = nameOf(model, view.device.id);
  const hint = whyWithheld(view, needs)?.hint ?? null;
  const text = worth === null ? `${name} ${lackingText[needs]}` : `${name} does not allow ${needs} now`;
  return { text, ...(hint !== null && { hint: printable(hint) }), isFailure: true };
}

function pressBinding(model: Model, view: DeviceView, binding: Binding, isRepeat: boolean, now: number): Step {
  const { device } = view;
  const { input, key, isHeld } = binding;
  const pressedModel = { ...model, pressedInput: input };
  const order = { name: "order", id: device.id, input, isRepeat } as const;
  if (typeof key === "number") {
    const { position_ms: at = null, duration_ms = null } = stateAt(view, model.seeking, now)?.playback ?? {};
    const text = `${nameOf(model, device.id)} is not playing anything that can seek`;
    const notice = refusal(model, view, "seek") ?? { text, isFailure: false };
    if (at === null || notice.isFailure) return step({ ...pressedModel, notice });
    const position_ms = Math.max(0, Math.min(at + key, duration_ms ?? Number.POSITIVE_INFINITY));
    const seeking = { id: device.id, to: position_ms };
    return step(
      { ...pressedModel, seeking },
      { ...order, command: { operation: "controlPlayback", body: { do: "seek", position_ms } } },
    );
  }
  const isWaking = key === "power" && isAsleep(view) && device.capabilities.includes("power_on");
  const notice = isWaking ? { text: "turning it on …", isFailure: false } : model.notice;
  const other = isWaking || !device.keys.some((one) => one === key) ? alternativeTo(view, key) : null;
  const held = isHeld && other === null && device.capabilities.includes("hold") ? { holdKey: key } : {};
  // A key that the device withholds or lacks is sent all the same: the daemon says why it fails.
  return step({ ...pressedModel, notice }, { ...order, command: other ?? press(key), ...held });
}

/** Switches to the next device, or to the one before. */
function switchDevice(model: Model, by: number): Step {
  const { devices } = model;
  const at = devices.findIndex(({ device }) => device.id === model.current);
  const id = devices[(at + by + devices.length) % devices.length]?.device.id;
  if (id === undefined || id === model.current)
    return step({ ...model, notice: { text: "no other device is known", isFailure: false } });
  return step({ ...model, current: id, notice: null });
}

function lineKey(model: Model, mode: Mode & { name: "line" }, key: string): Step {
  const { what, text } = mode;
  if (key === "enter" && text !== "" && model.current !== null) {
    const command: Command =
      what === "text" ? press(`literal:${text}`) : { operation: "setVolume", body: { level: Number(text) } };
    if (what === "text" || Number(text) <= 100) return backToKeys(model, { name: "order", id: model.current, command });
    return step({
      ...model,
      mode: { ...mode, text: "" },
      notice: { text: "give a volume from 0 to 100", isFailure: true },
    });
  }
  if (key === "enter" || key === "escape") return backToKeys(model);
  const next = editText(text, key);
  return next === null ? step(model) : step({ ...model, mode: withText(mode, next) });
}

/** The input line with another text, within its limits. */
function withText(mode: Mode & { name: "line" }, text: string): Mode {
  return { ...mode, text: mode.what === "text" ? limitText(text) : text.replace(/\D/g, "").slice(0, 3) };
}

function pickerKey(model: Model, mode: Mode & { name: "pick" }, key: string): Step {
  if (key === "escape") return backToKeys(model);
  const { what } = mode;
  const shown = choicesShown(model, what, mode.filter);
  if (key === "enter") {
    const choice = shown[mode.at];
    if (!choice || model.current === null) return step(model);
    const { command, doing } = choiceCommand(what, choice.id);
    const notice = { text: `${doing} ${printable(choice.name)} …`, isFailure: false };
    return backToKeys({ ...model, notice }, { name: "order", id: model.current, command });
  }
  const moved = { up: -1, down: 1, "shift-tab": -1, tab: 1, "page-up": -pageRows, "page-down": pageRows }[key];
  if (moved !== undefined) {
    const at = Math.max(0, Math.min(shown.length - 1, mode.at + moved));
    return step({ ...model, mode: { ...mode, at } });
  }
  if (key === "home" || key === "end")
    return step({ ...model, mode: { ...mode, at: key === "home" ? 0 : Math.max(0, shown.length - 1) } });
  const filter = editText(mode.filter, key);
  return filter === null ? step(model) : step({ ...model, mode: { ...mode, filter, at: 0 } });
}

function choiceCommand(what: ListName, id: string): { command: Command; doing: string } {
  switch (what) {
    case "apps":
      return { command: { operation: "launchApp", body: { app: id } }, doing: "launching" };
    case "inputs":
      return { command: { operation: "selectInput", body: { input: id } }, doing: "turning to" };
    case "channels":
      return { command: { operation: "selectChannel", body: { channel: id } }, doing: "tuning to" };
  }
}

/** The text after a key; `null` for a key that does not edit. */
function editText(text: string, key: string): string | null {
  if (key === "backspace") return [...text].slice(0, -1).join("");
  if (key === "ctrl-u") return "";
  if (key === "ctrl-w") return text.replace(/\S*\s*$/u, "");
  return [...key].length === 1 ? limitText(text + key) : null;
}

function limitText(text: string): string {
  return [...text].slice(0, pressLimits.characters).join("");
}
