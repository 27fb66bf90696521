/** Publishes in the journal what has changed: devices as the API shows them, their states and their apps. */
import type { EventOf } from "../api/events.ts";
import type { State, Device as View } from "../api/schemas.ts";
import type { Journal } from "./journal.ts";

export type Cause = EventOf<"state.changed">["cause"];

/**
 * How many state changes of one device are published within a little more than a second, so that a reader never counts more
 * in one second. The rest of a burst follows at a steady pace; its last change is always published.
 */
const stateLimit = { count: 10, withinMs: 1_050, everyMs: 105 } as const;
/** How often the progress of a package is published; each phase always is, if need be later. */
const installLimit = { count: 4, withinMs: 1_050, everyMs: 255 } as const;
/** A position that is this far from where it would have run to, in milliseconds, is a jump. */
const jumpMs = 2_000;

/** Fields of a device that change with every contact, and are not published. */
const unpublishedFields: ReadonlySet<string> = new Set(["last_seen"]);

type Progress = Omit<EventOf<"install.progress">, "at">;

/** A package on its way to a device: when its progress was published, and what waits to be published. */
interface Install {
  phase: Progress["phase"];
  bytes: number;
  readonly at: number[];
  readonly waiting: Progress[];
  timer: ReturnType<typeof setTimeout> | undefined;
}

/** One device, as it is and as it was published. */
interface Shown {
  view: View;
  state: State | null;
  publishedState: State | null;
  cause: Cause;
  actionId: string | undefined;
  /** When the last changes of its state were published, and the timer of the one that waits. */
  readonly at: number[];
  timer: ReturnType<typeof setTimeout> | undefined;
  /** Whether the last change had to wait. */
  hasWaited: boolean;
  install: Install | undefined;
}

export class Feed {
  readonly #journal: Journal;
  readonly #devices = new Map<string, Shown>();

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** Takes over the devices known at the start, without publishing them. */
  seed(views: readonly View[]): void {
    for (const view of views) this.#add(view);
  }

