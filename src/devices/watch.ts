/**
 * Polls a device while it has subscribers: readers of its events, or calls that wait for a state. However many there are, it
 * is polled once, and only for the parts that it does not push.
 */
import { hasCode } from "../api/errors.ts";
import type { State } from "../api/schemas.ts";
import type { Access, StatePart } from "../platforms/platform.ts";
import { isPowerOff } from "./presence.ts";

/** How long until the next poll, and for which parts; every third poll reads the rest as well. */
interface Schedule {
  readonly everyMs: number;
  readonly parts: readonly StatePart[];
  readonly everyThird: readonly StatePart[];
}

/** By the last state (next/EVENTS.md, "Devices that do not push"; mean delay to notice: 1 s playing, 2.5 s idle). */
const schedules = {
  playing: { everyMs: 2_000, parts: ["playback"], everyThird: ["app", "volume"] },
  on: { everyMs: 5_000, parts: ["app", "playback"], everyThird: ["power", "volume"] },
  input: { everyMs: 10_000, parts: ["app", "volume"], everyThird: ["power"] },
  standby: { everyMs: 15_000, parts: ["power"], everyThird: [] },
} as const satisfies Record<string, Schedule>;

/** What a device with limited access reports while it is on; it is polled half as often as others. */
const limitedParts: readonly StatePart[] = ["power", "app"];

/** Pauses after failed polls, then two minutes each: short at first if the device was on, since it may only have disconnected. */
const retryMs = [2_000, 5_000, 15_000, 30_000, 60_000] as const;
const longestMs = 120_000;
/** How many of these pauses are skipped for a device that is off, unless a call waits for it. */
const skippedWhenOff = 3;
/** When the effect of a command is polled for: milliseconds since the command. */
const burstMs = [150, 400, 900, 2_000] as const;
const jitter = 0.1;
/** The pause after a hint, since several hints come for one change. */
const hintMs = 100;

export interface PollTarget {
  /** The last state; `null` where none was ever observed. */
  readonly state: State | null;
  readonly access: Access | null;
  /** The parts that it pushes while it is connected. */
  readonly pushes: ReadonlySet<StatePart>;
  /**
   * Reads parts of its state, or all, and for no part whether it is still there; the watch learns of the result by
   * `stateObserved`. Fails as reads do. `isAwaited`: a caller waits for it.
   */
  poll(parts: readonly StatePart[] | null, isAwaited: boolean): Promise<void>;
}

export class Watch {
  readonly #device: PollTarget;
  readonly #random: () => number;
  #subscribers = 0;
  /** The subscribers that wait for a state, for a limited time. */
  #waiting = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isPolling = false;
  #polls = 0;
  #failures = 0;
  #isHinted = false;
  /** Whether the whole state was read since the first subscriber came. */
  #hasRead = false;
  /** The burst after the last command: how far it has come, its start, and the parts that the command can change. */
  #burst: { at: number; readonly since: number; readonly parts: readonly StatePart[] } | undefined;

  constructor(device: PollTarget, random: () => number = Math.random) {
    this.#device = device;
    this.#random = random;
  }

