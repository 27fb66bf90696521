/** How failures of a device are put into words: an adapter says the predicate, here it gets its subject. */
import { ZapdError } from "../api/errors.ts";
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
  if (
    !(error instanceof ZapdError) ||
    error.code === "internal_error" ||
    error.code === "storage_error" ||
    !/^[a-z]/.test(error.message)
  )
    return error;
  const attempted = attemptedCodes.has(error.code) ? ` while ${doing}` : "";
  return new ZapdError(error.code, `${entry.name} ${error.message}${attempted}`, { hint: error.hint, cause: error });
}

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
