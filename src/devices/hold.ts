/**
 * Keys that are held: presses that zapd repeats. No set is told that a key is down, or one whose daemon is killed, or whose
 * network is gone, would scroll on for ever.
 */
import { ZapdError } from "../api/errors.ts";
import { type Key, keys } from "../platforms/platform.ts";
import { SleepWatch } from "../system/clock.ts";
import { sleep } from "../system/sleep.ts";
import { pressKey } from "./commands.ts";
import type { Device } from "./device.ts";
import type { Turn } from "./queue.ts";

/** Milliseconds between two presses, and after which a key that is down is let go, unless it is said again that it is down. */
export const holding = { everyMs: 150, letGoAfterMs: 2_000 } as const;

/** Keys that mean another thing when they come twice. */
const once: ReadonlySet<string> = new Set(["power", "power-on", "power-off"] satisfies Key[]);

/** How a key is to be held: for so long, so often, or until it is said to be up. */
export interface Holding {
  readonly hold_ms?: number | undefined;
  readonly repeat?: number | undefined;
  readonly phase?: "down" | "up" | undefined;
}

/** Holds a key; how often it was pressed, where it was held for a time that was given. */
export async function holdKey(device: Device, key: string, how: Holding, turn: Turn): Promise<number | null> {
  const { hold_ms, repeat, phase } = how;
  if (once.has(key) || !keys.some((one) => one === key))
    throw new ZapdError("invalid_key", `${JSON.stringify(key.slice(0, 64))} cannot be held`, {
      hint: "Keys of power and text are sent once",
    });
  if (phase === "up") {
    await device.held.end(key);
    return null;
  }
  if (phase === "down") {
    await down(device, key, turn);
    return null;
  }
  const end = performance.now() + (hold_ms ?? Number.POSITIVE_INFINITY);
  const goesOn = (count: number, next: number) => count < (repeat ?? Number.POSITIVE_INFINITY) && next < end;
  const signal = AbortSignal.any([turn.signal, device.held.stopped]);
  return repeated((isFirst) => pressKey(device, key, { ...turn, signal }, isFirst), goesOn, signal);
}

async function down(device: Device, key: string, turn: Turn): Promise<void> {
  if (device.held.renew(key)) return;
  await device.held.end();
  // The first is a press as any other: its caller waits for it, and a set that sleeps is woken.
  await pressKey(device, key, turn);
  await device.held.begin(key, (signal) => pressKey(device, key, { ...turn, signal }, false));
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
      if (watch.times > 0) throw new ZapdError("device_timeout", "was let go of the key: this machine slept");
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

  #stopping = new AbortController();

  /** Ends when whatever is held is to be let go. */
  get stopped(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Nothing is held any more: the device is removed, or the daemon stops. */
  stop(): void {
    this.#stopping.abort(letGoError());
    this.#stopping = new AbortController();
    this.end().catch(() => {});
  }

  /** It is still down; `false` where it is not. */
  renew(key: string): boolean {
    if (this.#held?.key !== key) return false;
    this.#held.renew();
    return true;
  }

  /** It has been pressed once, and is pressed again and again from now on, in the place of any other. */
  async begin(key: string, press: (signal: AbortSignal) => Promise<void>): Promise<void> {
    await this.end();
    const over = new AbortController();
    const letGo = () => over.abort(letGoError());
    let timer = setTimeout(letGo, holding.letGoAfterMs);
    const { signal } = over;
    // Whoever held it is told nothing by then: a press that fails ends it.
    const ended = sleep(holding.everyMs, signal)
      .then(() =>
        repeated(
          () => press(signal),
          () => true,
          signal,
        ),
      )
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
    const held = this.#held;
    if (!held || (key !== undefined && held.key !== key)) return;
    held.over.abort(letGoError());
    await held.ended;
  }
}
