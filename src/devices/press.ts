/** Presses of the remote: read, checked against the device, and sent: alone, held down, or in a sequence. */
import { DeviceError, hasCode, ZapdError } from "../api/errors.ts";
import { pressLimits, sequenceLimits } from "../api/limits.ts";
import {
  type Connection,
  type Description,
  type Key,
  keys,
  shownParts,
  stateParts,
  volumeKeys,
} from "../platforms/platform.ts";
import { sleptSince, unlessSlept } from "../system/clock.ts";
import { nearest } from "../system/nearest.ts";
import { sleep } from "../system/sleep.ts";
import type { Device } from "./device.ts";
import type { Endpoint } from "./endpoint.ts";
import { lacksCapability, requireCapability } from "./failures.ts";
import type { Turn } from "./queue.ts";
import type { Recovery } from "./recovery.ts";
import type { Task } from "./task.ts";

/** Stands before a text to type. */
export const literal = "literal:";
/** Keys that mean something else when they are pressed twice. */
export const onceOnlyKeys: ReadonlySet<string> = new Set(["power", "power-on", "power-off"] satisfies Key[]);
const playbackKeys: ReadonlySet<Key> = new Set<Key>([
  ...(["play", "pause", "play-pause", "stop"] as const),
  ...(["rewind", "fast-forward", "replay", "skip"] as const),
]);

/** Waking a device, and waiting until it answers and reports that it is on. */
const powerOnTimeoutMs = 45_000;
/** A key is let go after this time, even if its caller goes on holding it. */
const longestHoldMs = 600_000;
/** How often it is checked whether this machine has slept while a key is down. */
const wakeCheckMs = 500;

export type Press = { readonly key: Key } | { readonly text: string };

