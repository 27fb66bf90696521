/** Looks at the current set about every second: never two looks at once, and seldom while it is off or the daemon gone. */

const usualPause = 1_000;
const longestPause = 15_000;
const longestReconnect = 4_000;

/** What a look found: how soon the next is worth it. */
export type Glimpse = "awake" | "asleep" | "lost";

export class Watch {
  readonly #look: (signal: AbortSignal) => Promise<Glimpse>;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #looking: AbortController | undefined;
  /** Asked for while one was under way. */
  #again: number | null = null;
  #stopped = true;
  /** Looks in a row that were not worth it. */
  #idle = 0;

  constructor(look: (signal: AbortSignal) => Promise<Glimpse>) {
    this.#look = look;
  }

  start(): void {
    this.#stopped = false;
    this.anew();
  }

  stop(): void {
    this.#stopped = true;
    this.#drop();
  }

  /** Drops the look that is under way, and looks at once: something else is to be seen now. */
  anew(): void {
    this.#drop();
    this.soon(0);
  }

  /** Looks after that many milliseconds, and from then on at the usual pace. */
  soon(ms: number): void {
    this.#idle = 0;
    if (this.#stopped) return;
    if (this.#looking) this.#again = Math.min(ms, this.#again ?? ms);
    else this.#schedule(ms);
  }

  #drop(): void {
    clearTimeout(this.#timer);
    this.#looking?.abort();
    this.#looking = undefined;
    this.#again = null;
  }

  #schedule(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#run(), ms);
  }

  async #run(): Promise<void> {
    const looking = new AbortController();
    this.#looking = looking;
    const glimpse = await this.#look(looking.signal).catch((error: unknown): Glimpse => {
      if (looking.signal.aborted) return "lost";
      throw error;
    });
    if (looking.signal.aborted) return;
    this.#looking = undefined;
    const again = this.#again;
    this.#again = null;
    this.#schedule(again ?? this.#pause(glimpse));
  }

  #pause(glimpse: Glimpse): number {
    this.#idle = glimpse === "awake" ? 0 : this.#idle + 1;
    return pauseAfter(glimpse, this.#idle);
  }
}

/** Milliseconds to the next look, after so many in a row that found nothing awake. */
export function pauseAfter(glimpse: Glimpse, idle: number): number {
  if (glimpse === "awake") return usualPause;
  const grown = 2 ** Math.min(idle, 10);
  return glimpse === "lost" ? Math.min(longestReconnect, 250 * grown) : Math.min(longestPause, usualPause * grown);
}
