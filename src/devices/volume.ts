/** Volume: set, stepped or muted, and read back. Where a device can only step, a level is reached by steps. */
import { ZapdError } from "../api/errors.ts";
import type { BodyOf } from "../api/operations.ts";
import type { State } from "../api/schemas.ts";
import type { Capability, Confirmed, PlatformState, VolumeControl } from "../platforms/platform.ts";
import { sleepCheck } from "../system/clock.ts";
import { sleep } from "../system/sleep.ts";
import type { Device } from "./device.ts";
import { effectPoll, readParts, readUntil, tryReadParts } from "./effects.ts";
import { requireCapability } from "./failures.ts";
import type { Turn } from "./queue.ts";

const timeoutMs = 30_000;
/** How long, and how often, the effect of a step is polled for, which shows sooner or not at all. */
const stepPoll = { timeoutMs: 1_000, everyMs: 50 } as const;
/** Between two volume steps: devices lose keys that come faster. */
const stepEveryMs = 120;
/** A volume level that does not change for this long is final. */
const stableMs = 1_000;

/** A device of ten levels rounds by this much. */
const mostRounded = 5;

type Volume = PlatformState["volume"];

const volumeParts = ["volume"] as const;

/** How the volume is read: `before` steps, a device that does not answer is a failure, so that nothing is sent then. */
interface Reading {
  before(): Promise<number | null>;
  read(): Promise<Volume>;
}

/** Sets, steps or mutes the volume, and reads it back. */
export function setVolume(
  device: Device,
  { level, step, muted }: BodyOf<"setVolume">,
  turn: Turn,
): Promise<{ volume: State["volume"]; confirmed: Confirmed }> {
  const needs: Capability = level === undefined && step === undefined ? "mute" : "volume";
  /** A step that was taken is not repeated. */
  let hasStepped = false;
  return device.command(turn, {
    activity: "setting the volume",
    timeoutMs,
    needs,
    changes: volumeParts,
    hasStarted: () => hasStepped,
    work: async (connection, signal, endpoint) => {
      const taken = () => {
        hasStepped = step !== undefined;
      };
      const control = checked(requireCapability(connection.volume, needs), sleepCheck(), taken);
      // Before anything is changed.
      if (muted !== undefined) requireCapability(control.mute, "mute");
      const read = async () => (await tryReadParts(connection, volumeParts, signal))?.volume ?? null;
      const before = async () => (await readParts(connection, volumeParts, signal))?.volume?.level ?? null;
      const { from, ...leads } =
        step === undefined
          ? { wanted: level ?? null, from: null }
          : await stepped(control, step, { before, read }, signal);
      let { wanted } = leads;
      // Steps that its settings withhold need those changed first.
      const { hint } = endpoint.description;
      const remedy = endpoint.withholds("volume") ? hint : undefined;
      const isOutOfReach = wanted !== null && !(await toLevel(control, wanted, { before, read, remedy }, signal));
      if (muted !== undefined) await requireCapability(control.mute, "mute")(muted, signal);
      const isMuteDone = (volume: NonNullable<Volume>) => muted === undefined || volume.muted === muted;
      const isDone = (volume: NonNullable<Volume>) =>
        (wanted === null
          ? from === null || volume.level !== from
          : volume.level !== null && Math.abs(volume.level - wanted) < 1) && isMuteDone(volume);
      const readBack = () => {
        const within = wanted === null && from !== null ? stepPoll : effectPoll;
        return readUntil(read, isOutOfReach ? isMuteDone : isDone, signal, within);
      };
      // Where a step leads is not known.
      const isStepOnly = wanted === null && muted === undefined;
      const shown = await readBack();
      const isNear = from !== null && wanted !== null && wanted !== from && Math.abs(wanted - from) <= mostRounded;
      const isRounded = control.rounds && step && isNear && shown?.level === from;
      if (isRounded) {
        await press(control, Math.sign(step), signal);
        wanted = null;
      }
      const volume = isRounded ? await readBack() : shown;
      if (volume !== null) device.confirmEffect({ volume }, !isStepOnly && isDone(volume), endpoint);
      const isReported =
        volume !== null && (wanted === null || volume.level !== null) && (muted === undefined || volume.muted !== null);
      return { volume, confirmed: isReported && !isStepOnly ? isDone(volume) : null };
    },
  });
}

/**
 * The level that steps lead to (`wanted`), where the device can set levels, and the one before (`from`). Where it can only step,
 * the steps are taken here, and the level is then expected to differ from `from`, the one before the last step; `null` at the
 * end of the scale.
 */