/** Reads a key as the API takes it; fails with `invalid_key`. */
export function readPress(wanted: string): Press {
  if (wanted.startsWith(literal)) {
    const text = wanted.slice(literal.length);
    if (text === "") throw new ZapdError("invalid_key", "literal: must be followed by text");
    if ([...text].length > pressLimits.characters)
      throw new ZapdError("invalid_key", `literal: allows at most ${pressLimits.characters} characters`);
    if (/[\p{Cc}\p{Cs}]/u.test(text))
      throw new ZapdError("invalid_key", "literal: does not allow control characters or incomplete characters");
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
    throw new ZapdError("unsupported_operation", `${name} does not accept ${needed}`, { namesDevice: true });
  if ("text" in press || its.has(press.key)) return;
  throw new ZapdError("unsupported_key", `${name} has no ${press.key} key`, {
    hint: `It has: ${keys.filter((key) => its.has(key)).join(", ")}`,
    namesDevice: true,
  });
}

/** Typed text may be a password, so a device on probation gets none (SECURITY.md 2.4). */
function checkTyped(device: Device, press: Press): void {
  if ("text" in press) device.checkTrusted();
}

function activityOf(press: Press): string {
  return "key" in press ? `pressing ${press.key}` : "typing text";
}

function timeoutMsOf(press: Press, device: Device): number {
  // A press may first ask who is there and what plays: three answers at most.
  const answers = 3 * device.leading.timeoutMs + 500;
  if ("text" in press) return answers + (device.preferredEndpoint("text").connection.text?.longestMs(press.text) ?? 0);
  // It may turn the device on, which has 20 s to report that (wake.ts).
  if (press.key === "power") return answers + 10_000;
  return press.key === "power-on" ? powerOnTimeoutMs : answers;
}

type Effect = Pick<
  Task<void>,
  "needs" | "accepts" | "isConfidential" | "changes" | "resultingState" | "whenOff" | "hasStarted"
>;

/** What a press needs, what it changes, and what it does at a device that is off. */
function effectOf(press: Press): Effect {
  // Typed text appears in a field, which is no part of the state.
  if ("text" in press) return { needs: "text", isConfidential: true, changes: [] };
  const { key } = press;
  const needs = { needs: "keys", accepts: ({ description }: Endpoint) => description.keys.has(key) } as const;
  const changes = stateParts;
  switch (key) {
    case "power-on":
      // It wakes the device in its own way, so it is not sent again to one that was woken.
      return { needs: "power_on", changes, resultingState: { power: "on" }, hasStarted: () => true };
    case "power-off":
      return { ...needs, changes, resultingState: { power: "off" }, whenOff: { wake: false, result: undefined } };
    case "power":
      return { ...needs, changes, resultingState: { power: "unknown" }, whenOff: { wake: true, result: undefined } };
    default:
      if (volumeKeys.has(key)) return { ...needs, changes: ["volume"] };
      return { ...needs, changes: playbackKeys.has(key) ? ["playback"] : shownParts };
  }
}

function taskOf(device: Device, press: Press): Task<void> {
  return {
    activity: activityOf(press),
    timeoutMs: timeoutMsOf(press, device),
    callerTexts: ["text" in press ? press.text : press.key],
    ...effectOf(press),
    work: async (connection, signal, endpoint) => {
      checkTyped(device, press);
      await perform(endpoint.recovery, connection, press, signal);
    },
  };
}

/** Presses a key, or types; without `recovers`, a device that does not answer is neither woken nor searched for. */
export async function pressKey(device: Device, wanted: string, turn: Turn, recovers = true): Promise<void> {
  const press = readPress(wanted);
  checkPress(device.record.name, device.description, press);
  checkTyped(device, press);
  const task = taskOf(device, press);
  const endpoint = recovers ? undefined : device.endpointForPress(task, device.leading);
  await device.command(turn, { ...task, ...(endpoint && { route: { endpoint, withoutRecovery: true } }) });
}

/** Sends one press. The keys of power go by `connection.power`, where it has that. */
export async function perform(
  recovery: Pick<Recovery, "turnOn">,
  connection: Connection,
  press: Press,
  signal: AbortSignal,
): Promise<void> {
  if ("text" in press) return requireCapability(connection.text, "text").type(press.text, signal);
  const { key } = press;
  const { power } = connection;
  if (power && key === "power-on") return recovery.turnOn(connection, signal);
  if (power?.off && key === "power-off") return power.off(signal);
  if (power?.off && key === "power")
    return (await unlessSlept(power.isOn(signal))) === false ? recovery.turnOn(connection, signal) : power.off(signal);
  if (!connection.keys) throw lacksCapability("keys");
  await connection.keys.press(key, signal);
}

/** Whether the device itself holds a key: it is told when the key goes down and when it goes up. */
export function isHeldByDevice(device: Device, key: Key): boolean {
  const endpoint = device.endpointForPress(effectOf({ key }), device.preferredEndpoint("keys"));
  return endpoint.connection.keys?.down !== undefined;
}

/** Keeps a key down for a time, or until the signal of the turn ends; calls `onDown` once it is down. Always lets go of it. */
export async function keepDown(
  device: Device,
  key: Key,
  turn: Turn,
  { ms = longestHoldMs, onDown = () => {} }: { readonly ms?: number | undefined; onDown?(): void },
): Promise<void> {
  const press = { key };
  checkPress(device.record.name, device.description, press);
  await device.command(turn, {
    activity: `holding ${key}`,
    timeoutMs: timeoutMsOf(press, device) + ms,
    callerTexts: [key],
    ...effectOf(press),
    work: async (connection, within) => {
      // A timer stands still while this machine sleeps, and nothing can be sent: the key goes up as soon as it wakes.
      const hasSlept = sleptSince();
      const letGo = await requireCapability(connection.keys?.down, "hold")(key, within);
      onDown();
      try {
        const end = performance.now() + ms;
        for (let left = ms; left > 0 && !hasSlept(); left = end - performance.now())
          await sleep(Math.min(left, wakeCheckMs), within);
      } catch {
        // It was ended before its time.
      } finally {
        await letGo().catch((error: unknown) => {
          // The key has reached the device, so it is not pressed again on another connection.
          throw hasCode(error, "device_unreachable") ? closedWhileDown(error) : error;
        });
      }
    },
  });
}

function closedWhileDown(cause: unknown): DeviceError {
  return new DeviceError("device_error", "closed the connection before the key was released", {
    phase: "sent",
    reason: "closed",
    cause,
  });
}

/** Sends a sequence of presses as one command, once every one of them was checked; it ends when its caller hangs up. */
export async function pressKeys(
  device: Device,
  wanted: readonly string[],
  delayMs: number,
  turn: Turn,
): Promise<{ sent: number; duration_ms: number }> {
  const delaysMs = delayMs * (wanted.length - 1);
  if (delaysMs > sequenceLimits.totalMs) {
    throw new ZapdError(
      "invalid_payload",
      `The delays of this sequence add up to ${Math.round(delaysMs / 1000)} s; at most ${sequenceLimits.totalMs / 1000} s are allowed`,
    );
  }
  const presses = wanted.map(readPress);
  for (const press of presses) checkPress(device.record.name, device.description, press);
  for (const press of presses) checkTyped(device, press);
  const tasks = presses.map((press) => taskOf(device, press));
  const progress = { sent: 0, of: tasks.length };
  const { needs, accepts, isConfidential } = tasks[0] ?? {};
  const task: Task<{ sent: number; duration_ms: number }> = {
    activity: "running a sequence",
    timeoutMs: delaysMs + tasks.reduce((sum, { timeoutMs }) => sum + timeoutMs, 0),
    hasStarted: () => progress.sent > 0 || tasks[0]?.hasStarted?.() === true,
    callerTexts: presses.flatMap((press) => ("text" in press ? [press.text] : [])),
    needs,
    accepts,
    isConfidential,
    changes: tasks.flatMap(({ changes = [] }) => changes),
    get resultingState() {
      return tasks.findLast(({ resultingState }) => resultingState)?.resultingState;
    },
    ...(tasks.every(({ whenOff }) => whenOff?.wake === false) && {
      whenOff: { wake: false, result: { sent: tasks.length, duration_ms: 0 } },
    }),
    // At a device that was off, `power` was done by waking it, and `power-off` had nothing to do.
    onWoken: () => {
      if (tasks[0]?.whenOff) progress.sent = tasks.splice(0, 1).length;
    },
    work: (connection, signal, endpoint) => {
      const send = (one: Task<void>) => {
        // A key that this endpoint lacks goes to one that has it.
        const other = device.endpointForPress(one, endpoint);
        return other === endpoint ? one.work(connection, signal, endpoint) : other.attempt(one, signal);
      };
      return runSequence(tasks, delayMs, { progress, send }, signal);
    },
  };
  const timing = { expectedMs: delaysMs + presses.length * 50, minimumMs: delaysMs, waitsForLongCommands: true };
  return device.command({ ...timing, ...turn }, task);
}

/**
 * Sends presses, and counts in `progress` what was sent. On an absolute schedule, so that the time that a key takes does not
 * add to the delays; a key that takes longer than the delay moves the schedule, or those behind it would come in a burst.
 */
async function runSequence(
  tasks: readonly Task<void>[],
  delayMs: number,
  { progress, send }: { progress: { sent: number; readonly of: number }; send(task: Task<void>): Promise<void> },
  signal: AbortSignal,
): Promise<{ sent: number; duration_ms: number }> {
  const start = performance.now();
  const hasSlept = sleptSince();
  let due = start;
  try {
    for (const task of tasks) {
      if (progress.sent > 0) {
        due += delayMs;
        const now = performance.now();
        if (now > due) due = now;
        await sleep(due - now, signal);
      }
      signal.throwIfAborted();
      if (hasSlept())
        throw new ZapdError("device_timeout", "did not get the remaining keys in time, because this machine slept");
      await send(task);
      // The first press may have waited for a connection: the schedule begins when it was taken.
      if (progress.sent++ === 0) due = performance.now();
    }
  } catch (error) {
    if (!(error instanceof ZapdError)) throw error;
    throw error.reworded(`${error.message}; ${progress.sent} of ${progress.of} keys were sent`);
  }
  return { sent: progress.sent, duration_ms: Math.round(performance.now() - start) };
}
