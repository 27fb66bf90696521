/**
 * A set that shows its prompt for a key that it had given is not made to show it again and again (smart-tvs.md 2.5): the
 * key is tried anew ever more seldom, and at last no more, until somebody pairs. How often it did is a trait of the device.
 */
import type { Target } from "../platform.ts";

const trait = "prompted";
/** Milliseconds in which the key is not tried after the first prompt; each next one doubles it. */
const first = 60_000;
const most = 5;

export class Prompted {
  #times: number;
  /** Of the last prompt; or, in a connection that was made after it, of its making. On the monotonic clock. */
  #at = performance.now();

  constructor({ traits }: Pick<Target, "traits">) {
    this.#times = Number(traits[trait] ?? 0) || 0;
  }

  /** Whether the set should be left alone now. */
  get holds(): boolean {
    if (this.#times === 0) return false;
    return this.#times >= most || performance.now() - this.#at < first * 2 ** (this.#times - 1);
  }

  /** It showed its prompt now. Gives the trait to remember it by. */
  again(): Readonly<Record<string, string>> {
    this.#times++;
    this.#at = performance.now();
    return { [trait]: String(this.#times) };
  }

  /** It let us in. Gives the trait to forget it by. */
  over(): Readonly<Record<string, string>> {
    if (this.#times === 0) return {};
    this.#times = 0;
    return { [trait]: "" };
  }
}
