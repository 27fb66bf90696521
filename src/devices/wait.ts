/** Waits until a device does what is waited for, told of each change by whoever sees it first. */
import { ZapdError } from "../api/errors.ts";
import type { State } from "../api/schemas.ts";
import { orAborted } from "../system/sleep.ts";
import { type Condition, canJudge } from "./conditions.ts";
import type { Device } from "./device.ts";

/**
 * Waits until all conditions hold, for so many milliseconds at most; the state by then, and whether they do. A device that
 * does not answer meanwhile may come: only what it can never do fails at once.
 */
export async function waitFor(
  device: Device,
  conditions: readonly Condition[],
  timeoutMs: number,
  signal: AbortSignal,
): Promise<{ state: State; matched: boolean }> {
  const holds = (state: State) => conditions.every((condition) => condition.holds(state));
  const { promise, resolve, reject } = Promise.withResolvers<{ state: State; matched: boolean }>();
  const release = device.watch.hold({ waits: true });
  const forget = device.onState((state) => {
    if (canJudge(conditions, device.lastState) && holds(state)) resolve({ state, matched: true });
  });
  const timer = setTimeout(() => resolve({ state: device.stateNow, matched: false }), timeoutMs);
  device.state(signal).then(
    (state) => {
      if (holds(state)) resolve({ state, matched: true });
    },
    (error: unknown) => {
      if (!(error instanceof ZapdError) || error.status !== 500 || error.code === "pairing_required") reject(error);
    },
  );
  try {
    return await orAborted(promise, AbortSignal.any([signal, device.leaving]));
  } finally {
    clearTimeout(timer);
    forget();
    release();
  }
}
