/** Commands to one device, one at a time in order of arrival. Reads do not come here. */

import { ZapdError } from "../api/errors.ts";
import { type SleepWatch, staleCommandError, stopwatch } from "../system/clock.ts";

const maxWaiting = 32;
/** A key that is older than this is better dropped than pressed late (SECURITY.md R14). */
const maxWait = 5_000;

interface Waiting extends Span {
  /** Gives it its turn; false when it has waited too long for that. */
  start(): boolean;
}

/** How long a command takes, in milliseconds. */
interface Span {
  /** As far as can be told: those behind it wait for that too, when they are patient. */
  readonly expectedMs: number;
  /** For certain: who would not wait so long need not begin to. */
  readonly minimumMs: number;
}

export interface Turn extends Partial<Span> {
  /** Waits behind commands that are known to be long, for as long as they take. */
  readonly waitsForLongCommands?: boolean;
  readonly signal: AbortSignal;
  /** The tokens of leases that its caller carries, as in the header `zapd-lease`: a leased device takes commands of its holder alone. */
  readonly lease?: string | undefined;
  /** By which what it brings about is told from what happens by itself. */
  readonly action?: string;
}

export class Queue {
  readonly #sleep: SleepWatch | undefined;
  #running: (Span & { since: number }) | undefined;
  #waiting: Waiting[] = [];

  /** What waits while the machine sleeps is dropped, for as long as `sleep` watches. */
  constructor(sleep?: SleepWatch) {
    this.#sleep = sleep;
  }

  /** Whether nothing runs and nobody waits. */
  get isIdle(): boolean {
    return this.#running === undefined && this.#waiting.length === 0;
  }

  /**
   * Runs `work` when its turn has come. Fails with `device_busy` when too many wait, when the wait grew too long, and at
   * once when it is known that it would.
   */
  async run<T>(turn: Turn, work: () => Promise<T>): Promise<T> {
    const wait = this.#turn(turn);
    if (wait) await wait;
    try {
      return await work();
    } finally {
      this.#running = undefined;
      while (this.#waiting.shift()?.start() === false);
    }
  }

  /** Takes the turn at once where nobody is before it; otherwise the wait for it. */
  #turn({ expectedMs = 0, minimumMs = 0, waitsForLongCommands = false, signal }: Turn): Promise<void> | undefined {
    if (signal.aborted) throw signal.reason;
    // Marks the device as taken before anyone else can ask, here and in `start`.
    const take = () => {
      this.#running = { expectedMs, minimumMs, since: performance.now() };
    };
    if (!this.#running && this.#waiting.length === 0) {
      take();
      return;
    }
    if (this.#waiting.length >= maxWaiting) throw busy(`has ${maxWaiting} commands waiting already`);
    const ahead = this.#ahead("minimumMs");
    if (!waitsForLongCommands && ahead > maxWait) throw busyFor(ahead);
    const slept = this.#sleep?.sleepCount;
    return new Promise((resolve, reject) => {
      const leave = (error: unknown) => {
        this.#waiting = this.#waiting.filter((one) => one !== waiting);
        settle();
        reject(error);
      };
      const aborted = () => leave(signal.reason);
      const settle = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", aborted);
      };
      const wait = maxWait + (waitsForLongCommands ? this.#ahead("expectedMs") : 0);
      const late = () => leave(busy(`was busy with other commands for ${Math.round(wait / 1000)} s`));
      const timer = setTimeout(late, wait);
      const waited = stopwatch();
      const waiting: Waiting = {
        expectedMs,
        minimumMs,
        start: () => {
          // When the machine has slept, or we were stopped, its turn may come before its timer.
          if (waited() > wait) late();
          else if (this.#sleep?.sleepCount !== slept) leave(staleCommandError());
          else {
            take();
            settle();
            resolve();
            return true;
          }
          return false;
        },
      };
      signal.addEventListener("abort", aborted, { once: true });
      this.#waiting.push(waiting);
    });
  }

  /** How much longer the commands ahead take. */
  #ahead(how: keyof Span): number {
    const running = this.#running ? Math.max(0, this.#running[how] - (performance.now() - this.#running.since)) : 0;
    return this.#waiting.reduce((sum, one) => sum + one[how], running);
  }
}

/** The failure where the commands ahead are known to take longer than its caller would wait. */
function busyFor(ms: number): ZapdError {
  const seconds = Math.ceil(ms / 1_000);
  const at = new Date(Date.now() + ms).toISOString().slice(0, 19);
  return new ZapdError("device_busy", `is in the midst of a sequence that ends in ${seconds} s`, {
    hint: `Nothing was sent. Try again in ${seconds} s (${at}Z), or hang up on the sequence, which ends it`,
  });
}

function busy(what: string): ZapdError {
  return new ZapdError("device_busy", what, {
    hint: "Nothing was sent. Try again when its sequence or installation is done",
  });
}
