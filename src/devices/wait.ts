/** Waits until a device does what is waited for, told of each change by whoever sees it first. */
import { ZapdError } from "../api/errors.ts";
import type { State } from "../api/schemas.ts";
import { orAborted } from "../system/sleep.ts";
import { type Condition, hasSeenEnough } from "./conditions.ts";
import { becamePartOfOther, type Device } from "./device.ts";

/** What a wait comes to: the state by then, and whether it is what was waited for. */
interface Waited {
  /** The one that was waited for, or the one of which that has become a part meanwhile. */
  readonly device: Device;
  readonly state: State;
  readonly matched: boolean;
}

/**
 * Waits until all conditions hold, for so many milliseconds at most. A device that does not answer meanwhile may come: only
 * what it can never do fails at once.
 */
export async function waitFor(
  device: Device,
  conditions: readonly Condition[],
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Waited> {
  const since = performance.now();
  const holds = (state: State) => conditions.every((condition) => condition.holds(state));
  const { promise, resolve, reject } = Promise.withResolvers<Waited>();
  const release = device.watch.subscribe({ waits: true });
  const forget = device.onState((state) => {
    if (hasSeenEnough(conditions, device.observedParts) && holds(state)) resolve({ device, state, matched: true });
  });
  const timer = setTimeout(() => resolve({ device, state: device.lastStateOrUnknown, matched: false }), timeoutMs);
  device.state(signal).then(
    (state) => {
      if (holds(state)) resolve({ device, state, matched: true });
    },
    (error: unknown) => {
      if (!(error instanceof ZapdError) || error.status !== 500 || error.code === "pairing_required") reject(error);
    },
  );
  try {
    return await orAborted(promise, AbortSignal.any([signal, device.removed]));
  } catch (error) {
    if (error !== becamePartOfOther) throw error;
    return waitFor(device.mergedDevice, conditions, Math.max(0, timeoutMs - (performance.now() - since)), signal);
  } finally {
    clearTimeout(timer);
    forget();
    release();
  }
}
