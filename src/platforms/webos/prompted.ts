/**
 * A set that shows its prompt for a key that it had given is not made to show it again and again (smart-tvs.md 2.5): the
 * key is tried anew ever more seldom, and at last no more, until somebody pairs. Remembered as a trait of the device.
 */
import type { Target } from "../platform.ts";

const trait = "prompted";
/** Milliseconds after the first prompt in which the key is not tried; each next one doubles it. */
const first = 60_000;
const most = 5;

export class Prompted {
  #times: number;
  #at: string;

  constructor({ traits }: Pick<Target, "traits">) {
    const [times = "", at = ""] = traits[trait]?.split(" ") ?? [];
    this.#times = Number(times) || 0;
    this.#at = at;
  }

  /** Whether the set should be left alone now. */
  get holds(): boolean {
    if (this.#times === 0) return false;
    // A clock that was set back or far ahead must not hold for ever, nor let go at once: either way it is one prompt.
    const passed = Math.abs(Date.now() - Date.parse(this.#at));
    return this.#times >= most || passed < first * 2 ** (this.#times - 1);
  }

  /** It showed its prompt now. Gives the trait to remember it by. */
  again(): Readonly<Record<string, string>> {
    this.#times++;
    this.#at = new Date().toISOString();
    return { [trait]: `${this.#times} ${this.#at}` };
  }

  /** It let us in. Gives the trait to forget it by. */
  over(): Readonly<Record<string, string>> {
    if (this.#times === 0) return {};
    this.#times = 0;
    return { [trait]: "" };
  }
}
