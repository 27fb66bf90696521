/** The queue of commands to one device: one at a time, in order of arrival. Reads are not queued. */
import { ZapdError } from "../api/errors.ts";
import { sleptSince, staleCommandError, stopwatch } from "../system/clock.ts";

const maxWaiting = 32;
/** A key that has waited longer is dropped rather than pressed late (SECURITY.md R14). */
const maxWaitMs = 5_000;

interface Waiting extends Span {
  /** Starts the command; `false` where it has waited too long, or this machine slept meanwhile. */
  start(): boolean;
}

interface Span {
  /** How long the callers that wait for long commands wait for this one. */
  readonly expectedMs: number;
  /** What it takes at least: the other callers fail at once where that is too long. */
  readonly minimumMs: number;
}

/** A command's place in the queue, and its caller. */
export interface Turn extends Partial<Span> {
  /** It is a part of a command whose turn has come. */
  readonly hasCome?: boolean;
  /** It waits for long commands before it as long as they take. */
  readonly waitsForLongCommands?: boolean;
  readonly signal: AbortSignal;
  /** Whether this machine has slept since it was decided to send the command; from when it is queued, where not given. */
  hasSlept?(): boolean;
  /** The caller's lease tokens, as in the header `zapd-lease`. */
  readonly lease?: string | undefined;
  /** The id of the action, given in the events that it causes. */
  readonly action?: string;
}

export class Queue {
  /** Something waits only while something runs. */
  #running: (Span & { since: number }) | undefined;
  #waiting: Waiting[] = [];

  get isIdle(): boolean {
    return this.#running === undefined;
  }

  /** Runs `work` when its turn has come. Fails with `device_busy` where too many wait, or where the wait is or would be too long. */
  async run<T>(turn: Turn, work: () => Promise<T>): Promise<T> {
    await this.#waitForTurn(turn);
    try {
      return await work();
    } finally {
      this.#running = undefined;
      while (this.#waiting.shift()?.start() === false);
    }
  }

  /** Starts the turn at once where the queue is empty; otherwise gives the wait for it. */
  #waitForTurn({
    expectedMs = 0,
    minimumMs = 0,
    waitsForLongCommands = false,
    hasSlept: sleptBefore,
    signal,
  }: Turn): Promise<void> | undefined {
    if (signal.aborted) throw signal.reason;
    // Synchronous, so that no other command can start meanwhile.
    const take = () => {
      this.#running = { expectedMs, minimumMs, since: performance.now() };
    };
    if (!this.#running) {
      take();
      return;
    }
    if (this.#waiting.length >= maxWaiting) throw busyError(`already has ${maxWaiting} waiting commands`);
    const ahead = this.#remainingMs("minimumMs");
    if (!waitsForLongCommands && ahead > maxWaitMs) throw busyUntilError(ahead);
    const hasSlept = sleptBefore ?? sleptSince();
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
      const wait = maxWaitMs + (waitsForLongCommands ? this.#remainingMs("expectedMs") : 0);
      const late = () => leave(busyError(`was busy with other commands for ${Math.round(wait / 1000)} s`));
      const timer = setTimeout(late, wait);
      const waited = stopwatch();
      const waiting: Waiting = {
        expectedMs,
        minimumMs,
        start: () => {
          // After a sleep of the machine, its turn may come before its timer fires.
          if (waited() > wait) late();
          else if (hasSlept()) leave(staleCommandError());
          else {
            take();
            settle();
            resolve();
            return true;
          }
          return false;
        },
      };
      signal.addEventListener("abort", aborted);
      this.#waiting.push(waiting);
    });
  }

  /** How much longer the commands ahead take. */
  #remainingMs(how: keyof Span): number {
    const running = this.#running ? Math.max(0, this.#running[how] - (performance.now() - this.#running.since)) : 0;
    return this.#waiting.reduce((sum, one) => sum + one[how], running);
  }
}

function busyUntilError(ms: number): ZapdError {
  const seconds = Math.ceil(ms / 1_000);
  const at = new Date(Date.now() + ms).toISOString().slice(0, 19);
  return new ZapdError("device_busy", `is running a sequence that ends in ${seconds} s`, {
    hint: `Nothing was sent. Try again in ${seconds} s (${at}Z), or stop the call that runs the sequence`,
  });
}

function busyError(what: string): ZapdError {
  return new ZapdError("device_busy", what, {
    hint: "Nothing was sent. Try again when its sequence or installation is done",
  });
}
