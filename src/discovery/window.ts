/** The time in which a scan listens. Who joins a scan under way has it ask again, and listen anew for its whole time. */

export class ScanWindow {
  readonly timeoutMs: number;
  /** Ends when the time is over, or the daemon stops. */
  readonly over: Promise<void>;
  readonly #startedAt = performance.now();
  readonly #listeners: (() => void)[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #close: () => void = () => {};
  #open = true;

  constructor(timeoutMs: number, stop: AbortSignal) {
    this.timeoutMs = timeoutMs;
    this.over = new Promise((resolve) => {
      this.#close = () => {
        this.#open = false;
        clearTimeout(this.#timer);
        stop.removeEventListener("abort", this.#close);
        resolve();
      };
    });
    this.#timer = setTimeout(this.#close, timeoutMs);
    stop.addEventListener("abort", this.#close, { once: true });
    if (stop.aborted) this.#close();
  }

  /** Milliseconds since it began. */
  get age(): number {
    return performance.now() - this.#startedAt;
  }

  /** Calls `ask` each time that someone joins. */
  onExtend(ask: () => void): void {
    this.#listeners.push(ask);
  }

  /**
   * Asks again, and listens for the whole time from now. `false` when it is over, or has listened for its whole time once: so
   * it ends however many join, and nobody joins who would be left with less.
   */
  extend(): boolean {
    if (!this.#open || this.age > this.timeoutMs) return false;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#close, this.timeoutMs);
    for (const ask of this.#listeners) ask();
    return true;
  }
}
