/** The state of the page, as signals: a component that reads one renders again when it changes. The event stream writes most of it. */
import { batch, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Device, Followed, State } from "../api/client-types.ts";
import type { EventOf } from "../api/events.ts";
import { CallError, call, type Failure, failureOf, noAnswer } from "./calls.ts";
import { goOnWith } from "./route.ts";
import { type Key, powerKey } from "./words.ts";

/** A device and its state. Each field is a signal of its own, so that a change renders one device and not the whole list. */
export interface Entry {
  readonly id: string;
  readonly device: Signal<Device>;
  /** `null` until the state is known. */
  readonly state: Signal<State | null>;
  /** Why the last request of this page failed; `null` after one that succeeded. */
  readonly refusal: Signal<Failure | null>;
  /** The request that is under way, in words (`turning on`); `null` for none. */
  readonly pendingAction: Signal<string | null>;
  /** How far the last package is; `null` before the first report. */
  readonly install: Signal<EventOf<"install.progress"> | null>;
  /** The command of this page that is under way. */
  readonly commands: UnderWay;
}

/** `connecting`: no snapshot has arrived yet. `lost`: the page shows the last known state and reconnects by itself. */
export type Connection = "connecting" | "live" | "lost";

const notSent: Failure = {
  code: "device_busy",
  message: "It was not sent, because the commands before it took too long",
  hint: "Try again",
  reason: null,
};

/** What is under way; each resolves with the failure that those who wait for it share, or with `null`. */
type UnderWay = Set<Promise<Failure | null>>;

/** How many events the activity view keeps. */
const maxEvents = 200;

const entriesSignal = signal<readonly Entry[]>([]);
const byId = new Map<string, Entry>();
const connectionSignal = signal<Connection>("connecting");
const lostBecauseSignal = signal<Failure | null>(null);
const eventsSignal = signal<readonly Followed[]>([]);

/** Every device, in the order in which they were added. Changes only when a device is added or removed. */
export const entries: ReadonlySignal<readonly Entry[]> = entriesSignal;
export const connection: ReadonlySignal<Connection> = connectionSignal;
/** Why the page does not follow the daemon now, also before the first snapshot; `null` while it does. */
export const lostBecause: ReadonlySignal<Failure | null> = lostBecauseSignal;
/** The last 200 events, the newest first; without snapshots and the progress of packages, which would leave room for no other. */
export const events: ReadonlySignal<readonly Followed[]> = eventsSignal;

/** The entry of a device; `undefined` for an unknown id, and without one. A component that calls this renders again when devices are added or removed. */
export function entryOf(id: string | null): Entry | undefined {
  return id === null || entries.value.length === 0 ? undefined : byId.get(id);
}

function setEntries(next: readonly Entry[]): void {
  byId.clear();
  for (const entry of next) byId.set(entry.id, entry);
  entriesSignal.value = next;
}

/** The whole state, as one tab sends it to another. */
export interface PageSnapshot {
  readonly devices: readonly { readonly device: Device; readonly state: State | null }[];
  readonly events: readonly Followed[];
  readonly connection: Connection;
}

export function currentSnapshot(): PageSnapshot {
  return {
    devices: entries.peek().map(({ device, state }) => ({ device: device.peek(), state: state.peek() })),
    events: events.peek(),
    connection: connection.peek(),
  };
}

export function applySnapshot(snapshot: PageSnapshot): void {
  replaceDevices(snapshot.devices);
  eventsSignal.value = snapshot.events;
  connectionSignal.value = snapshot.connection;
  setConnection(snapshot.connection);
}

export function setConnection(now: Connection, because: Failure = noAnswer): void {
  lostBecauseSignal.value = now === "lost" ? because : null;
  // Before the first snapshot there is nothing to show.
  if (now === "lost" && connection.peek() === "connecting") return;
  connectionSignal.value = now;
  if (now !== "live") return;
  // The daemon answers again, so these messages are out of date.
  for (const { refusal } of entries.peek()) if (refusal.peek()?.code === "no_answer") refusal.value = null;
}

