/**
 * A set that shows its prompt for a key that it had given is not made to show it again and again (smart-tvs.md 2.5): the
 * key is tried anew ever more seldom, and at last no more, until somebody pairs. How often it did is remembered.
 */
import type { WebosMemory, WebosTarget } from "./memory.ts";

/** Milliseconds in which the key is not tried after the first prompt; each next one doubles it. */
const first = 60_000;
const most = 5;

export class Prompted {
  readonly #target: Pick<WebosTarget, "memory">;
  /** Of the last prompt; or, in a connection that was made after it, of its making. On the monotonic clock. */
  #at = performance.now();

  constructor(target: Pick<WebosTarget, "memory">) {
    this.#target = target;
  }

  get #times(): number {
    return this.#target.memory.prompted ?? 0;
  }

  /** Whether the set should be left alone now. */
  get holds(): boolean {
    if (this.#times === 0) return false;
    return this.#times >= most || performance.now() - this.#at < first * 2 ** (this.#times - 1);
  }

  /** It showed its prompt now. Gives what to remember it by. */
  again(): WebosMemory {
    this.#at = performance.now();
    return { prompted: this.#times + 1 };
  }

  /** It let us in. Gives what to forget it by. */
  over(): WebosMemory {
    return this.#times === 0 ? {} : { prompted: 0 };
  }
}
