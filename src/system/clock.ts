/** How long something took. Nobody sets these clocks; `Date.now` is for what people read (SECURITY.md R13). */
import { uptime } from "node:os";
import { ZapdError } from "../api/errors.ts";

export interface MachineClocks {
  /** Milliseconds; stands still while the machine sleeps. */
  monotonicMs(): number;
  /** Seconds, whole ones; goes on in the machine's sleep. Throws where the runtime does not tell. */
  uptimeS(): number;
}

const machine: MachineClocks = { monotonicMs: () => performance.now(), uptimeS: uptime };

/** Begins to measure; the milliseconds since then, the machine's sleep among them where the runtime tells of it. */
export function stopwatch(clocks: MachineClocks = machine): () => number {
  // Deno asks for a permission that nobody needs to give.
  const booted = () => {
    try {
      return clocks.uptimeS();
    } catch {
      return 0;
    }
  };
  const [ran, was] = [clocks.monotonicMs(), booted()];
  // Of whole seconds the first may have been almost over.
  return () => Math.max(clocks.monotonicMs() - ran, (booted() - was - 1) * 1_000);
}

/** How often a watch looks, in milliseconds; what is a sleep beyond that; how long after one what is read is old (SECURITY.md R14). */
const checkEveryMs = 500;
const minimumSleepMs = 5_000;
const staleAfterWakeMs = 500;

/**
 * Notices each time that nothing ran for more than 5 s beyond what was due: the machine slept, or the process was stopped.
 * What callers sent meanwhile waited in the kernel, and is read at once on waking. To be ended.
 */
export class SleepWatch {
  readonly #clocks: MachineClocks;
  readonly #timer: ReturnType<typeof setInterval>;
  #sinceCheck: () => number;
  #wokeAt = Number.NEGATIVE_INFINITY;
  #times = 0;

  constructor(clocks: MachineClocks = machine) {
    this.#clocks = clocks;
    this.#sinceCheck = stopwatch(clocks);
    this.#timer = setInterval(() => this.#check(true), checkEveryMs);
    // It must not hold the process.
    this.#timer.unref();
  }

  /** How often it has slept. */
  get sleepCount(): number {
    // Who asks may be woken before the timer is.
    this.#check(false);
    return this.#times;
  }

  /** Whether it has slept since then (`performance.now()`), or so shortly before that what was read then may have been sent in its sleep. */
  hasSleptSince(then: number): boolean {
    this.#check(false);
    return then - this.#wokeAt < staleAfterWakeMs;
  }

  end(): void {
    clearInterval(this.#timer);
  }

  #check(due: boolean): void {
    const slept = this.#sinceCheck() > checkEveryMs + minimumSleepMs;
    if (slept) {
      this.#times++;
      this.#wokeAt = this.#clocks.monotonicMs();
    }
    if (slept || due) this.#sinceCheck = stopwatch(this.#clocks);
  }
}

const nothingSent = "Nothing was sent, as nobody may want it any more. Send it again, if you do";

/**
 * What precedes a command, such as the proof of who is there. Fails with `device_busy` when this machine slept meanwhile:
 * the command is old then, whatever came of the rest, and it is not sent (SECURITY.md R14).
 */
export async function unlessSlept<T>(preparing: Promise<T>): Promise<T> {
  const watch = new SleepWatch();
  try {
    await preparing.catch(() => {});
    if (watch.sleepCount === 0) return await preparing;
    const message = "was not sent the command: this machine slept before it could be";
    throw new ZapdError("device_busy", message, { hint: nothingSent });
  } finally {
    watch.end();
  }
}

/** The failure of a command that is not sent, because it was old when this machine woke. */
export function staleCommandError(): ZapdError {
  const message = "The command was not sent: it waited while this machine slept";
  return new ZapdError("device_busy", message, { hint: nothingSent, namesDevice: true });
}