/** Adds events that this page has not seen. */
export function addHistory(past: readonly Followed[]): void {
  const known = new Set(events.peek().map(({ id }) => id));
  const missed = past.filter((event) => isListed(event) && !known.has(event.id)).reverse();
  // A tab that was frozen has events from before them, too.
  const newestFirst = (one: Followed, other: Followed) => Number(one.at < other.at) - Number(one.at > other.at);
  eventsSignal.value = [...events.peek(), ...missed].sort(newestFirst).slice(0, maxEvents);
}

const isListed = ({ type }: Followed) => type !== "snapshot" && type !== "install.progress";

/** The parts of the current snapshot that have arrived; applied once the last one is there. */
let snapshotParts: { device: Device; state: State | null }[] = [];

/** Applies one event of the stream. */
export function applyEvent(event: Followed): void {
  if (isListed(event)) eventsSignal.value = [event, ...events.peek()].slice(0, maxEvents);
  switch (event.type) {
    case "snapshot":
      if (event.part === 1) snapshotParts = [];
      snapshotParts.push(...event.devices);
      if (event.last) batch(() => replaceDevices(snapshotParts));
      return;
    case "device.added":
    case "device.changed":
      return updateDevice(event.device);
    case "device.removed":
      return batch(() => {
        setEntries(entries.peek().filter(({ id }) => id !== event.device_id));
        if (event.part_of !== undefined) goOnWith(event.part_of, event.device_id);
      });
    case "state.changed": {
      const entry = byId.get(event.device_id);
      if (entry) entry.state.value = event.state;
      return;
    }
    case "install.progress": {
      const entry = byId.get(event.device_id);
      if (entry) entry.install.value = event;
      return;
    }
  }
}

/** Applies a device from an API response, which may arrive before its event. */
export function updateDevice(device: Device): void {
  const known = byId.get(device.id);
  if (!known) return setEntries([...entries.peek(), entryFrom(device, null)]);
  known.device.value = device;
  // Who has it, and until when, is true no longer.
  if (device.lease === null && known.refusal.peek()?.code === "device_leased") known.refusal.value = null;
}

/** Applies the playback of an API response: small changes of the position cause no event. */
export function applyPlayback({ state }: Entry, playback: NonNullable<State["playback"]>): void {
  const { value: now } = state;
  if (!now?.playback || (playback.position_at ?? "") < (now.playback.position_at ?? "")) return;
  state.value = { ...now, playback };
}

function replaceDevices(devices: PageSnapshot["devices"]): void {
  const next = devices.map(({ device, state }) => {
    const known = byId.get(device.id);
    if (!known) return entryFrom(device, state);
    updateDevice(device);
    known.state.value = state;
    return known;
  });
  const isSame = next.length === byId.size && next.every((one, at) => entries.peek()[at] === one);
  if (!isSame) setEntries(next);
}

function entryFrom(device: Device, state: State | null): Entry {
  return {
    id: device.id,
    device: signal(device),
    state: signal(state),
    refusal: signal(null),
    pendingAction: signal(null),
    install: signal(null),
    commands: new Set(),
  };
}

/**
 * Runs a request to a device and shows with the device why it failed. `description` ("turning on") is shown when the request
 * takes longer than 400 ms. Resolves with `null` if it failed.
 */
export async function attempt<T>(entry: Entry, description: string, work: () => Promise<T>): Promise<T | null> {
  const timer = setTimeout(() => {
    entry.pendingAction.value = description;
  }, 400);
  const shown = entry.refusal.peek();
  try {
    const result = await work();
    // A failure that came meanwhile is that of another request.
    if (entry.refusal.peek() === shown) entry.refusal.value = null;
    return result;
  } catch (error) {
    const failure = failureOf(error);
    if (failure) entry.refusal.value = failure;
    return null;
  } finally {
    clearTimeout(timer);
    // Another request may be under way.
    if (entry.pendingAction.peek() === description) entry.pendingAction.value = null;
  }
}

/**
 * Runs a request once fewer than `max` are under way: a browser has six connections to the daemon, for all its tabs. It fails
 * if that takes longer than `maxWaitMs`: what happens much later than it was asked for surprises.
 */