  /** Adds a subscriber, until the function that is returned is called, once. With `waits`, an unreachable device is polled at once. */
  subscribe({ waits = false } = {}): () => void {
    const isFirst = ++this.#subscribers === 1;
    const mustRetry = waits && this.#failures > 0;
    if (waits) this.#waiting++;
    if (mustRetry) this.#failures = 0;
    if (isFirst || mustRetry) {
      this.#hasRead = false;
      this.#pollNow();
    }
    return () => {
      if (waits) this.#waiting--;
      if (--this.#subscribers === 0) this.stop();
    };
  }

  /** After a command: polls for the parts that it can change, but for those that the device pushes. */
  afterCommand(changes: readonly StatePart[]): void {
    if (this.#subscribers === 0) return;
    const { pushes, state } = this.#device;
    // Power that the command has made unknown may be unchanged, and then the device pushes nothing.
    const parts = changes.filter((part) => !pushes.has(part) || (part === "power" && state?.power === "unknown"));
    if (parts.length === 0) return;
    this.#burst = { at: 0, since: performance.now(), parts: [...new Set([...parts, ...(this.#burst?.parts ?? [])])] };
    this.#schedule(burstMs[0]);
  }

  /** The state was just read or pushed: the next poll is scheduled from now. */
  stateObserved(isNew: boolean): void {
    // Some report that they are off with each poll that they refuse.
    if (!this.#isPolling || !isPowerOff(this.#device.state?.power ?? null)) this.#failures = 0;
    if (isNew) this.#burst = undefined;
    if (this.#subscribers > 0 && !this.#burst && !this.#isHinted) this.#schedule(this.#pause());
  }

  /** The device reported that something has changed, but not what: polls it once for several such hints. */
  hintReceived(): void {
    if (this.#subscribers === 0 || this.#isHinted || this.#burst) return;
    this.#isHinted = true;
    this.#schedule(hintMs);
  }

  /** The device has one endpoint more, or one less: its whole state is read. */
  endpointsChanged(): void {
    this.#hasRead = false;
    this.hintReceived();
  }

  /** The device may answer again: polls it at once. */
  deviceReappeared(): void {
    if (this.#subscribers > 0 && this.#failures > 0) this.#pollNow();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#burst = undefined;
    this.#isHinted = false;
  }

  /** Polls at once; where a poll is under way, right after it. */
  #pollNow(): void {
    this.#isHinted = true;
    this.#schedule(0);
  }

  #schedule(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#poll(), ms);
  }

  async #poll(): Promise<void> {
    if (this.#isPolling) return;
    const burst = this.#burst;
    const parts = this.#parts();
    // It pushes those that are due, and has not said that something else has changed.
    if (parts?.length === 0 && !this.#isHinted && !this.#pushesAll) return this.#schedule(this.#pause());
    this.#isPolling = true;
    this.#isHinted = false;
    // Before the read: an endpoint that comes meanwhile is not in it.
    this.#hasRead ||= parts === null;
    try {
      await this.#device.poll(parts, this.#waiting > 0);
      this.#failures = 0;
    } catch (error) {
      if (parts === null) this.#hasRead = false;
      // A caller that reads the state itself gets the error. A kept connection may be dead: a new one shows that within R15's 10 s.
      this.#failures++;
      if (this.#failures === 1 && hasCode(error, "device_timeout")) this.#isHinted = true;
      if (this.#burst === burst) this.#burst = undefined;
    } finally {
      this.#isPolling = false;
    }
    if (this.#subscribers > 0) this.#schedule(this.#isHinted ? hintMs : this.#pause());
  }

  /** The parts that the next poll reads; `null` for all: at first, and once the device answers again. */
  #parts(): readonly StatePart[] | null {
    const { state, access, pushes } = this.#device;
    const schedule = state && scheduleOf(state);
    // A command may wake a device: its whole state is read then.
    if (!schedule || !this.#hasRead || this.#failures > 0 || (this.#burst && schedule === schedules.standby))
      return null;
    if (access === "limited" && schedule !== schedules.standby) return limitedParts;
    if (this.#burst) return this.#burst.parts;
    const third = ++this.#polls % 3 === 0 ? schedule.everyThird : [];
    return [...schedule.parts, ...third].filter((part) => !pushes.has(part));
  }

  #pause(): number {
    const { state, access } = this.#device;
    const next = this.#nextOfBurst();
    if (next !== null) return next;
    if (this.#failures > 0) {
      const isOff = isPowerOff(state?.power ?? null);
      const skipped = isOff && this.#waiting === 0 ? skippedWhenOff : 0;
      const pause = retryMs[this.#failures - 1 + skipped] ?? longestMs;
      return this.#spread(isOff && this.#waiting > 0 ? Math.min(pause, schedules.standby.everyMs) : pause);
    }
    const schedule = state && scheduleOf(state);
    if (!schedule) return this.#spread(retryMs[skippedWhenOff]);
    if (this.#pushesAll) return this.#spread(longestMs);
    return this.#spread(schedule.everyMs * (access === "limited" ? 2 : 1));
  }

  /** Whether it pushes all that is polled: it is only polled to see whether it is still there, and to stay connected. */
  get #pushesAll(): boolean {
    const { state, pushes } = this.#device;
    const schedule = state && scheduleOf(state);
    return schedule !== null && [...schedule.parts, ...schedule.everyThird].every((part) => pushes.has(part));
  }

  #nextOfBurst(): number | null {
    if (!this.#burst) return null;
    const at = burstMs[++this.#burst.at];
    if (at === undefined) {
      this.#burst = undefined;
      return null;
    }
    return Math.max(0, this.#burst.since + at - performance.now());
  }

  #spread(ms: number): number {
    return ms * (1 + jitter * (2 * this.#random() - 1));
  }
}

function scheduleOf(state: State): Schedule {
  if (isPowerOff(state.power)) return schedules.standby;
  if (state.input !== null) return schedules.input;
  return state.playback?.status === "playing" || state.playback?.status === "buffering"
    ? schedules.playing
    : schedules.on;
}
