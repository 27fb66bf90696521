/** Commands and reads beyond keys and apps: volume, playback, media, inputs, channels, messages and pictures. */
import { ZapdError } from "../api/errors.ts";
import type { BodyOf } from "../api/operations.ts";
import type { Channel, Input, State } from "../api/schemas.ts";
import {
  type Capability,
  type Confirmed,
  type Connection,
  type MediaItem,
  type PlatformState,
  type PlaybackCommand,
  pictureBytes,
  type StatePart,
  shownParts,
  type VolumeControl,
} from "../platforms/platform.ts";
import { sleep, until } from "../system/sleep.ts";
import { appNotFound, findApp } from "./catalog.ts";
import { listApps } from "./commands.ts";
import type { Device } from "./device.ts";
import type { Endpoint } from "./endpoint.ts";
import { requireCapability, withDeviceName } from "./failures.ts";
import { type CheckedPicture, checkPicture, type IconCache } from "./pictures.ts";
import type { Turn } from "./queue.ts";

const timeoutMs = { volume: 30_000, other: 15_000 } as const;
/** How long, and how often, an effect is polled for after the device took a command. */
const effectPoll = { timeoutMs: 3_000, everyMs: 200 } as const;
/** The same after a volume step, which shows sooner or not at all. */
const stepPoll = { timeoutMs: 1_000, everyMs: 50 } as const;
/** Between two volume steps: devices lose keys that come faster. */
const stepEveryMs = 120;
/** A volume level that does not change for this long is final. */
const stableMs = 1_000;
/** A position this near counts as reached, since players seek to a key frame. */
const nearMs = 10_000;

type Volume = PlatformState["volume"];

const volumeParts = ["volume"] as const;
const playbackParts = ["playback"] as const;

/** Sets, steps or mutes the volume, and reads it back. */
export function setVolume(
  device: Device,
  { level, step, muted }: BodyOf<"setVolume">,
  turn: Turn,
): Promise<{ volume: State["volume"]; confirmed: Confirmed }> {
  const needs: Capability = level === undefined && step === undefined ? "mute" : "volume";
  /** Steps that were taken are not repeated. */
  let hasStepped = false;
  const taken = () => {
    hasStepped = step !== undefined;
  };
  return device.command(turn, {
    activity: "setting the volume",
    timeoutMs: timeoutMs.volume,
    needs,
    changes: volumeParts,
    hasStarted: () => hasStepped,
    work: async (connection, signal, endpoint) => {
      const control = requireCapability(connection.volume, needs);
      const read = async () => (await tryReadParts(connection, volumeParts, signal))?.volume ?? null;
      // Fails where the device does not answer, so that nothing is sent then.
      const before = async () => (await readParts(connection, volumeParts, signal))?.volume?.level ?? null;
      const { wanted, from } =
        step === undefined
          ? { wanted: level ?? null, from: null }
          : await stepped(control, step, { before, read, taken }, signal);
      // Steps that its settings withhold need those changed first.
      const { hint } = endpoint.description;
      const remedy = endpoint.withholds("volume") ? hint : undefined;
      const isOutOfReach = wanted !== null && !(await toLevel(control, wanted, { before, read, remedy }, signal));
      taken();
      if (muted !== undefined) await requireCapability(control.mute, "mute")(muted, signal);
      const isMuteDone = (volume: Volume) => muted === undefined || volume?.muted === muted;
      const isDone = (volume: Volume) =>
        (from === null || volume?.level !== from) &&
        (wanted === null || (volume?.level != null && Math.abs(volume.level - wanted) < 1)) &&
        isMuteDone(volume);
      const volume = await readUntil(
        read,
        isOutOfReach ? isMuteDone : isDone,
        signal,
        from === null ? effectPoll : stepPoll,
      );
      // Where a step leads is not known.
      const isStepOnly = wanted === null && muted === undefined;
      if (volume !== null) device.confirmEffect({ volume }, !isStepOnly && isDone(volume), endpoint);
      const isReported = volume !== null && (wanted === null || volume.level !== null);
      return { volume, confirmed: isReported && !isStepOnly ? isDone(volume) : null };
    },
  });
}

/**
 * The level that steps lead to (`wanted`), where the device can set levels. Where it can only step, the steps are taken here,
 * and the level is then expected to differ from `from`, the one before the last step; `null` at the end of the scale.
 */