  #add(view: View): void {
    const nothing = { state: null, publishedState: null, actionId: undefined, timer: undefined, install: undefined };
    this.#devices.set(view.id, { view, ...nothing, cause: "poll", at: [], hasWaited: false });
  }

  publishDevice(view: View): void {
    const own = this.#devices.get(view.id);
    if (!own) {
      this.#add(view);
      this.#journal.publish({ type: "device.added", device_id: view.id, device: view });
      return;
    }
    const before = own.view;
    own.view = view;
    // `labels` is missing where there are none.
    const changed = (Object.keys({ ...before, ...view }) as (keyof View)[]).filter(
      (field) => !unpublishedFields.has(field) && JSON.stringify(view[field]) !== JSON.stringify(before[field]),
    );
    if (changed.length === 0) return;
    this.#journal.publish({ type: "device.changed", device_id: view.id, device: view, changed });
  }

  /** Publishes that a device was removed, or has become a part of another one, and forgets it. */
  publishRemoval(id: string, part_of: string | undefined): void {
    const own = this.#devices.get(id);
    if (!own) return;
    this.#devices.delete(id);
    endTimers(own);
    this.#journal.publish({
      type: "device.removed",
      device_id: id,
      device: own.view,
      ...(part_of !== undefined && { part_of }),
    });
  }

  /** For tests: how much is kept in memory. */
  get size(): number {
    return this.#devices.size;
  }

  publishApps(id: string, added: string[], removed: string[]): void {
    if (this.#devices.has(id)) this.#journal.publish({ type: "apps.changed", device_id: id, added, removed });
  }

  /** Publishes the progress of a package: each phase, and within one at most four times a second. */
  publishInstall(id: string, phase: Progress["phase"], bytes: number, total: number | null): void {
    const device = this.#devices.get(id);
    if (!device) return;
    const before = device.install;
    const own = before ?? { phase, bytes, at: [], waiting: [], timer: undefined };
    device.install = own;
    // With fewer bytes than before, it is another package.
    const isSamePhase = before?.phase === phase && before.bytes <= bytes;
    own.bytes = bytes;
    if (isSamePhase && (own.waiting.length > 0 || performance.now() - (own.at.at(-1) ?? 0) < installLimit.everyMs))
      return;
    own.phase = phase;
    own.waiting.push({ type: "install.progress", device_id: id, phase, bytes, total });
    if (own.timer === undefined) this.#publishInstallPaced(device, own);
  }

  #publishInstallPaced(device: Shown, own: Install): void {
    own.timer = undefined;
    for (let [next] = own.waiting; next; [next] = own.waiting) {
      const wait = allowedAt(own.at, installLimit) - performance.now();
      if (wait > 0) {
        own.timer = setTimeout(() => this.#publishInstallPaced(device, own), wait);
        return;
      }
      own.waiting.shift();
      keepLast(own.at, performance.now(), installLimit.count);
      this.#journal.publish(next);
    }
    if (own.phase === "done") device.install = undefined;
  }

  /** Publishes what has changed of a device's state; whether it differs from the last one. */
  publishState(id: string, state: State, cause: Cause, actionId?: string): boolean {
    const own = this.#devices.get(id);
    // A read that runs on may end when the device has become a part of another.
    if (!own) return false;
    const isNew = changesBetween(own.state, state).length > 0;
    own.state = state;
    const waits = own.timer !== undefined;
    // Changes that wait keep the command that caused the first of them.
    if (!waits || actionId !== undefined) own.actionId = actionId;
    own.cause = own.actionId === undefined ? cause : "command";
    // Many small differences from the last state can add up to a change from the published one.
    if (!waits && changesBetween(own.publishedState, state).length > 0) this.#publishPaced(own);
    return isNew;
  }

  /** Ends the timers; nothing more is published. */
  close(): void {
    for (const own of this.#devices.values()) endTimers(own);
  }

  /** Publishes a change now, or as soon as the limit allows it, with what holds by then. */
  #publishPaced(own: Shown): void {
    const hasWaited = own.timer !== undefined;
    own.timer = undefined;
    const wait = dueAt(own) - performance.now();
    if (wait > 0) {
      own.timer = setTimeout(() => this.#publishPaced(own), wait);
      return;
    }
    own.hasWaited = hasWaited;
    keepLast(own.at, performance.now(), stateLimit.count);
    const { view, state, publishedState, cause, actionId } = own;
    const changed = state ? changesBetween(publishedState, state) : [];
    if (!state || changed.length === 0) return;
    own.publishedState = state;
    const by = actionId === undefined ? {} : { action_id: actionId };
    this.#journal.publish({ type: "state.changed", device_id: view.id, state, changed, cause, ...by });
  }
}

function endTimers({ timer, install }: Shown): void {
  clearTimeout(timer);
  clearTimeout(install?.timer);
}

/** When the next change of a device may be published. */
function dueAt({ at, hasWaited }: Shown): number {
  const next = allowedAt(at, stateLimit);
  return hasWaited ? Math.max(next, (at.at(-1) ?? 0) + stateLimit.everyMs) : next;
}

/** When one more may be published within the limit. */
function allowedAt(at: readonly number[], { count, withinMs }: { count: number; withinMs: number }): number {
  return at.length < count ? 0 : (at[0] ?? 0) + withinMs;
}

function keepLast(at: number[], now: number, count: number): void {
  at.push(now);
  if (at.length > count) at.shift();
}

/** The dotted paths of what has changed in a state; a position that only advanced with playback has not. */
function changesBetween(before: State | null, after: State): string[] {
  const was = before === null ? new Map<string, unknown>() : flat(before);
  const is = flat(after);
  const paths = [...new Set([...was.keys(), ...is.keys()])];
  return paths.filter((path) => {
    if (path === "playback.position_ms") return before === null || hasJumped(before, after);
    return before === null ? is.get(path) !== null : !Object.is(was.get(path), is.get(path));
  });
}

/** Times of observation are no changes of the state. */
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

/** Whether a position is not where readers expect it by now: at the end of what plays, it stays there. */
function hasJumped({ playback: was }: State, { playback: is }: State): boolean {
  if (was === null || is === null) return was !== is;
  if (was.position_ms === null || is.position_ms === null) return was.position_ms !== is.position_ms;
  const passed = Date.parse(is.position_at ?? "") - Date.parse(was.position_at ?? "");
  const ran = was.position_ms + (Number.isFinite(passed) ? passed * (was.rate ?? 0) : 0);
  const expected = Math.max(0, Math.min(ran, was.duration_ms ?? ran));
  return Math.abs(is.position_ms - expected) > jumpMs;
}
