/** Error texts of devices: an adapter gives the predicate ("does not answer"), and here the device's name is put before it. */
import { type ErrorCode, hasCode, hasReason, ZapdError } from "../api/errors.ts";
import type { Capability, Key, Platform } from "../platforms/platform.ts";
import { addressText, shellQuote } from "../system/text.ts";
import { type DeviceRecord, descriptionOf } from "./record.ts";

const developerModeHint = "Turn on its developer mode on the device, if it has one, then run zapd discover";

/** For answers that make no sense, and for none, where the adapter has nothing better to say. */
const nonsenseHint =
  "Restart the device. If its address may have changed, something else answers there: find it with zapd discover";
const hungUpHint =
  "It may have been done all the same: see what the device shows before you try again. If this goes on, restart it, or find it with zapd discover: something else may answer at its address";

/** A part of a connection; fails with `unsupported_operation` where the device lacks it. */
export function requireCapability<Part>(present: Part | undefined, capability: Capability): Part {
  if (present === undefined) throw lacksCapability(capability);
  return present;
}

/** By the capability that is lacking. */
const lackHints: Partial<Readonly<Record<Capability, string>>> = {
  dev: developerModeHint,
  pair: "It needs no pairing. What its own settings withhold: zapd doctor",
  stop: "It has no apps to stop; to stop playback: zapd key stop -d {device}",
};

export function lacksCapability(capability: Capability, keys?: ReadonlySet<Key>): ZapdError {
  const hint = capability === "stop" && !keys?.has("stop") ? undefined : lackHints[capability];
  return new ZapdError("unsupported_operation", `cannot do that: it lacks the capability "${capability}"`, { hint });
}

/** What an error says of its device: its name and address, and whether it can be woken. */
export type Subject = Pick<DeviceRecord, "name" | "host" | "port"> & { readonly canWake?: boolean };

export function subjectOf(record: DeviceRecord, platform: Platform | undefined): Subject {
  const { has, withheld } = (platform && descriptionOf(record, platform, true)) ?? {};
  return { ...record, canWake: has?.has("power_on") === true && !withheld?.has("power_on") };
}

/** Fills `{device}`, `{address}` and `{wake}` in a hint. */
export function fillHint(hint: string | undefined, { name, host, port, canWake }: Subject): string | undefined {
  const word = shellQuote(name);
  const words: Readonly<Record<string, string>> = {
    device: word,
    address: addressText({ host, port }),
    wake: canWake ? `try zapd key power-on -d ${word}` : "turn it on by hand",
  };
  return hint?.replace(/\{(device|address|wake)\}/g, (whole, what: string) => words[what] ?? whole);
}

/** Puts the device's name before an adapter's predicate and into its hint, and the activity after it. */
export function withDeviceName(error: unknown, subject: Subject, activity?: string): unknown {
  if (!isPredicate(error)) return error;
  const saysActivity = !codesWithActivity.has(error.code) || hasReason(error, "no_effect");
  const suffix = activity === undefined || saysActivity ? "" : ` while ${activity}`;
  const usual = hasReason(error, "protocol") ? nonsenseHint : hasReason(error, "closed") ? hungUpHint : undefined;
  const hint = fillHint(error.hint ?? (hasCode(error, "device_error") ? usual : undefined), subject);
  return error.reworded(`${subject.name} ${error.message}${suffix}`, { namesDevice: true, hint });
}

/** Whether an error is a device's and does not name it yet; the subject of other errors is a request or this machine. */
export function isPredicate(error: unknown): error is ZapdError {
  return error instanceof ZapdError && !error.namesDevice && deviceCodes.has(error.code);
}

const deviceCodes: ReadonlySet<ErrorCode> = new Set([
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
  "picture_not_found",
  "unsupported_media",
  "device_not_found",
  "package_rejected",
  "dev_package_missing",
  "dev_auth_failed",
  "dev_update_required",
  "console_in_use",
]);

/** Errors whose predicate does not say what was attempted. */
const codesWithActivity: ReadonlySet<string> = new Set([
  "device_unreachable",
  "device_timeout",
  "device_error",
  "device_busy",
]);

/** Characters; a shorter secret would be found within other words. */
const shortestMasked = 4;

/** An error without the code or password that its caller gave, whether that was right or wrong (SECURITY.md T31). */
export function masked(secrets: readonly string[], error: unknown): unknown {
  if (!(error instanceof ZapdError)) return error;
  const long = secrets.filter((secret) => secret.length >= shortestMasked);
  const mask = (text: string) => long.reduce((rest, secret) => rest.replaceAll(secret, "…"), text);
  const message = mask(error.message);
  const hint = error.hint && mask(error.hint);
  return message === error.message && hint === error.hint ? error : error.reworded(message, { hint, cause: undefined });
}
