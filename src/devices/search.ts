/** Searching for a device that does not answer at its address, which the network may have changed. */

export interface Search {
  /** Whether the device is known to be at another address now. */
  isElsewhere(): boolean;
  /** Scans for devices; ends with the scan. */
  scan(): Promise<unknown>;
  /** Whether a command or a read misses the device. */
  readonly what: keyof typeof pauseMs;
  readonly timeoutMs: number;
}

/** After this many searches in vain, there is a pause before each further one. */
const searchesWithoutPause = 3;
const pauseMs = { command: 5_000, read: 30_000 } as const;

/** The searches for one device. */
export class DeviceSearch {
  readonly #waiting = new Set<() => void>();
  #failures = 0;
  #startedAt = Number.NEGATIVE_INFINITY;

  /** A scan has found the device: searches end if it is at another address. */
  foundAgain(): void {
    this.#failures = 0;
    for (const check of this.#waiting) check();
  }

  /** `true` as soon as the device is known to be elsewhere; `false` when it was not found, or is not searched for yet. */
  async find({ isElsewhere, scan, what, timeoutMs }: Search, signal: AbortSignal): Promise<boolean> {
    if (isElsewhere()) return true;
    const mustPause = this.#failures >= searchesWithoutPause && performance.now() - this.#startedAt < pauseMs[what];
    if (timeoutMs <= 0 || mustPause || signal.aborted) return false;
    this.#failures++;
    this.#startedAt = performance.now();
    const over = Promise.withResolvers<void>();
    const end = () => over.resolve();
    const check = () => {
      if (isElsewhere()) end();
    };
    this.#waiting.add(check);
    const timer = setTimeout(end, timeoutMs);
    signal.addEventListener("abort", end, { once: true });
    scan().then(end, end);
    try {
      await over.promise;
      return isElsewhere();
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      this.#waiting.delete(check);
    }
  }
}
