/** Measures durations by clocks that nobody sets; `Date.now` is only for times that people read (SECURITY.md R13). */
import { uptime } from "node:os";
import { hasCode, ZapdError } from "../api/errors.ts";

export interface MachineClocks {
  /** Milliseconds; stops while the machine sleeps. */
  monotonicMs(): number;
  /** Whole seconds since boot, counting sleep. Throws where the runtime does not permit it. */
  uptimeS(): number;
}

const machine: MachineClocks = { monotonicMs: () => performance.now(), uptimeS: uptime };

/** Starts a stopwatch: gives the milliseconds since the call, counting the machine's sleep where the runtime tells of it. */
export function stopwatch(clocks: MachineClocks = machine): () => number {
  // Deno asks for a permission, which users need not give.
  const booted = () => {
    try {
      return clocks.uptimeS();
    } catch {
      return 0;
    }
  };
  const [ran, was] = [clocks.monotonicMs(), booted()];
  // The first whole second may have been almost over.
  return () => Math.max(clocks.monotonicMs() - ran, (booted() - was - 1) * 1_000);
}

/** How often a watch checks; how much later than that counts as sleep; how long after a sleep requests count as old (SECURITY.md R14). */
const checkEveryMs = 500;
const minimumSleepMs = 5_000;
const staleAfterWakeMs = 500;

/**
 * Detects that the process did not run for more than 5 s: the machine slept, or the process was stopped. Requests sent
 * meanwhile wait in the kernel and are read at once on waking. Must be ended.
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
    // The timer must not keep the process alive.
    this.#timer.unref();
  }

  /** How many sleeps were detected. */
  get sleepCount(): number {
    // The caller may wake before the timer does.
    this.#check(false);
    return this.#times;
  }

  /** Whether the machine slept after `then` (`performance.now()`), or so shortly before that what was read at `then` may have been sent during the sleep. */
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

const nothingSent = "Nothing was sent, because it may no longer be wanted. Send it again if it is";

/**
 * Awaits the preparation of a command, such as the proof of the device's identity. Fails with `device_busy` when the machine
 * slept meanwhile: the command is old, and is not sent whatever the outcome of the preparation (SECURITY.md R14).
 */
export async function unlessSlept<T>(preparing: Promise<T>): Promise<T> {
  const watch = new SleepWatch();
  try {
    await preparing.catch(() => {});
    if (watch.sleepCount === 0) return await preparing;
    const message = "did not get the command: this machine slept before it could be sent";
    throw new ZapdError("device_busy", message, { hint: nothingSent });
  } finally {
    watch.end();
  }
}

/**
 * Gives a check for before each later part of a command: it fails once the machine has slept since this call, with the given
 * error or with `device_timeout`, since the rest may no longer be wanted (SECURITY.md R14).
 */
export function sleepCheck(sleep: Pick<SleepWatch, "sleepCount"> | undefined): (error?: ZapdError) => void {
  const before = sleep?.sleepCount;
  return (error) => {
    if (sleep?.sleepCount !== before) throw error ?? partlySentError();
  };
}

/**
 * Sends a command of several parts. `next` is called before each part but the first, and fails when the machine has slept since
 * the first; from then on no failure says that nothing was sent.
 */
export async function inParts<T>(send: (next: () => void) => Promise<T>): Promise<T> {
  const watch = new SleepWatch();
  const checkAwake = sleepCheck(watch);
  let isPartSent = false;
  try {
    return await send(() => {
      isPartSent = true;
      checkAwake();
    });
  } catch (error) {
    throw isPartSent && watch.sleepCount > 0 && hasCode(error, "device_busy") ? partlySentError() : error;
  } finally {
    watch.end();
  }
}

function partlySentError(): ZapdError {
  const message = "The command was not sent, or not all of it: this machine slept meanwhile";
  return new ZapdError("device_timeout", message, { hint: "Send it again if it is still wanted", namesDevice: true });
}

/** The failure of a command that is not sent because it waited while the machine slept. */
export function staleCommandError(): ZapdError {
  const message = "The command was not sent: it waited while this machine slept";
  return new ZapdError("device_busy", message, { hint: nothingSent, namesDevice: true });
}
