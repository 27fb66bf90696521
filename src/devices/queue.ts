/** Commands to one device, one at a time in order of arrival. Reads do not come here. */
import { stopwatch } from "../clock.ts";
import { ZapdError } from "../errors.ts";

const maxWaiting = 32;
/** A key that is older than this is better dropped than pressed late (SECURITY.md R14). */
const maxWait = 5_000;

interface Waiting {
  /** How long this command is known to take, in milliseconds: those behind it wait for that too, when they are patient. */
  readonly takes: number;
  /** Gives it its turn; false when it has waited too long for that. */
  start(): boolean;
}

export interface Turn {
  /** How long the command is known to take (a sequence), in milliseconds. */
  readonly takes?: number;
  /** Waits behind commands that are known to be long, for as long as they take. */
  readonly patient?: boolean;
  readonly signal: AbortSignal;
}

export class Queue {
  #running: { takes: number; since: number } | undefined;
  #waiting: Waiting[] = [];

  /** Whether nothing runs and nobody waits. */
  get idle(): boolean {
    return this.#running === undefined && this.#waiting.length === 0;
  }

  /** Runs `work` when its turn has come. Fails with `device_busy` when too many wait, or when the wait grew too long. */
  async run<T>(turn: Turn, work: () => Promise<T>): Promise<T> {
    await this.#turn(turn);
    try {
      return await work();
    } finally {
      this.#running = undefined;
      while (this.#waiting.shift()?.start() === false);
    }
  }

  #turn({ takes = 0, patient = false, signal }: Turn): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason);
    // Marks the device as taken before anyone else can ask, here and in `start`.
    const take = () => {
      this.#running = { takes, since: performance.now() };
    };
    if (!this.#running && this.#waiting.length === 0) return Promise.resolve(take());
    if (this.#waiting.length >= maxWaiting) return Promise.reject(busy(`has ${maxWaiting} commands waiting already`));
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
      const wait = maxWait + (patient ? this.#known() : 0);
      const late = () => leave(busy(`was busy with other commands for ${Math.round(wait / 1000)} s`));
      const timer = setTimeout(late, wait);
      const waited = stopwatch();
      const waiting: Waiting = {
        takes,
        start: () => {
          // When the machine has slept, or we were stopped, its turn may come before its timer.
          const inTime = waited() <= wait;
          if (!inTime) late();
          else {
            take();
            settle();
            resolve();
          }
          return inTime;
        },
      };
      signal.addEventListener("abort", aborted, { once: true });
      this.#waiting.push(waiting);
    });
  }

  /** How much longer the commands ahead are known to take. */
  #known(): number {
    const running = this.#running ? Math.max(0, this.#running.takes - (performance.now() - this.#running.since)) : 0;
    return this.#waiting.reduce((sum, one) => sum + one.takes, running);
  }
}

function busy(what: string): ZapdError {
  return new ZapdError("device_busy", what, {
    hint: "Nothing was sent. Try again when its sequence or installation is done",
  });
}
