/**
 * Key presses on their way: at once and in order, one at a time for each set, without a backlog. A key that is held down
 * stops when it is let go; presses that a slow set cannot keep up with are dropped, not pressed late.
 */
import type { Failure } from "../failure.ts";

/** A terminal repeats a held key every 30 to 95 ms; nobody taps that fast. */
const repeatsWithin = 100;
const maxWaiting = 8;
const maxAge = 3_000;

export interface PressesDependencies {
  /** Presses a key; answers with what went wrong. */
  send(id: string, key: string): Promise<Failure | null>;
  done(id: string, key: string): void;
  failed(id: string, key: string, failure: Failure): void;
  dropped(id: string, count: number): void;
  now(): number;
}

interface Lane {
  waiting: { readonly key: string; readonly at: number }[];
  sending: boolean;
  last: { readonly key: string; readonly at: number } | null;
}

export class Presses {
  readonly #deps: PressesDependencies;
  readonly #lanes = new Map<string, Lane>();

  constructor(deps: PressesDependencies) {
    this.#deps = deps;
  }

  /** Takes a press; it is sent at once when nothing is ahead of it. */
  press(id: string, key: string): void {
    const lane = this.#lane(id);
    const at = this.#deps.now();
    const repeated = lane.last?.key === key && at - lane.last.at < repeatsWithin;
    lane.last = { key, at };
    if (repeated && lane.waiting.length > 0) return;
    if (lane.waiting.length >= maxWaiting) return this.#deps.dropped(id, 1);
    lane.waiting.push({ key, at });
    if (!lane.sending) void this.#drain(id, lane);
  }

  /** Forgets what has not been sent. */
  clear(): void {
    for (const lane of this.#lanes.values()) lane.waiting = [];
  }

  async #drain(id: string, lane: Lane): Promise<void> {
    lane.sending = true;
    for (let next = lane.waiting.shift(); next; next = lane.waiting.shift()) {
      if (this.#deps.now() - next.at > maxAge) {
        this.#deps.dropped(id, 1 + lane.waiting.length);
        lane.waiting = [];
        break;
      }
      const failure = await this.#deps.send(id, next.key);
      if (!failure) {
        this.#deps.done(id, next.key);
        continue;
      }
      // What waited was meant to follow this one.
      if (failure.code !== "unsupported_key") lane.waiting = [];
      this.#deps.failed(id, next.key, failure);
    }
    lane.sending = false;
  }

  #lane(id: string): Lane {
    const known = this.#lanes.get(id);
    if (known) return known;
    const lane: Lane = { waiting: [], sending: false, last: null };
    this.#lanes.set(id, lane);
    return lane;
  }
}