async function stepped(
  control: VolumeControl,
  step: number,
  { before, read, taken }: { before(): Promise<number | null>; read(): Promise<Volume>; taken(): void },
  signal: AbortSignal,
): Promise<{ readonly wanted: number | null; readonly from: number | null }> {
  const level = control.set ? await before() : null;
  if (level !== null) return { wanted: Math.min(100, Math.max(0, level + step)), from: null };
  const last = Math.sign(step);
  if (step !== last) {
    await press(control, step - last, signal, taken);
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
  {
    before,
    read,
    remedy,
  }: { before(): Promise<number | null>; read(): Promise<Volume>; readonly remedy: string | undefined },
  signal: AbortSignal,
): Promise<boolean> {
  if (control.set) {
    await control.set(wanted, signal);
    return true;
  }
  let level = await before();
  const stepping = "zapd volume +5 -d {device}";
  if (level === null)
    throw new ZapdError("unsupported_operation", "supports only volume steps, and does not report its volume", {
      hint: remedy ? `${remedy}. Then step it: ${stepping}` : `Step it: ${stepping}`,
    });
  // The first step shows how far one goes; a step that changes nothing is at the end of the scale, or is not allowed.
  let stride: number | null = null;
  for (let round = 0; round < 8 && level !== wanted; round++) {
    const distance: number = wanted - level;
    const steps: number = stride === null ? Math.sign(distance) : Math.trunc(distance / stride);
    if (steps === 0) return false;
    const from: number = level;
    await press(control, steps, signal);
    const expected: number | null = stride === null ? null : from + steps * stride;
    level = await levelAfterSteps(read, from, expected, signal);
    // On some devices the first step only shows the scale.
    if (level === from && round > 0) return false;
    if (level !== from) stride ??= Math.abs(level - from);
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

/** Steps the volume; calls `taken` after each step that the device took. */
async function press(
  control: VolumeControl,
  steps: number,
  signal: AbortSignal,
  taken: () => void = () => {},
): Promise<void> {
  const step = requireCapability(control.step, "volume");
  for (let count = 0; count < Math.abs(steps); count++) {
    if (count > 0) await sleep(stepEveryMs, signal);
    await step(steps > 0 ? 1 : -1, signal);
    taken();
  }
}

/** Reads until `isDone`, or until the time is up; gives the last value. */
async function readUntil<T>(
  read: () => Promise<T | null>,
  isDone: (value: T | null) => boolean,
  signal: AbortSignal,
  within: { readonly timeoutMs: number; readonly everyMs: number } = effectPoll,
): Promise<T | null> {
  let last: T | null = null;
  await until(
    async () => {
      last = await read();
      return last === null || isDone(last);
    },
    { ...within, signal },
  );
  return last;
}

/** What shows that a command had its effect; `isReported`: whether the device reports that at all. */
interface Effect {
  readonly parts: readonly StatePart[];
  readonly isReported: boolean;
  isDone(state: Partial<PlatformState>): boolean;
}

/** Polls for the effect of a command, and publishes the last state; `null` where it cannot be known. */
async function confirm(
  { device, endpoint, connection }: { device: Device; endpoint: Endpoint; connection: Connection },
  { parts, isReported, isDone }: Effect,
  signal: AbortSignal,
): Promise<Confirmed> {
  const isEnough = (state: Partial<PlatformState> | null) => state !== null && (!isReported || isDone(state));
  const state = await readUntil(() => tryReadParts(connection, parts, signal), isEnough, signal);
  if (state) device.confirmEffect(state, isEnough(state), endpoint);
  return state && isReported ? isDone(state) : null;
}

/** Parts of the state; `null` where the device reports none. */
async function readParts(
  { state }: Connection,
  parts: readonly StatePart[],
  signal: AbortSignal,
): Promise<Partial<PlatformState> | null> {
  return (await (state?.readParts?.(parts, signal) ?? state?.read(signal))) ?? null;
}

/** The same; `null` too where the device does not answer, since it took the command all the same. */
function tryReadParts(
  connection: Connection,
  parts: readonly StatePart[],
  signal: AbortSignal,
): Promise<Partial<PlatformState> | null> {
  return readParts(connection, parts, signal).catch(() => null);
}

/** Whether the device does not report what it plays, so that no effect can be read back. */
function hidesPlayback({ playback }: Connection): boolean {
  return playback?.isShown === false;
}

/** Playback commands that are also keys. */
const commandKeys = ["play", "pause", "stop"] as const;
const statusAfter: Partial<Record<PlaybackCommand, readonly string[]>> = {
  play: ["playing", "buffering"],
  pause: ["paused"],
  stop: ["stopped"],
};

/** Controls the player, or presses the key where the device has only that. */
export function controlPlayback(
  device: Device,
  what: PlaybackCommand | "seek",
  positionMs: number,
  turn: Turn,
): Promise<{ playback: State["playback"]; confirmed: Confirmed }> {
  const needs: Capability = what === "seek" ? "seek" : "playback";
  return device.command(turn, {
    activity: what === "seek" ? "seeking" : `telling the player to ${what}`,
    timeoutMs: timeoutMs.other,
    needs,
    changes: playbackParts,
    work: async (connection, signal, endpoint) => {
      await sendToPlayer(endpoint, connection, what, positionMs, signal);
      const statuses = what === "seek" ? undefined : statusAfter[what];
      const isDone = ({ playback }: Partial<PlatformState>) =>
        what === "seek"
          ? playback?.position_ms != null && Math.abs(playback.position_ms - positionMs) < nearMs
          : (statuses?.includes(playback?.status ?? "stopped") ?? false);
      const effect = { parts: playbackParts, isReported: !hidesPlayback(connection), isDone };
      const confirmed = await confirm({ device, endpoint, connection }, effect, signal);
      const { playback = null } = device.lastState ?? {};
      return { playback, confirmed: what === "seek" || statuses ? confirmed : null };
    },
  });
}

async function sendToPlayer(
  endpoint: Endpoint,
  connection: Connection,
  what: PlaybackCommand | "seek",
  positionMs: number,
  signal: AbortSignal,
): Promise<void> {
  const { playback } = connection;
  const { keys } = endpoint.description;
  if (what === "seek") return requireCapability(playback?.seek, "seek")(positionMs, signal);
  if (playback?.does.has(what)) return playback.do(what, signal);
  const key = commandKeys.find((one) => one === what);
  if (key && keys.has(key)) return requireCapability(connection.keys, "keys").press(key, signal);
  const does = [...(playback?.does ?? []), ...commandKeys.filter((one) => keys.has(one))];
  throw new ZapdError("unsupported_operation", `does not support the playback command ${what}`, {
    hint: does.length > 0 ? `It supports: ${[...new Set(does)].join(", ")}` : undefined,
  });
}

/** Gives the device a media file to play; whether it was seen to play. */
export function playMedia(device: Device, item: MediaItem, turn: Turn): Promise<Confirmed> {
  return device.command(turn, {
    activity: "sending it a file to play",
    timeoutMs: timeoutMs.other,
    needs: "media",
    changes: shownParts,
    callerTexts: [item.url, ...(item.title ? [item.title] : [])],
    work: async (connection, signal, endpoint) => {
      await requireCapability(connection.media, "media").play({ ...item, url: toAsciiUrl(item.url) }, signal);
      // A picture starts no playback.
      if (item.mime?.startsWith("image/")) return null;
      const isDone = ({ playback }: Partial<PlatformState>) =>
        statusAfter.play?.includes(playback?.status ?? "") ?? false;
      const effect = { parts: shownParts, isReported: !hidesPlayback(connection), isDone };
      return confirm({ device, endpoint, connection }, effect, signal);
    },
  });
}

/** Devices put a URL into a request unchanged, where it may hold no space and only ASCII (RFC 9112, 3.2). */
function toAsciiUrl(url: string): string {
  return /[^!-~]/.test(url) ? new URL(url).href : url;
}

export function listInputs(device: Device, signal: AbortSignal): Promise<Input[]> {
  return device.read("inputs", signal, {
    activity: "listing its inputs",
    timeoutMs: timeoutMs.other,
    needs: "inputs",
    work: (connection, within) => requireCapability(connection.inputs, "inputs").list(within),
  });
}

export async function selectInput(
  device: Device,
  wanted: string,
  turn: Turn,
): Promise<{ input: Input; confirmed: Confirmed }> {
  return device.command(turn, {
    activity: "selecting an input",
    timeoutMs: timeoutMs.other,
    needs: "inputs",
    changes: shownParts,
    callerTexts: [wanted],
    work: async (connection, signal, endpoint) => {
      const inputs = requireCapability(connection.inputs, "inputs");
      const input = findNamed(device, wanted, await inputs.list(signal), (one) => [one.id, one.name], "input");
      await inputs.select(input.id, signal);
      if (inputs.isShown === false) return { input, confirmed: null };
      const isDone = (state: Partial<PlatformState>) => state.input === input.id;
      const effect = { parts: shownParts, isReported: true, isDone };
      return { input, confirmed: await confirm({ device, endpoint, connection }, effect, signal) };
    },
  });
}

export function listChannels(device: Device, signal: AbortSignal): Promise<Channel[]> {
  return device.read("channels", signal, {
    activity: "listing its channels",
    timeoutMs: timeoutMs.other,
    needs: "channels",
    work: (connection, within) => requireCapability(connection.channels, "channels").list(within),
  });
}

export function selectChannel(
  device: Device,
  wanted: string,
  turn: Turn,
): Promise<{ channel: Channel; confirmed: Confirmed }> {
  return device.command(turn, {
    activity: "tuning to a channel",
    timeoutMs: timeoutMs.other,
    needs: "channels",
    changes: shownParts,
    callerTexts: [wanted],
    work: async (connection, signal) => {
      const channels = requireCapability(connection.channels, "channels");
      const all = await channels.list(signal);
      const channel = findNamed(device, wanted, all, (one) => [one.id, one.number, one.name], "channel");
      return { channel, confirmed: await channels.select(channel.id, signal) };
    },
  });
}

export function notify(device: Device, message: string, turn: Turn): Promise<void> {
  return device.command(turn, {
    activity: "showing a message",
    timeoutMs: timeoutMs.other,
    needs: "notify",
    changes: [],
    callerTexts: [message],
    work: (connection, signal) => requireCapability(connection.notify, "notify")(message, signal),
  });
}

/** The icon of an app that the device lists, by id, platform id or name; from the cache on disk if it is there. */
export async function appIcon(
  device: Device,
  app: string,
  cache: IconCache,
  signal: AbortSignal,
): Promise<CheckedPicture> {
  const { id } = device.preferredEndpoint("icons");
  const apps = await listApps(device, signal);
  // Only listed apps count: a word that looks like a platform id is no app here.
  const known = findApp(app, apps, { isAppId: () => false });
  if (!known) throw withDeviceName(appNotFound(app, apps), device.record, "reading an icon");
  const words = [id, known.platform_id, known.version ?? ""];
  const kept = cache.get(...words);
  if (kept) return kept;
  const work = checked("icon for that app", ({ icon }, within) =>
    requireCapability(icon, "icons")(known.platform_id, within),
  );
  const picture = await device.read(`icon ${known.platform_id}`, signal, {
    activity: "reading an icon",
    timeoutMs: timeoutMs.other,
    needs: "icons",
    work,
  });
  // An icon that cannot be cached is read again the next time.
  await cache.put(picture, ...words).catch(() => {});
  return picture;
}

export function artwork(device: Device, signal: AbortSignal): Promise<CheckedPicture> {
  const work = checked("picture of what is playing", (one, within) =>
    requireCapability(one.artwork, "artwork")(within),
  );
  return device.read("artwork", signal, {
    activity: "reading its artwork",
    timeoutMs: timeoutMs.other,
    needs: "artwork",
    work,
  });
}

export function screenshot(device: Device, signal: AbortSignal): Promise<CheckedPicture> {
  const activity = "taking a picture of its screen";
  const password = () => device.developerPassword(activity, "Taking a picture of the screen of");
  const work = checked(
    "picture of its screen",
    (one, within) => requireCapability(one.screenshot, "screenshot")(within, password),
    pictureBytes.screenshot,
  );
  return device.read("screenshot", signal, { activity, timeoutMs: timeoutMs.other, needs: "screenshot", work });
}

/** Reads a picture and checks its format; `what` is the word for it in errors. */
function checked(
  what: string,
  read: (connection: Connection, signal: AbortSignal) => Promise<Uint8Array | null>,
  mostBytes: number = pictureBytes.icon,
): (connection: Connection, signal: AbortSignal) => Promise<CheckedPicture> {
  return async (connection, within) => checkPicture(await read(connection, within), mostBytes, what);
}

/**
 * Finds an input or channel: by exact name, ids before names (a channel called "7" is not channel 7), then without case and
 * spaces. Fails where several match, since users give two inputs the same name.
 */
function findNamed<T>(
  device: Device,
  wanted: string,
  all: readonly T[],
  namesOf: (one: T) => readonly (string | null)[],
  what: string,
): T {
  const last = Math.max(0, ...all.slice(0, 1).map((one) => namesOf(one).length - 1));
  for (let rank = 0; rank < last; rank++) {
    const byId = all.find((one) => namesOf(one)[rank] === wanted);
    if (byId) return byId;
  }
  const word = withoutSpaces(wanted);
  const exact = all.filter((one) => namesOf(one)[last] === wanted);
  const alike =
    exact.length > 0
      ? exact
      : all.filter((one) => namesOf(one).some((name) => name !== null && withoutSpaces(name) === word));
  const [first] = alike;
  if (first && alike.length === 1) return first;
  const { name } = device.record;
  const found = first ? `Several ${what}s of ${name} are called` : `No ${what} of ${name} is called`;
  const listed = (first ? alike : all).slice(0, 12).map((one) => namesOf(one).at(first ? 0 : -1));
  throw new ZapdError("invalid_payload", `${found} ${JSON.stringify(wanted.slice(0, 64))}`, {
    hint: listed.length > 0 ? `${first ? "Use the id of one" : "It has"}: ${listed.join(", ")}` : undefined,
  });
}

/** "HDMI 1" → `hdmi1`. */
const withoutSpaces = (name: string) => name.toLowerCase().replace(/[\s_-]+/g, "");
