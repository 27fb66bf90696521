/** The time for which a scan listens. A call that joins the scan has it ask again and listen for the whole time once more. */
export class ScanWindow {
  readonly timeoutMs: number;
  /** Resolves when the time is over, or the daemon stops. */
  readonly over: Promise<void>;
  readonly #startedAt = performance.now();
  readonly #listeners: (() => void)[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #close: () => void;
  #open = true;

  constructor(timeoutMs: number, stop: AbortSignal) {
    this.timeoutMs = timeoutMs;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.over = promise;
    this.#close = () => {
      this.#open = false;
      clearTimeout(this.#timer);
      stop.removeEventListener("abort", this.#close);
      resolve();
    };
    this.#timer = setTimeout(this.#close, timeoutMs);
    stop.addEventListener("abort", this.#close);
    if (stop.aborted) this.#close();
  }

  get ageMs(): number {
    return performance.now() - this.#startedAt;
  }

  /** Calls `ask` each time the window is extended. */
  onExtend(ask: () => void): void {
    this.#listeners.push(ask);
  }

  /**
   * Asks again, and listens for the whole time from now. `false` where the window is over, or is older than its time: so it
   * ends however many calls join, and each call gets the whole time.
   */
  extend(): boolean {
    if (!this.#open || this.ageMs > this.timeoutMs) return false;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#close, this.timeoutMs);
    for (const ask of this.#listeners) ask();
    return true;
  }
}
