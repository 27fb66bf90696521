/**
 * Holding keys. zapd repeats the press, since a device that was told that a key is down would go on for ever if the daemon were
 * killed. Only devices that release the key when the connection ends are told that it is down (`keys.down`).
 */
import { type ErrorCode, ZapdError } from "../api/errors.ts";
import type { BodyOf } from "../api/operations.ts";
import type { Key } from "../platforms/platform.ts";
import { sleptSince } from "../system/clock.ts";
import { sleep } from "../system/sleep.ts";
import type { Device } from "./device.ts";
import { isHeldByDevice, keepDown, onceOnlyKeys, pressKey, readPress } from "./press.ts";
import type { Turn } from "./queue.ts";

/** Between two presses of a key that is held. */
const repeatEveryMs = 150;
/** A key goes up unless its caller says again within this time that it is down. */
const renewWithinMs = 2_000;

/** How a key is held: for a time, a number of times, or until its caller says that it is up. */
type HoldRequest = Omit<BodyOf<"pressKey">, "key">;

/** Holds a key; gives the number of presses, where it was held for a time or a number of times. */
export async function holdKey(device: Device, key: string, how: HoldRequest, turn: Turn): Promise<number | null> {
  const { hold_ms, repeat, phase } = how;
  const press = readPress(key);
  if ("text" in press || onceOnlyKeys.has(key))
    throw new ZapdError("invalid_key", `${JSON.stringify(key.slice(0, 64))} cannot be held`, {
      hint: "Power keys and text are sent once",
    });
  if (phase !== undefined) {
    await (phase === "up" ? device.heldKey.release(key) : holdDown(device, press.key, turn));
    return null;
  }
  const signal = AbortSignal.any([turn.signal, device.heldKey.stopped]);
  if (repeat === undefined && isHeldByDevice(device, press.key)) {
    await keepDown(device, press.key, { ...turn, signal }, { ms: hold_ms });
    return 1;
  }
  const end = performance.now() + (hold_ms ?? Number.POSITIVE_INFINITY);
  const goesOn = (count: number, next: number) => count < (repeat ?? Number.POSITIVE_INFINITY) && next < end;
  const pressOnce = (hasSlept: () => boolean, isFirst: boolean) =>
    pressKey(device, key, { ...turn, signal, hasSlept }, isFirst);
  return repeatPress(pressOnce, goesOn, signal);
}

async function holdDown(device: Device, key: Key, turn: Turn): Promise<void> {
  // Without a wait where nothing is down: an `up` may come at once.
  const renewed = device.heldKey.renew(key);
  if (renewed !== false && (await renewed)) return;
  if (isHeldByDevice(device, key)) {
    const keep = (signal: AbortSignal, onDown: () => void) => keepDown(device, key, { ...turn, signal }, { onDown });
    await device.heldKey.pressFirst(key, () => device.heldKey.begin(key, turn.signal, keep));
    return;
  }
  // The first press is like any other: its caller waits for it, and a device that is asleep is woken.
  if (!(await device.heldKey.pressFirst(key, () => pressKey(device, key, turn)))) return;
  await device.heldKey.begin(key, turn.signal, async (signal, down) => {
    down();
    await sleep(repeatEveryMs, signal);
    // A device that does not answer in time must not scroll on when it comes back.
    const inTime = () => AbortSignal.any([signal, AbortSignal.timeout(renewWithinMs)]);
    const press = (hasSlept: () => boolean) => pressKey(device, key, { ...turn, signal: inTime(), hasSlept }, false);
    await repeatPress(press, () => true, signal);
  });
}

/**
 * Presses at once and then every 150 ms; gives the number of presses. Late presses are not made up for. Fails with the first
 * press that fails, and after the machine slept, when the key may no longer be held.
 */
async function repeatPress(
  press: (hasSlept: () => boolean, isFirst: boolean) => Promise<void>,
  goesOn: (count: number, next: number) => boolean,
  signal: AbortSignal,
): Promise<number> {
  const hasSlept = sleptSince();
  let due = performance.now();
  for (let count = 0; ; ) {
    if (hasSlept()) throw releasedError("device_timeout", ", because this machine slept");
    await press(hasSlept, count++ === 0);
    due = Math.max(due + repeatEveryMs, performance.now());
    if (!goesOn(count, due)) return count;
    await sleep(Math.max(0, due - performance.now()), signal);
  }
}

