/** Tells the journal what has changed: devices as the API shows them, and what they do. */
import type { EventOf } from "../api/events.ts";
import type { State, Device as View } from "../api/schemas.ts";
import type { Journal } from "./journal.ts";

export type Cause = EventOf<"state.changed">["cause"];

/**
 * At most so many changes of state of one device are told in a second, and a little longer, so that a reader who counts them
 * as they arrive counts no more. The rest of a burst follows at a steady pace; its last is always told.
 */
const pace = { most: 10, withinMs: 1_050, everyMs: 105 } as const;
/** How often it is told how far a package is; each phase is told, later where too much was told before. */
const installPace = { most: 4, withinMs: 1_050, everyMs: 255 } as const;
/** A position that is this far from where it would have run to, in milliseconds, is a jump. */
const jumpMs = 2_000;

/** Fields of a device that change with every contact, and tell nobody anything. */
const untold: ReadonlySet<string> = new Set(["last_seen"]);

interface Followed {
  readonly state: State;
  /** What the events so far have said. */
  told: State | null;
  cause: Cause;
  actionId: string | undefined;
}

/** When changes of a device were told, the last of them, and the one that waits for its turn. */
interface Pace {
  readonly at: number[];
  /** Whether the last one had to wait. */
  hasWaited: boolean;
  timer: ReturnType<typeof setTimeout> | undefined;
}

type Progress = Omit<EventOf<"install.progress">, "at">;

/** A package on its way to a device: the phase that it is in, when it was told how far it is, and what waits to be told. */
interface Install {
  phase: Progress["phase"];
  bytes: number;
  readonly at: number[];
  readonly waiting: Progress[];
  timer: ReturnType<typeof setTimeout> | undefined;
}

export class Feed {
  readonly #journal: Journal;
  readonly #now: () => number;
  readonly #views = new Map<string, View>();
  readonly #states = new Map<string, Followed>();
  readonly #paces = new Map<string, Pace>();
  readonly #installs = new Map<string, Install>();

  constructor(journal: Journal, now: () => number = () => performance.now()) {
    this.#journal = journal;
    this.#now = now;
  }

  /** Devices that are known from the start: nobody is told of them. */
  seed(views: readonly View[]): void {
    for (const view of views) this.#views.set(view.id, view);
  }

  /** A device as it is now. */
  publishDevice(view: View): void {
    const before = this.#views.get(view.id);
    this.#views.set(view.id, view);
    if (!before) return this.#journal.publish({ type: "device.added", device_id: view.id, device: view });
    // Labels are left out where there are none.
    const changed = (Object.keys({ ...before, ...view }) as (keyof View)[]).filter(
      (field) => !untold.has(field) && JSON.stringify(view[field]) !== JSON.stringify(before[field]),
    );
    if (changed.length === 0) return;
    this.#journal.publish({ type: "device.changed", device_id: view.id, device: view, changed });
  }

