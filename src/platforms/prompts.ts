/**
 * Requests that a set shows its user though it has let us in before (smart-tvs.md 2.5, 3.2). It is not made to ask again and
 * again: it is left alone for a minute after the first request, twice as long after each next one, and no more after five,
 * until somebody pairs.
 */
import type { Emit, Target } from "./platform.ts";

const leftAloneMs = 60_000;
const mostPrompts = 5;

interface Remembered {
  /** How often it has asked its user anew. */
  readonly prompted?: number | undefined;
}

export class Prompts {
  readonly #target: Pick<Target<Remembered>, "memory">;
  readonly #emit: Emit<Remembered>;
  /** When it showed the last; or, in a connection that was made after it, when that was made. */
  #at = performance.now();

  constructor(target: Pick<Target<Remembered>, "memory">, emit: Emit<Remembered>) {
    this.#target = target;
    this.#emit = emit;
  }

  get isLeftAlone(): boolean {
    const times = this.#times;
    if (times >= mostPrompts) return true;
    return times > 0 && performance.now() - this.#at < leftAloneMs * 2 ** (times - 1);
  }

  /** It shows one. That is remembered, whether or not somebody still waits. */
  shown(): void {
    this.#at = performance.now();
    this.#emit({ type: "facts", memory: { prompted: this.#times + 1 } });
  }

  get #times(): number {
    return this.#target.memory.prompted ?? 0;
  }
}
