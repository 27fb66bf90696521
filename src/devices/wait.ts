/** Waits until a device's state meets conditions. */
import { ZapdError } from "../api/errors.ts";
import type { State } from "../api/schemas.ts";
import { type StatePart, stateParts } from "../platforms/platform.ts";
import { orAborted, sleep } from "../system/sleep.ts";
import type { Condition } from "./conditions.ts";
import { becamePartOfOther, type Device } from "./device.ts";

interface Waited {
  /** The device, or the one that it became a part of meanwhile. */
  readonly device: Device;
  readonly state: State;
  /** Whether the state meets the conditions. */
  readonly matched: boolean;
}

/** However short the wait, the device has this long to answer once; a long wait ends with another answer. */
const answerMs = 1_000;

/** Waits until all conditions hold, for `timeoutMs` at most. A device that does not answer may do so later; other errors fail. */
export async function waitFor(
  wanted: Device,
  conditions: readonly Condition[],
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Waited> {
  // A scene keeps the devices with which it began.
  const device = wanted.mergedDevice;
  const startedAt = performance.now();
  const holds = (state: State) => conditions.every((condition) => condition.holds(state));
  const { promise, resolve, reject } = Promise.withResolvers<Waited>();
  const unsubscribe = device.watch.subscribe({ waits: true });
  const read = () =>
    device.state(signal).then(
      (state) => {
        if (holds(state)) resolve({ device, state, matched: true });
      },
      (error: unknown) => {
        if (!(error instanceof ZapdError) || error.status !== 500 || error.code === "pairing_required") reject(error);
      },
    );
  const first = read();
  const end = (matched: boolean) => resolve({ device, state: device.lastState.viewOrUnknown, matched });
  /** Whether the state that was observed last meets them. */
  let isMet = false;
  const stillMet = () => isMet && holds(device.lastState.viewOrUnknown);
  const stopObserving = device.lastState.onState((state) => {
    const seen = device.lastState.parts;
    // A part that was never observed looks empty.
    const isSeen = (part: StatePart) => seen[part] !== undefined;
    isMet = conditions.every(({ part }) => isSeen(part)) && holds(state);
    if (isMet && stateParts.every(isSeen)) end(true);
    else if (isMet) void Promise.race([first, sleep(answerMs)]).then(() => stillMet() && end(true));
  });
  // Some parts are polled rarely, so the device is read once more before the wait ends.
  const last = timeoutMs > 2 * answerMs ? setTimeout(read, timeoutMs - answerMs) : undefined;
  const timer = setTimeout(async () => {
    await Promise.race([first, sleep(Math.max(0, answerMs - timeoutMs))]);
    end(stillMet());
  }, timeoutMs);
  try {
    return await orAborted(promise, AbortSignal.any([signal, device.removed]));
  } catch (error) {
    if (error !== becamePartOfOther) throw error;
    return waitFor(device, conditions, Math.max(0, timeoutMs - (performance.now() - startedAt)), signal);
  } finally {
    clearTimeout(timer);
    clearTimeout(last);
    stopObserving();
    unsubscribe();
  }
}
