/**
 * Keys that are held. Where a set would go on by itself they are presses that zapd repeats: a set that was told that a key is
 * down, and whose daemon is killed, would scroll on for ever. Only a platform whose sets let go when their line ends tells
 * them (`keys.down`).
 */
import { ZapdError } from "../api/errors.ts";
import type { BodyOf } from "../api/operations.ts";
import { type Key, keys } from "../platforms/platform.ts";
import { SleepWatch } from "../system/clock.ts";
import { sleep } from "../system/sleep.ts";

import type { Device } from "./device.ts";
import { isHeldByDevice, keepDown, onceOnlyKeys, pressKey, readPress } from "./press.ts";
import type { Turn } from "./queue.ts";

/** Milliseconds between two presses, and after which a key that is down is let go, unless it is said again that it is down. */
export const holding = { everyMs: 150, letGoAfterMs: 2_000 } as const;

/** How a key is to be held: for so long, so often, or until it is said to be up. */
type Holding = Omit<BodyOf<"pressKey">, "key">;

/** Holds a key; how often it was pressed, where it was held for a time that was given. */
export async function holdKey(device: Device, key: string, how: Holding, turn: Turn): Promise<number | null> {
  const { hold_ms, repeat, phase } = how;
  const held = keys.find((one) => one === key);
  readPress(key);
  if (onceOnlyKeys.has(key) || !held)
    throw new ZapdError("invalid_key", `${JSON.stringify(key.slice(0, 64))} cannot be held`, {
      hint: "Keys of power and text are sent once",
    });
  if (phase === "up") {
    await device.heldKey.end(key);
    return null;
  }
  if (phase === "down") {
    await down(device, held, turn);
    return null;
  }
  const signal = AbortSignal.any([turn.signal, device.heldKey.stopped]);
  if (repeat === undefined && isHeldByDevice(device, held)) {
    await keepDown(device, held, { ...turn, signal }, { ms: hold_ms });
    return 1;
  }
  const end = performance.now() + (hold_ms ?? Number.POSITIVE_INFINITY);
  const goesOn = (count: number, next: number) => count < (repeat ?? Number.POSITIVE_INFINITY) && next < end;
  return repeated((isFirst) => pressKey(device, key, { ...turn, signal }, isFirst), goesOn, signal);
}

async function down(device: Device, key: Key, turn: Turn): Promise<void> {
  if (device.heldKey.renew(key)) return;
  if (isHeldByDevice(device, key)) {
    await device.heldKey.first(key, async () => {
      const isDown = Promise.withResolvers<void>();
      await device.heldKey.begin(key, (signal) => {
        const keeping = keepDown(device, key, { ...turn, signal }, { onDown: isDown.resolve });
        keeping.catch(isDown.reject);
        return keeping;
      });
      await isDown.promise;
    });
    return;
  }
  // The first is a press as any other: its caller waits for it, and a set that sleeps is woken.
  if (!(await device.heldKey.first(key, () => pressKey(device, key, turn)))) return;
  await device.heldKey.begin(key, async (signal) => {
    await sleep(holding.everyMs, signal);
    // A set that has not answered by then is gone: it does not scroll on when it comes back.
    const inTime = () => AbortSignal.any([signal, AbortSignal.timeout(holding.letGoAfterMs)]);
    const press = () => pressKey(device, key, { ...turn, signal: inTime() }, false);
    await repeated(press, () => true, signal);
  });
}

/**
 * Presses at once, and then every 150 ms for as long as it goes on; the number of presses. Those that take longer are not
 * made up for. Fails as the first press that fails does, and when the machine slept: nobody may hold it any more.
 */
async function repeated(
  press: (isFirst: boolean) => Promise<void>,
  goesOn: (count: number, next: number) => boolean,
  signal: AbortSignal,
): Promise<number> {
  const watch = new SleepWatch();
  let due = performance.now();
  try {
    for (let count = 0; ; ) {
      if (watch.sleepCount > 0) throw new ZapdError("device_timeout", "was let go of the key: this machine slept");
      signal.throwIfAborted();
      await press(count++ === 0);
      due = Math.max(due + holding.everyMs, performance.now());
      if (!goesOn(count, due)) return count;
      await sleep(due - performance.now(), signal);
    }
  } finally {
    watch.end();
  }
}

function letGoError(): ZapdError {
  return new ZapdError("device_busy", "was let go of the key");
}

/** The one key of a device that is down, until it is up, or nobody says any more that it is down. */
export class HeldKey {
  #held:
    | { readonly key: string; readonly over: AbortController; renew(): void; readonly ended: Promise<void> }
    | undefined;

  /** First presses that are under way, and whether their keys are up again already. */
  readonly #first = new Set<{ readonly key: string; isUp: boolean; readonly over: Promise<void> }>();
  #stopping = new AbortController();

  /** Ends when whatever is held is to be let go. */
  get stopped(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Nothing is held any more: the device is removed, somebody else has it, or the daemon stops. */
  stop(reason: ZapdError = letGoError()): void {
    this.#stopping.abort(reason);
    this.#stopping = new AbortController();
    this.end().catch(() => {});
  }

  /** It is still down; `false` where it is not. */
  renew(key: string): boolean {
    const isUp = [...this.#first].some((one) => one.key === key && one.isUp);
    if (this.#held?.key !== key || isUp) return false;
    this.#held.renew();
    return true;
  }

  /** Presses a key that goes down, in the place of any other; whether it is down still when the press has been taken. */
  async first(key: string, press: () => Promise<void>): Promise<boolean> {
    const before = this.#held?.key === key ? this.end(key) : this.end();
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const own = { key, isUp: false, over };
    this.#first.add(own);
    try {
      await before;
      await press();
      return !own.isUp;
    } finally {
      this.#first.delete(own);
      resolve();
    }
  }

  /** It is down from now on, in the place of any other: `hold` goes on until its signal ends, or fails. */
  async begin(key: string, hold: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    await this.#endHold();
    const over = new AbortController();
    const letGo = () => over.abort(letGoError());
    let timer = setTimeout(letGo, holding.letGoAfterMs);
    const { signal } = over;
    // The call that began this has been answered by now: a press that fails just ends it.
    const ended = hold(signal)
      .catch(() => {})
      .then(() => {
        clearTimeout(timer);
        if (this.#held === held) this.#held = undefined;
      });
    const renew = () => {
      clearTimeout(timer);
      timer = setTimeout(letGo, holding.letGoAfterMs);
    };
    const held = { key, over, ended, renew };
    this.#held = held;
  }

  /** It is up: when this is done, no press of it is under way. Without a key, whichever is down. */
  async end(key?: string): Promise<void> {
    const first = [...this.#first].filter((one) => key === undefined || one.key === key);
    for (const one of first) one.isUp = true;
    const pressed = Promise.all(first.map(({ over }) => over));
    // Who lets go of a key has pressed it: one that is not down yet goes down before.
    if (key !== undefined) await pressed;
    await Promise.all([this.#endHold(key), pressed]);
  }

  async #endHold(key?: string): Promise<void> {
    const held = this.#held;
    if (!held || (key !== undefined && held.key !== key)) return;
    held.over.abort(letGoError());
    await held.ended;
  }
}
