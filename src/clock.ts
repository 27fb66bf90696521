/** How long something took. Nobody sets these clocks; `Date.now` is for what people read (SECURITY.md R13). */
import { uptime } from "node:os";

export interface Clocks {
  /** Milliseconds; stands still while the machine sleeps. */
  running(): number;
  /** Seconds, whole ones; goes on in the machine's sleep. Throws where the runtime does not tell. */
  booted(): number;
}

/** Begins to measure; the milliseconds since then, the machine's sleep among them where the runtime tells of it. */
export function stopwatch(clocks: Clocks = { running: () => performance.now(), booted: uptime }): () => number {
  // Deno asks for a permission that nobody needs to give.
  const booted = () => {
    try {
      return clocks.booted();
    } catch {
      return 0;
    }
  };
  const [ran, was] = [clocks.running(), booted()];
  // Of whole seconds the first may have been almost over.
  return () => Math.max(clocks.running() - ran, (booted() - was - 1) * 1_000);
}

/** How often a pulse beats, in milliseconds, and what is a sleep when it comes between two beats (SECURITY.md R14). */
const every = 500;
const asleepFrom = 5_000;

/** Notices that nothing ran for a while: the machine slept, or the process was stopped. What is old by then is not sent. To be ended. */
export class Pulse {
  readonly #timer: ReturnType<typeof setInterval>;
  #beat = stopwatch();
  #missed = false;

  constructor() {
    this.#timer = setInterval(() => {
      this.#missed = this.missed;
      this.#beat = stopwatch();
    }, every);
  }

  /** Whether it has slept, now or before. */
  get missed(): boolean {
    // Who asks may be woken before the timer is.
    return this.#missed || this.#beat() > asleepFrom;
  }

  end(): void {
    clearInterval(this.#timer);
  }
}