/** A whole sentence: it may be thrown between two presses, where nothing puts the device's name before it. */
function releasedError(code: ErrorCode = "device_busy", why = ""): ZapdError {
  return new ZapdError(code, `The held key was released${why}`, { namesDevice: true });
}

/** The one key of a device that is down, until it goes up or is not renewed. */
export class HeldKey {
  #held:
    | { readonly key: string; readonly end: AbortController; renew(): void; readonly ended: Promise<void> }
    | undefined;

  /** The first presses that run, and whether their keys went up meanwhile. */
  readonly #first = new Set<{ readonly key: string; isUp: boolean; readonly pressed: Promise<void> }>();
  #stopping = new AbortController();

  /** Aborts when every held key is to go up. */
  get stopped(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Lets go of every key: the device was removed or leased, or the daemon stops. */
  stop(reason: ZapdError = releasedError()): void {
    this.#stopping.abort(reason);
    this.#stopping = new AbortController();
    void this.release();
  }

  /** Renews a key that is down, or is being pressed for the first time; `false` where it is neither. */
  renew(key: string): boolean | Promise<boolean> {
    const first = [...this.#first].filter((one) => one.key === key);
    const goingDown = first.find(({ isUp }) => !isUp);
    if (goingDown) {
      // Where the caller of that press hung up, this caller presses it.
      return goingDown.pressed.then(
        () => true,
        (error: unknown) => {
          if (error instanceof ZapdError) throw error;
          return false;
        },
      );
    }
    if (this.#held?.key !== key || first.length > 0) return false;
    this.#held.renew();
    return true;
  }

  /** Presses a key that goes down, in place of any other; gives whether it is still down after the press. */
  async pressFirst(key: string, press: () => Promise<void>): Promise<boolean> {
    const before = this.#held?.key === key ? this.release(key) : this.release();
    const own = { key, isUp: false, pressed: before.then(press) };
    this.#first.add(own);
    try {
      await own.pressed;
      return !own.isUp;
    } finally {
      this.#first.delete(own);
    }
  }

  /**
   * Holds a key down, in place of any other: `hold` runs until its signal aborts or it fails, and calls `down` once the key is
   * down, which is waited for here. Before that, which may take long where the device must be reached first, the hold ends with
   * its `caller`.
   */
  async begin(
    key: string,
    caller: AbortSignal,
    hold: (signal: AbortSignal, down: () => void) => Promise<unknown>,
  ): Promise<void> {
    await this.#endHold();
    const end = new AbortController();
    const isDown = Promise.withResolvers<void>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const hungUp = () => end.abort(caller.reason);
    const renew = () => {
      clearTimeout(timer);
      timer = setTimeout(() => end.abort(releasedError()), renewWithinMs);
    };
    const down = () => {
      caller.removeEventListener("abort", hungUp);
      renew();
      isDown.resolve();
    };
    caller.addEventListener("abort", hungUp);
    if (caller.aborted) hungUp();
    // Once the call that began the hold was answered, a press that fails just ends it.
    const ended = hold(end.signal, down)
      .catch(isDown.reject)
      .then(() => {
        clearTimeout(timer);
        caller.removeEventListener("abort", hungUp);
        if (this.#held === held) this.#held = undefined;
      });
    const held = { key, end, ended, renew };
    this.#held = held;
    await isDown.promise;
  }

  /** Lets go of a key, or of whichever is down; when this is done, no press of it runs. */
  async release(key?: string): Promise<void> {
    const first = [...this.#first].filter((one) => key === undefined || one.key === key);
    for (const one of first) one.isUp = true;
    const pressed = Promise.allSettled(first.map((one) => one.pressed));
    // The press that began before the release comes first.
    if (key !== undefined) await pressed;
    await Promise.all([this.#endHold(key), pressed]);
  }

  async #endHold(key?: string): Promise<void> {
    const held = this.#held;
    if (!held || (key !== undefined && held.key !== key)) return;
    held.end.abort(releasedError());
    await held.ended;
  }
}