  /** A device is no longer known: nothing of it is kept. */
  publishRemoval(id: string): void {
    const device = this.#views.get(id);
    this.#views.delete(id);
    this.#states.delete(id);
    clearTimeout(this.#paces.get(id)?.timer);
    this.#paces.delete(id);
    clearTimeout(this.#installs.get(id)?.timer);
    this.#installs.delete(id);
    if (device) this.#journal.publish({ type: "device.removed", device_id: id, device });
  }

  /** How many devices, states, paces and packages on their way are kept. */
  get size(): number {
    return this.#views.size + this.#states.size + this.#paces.size + this.#installs.size;
  }

  /** A device lists other apps than before. */
  publishApps(id: string, added: string[], removed: string[]): void {
    this.#journal.publish({ type: "apps.changed", device_id: id, added, removed });
  }

  /** A package is on its way to a device: each phase is told, and how far it is at most four times a second. */
  publishInstall(id: string, phase: Progress["phase"], bytes: number, total: number | null): void {
    if (!this.#views.has(id)) return;
    const before = this.#installs.get(id);
    const own = before ?? { phase, bytes, at: [], waiting: [], timer: undefined };
    this.#installs.set(id, own);
    // With fewer bytes than before, the one before has failed, and this is the next.
    const goesOn = before?.phase === phase && before.bytes <= bytes;
    own.bytes = bytes;
    if (goesOn && (own.waiting.length > 0 || this.#now() - (own.at.at(-1) ?? 0) < installPace.everyMs)) return;
    own.phase = phase;
    own.waiting.push({ type: "install.progress", device_id: id, phase, bytes, total });
    if (own.timer === undefined) this.#publishInstall(id, own);
  }

  #publishInstall(id: string, own: Install): void {
    own.timer = undefined;
    for (let [next] = own.waiting; next; [next] = own.waiting) {
      const wait = afterMost(own.at, installPace) - this.#now();
      if (wait > 0) {
        own.timer = setTimeout(() => this.#publishInstall(id, own), wait);
        return;
      }
      own.waiting.shift();
      keepLast(own.at, this.#now(), installPace.most);
      this.#journal.publish(next);
    }
    if (own.phase === "done") this.#installs.delete(id);
  }

  /** What a device does now; whether that is other than before. */
  publishState(id: string, state: State, cause: Cause, actionId?: string): boolean {
    const before = this.#states.get(id);
    const isNew = changesBetween(before?.state ?? null, state).length > 0;
    // What differs little from look to look may be far by now from what was told.
    const isUntold = changesBetween(before?.told ?? null, state).length > 0;
    // Changes that wait for their turn keep the command that brought the first of them about.
    const waits = before !== undefined && this.#paces.get(id)?.timer !== undefined;
    const brought = waits && actionId === undefined ? before.actionId : actionId;
    this.#states.set(id, {
      state,
      told: before?.told ?? null,
      cause: brought === undefined ? cause : "command",
      actionId: brought,
    });
    if (isUntold && !waits) this.#tell(id);
    return isNew;
  }

  /** Ends the timers; nothing more is told. */
  close(): void {
    for (const { timer } of [...this.#paces.values(), ...this.#installs.values()]) clearTimeout(timer);
    this.#paces.clear();
    this.#installs.clear();
  }

  /** Tells a change, or waits for its turn and tells what holds by then. */
  #tell(id: string): void {
    const own = this.#paces.get(id) ?? { at: [], hasWaited: false, timer: undefined };
    this.#paces.set(id, own);
    const hasWaited = own.timer !== undefined;
    own.timer = undefined;
    const wait = dueAt(own) - this.#now();
    if (wait > 0) {
      own.timer = setTimeout(() => this.#tell(id), wait);
      return;
    }
    own.hasWaited = hasWaited;
    keepLast(own.at, this.#now(), pace.most);
    this.#publish(id);
  }

  #publish(id: string): void {
    const followed = this.#states.get(id);
    if (!followed) return;
    const { state, told, cause, actionId } = followed;
    const changed = changesBetween(told, state);
    if (changed.length === 0) return;
    followed.told = state;
    const by = actionId === undefined ? {} : { action_id: actionId };
    this.#journal.publish({ type: "state.changed", device_id: id, state, changed, cause, ...by });
  }
}

/** When the next change of a device may be told. */
function dueAt({ at, hasWaited }: Pace): number {
  const next = afterMost(at, pace);
  return hasWaited ? Math.max(next, (at.at(-1) ?? 0) + pace.everyMs) : next;
}

/** When one more may be told, so that there are not more than may be in any second. */
function afterMost(at: readonly number[], { most, withinMs }: { most: number; withinMs: number }): number {
  return at.length < most ? 0 : (at[0] ?? 0) + withinMs;
}

function keepLast(at: number[], now: number, most: number): void {
  at.push(now);
  if (at.length > most) at.shift();
}

/** What has changed in a state, as dotted paths; a position that only ran on has not. */
function changesBetween(before: State | null, after: State): string[] {
  const was = before === null ? new Map<string, unknown>() : flat(before);
  const is = flat(after);
  const paths = [...new Set([...was.keys(), ...is.keys()])];
  return paths.filter((path) => {
    if (path === "playback.position_ms") return before === null || hasJumped(before, after);
    return before === null ? is.get(path) !== null : !Object.is(was.get(path), is.get(path));
  });
}

/** Times say when something was seen, and not what. */
const times: ReadonlySet<string> = new Set(["observed_at", "position_at"]);

function flat(state: State): Map<string, unknown> {
  const all = new Map<string, unknown>();
  for (const [name, value] of Object.entries(state)) {
    if (times.has(name)) continue;
    if (value === null || typeof value !== "object") all.set(name, value);
    else if (name === "app") all.set(name, JSON.stringify(value));
    else for (const [field, part] of Object.entries(value)) if (!times.has(field)) all.set(`${name}.${field}`, part);
  }
  return all;
}

/** Whether a position is elsewhere than where it would have run to by itself. */
function hasJumped({ playback: was }: State, { playback: is }: State): boolean {
  if (was === null || is === null) return was !== is;
  if (was.position_ms === null || is.position_ms === null) return was.position_ms !== is.position_ms;
  const passed = Date.parse(is.position_at ?? "") - Date.parse(was.position_at ?? "");
  const expected = was.position_ms + (Number.isFinite(passed) ? passed * (was.rate ?? 0) : 0);
  return Math.abs(is.position_ms - expected) > jumpMs;
}
