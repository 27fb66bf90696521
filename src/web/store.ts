/** What the page knows, as signals: a view reads them, and is drawn anew when they change. Only the stream writes most of it. */
import { batch, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Device, Followed, State } from "../api/client-types.ts";
import { call, type Failure, failureOf } from "./calls.ts";
import { type Key, powerKey } from "./words.ts";

/** A device and what is known of it. Each part is a signal of its own: of a thousand, only the one that changed is drawn. */
export interface Entry {
  readonly id: string;
  readonly device: Signal<Device>;
  /** `null`: nothing is known yet. */
  readonly state: Signal<State | null>;
  /** Why the last thing that this page asked of it failed; `null` once something has worked. */
  readonly refusal: Signal<Failure | null>;
  /** What the page asks of it now, in words (`turning on`); `null` for nothing. */
  readonly doing: Signal<string | null>;
}

/** `connecting`: nothing has come yet. `lost`: what is shown is the last picture, and the page tries again by itself. */
export type Connection = "connecting" | "live" | "lost";

/** Events that are kept for the activity. */
const mostEvents = 200;

const entriesNow = signal<readonly Entry[]>([]);
/** The same by id: of a thousand, one is found at once. */
const byId = new Map<string, Entry>();
const connectionNow = signal<Connection>("connecting");
const eventsNow = signal<readonly Followed[]>([]);

/** Every device, in the order of adding. Changes only when one comes or goes. */
export const entries: ReadonlySignal<readonly Entry[]> = entriesNow;
export const connection: ReadonlySignal<Connection> = connectionNow;
/** The last 200 events, the newest first; snapshots are left out. */
export const events: ReadonlySignal<readonly Followed[]> = eventsNow;

/** The entry of a device by its id; `undefined` when it is not known (any more). Reading it subscribes to comings and goings. */
export function entryOf(id: string): Entry | undefined {
  return entries.value.length === 0 ? undefined : byId.get(id);
}

function setEntries(now: readonly Entry[]): void {
  byId.clear();
  for (const entry of now) byId.set(entry.id, entry);
  entriesNow.value = now;
}

/** Everything, as one tab hands it to another. */
export interface Picture {
  readonly devices: readonly { readonly device: Device; readonly state: State | null }[];
  readonly events: readonly Followed[];
  readonly connection: Connection;
}

export function pictureNow(): Picture {
  return {
    devices: entries.peek().map(({ device, state }) => ({ device: device.peek(), state: state.peek() })),
    events: events.peek(),
    connection: connection.peek(),
  };
}

export function takePicture(picture: Picture): void {
  replaceDevices(picture.devices);
  eventsNow.value = picture.events;
  setConnection(picture.connection);
}

export function setConnection(now: Connection): void {
  connectionNow.value = now;
  if (now !== "live") return;
  // It answers again: that it did not is no news any more.
  for (const { refusal } of entries.peek()) if (refusal.peek()?.code === "no_answer") refusal.value = null;
}

/** Takes what happened before this page was opened. */
export function takeHistory(past: readonly Followed[]): void {
  const known = new Set(events.peek().map(({ id }) => id));
  const older = past.filter(({ id, type }) => type !== "snapshot" && !known.has(id)).reverse();
  eventsNow.value = [...events.peek(), ...older].slice(0, mostEvents);
}

/** The parts of a snapshot that have come; they count once all are there. */
let arriving: { device: Device; state: State | null }[] = [];

/** Takes one event of the stream. */
export function take(event: Followed): void {
  if (event.type !== "snapshot") eventsNow.value = [event, ...events.peek()].slice(0, mostEvents);
  switch (event.type) {
    case "snapshot":
      if (event.part === 1) arriving = [];
      arriving.push(...event.devices);
      if (event.last) batch(() => replaceDevices(arriving));
      return;
    case "device.added":
    case "device.changed":
      return put(event.device);
    case "device.removed":
      setEntries(entries.peek().filter(({ id }) => id !== event.device_id));
      return;
    case "state.changed": {
      const entry = byId.get(event.device_id);
      if (entry) entry.state.value = event.state;
      return;
    }
  }
}

/** Takes a device as an answer of the API has it: the event may come later. */
export function put(device: Device): void {
  const known = byId.get(device.id);
  if (known) known.device.value = device;
  else setEntries([...entries.peek(), entryFrom(device, null)]);
}

/** Takes what plays as an answer of the API has it: no event tells of a position that has moved by little. */
export function takePlayback({ state }: Entry, playback: NonNullable<State["playback"]>): void {
  const { value: now } = state;
  if (!now?.playback || (playback.position_at ?? "") < (now.playback.position_at ?? "")) return;
  state.value = { ...now, playback };
}

function replaceDevices(given: Picture["devices"]): void {
  const now = given.map(({ device, state }) => {
    const known = byId.get(device.id);
    if (!known) return entryFrom(device, state);
    known.device.value = device;
    known.state.value = state;
    return known;
  });
  const isSame = now.length === byId.size && now.every((one, at) => entries.peek()[at] === one);
  if (!isSame) setEntries(now);
}

function entryFrom(device: Device, state: State | null): Entry {
  return { id: device.id, device: signal(device), state: signal(state), refusal: signal(null), doing: signal(null) };
}

/**
 * Does something with a device: what is being done is shown with it, and so is why it failed. Answers with `null` when it
 * failed. `doing` is shown only when it takes a while.
 */
export async function attempt<T>(entry: Entry, doing: string, work: () => Promise<T>): Promise<T | null> {
  const later = setTimeout(() => {
    entry.doing.value = doing;
  }, 400);
  try {
    const done = await work();
    entry.refusal.value = null;
    return done;
  } catch (error) {
    const failure = failureOf(error);
    if (failure) entry.refusal.value = failure;
    return null;
  } finally {
    clearTimeout(later);
    entry.doing.value = null;
  }
}

/** Presses a key of a device, once. */
export function press(entry: Entry, key: Key, doing: string): Promise<unknown> {
  return attempt(entry, doing, () => call("pressKey", { id: entry.id, body: { key } }));
}

/** Turns a device off where it is on, and else on; nothing happens where it has no key for that. */
export function pressPower(entry: Entry, isOn: boolean): void {
  const key = powerKey(entry.device.peek(), isOn);
  if (key !== undefined) void press(entry, key, isOn ? "turning off" : "turning on");
}

/** By device, the level that is wanted next, while one is on its way; `null` for none. */
const nextLevels = new Map<string, number | null>();

/** Sets the volume. While one level is on its way only the last of those that are wanted meanwhile goes after it: some sets step there. */
export async function setVolume(entry: Entry, level: number): Promise<void> {
  const { id } = entry;
  if (nextLevels.has(id)) {
    nextLevels.set(id, level);
    return;
  }
  for (let next: number | null = level; next !== null; next = nextLevels.get(id) ?? null) {
    nextLevels.set(id, null);
    const wanted = next;
    await attempt(entry, "setting the volume", () => call("setVolume", { id, body: { level: wanted } }));
  }
  nextLevels.delete(id);
}

/** Makes a device one step louder, or quieter. */
export function stepVolume(entry: Entry, by: 1 | -1): void {
  const doing = by > 0 ? "louder" : "quieter";
  void attempt(entry, doing, () => call("setVolume", { id: entry.id, body: { step: by } }));
}

/** Mutes a device, or has it sound again. */
export function setMuted(entry: Entry, muted: boolean): void {
  void attempt(entry, muted ? "muting" : "unmuting", () => call("setVolume", { id: entry.id, body: { muted } }));
}
