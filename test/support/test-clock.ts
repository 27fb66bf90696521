/** Time that passes at once. */
import { machineSleep } from "../../src/system/clock.ts";
import type { Clock } from "../../src/system/sleep.ts";

/** A clock that goes on when everybody waits for it. */
export class TestClock implements Clock {
  #now = 1_000_000;
  #waiting: { readonly at: number; done(): void }[] = [];

  now(): number {
    return this.#now;
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const waiting = { at: this.#now + ms, done: resolve };
      this.#waiting.push(waiting);
      signal.addEventListener("abort", () => {
        this.#waiting = this.#waiting.filter((one) => one !== waiting);
        reject(signal.reason);
      });
    });
  }

  /** Lets time pass until the work is done; everything that can be done without waiting is done before each step. */
  async run<T>(work: Promise<T>): Promise<T> {
    let over = false;
    const ended = () => {
      over = true;
    };
    work.then(ended, ended);
    for (let idle = 0; !over; idle++) {
      for (let turn = 0; turn < 50 && !over; turn++) await Promise.resolve();
      const next = this.#waiting.sort((one, other) => one.at - other.at).shift();
      if (over || !next) {
        if (idle > 100_000) throw new Error("it hangs");
        continue;
      }
      this.#now = Math.max(this.#now, next.at);
      next.done();
    }
    return work;
  }
}

const { now } = performance;
let passedMs = 0;
performance.now = () => now.call(performance) + passedMs;

/** Lets the monotonic clock of this process go on by so much at once; 6 s are a sleep of this machine. */
export function passTime(ms: number): void {
  passedMs += ms;
}

/** To be called after a sleep: the requests of the next test are not from the time before it. */
export function wakeUp(): void {
  void machineSleep().sleepCount;
  passTime(1_000);
}
