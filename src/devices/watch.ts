/**
 * Asking a device what it does while somebody is interested: someone follows the events, or waits for a state. With nobody
 * interested nothing is asked. However many look, a device is asked once, and one that pushes is asked only for what it
 * keeps to itself.
 */
import type { State } from "../api/schemas.ts";
import type { Access, StatePart } from "../platforms/platform.ts";
import { isPowerOff } from "./endpoint.ts";

/** How long until the next look, in milliseconds, and what is asked then; every third look asks for the rest as well. */
interface Row {
  readonly everyMs: number;
  readonly parts: readonly StatePart[];
  readonly everyThird?: readonly StatePart[];
}

/** By what was last seen (next/EVENTS.md, "Devices that do not push"; mean delay to notice: 1 s playing, 2.5 s idle). */
const rows = {
  playing: { everyMs: 2_000, parts: ["playback"], everyThird: ["app", "volume"] },
  on: { everyMs: 5_000, parts: ["app", "playback"], everyThird: ["power", "volume"] },
  input: { everyMs: 10_000, parts: ["app", "volume"], everyThird: ["power"] },
  standby: { everyMs: 15_000, parts: ["power"] },
} as const satisfies Record<string, Row>;

/** What a device with limited access tells while it is on; it is asked half as often as others. */
const limitedParts: readonly StatePart[] = ["power", "app"];

/** A silent device is asked after each of these, then every two minutes: soon at first, if it was on, since it may only have closed our connection. */
const silentMs = [2_000, 5_000, 15_000, 30_000, 60_000] as const;
const longestMs = 120_000;
/** How many of them are left out for one that is off, unless somebody waits for it. */
const longOnly = 3;
/** After a command, until its effect shows: milliseconds since the command. */
const burst = [150, 400, 900, 2_000] as const;
const jitter = 0.1;
/** Several hints come for one change. */
const hintMs = 100;

/** What a watch asks of its device. */
export interface PollTarget {
  /** What was last seen; `null` where nothing was. */
  readonly state: State | null;
  readonly access: Access | null;
  /** What it tells by itself while it is connected. */
  readonly pushes: ReadonlySet<StatePart>;
  /** Reads parts of its state, all of them without `parts`; what is seen comes back by `seen`. Fails as reads do. */
  poll(parts: readonly StatePart[] | null): Promise<void>;
}

export class Watch {
  readonly #device: PollTarget;
  readonly #random: () => number;
  #interested = 0;
  /** Those of them who wait for something, and go away without it before long. */
  #waiting = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #looking = false;
  #looks = 0;
  #failures = 0;
  #isHinted = false;
  /** All of it has been read since somebody is interested: a command may have shown a part of it before. */
  #hasRead = false;
  /** How far the burst after the last command has come, since when it runs, and what the command can change. */
  #burst: { at: number; readonly since: number; readonly parts: readonly StatePart[] } | undefined;

  constructor(device: PollTarget, random: () => number = Math.random) {
    this.#device = device;
    this.#random = random;
  }

  /** Somebody is interested from now on, until they let go; one that is silent is looked for anew by whoever waits for it. */
  subscribe({ waits = false } = {}): () => void {
    const isFirst = ++this.#interested === 1;
    const isSought = waits && this.#failures > 0;
    if (waits) this.#waiting++;
    if (isSought) this.#failures = 0;
    if (isFirst || isSought) {
      this.#hasRead = false;
      this.#schedule(0);
    }
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      if (waits) this.#waiting--;
      if (--this.#interested === 0) this.stop();
    };
  }

  /** A command was just taken: its effect is looked for in what it can change, unless the device tells that by itself. */
  afterCommand(changes: readonly StatePart[]): void {
    const { pushes, state } = this.#device;
    // Power that the command has made unknown may be as it was, of which nothing is told.
    const parts = changes.filter((part) => !pushes.has(part) || (part === "power" && state?.power === "unknown"));
    if (this.#interested === 0 || parts.length === 0) return;
    this.#burst = { at: 0, since: performance.now(), parts: [...new Set([...parts, ...(this.#burst?.parts ?? [])])] };
    this.#schedule(burst[0]);
  }

  /** Somebody else has just read it, or it has spoken: the next look is counted from here. */
  stateObserved(isNew: boolean): void {
    this.#failures = 0;
    if (isNew) this.#burst = undefined;
    if (this.#interested > 0 && !this.#looking && !this.#burst && !this.#isHinted) this.#schedule(this.#pause());
  }

  /** It does something else than before, and did not say what: it is asked soon, once for all that comes at the same time. */
  hintReceived(): void {
    if (this.#interested === 0 || this.#isHinted || this.#burst) return;
    this.#isHinted = true;
    this.#schedule(hintMs);
  }

  /** It may be there again: it is asked at once. */
  deviceReappeared(): void {
    if (this.#interested > 0 && this.#failures > 0 && !this.#looking) this.#schedule(0);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#burst = undefined;
    this.#isHinted = false;
  }

  #schedule(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#look(), ms);
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    this.#isHinted = false;
    const after = this.#burst;
    try {
      const parts = this.#parts();
      await this.#device.poll(parts);
      this.#hasRead ||= parts === null;
      this.#failures = 0;
    } catch {
      // Off and silence are states; whoever asks for the state itself is told why.
      this.#failures++;
      if (this.#burst === after) this.#burst = undefined;
    } finally {
      this.#looking = false;
    }
    if (this.#interested > 0) this.#schedule(this.#isHinted ? hintMs : this.#pause());
  }

  /** What the next look asks for; `null` for all, at first and once it answers again. */
  #parts(): readonly StatePart[] | null {
    const { state, access, pushes } = this.#device;
    const row = state && rowOf(state);
    // A command may wake a device that sleeps: all of its state is read then.
    if (!row || !this.#hasRead || this.#failures > 0 || (this.#burst && row === rows.standby)) return null;
    if (access === "limited" && row !== rows.standby) return limitedParts;
    if (this.#burst) return this.#burst.parts;
    const third: readonly StatePart[] = ++this.#looks % 3 === 0 ? (row.everyThird ?? []) : [];
    return [...row.parts, ...third].filter((part) => !pushes.has(part));
  }

  #pause(): number {
    const { state, access, pushes } = this.#device;
    const next = this.#nextOfBurst();
    if (next !== null) return next;
    if (this.#failures > 0) {
      const isOff = isPowerOff(state?.power ?? null);
      return this.#spread(silentMs[this.#failures - 1 + (isOff && this.#waiting === 0 ? longOnly : 0)] ?? longestMs);
    }
    const row = state && rowOf(state);
    if (!row) return this.#spread(silentMs[longOnly]);
    // A device that tells all of it by itself is only asked whether it is still there.
    const tellsAll = [...row.parts, ...(row.everyThird ?? [])].every((part) => pushes.has(part));
    if (tellsAll) return this.#spread(longestMs);
    return this.#spread(row.everyMs * (access === "limited" ? 2 : 1));
  }

  #nextOfBurst(): number | null {
    if (!this.#burst) return null;
    const at = burst[++this.#burst.at];
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

function rowOf(state: State): Row {
  if (isPowerOff(state.power)) return rows.standby;
  if (state.input !== null) return rows.input;
  return state.playback?.status === "playing" || state.playback?.status === "buffering" ? rows.playing : rows.on;
}