async function stepped(
  control: VolumeControl,
  step: number,
  { before, read }: Reading,
  signal: AbortSignal,
): Promise<{ readonly wanted: number | null; readonly from: number | null }> {
  const level = control.set ? await before() : null;
  const isUnsure = control.stepsAtZero === true && level === 0;
  if (level !== null && !isUnsure) return { wanted: Math.min(100, Math.max(0, level + step)), from: level };
  const last = Math.sign(step);
  if (step !== last) {
    await press(control, step - last, signal);
    await sleep(stepEveryMs, signal);
  }
  const from = (await read())?.level ?? null;
  await press(control, last, signal);
  return { wanted: null, from: step === 0 || from === (last > 0 ? 100 : 0) ? null : from };
}

/** Sets a level, or steps and reads until it is reached; `false` where steps lead no further. */
async function toLevel(
  control: VolumeControl,
  wanted: number,
  { before, read, remedy }: Reading & { readonly remedy: string | undefined },
  signal: AbortSignal,
): Promise<boolean> {
  if (control.set) {
    await control.set(wanted, signal);
    return true;
  }
  let level = await before();
  const stepping = "zapd volume +5 -d {device}";
  if (level === null && remedy)
    throw new ZapdError("device_refused", "refused to set its volume: its settings do not allow it", {
      hint: `${remedy}. Then step it: ${stepping}`,
    });
  if (level === null)
    throw new ZapdError("unsupported_operation", "supports only volume steps, and does not report its volume", {
      hint: `Step it: ${stepping}`,
    });
  // The steps so far show how far one goes; a step that changes nothing is at the end of the scale, or is not allowed.
  let [taken, moved] = [0, 0];
  for (let round = 0; round < 8 && level !== wanted; round++) {
    const distance: number = wanted - level;
    const stride: number | null = taken === 0 ? null : Math.max(1, Math.round(moved / taken));
    // To the nearest level that there is.
    const nearest: number = stride === null ? 1 : Math.ceil(Math.abs(distance) / stride - 0.5);
    // Levels are rounded: other steps may go one further than the first, and must not make it louder than wanted.
    const most: number = taken === 1 ? Math.max(1, Math.floor(Math.abs(distance) / (moved + 1))) : nearest;
    const count = Math.min(nearest, most);
    if (count === 0) return false;
    const steps = Math.sign(distance) * count;
    const from: number = level;
    await press(control, steps, signal);
    const expected: number | null = stride === null ? null : from + steps * stride;
    level = await levelAfterSteps(read, from, expected, signal);
    // On some devices the first step only shows the scale.
    if (level === from && round > 0) return false;
    if (level !== from) [taken, moved] = [taken + count, moved + Math.abs(level - from)];
  }
  return level === wanted;
}

/**
 * The level after steps: the expected one, or the one at which it stays, since some devices take keys faster than they act on
 * them. After a single step, any change is final.
 */
async function levelAfterSteps(
  read: () => Promise<Volume>,
  from: number,
  expected: number | null,
  signal: AbortSignal,
): Promise<number> {
  let last = from;
  let movedAt = performance.now();
  for (;;) {
    const level = (await read())?.level ?? last;
    const isMoved = level !== last;
    last = level;
    if (level === expected || (expected === null && level !== from)) return level;
    if (isMoved) movedAt = performance.now();
    if (performance.now() - movedAt >= (last === from ? effectPoll.timeoutMs : stableMs)) return level;
    await sleep(effectPoll.everyMs, signal);
  }
}

/** The control with a check before each part of a command, and `taken` called after each. */
function checked({ set, step, mute, ...rest }: VolumeControl, check: () => void, taken: () => void): VolumeControl {
  const first =
    <Value>(send: (value: Value, signal: AbortSignal) => Promise<void>) =>
    async (value: Value, signal: AbortSignal) => {
      check();
      await send(value, signal);
      taken();
    };
  const sent = {
    ...(set && { set: first(set) }),
    ...(step && { step: first(step) }),
    ...(mute && { mute: first(mute) }),
  };
  return { ...rest, ...sent };
}

async function press(control: VolumeControl, steps: number, signal: AbortSignal): Promise<void> {
  const step = requireCapability(control.step, "volume");
  for (let count = 0; count < Math.abs(steps); count++) {
    if (count > 0) await sleep(stepEveryMs, signal);
    await step(steps > 0 ? 1 : -1, signal);
  }
}
