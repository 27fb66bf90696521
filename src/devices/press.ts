/** Presses of the remote: what was asked for, whether the device has it, and how it is sent, alone or in a sequence. */

import { ZapdError } from "../api/errors.ts";
import { pressLimits } from "../api/limits.ts";
import {
  type Connection,
  type Description,
  type Key,
  keys,
  type Power,
  type StatePart,
  shownParts,
  stateParts,
  volumeKeys,
} from "../platforms/platform.ts";
import { SleepWatch, unlessSlept } from "../system/clock.ts";
import { nearest } from "../system/nearest.ts";
import { sleep } from "../system/sleep.ts";
import type { Device } from "./device.ts";
import type { Endpoint, Task } from "./endpoint.ts";
import { lacksCapability, requireCapability } from "./failures.ts";

/** Stands before a text that is typed. */
export const literal = "literal:";
/** Keys that mean another thing when they come twice. */
export const onceOnlyKeys: ReadonlySet<string> = new Set(["power", "power-on", "power-off"] satisfies Key[]);
/** Waking a set, and waiting until it answers and says that it is on. */
const powerOnAtMost = 45_000;

/** A key as it was asked for: a normalized name, or text to type. */
export type Press = { readonly key: Key } | { readonly text: string };

/** Reads a key as the API takes it; fails with `invalid_key`. */
export function readPress(wanted: string): Press {
  if (wanted.startsWith(literal)) {
    const text = wanted.slice(literal.length);
    if (text === "") throw new ZapdError("invalid_key", "literal: is followed by no text");
    if ([...text].length > pressLimits.characters)
      throw new ZapdError("invalid_key", `literal: takes at most ${pressLimits.characters} characters`);
    if (/[\p{Cc}\p{Cs}]/u.test(text))
      throw new ZapdError("invalid_key", "literal: takes no control characters and no half characters");
    return { text };
  }
  const key = keys.find((one) => one === wanted);
  if (key) return { key };
  const meant = nearest(wanted, keys);
  throw new ZapdError("invalid_key", `${JSON.stringify(wanted.slice(0, 64))} is not a key`, {
    hint: `${meant ? `Did you mean ${meant}? ` : ""}The keys are: ${keys.join(", ")}; text is typed with literal:<text>`,
  });
}

/** Fails with `unsupported_key` or `unsupported_operation` when the device cannot take it. */
export function checkPress(name: string, { has, keys: its }: Description, press: Press): void {
  const needed = "text" in press ? "text" : "keys";
  if (!has.has(needed))
    throw new ZapdError("unsupported_operation", `${name} takes no ${needed}`, { namesDevice: true });
  if ("text" in press || its.has(press.key)) return;
  throw new ZapdError("unsupported_key", `${name} has no ${press.key} key`, {
    hint: `It has: ${keys.filter((key) => its.has(key)).join(", ")}`,
    namesDevice: true,
  });
}

/** What a press attempts, for its failure. */
export function activityOf(press: Press): string {
  return "key" in press ? `pressing ${press.key}` : "typing text";
}

/** The longest that one press may take, in milliseconds. */
export function pressTimeoutMs(press: Press, device: Pick<Device, "preferredEndpoint" | "timeoutMs">): number {
  // A press may prove first who is there, and look at the player: three answers at most.
  const answers = 3 * device.timeoutMs + 500;
  if ("text" in press) return answers + (device.preferredEndpoint("text").connection.text?.longestMs(press.text) ?? 0);
  return press.key === "power-on" ? powerOnAtMost : answers;
}

/** What a press does at a device that is off, where that is not to wake it and press. */
export function offBehavior(press: Press): Pick<Task<void>, "whenOff" | "hasStarted"> {
  const key = "key" in press ? press.key : null;
  // It is off already; `power` turns it on, once; and `power-on` has called it in its own way.
  if (key === "power-off") return { whenOff: { wake: false, result: undefined } };
  if (key === "power") return { whenOff: { wake: true, result: undefined } };
  return key === "power-on" ? { hasStarted: () => true } : {};
}

/** What a device's power is after a press that it took; `unknown`: it may be either, `undefined`: as before. */
export function powerAfter(press: Press): Power | undefined {
  const key = "key" in press ? press.key : null;
  if (key === "power-off") return "off";
  if (key === "power-on") return "on";
  return key === "power" ? "unknown" : undefined;
}

/** What of a device's state a press can change. */
export function partsChangedBy(press: Press): readonly StatePart[] {
  // Typed text stands in a field, of which the state says nothing.
  if ("text" in press) return [];
  const { key } = press;
  if (onceOnlyKeys.has(key)) return stateParts;
  if (volumeKeys.has(key)) return ["volume"];
  return playerKeys.has(key) ? ["playback"] : shownParts;
}

const playerKeys: ReadonlySet<Key> = new Set([
  ...(["play", "pause", "play-pause", "stop"] as const),
  ...(["rewind", "fast-forward", "replay", "skip"] as const),
]);

/** Sends one press. The keys of power go by `connection.power`, where it has that. */
export async function perform(
  endpoint: Pick<Endpoint, "turnOn">,
  connection: Connection,
  press: Press,
  signal: AbortSignal,
): Promise<void> {
  if ("text" in press) return requireCapability(connection.text, "text").type(press.text, signal);
  const { key } = press;
  const { keys: ofDevice, power } = connection;
  if (power && key === "power-on") return endpoint.turnOn(connection, signal);
  if (power?.off && key === "power-off") return power.off(signal);
  if (power?.off && key === "power")
    return (await unlessSlept(power.isOn(signal))) === false ? endpoint.turnOn(connection, signal) : power.off(signal);
  if (!ofDevice) throw lacksCapability("keys");
  await ofDevice.press(key, signal);
}

/**
 * Sends presses, and counts in `progress` what was sent. On an absolute schedule, so that the time that a key takes does not
 * add to the delays; none after the last. A key that took longer than a whole delay moves the schedule, or the keys behind it would come in a burst.
 */
export async function runSequence(
  presses: readonly Press[],
  delayMs: number,
  { progress, send }: { progress: { sent: number }; send(press: Press): Promise<void> },
  signal: AbortSignal,
): Promise<{ sent: number; duration_ms: number }> {
  const start = performance.now();
  const watch = new SleepWatch();
  let due = start;
  try {
    for (const press of presses) {
      if (progress.sent > 0) {
        due += delayMs;
        if (performance.now() > due + delayMs) due = performance.now() + delayMs;
        await sleep(Math.max(0, due - performance.now()), signal);
      }
      signal.throwIfAborted();
      if (watch.sleepCount > 0)
        throw new ZapdError("device_timeout", "was not sent the rest in time: this machine slept");
      await send(press);
      // The first may have had to find out who is there before it was sent: the schedule begins where it was taken.
      if (progress.sent++ === 0) due = performance.now();
    }
  } catch (error) {
    if (!(error instanceof ZapdError)) throw error;
    throw error.reworded(`${error.message}; ${progress.sent} of ${presses.length} keys were sent`);
  } finally {
    watch.end();
  }
  return { sent: progress.sent, duration_ms: Math.round(performance.now() - start) };
}
