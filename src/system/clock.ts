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

interface Moment {
  readonly ranMs: number;
  /** 0 where the runtime does not tell: Deno asks for a permission, which users need not give. */
  readonly bootedS: number;
}

function momentOf({ monotonicMs, uptimeS }: MachineClocks): Moment {
  const ranMs = monotonicMs();
  try {
    return { ranMs, bootedS: uptimeS() };
  } catch {
    return { ranMs, bootedS: 0 };
  }
}

function msBetween(one: Moment, other: Moment): number {
  // The first whole second may have been almost over.
  return Math.max(other.ranMs - one.ranMs, (other.bootedS - one.bootedS - 1) * 1_000);
}

/** Starts a stopwatch: gives the milliseconds since the call, counting the machine's sleep where the runtime tells of it. */
export function stopwatch(clocks: MachineClocks = machine): () => number {
  const start = momentOf(clocks);
  return () => msBetween(start, momentOf(clocks));
}

/**
 * The time of day, in milliseconds since 1970. Where it is set forward, as by a time server soon after a boot, only the time that
 * has passed counts: what lasts for a day, and is saved by the date, must not end in a moment (SECURITY.md 2.4).
 */
export function dayClock(clocks: MachineClocks = machine, today: () => number = Date.now): () => number {
  const began = today();
  const passed = stopwatch(clocks);
  return () => Math.min(today(), began + passed());
}

/** How often a watch checks; how much later than that counts as sleep; how long after a sleep requests count as old (SECURITY.md R14). */
const checkEveryMs = 500;
const minimumSleepMs = 5_000;
const staleAfterWakeMs = 500;

/**
 * Detects that the process did not run for more than 5 s: the machine slept, or the process was stopped. Requests sent
 * meanwhile wait in the kernel and are read at once on waking.
 */
export class SleepWatch {
  readonly #clocks: MachineClocks;
  #checked: Moment;
  #wokeAt = Number.NEGATIVE_INFINITY;
  #times = 0;

  constructor(clocks: MachineClocks = machine) {
    this.#clocks = clocks;
    this.#checked = momentOf(clocks);
    // The timer must not keep the process alive.
    setInterval(() => this.#check(), checkEveryMs).unref();
  }

  /** How many sleeps were detected. */
  get sleepCount(): number {
    // The caller may wake before the timer does.
    this.#check();
    return this.#times;
  }

  /** Whether the machine slept after `then` (`performance.now()`), or so shortly before that what was read at `then` may have been sent during the sleep. */
  hasSleptSince(then: number): boolean {
    this.#check();
    return then - this.#wokeAt < staleAfterWakeMs;
  }

  #check(): void {
    const now = momentOf(this.#clocks);
    const sinceMs = msBetween(this.#checked, now);
    if (sinceMs > checkEveryMs + minimumSleepMs) {
      this.#times++;
      this.#wokeAt = now.ranMs;
    }
    // A check in between must not hide the beginning of a sleep.
    if (sinceMs >= checkEveryMs) this.#checked = now;
  }
}

let watch: SleepWatch | undefined;

/** The watch over this machine. It begins with the first call, which a daemon makes when it is created. */
export function machineSleep(): SleepWatch {
  watch ??= new SleepWatch();
  return watch;
}

/** Tells whether this machine has slept since this call. */
export function sleptSince(): () => boolean {
  const before = machineSleep().sleepCount;
  return () => machineSleep().sleepCount !== before;
}

const nothingSent = "Nothing was sent, because it may no longer be wanted. Send it again if it is";

/**
 * Awaits the preparation of a command, such as the proof of the device's identity. Fails with `device_busy` when the machine
 * slept meanwhile: the command is old, and is not sent whatever the outcome of the preparation (SECURITY.md R14).
 */
export async function unlessSlept<T>(preparing: Promise<T>): Promise<T> {
  const hasSlept = sleptSince();
  await preparing.catch(() => {});
  if (!hasSlept()) return preparing;
  const message = "did not get the command: this machine slept before it could be sent";
  throw new ZapdError("device_busy", message, { hint: nothingSent });
}

/**
 * Gives a check for before each later part of a command: it fails once the machine has slept since this call, with the given
 * error or with `device_timeout`, since the rest may no longer be wanted (SECURITY.md R14).
 */
export function sleepCheck(): (error?: ZapdError) => void {
  const hasSlept = sleptSince();
  return (error) => {
    if (hasSlept()) throw error ?? partlySentError();
  };
}

/**
 * Sends a command of several parts. `next` is called before each part but the first, and fails when the machine has slept since
 * the first; from then on no failure says that nothing was sent.
 */
export async function inParts<T>(send: (next: () => void) => Promise<T>): Promise<T> {
  const hasSlept = sleptSince();
  let isPartSent = false;
  try {
    return await send(() => {
      isPartSent = true;
      if (hasSlept()) throw partlySentError();
    });
  } catch (error) {
    throw isPartSent && hasSlept() && hasCode(error, "device_busy") ? partlySentError() : error;
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
