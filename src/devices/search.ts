/** A device that did not answer where it was is looked for, so that what was asked of it can be sent where it is now. */

/** How one device is looked for. */
export interface Search {
  /** Whether it is known to be elsewhere now. */
  isElsewhere(): boolean;
  /** Looks for devices; ends when the search is over. */
  search(): Promise<unknown>;
  /** It is missed by a command, or by a read, which looks less often. */
  readonly what: keyof typeof every;
  readonly timeoutMs: number;
}

/** So many searches in vain are made for who asks; from then on, one in this many milliseconds. */
const freely = 3;
const every = { command: 5_000, read: 30_000 } as const;

/** The searches for one device. */
export class DeviceSearch {
  readonly #waiting = new Set<() => void>();
  #inVain = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;

  /** A search has met it: those who wait for it go on. */
  foundAgain(): void {
    this.#inVain = 0;
    for (const go of this.#waiting) go();
  }

  /** `true` as soon as it is known to be elsewhere; `false` when it was not found, or has been looked for in vain too often. */
  async find({ isElsewhere, search, what, timeoutMs }: Search, signal: AbortSignal): Promise<boolean> {
    if (isElsewhere()) return true;
    const isTooSoon = this.#inVain >= freely && performance.now() - this.#lookedAt < every[what];
    if (timeoutMs <= 0 || isTooSoon || signal.aborted) return false;
    this.#inVain++;
    this.#lookedAt = performance.now();
    const over = Promise.withResolvers<void>();
    const end = () => over.resolve();
    const go = () => {
      if (isElsewhere()) end();
    };
    this.#waiting.add(go);
    const timer = setTimeout(end, timeoutMs);
    signal.addEventListener("abort", end, { once: true });
    search().then(end, end);
    try {
      await over.promise;
      return isElsewhere();
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      this.#waiting.delete(go);
    }
  }
}
