/** How failures of a device are put into words: an adapter says the predicate, here it gets its subject. */
import { type ErrorCode, ZapdError } from "../api/errors.ts";
import type { Entry } from "./entry.ts";

const developerModeHint = "Turn its developer mode on at the set, if it has one, then look again with zapd discover";

/** A capability's method, or the failure for a device that lacks it. */
export function method<M>(present: M | undefined, capability: string): M {
  if (present === undefined)
    throw new ZapdError("unsupported_operation", `cannot do that: it lacks the capability "${capability}"`, {
      hint: capability === "dev" ? developerModeHint : undefined,
    });
  return present;
}

/** Puts the device's name before an adapter's predicate, and what was attempted behind it. */
export function named(error: unknown, entry: Entry, doing: string): unknown {
  if (!isPredicate(error)) return error;
  const attempted = attemptedCodes.has(error.code) ? ` while ${doing}` : "";
  return error.reworded(`${entry.name} ${error.message}${attempted}`, { named: true });
}

/** Whether a failure is a device's that is not named yet; of the others, a request or this machine is the subject. */
export function isPredicate(error: unknown): error is ZapdError {
  return error instanceof ZapdError && !error.named && ofDevices.has(error.code);
}

const ofDevices: ReadonlySet<ErrorCode> = new Set([
  "device_unreachable",
  "device_timeout",
  "device_refused",
  "device_error",
  "device_busy",
  "device_unproven",
  "unsupported_key",
  "unsupported_operation",
  "pairing_required",
  "pairing_failed",
  "app_not_found",
  "device_not_found",
  "package_rejected",
  "dev_package_missing",
  "dev_auth_failed",
  "dev_update_required",
  "console_in_use",
]);

/** Failures whose predicate does not say what was attempted. */
const attemptedCodes: ReadonlySet<string> = new Set([
  "device_unreachable",
  "device_timeout",
  "device_error",
  "device_busy",
]);

/** Rejects when the signal ends. */
export function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