async function inTurn<T>(
  underWay: UnderWay,
  max: number,
  maxWaitMs: number,
  work: () => Promise<T>,
  sharedFailure: (thrown: unknown) => Failure | null = () => null,
): Promise<T> {
  // The timer stands still while the machine sleeps; the time of day does not.
  const askedAt = Date.now();
  let timeout: Promise<Failure> | undefined;
  while (underWay.size >= max) {
    timeout ??= new Promise((resolve) => setTimeout(resolve, maxWaitMs, notSent));
    const failure = await Promise.race([...underWay, timeout]);
    if (failure) throw new CallError(failure);
    if (Date.now() - askedAt > maxWaitMs) throw new CallError(notSent);
  }
  const running = work();
  const ended = running.then(() => null, sharedFailure);
  underWay.add(ended);
  // Not sooner: a caller who comes back from what has just ended must not overtake those who wait.
  void ended.then(() => underWay.delete(ended));
  return running;
}

/** Failures of a device, or a daemon, that does not answer. */
const silences: ReadonlySet<Failure["code"]> = new Set(["device_timeout", "device_unreachable", "no_answer"]);

function silenceOf(thrown: unknown): Failure | null {
  const failure = failureOf(thrown);
  return failure && silences.has(failure.code) ? failure : null;
}

/**
 * `attempt` for a command. The commands to one device go one after another, and with one that is not answered those behind
 * it end: however often one that is silent is pressed, the others have the browser's connections. A command waits at most
 * 5 s, as a single key does in the daemon (SECURITY.md R14).
 */
export function command<T>(entry: Entry, description: string, work: () => Promise<T>): Promise<T | null> {
  return attempt(entry, description, () => inTurn(entry.commands, 1, 5_000, work, silenceOf));
}

/** Presses a key once. */
export function press(entry: Entry, key: Key, description: string): Promise<unknown> {
  return command(entry, description, () => call("pressKey", { id: entry.id, body: { key } }));
}

/** Turning on takes up to 45 s: at most three devices are being turned on. */
const turningOn: UnderWay = new Set();

/** Turns a device off if it is on, and on otherwise; does nothing if the device has no key for it. */
export function pressPower(entry: Entry, isOn: boolean): void {
  const { id } = entry;
  const key = powerKey(entry.device.peek(), isOn);
  if (key === undefined) return;
  if (isOn) void press(entry, key, "turning off");
  else
    void attempt(entry, "turning on", () =>
      inTurn(turningOn, 3, 60_000, () => call("pressKey", { id, body: { key } })),
    );
}

/** By device id, while a level is being set: the level to set next, or `null`. */
const nextLevelById = new Map<string, number | null>();

/** Sets the volume. Calls made while one is under way are merged into the last of them: some sets step to a level slowly. */
export async function setVolume(entry: Entry, level: number): Promise<void> {
  const { id } = entry;
  if (nextLevelById.has(id)) {
    nextLevelById.set(id, level);
    return;
  }
  for (let next: number | null = level; next !== null; next = nextLevelById.get(id) ?? null) {
    nextLevelById.set(id, null);
    const body = { level: next };
    await command(entry, "setting the volume", () => call("setVolume", { id, body }));
  }
  nextLevelById.delete(id);
}

/** Changes the volume by one step. */
export function stepVolume(entry: Entry, by: 1 | -1): void {
  void command(entry, by > 0 ? "turning up" : "turning down", () =>
    call("setVolume", { id: entry.id, body: { step: by } }),
  );
}

/** Mutes or unmutes a device; one that does not report whether it is muted is toggled by its key, where it has one. */
export function toggleMute(entry: Entry): void {
  const state = entry.state.peek();
  const isMuted = state?.volume?.muted ?? null;
  if (state !== null && isMuted === null && entry.device.peek().keys.includes("mute"))
    return void press(entry, "mute", "muting");
  const muted = isMuted !== true;
  void command(entry, muted ? "muting" : "unmuting", () => call("setVolume", { id: entry.id, body: { muted } }));
}
