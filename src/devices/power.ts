/** Off is a state, not an error: what the last word of a device and its silence say together. */

import { ZapdError } from "../api/errors.ts";
import type { State } from "../api/operations.ts";
import type { Power } from "../platforms/platform.ts";

/** Whether a device's last word was that it is off, or on its way to be: silent then, it is asleep rather than gone. */
export function saysOff(power: Power | null): boolean {
  return power === "off" || power === "standby";
}

/** What is known of a device's power without asking it: of one that is silent, and was on, nothing. */
export function powerShown(status: "online" | "offline" | "unknown", last: Power | null): Power {
  if (status === "online") return last ?? "unknown";
  if (status === "offline" && saysOff(last)) return "off";
  return saysOff(last) ? (last ?? "unknown") : "unknown";
}

/** Whether a failure is that nobody answered. */
export function isSilent(error: unknown): error is ZapdError {
  return error instanceof ZapdError && (error.code === "device_unreachable" || error.code === "device_timeout");
}

/** The state of a device that is off. */
export function offState(): State {
  return {
    ...{ power: "off", app: null, screensaver: null, playback: null, volume: null, input: null },
    observed_at: new Date().toISOString(),
  };
}
