/** A device that did not answer where it was is looked for, so that what was asked of it can be sent where it is now. */
import type { Address } from "../platforms/platform.ts";
import { isSameAddress } from "./standing.ts";

export interface SeekingDependencies {
  /** What is known of a device now. */
  get(id: string): Address | undefined;
  /** Looks for devices; ends when the search is over. */
  look(): Promise<unknown>;
}

/** So many searches in vain are made for who asks; from then on, one in this many milliseconds. */
const freely = 3;
const every = { command: 5_000, read: 30_000 } as const;

export class Seeking {
  readonly #deps: SeekingDependencies;
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #inVain = new Map<string, { times: number; at: number }>();

  constructor(deps: SeekingDependencies) {
    this.#deps = deps;
  }

  /** A device was met, by whatever search: who looks for it goes on. */
  met(id: string): void {
    this.#inVain.delete(id);
    for (const go of this.#waiting.get(id) ?? []) go();
  }

  /**
   * Looks for a device that did not answer at its address, for so many milliseconds at most. `true` as soon as it is known
   * to be elsewhere; `false` when it was not found, or when it has been looked for in vain too often.
   */
  async seek(
    { id, ...was }: Address & { readonly id: string },
    what: keyof typeof every,
    withinMs: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    const isElsewhere = () => {
      const now = this.#deps.get(id);
      return now !== undefined && !isSameAddress(now, was);
    };
    if (isElsewhere()) return true;
    const inVain = this.#inVain.get(id) ?? { times: 0, at: Number.NEGATIVE_INFINITY };
    const isTooSoon = inVain.times >= freely && performance.now() - inVain.at < every[what];
    if (withinMs <= 0 || isTooSoon || signal.aborted) return false;
    this.#inVain.set(id, { times: inVain.times + 1, at: performance.now() });
    const over = Promise.withResolvers<void>();
    const go = () => {
      if (isElsewhere()) over.resolve();
    };
    const waiting = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, waiting.add(go));
    const timer = setTimeout(over.resolve, withinMs);
    signal.addEventListener("abort", () => over.resolve(), { once: true });
    this.#deps.look().then(
      () => over.resolve(),
      () => over.resolve(),
    );
    try {
      await over.promise;
      return isElsewhere();
    } finally {
      clearTimeout(timer);
      waiting.delete(go);
      if (waiting.size === 0) this.#waiting.delete(id);
    }
  }
}
