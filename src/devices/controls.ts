/** What a device can be asked for beyond keys: volume, playback, media, inputs, channels, pictures, messages. */
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
/** How long an effect is looked for after the device took a command, and how often. */
const effect = { timeoutMs: 3_000, everyMs: 200 } as const;
/** A step shows sooner, or there is no further one. */
const stepEffect = { timeoutMs: 1_000, everyMs: 50 } as const;
/** Between two steps of the volume: sets lose keys that come faster. */
const stepEveryMs = 120;
/** A level that stays as it is for so long, in milliseconds, has come to rest. */
const restMs = 1_000;
/** A position that is this near counts as reached: players seek to the next key frame. */
const nearMs = 10_000;

type Volume = PlatformState["volume"];

const volumeParts = ["volume"] as const;
const playbackParts = ["playback"] as const;

/** Sets the volume, and reads back what has become of it. */
export function setVolume(
  device: Device,
  { level, step, muted }: BodyOf<"setVolume">,
  turn: Turn,
): Promise<{ volume: State["volume"]; confirmed: Confirmed }> {
  const needs: Capability = level === undefined && step === undefined ? "mute" : "volume";
  /** What has been stepped is not stepped anew. */
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
      const read = async () => (await stateOf(connection, volumeParts, signal))?.volume ?? null;
      // Nothing is sent to a device that does not answer this.
      const before = async () => (await seenOf(connection, volumeParts, signal))?.volume?.level ?? null;
      const { wanted, from } =
        step === undefined
          ? { wanted: level ?? null, from: null }
          : await stepped(control, step, { before, read, taken }, signal);
      // Steps that its settings keep back want them changed before.
      const { hint } = endpoint.description;
      const remedy = endpoint.withholds("volume") && hint ? `, after this. ${hint}` : "";
      const isGivenUp = wanted !== null && !(await toLevel(control, wanted, { before, read, remedy }, signal));
      taken();
      if (muted !== undefined) await requireCapability(control.mute, "mute")(muted, signal);
      const isMuteSo = (volume: Volume) => muted === undefined || volume?.muted === muted;
      const isSo = (volume: Volume) =>
        (from === null || volume?.level !== from) &&
        (wanted === null || (volume?.level != null && Math.abs(volume.level - wanted) < 1)) &&
        isMuteSo(volume);
      const volume = await shown(read, isGivenUp ? isMuteSo : isSo, signal, from === null ? effect : stepEffect);
      // Where a step was to lead to is not known.
      const isStepOnly = wanted === null && muted === undefined;
      if (volume !== null) device.confirmEffect({ volume }, !isStepOnly && isSo(volume), endpoint);
      const tells = volume !== null && (wanted === null || volume.level !== null);
      return { volume, confirmed: tells && !isStepOnly ? isSo(volume) : null };
    },
  });
}

/**
 * The level that steps lead to (`wanted`), on a device that sets levels. On one that only steps, the steps are taken here: all
 * that is known is that the level then differs from `from`, the one before the last step; `null` at the end of the scale.
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

/** To a level: set where the device can, else stepped and read until it is there; `false` where that leads no further. */
async function toLevel(
  control: VolumeControl,
  wanted: number,
  { before, read, remedy }: { before(): Promise<number | null>; read(): Promise<Volume>; readonly remedy: string },
  signal: AbortSignal,
): Promise<boolean> {
  if (control.set) {
    await control.set(wanted, signal);
    return true;
  }
  let level = await before();
  if (level === null)
    throw new ZapdError("unsupported_operation", "takes steps of volume alone, and does not tell its volume", {
      hint: `Step it: zapd volume +5 -d {device}${remedy}`,
    });
  // How far one step goes is seen at the first; a step that changes nothing is the end of the scale, or of what it lets be done.
  let stride: number | null = null;
  for (let round = 0; round < 8 && level !== wanted; round++) {
    const distance: number = wanted - level;
    const steps: number = stride === null ? Math.sign(distance) : Math.trunc(distance / stride);
    if (steps === 0) return false;
    const from: number = level;
    await press(control, steps, signal);
    const expected: number | null = stride === null ? null : from + steps * stride;
    level = await settled(read, from, expected, signal);
    // Some sets only show their scale at the first step.
    if (level === from && round > 0) return false;
    if (level !== from) stride ??= Math.abs(level - from);
  }
  return level === wanted;
}

/**
 * The level that steps from another led to: the expected one, or where it has come to rest, since some sets take keys faster
 * than they heed them. Of a single step any change is its end.
 */
async function settled(
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
    if (performance.now() - movedAt >= (last === from ? effect.timeoutMs : restMs)) return level;
    await sleep(effect.everyMs, signal);
  }
}

/** `taken` is told of each step that the device took. */
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

/** Reads until it is so, or the time is up; gives the last that was read. */
async function shown<T>(
  read: () => Promise<T | null>,
  isSo: (value: T | null) => boolean,
  signal: AbortSignal,
  within: { readonly timeoutMs: number; readonly everyMs: number } = effect,
): Promise<T | null> {
  let last: T | null = null;
  await until(
    async () => {
      last = await read();
      return last === null || isSo(last);
    },
    { ...within, signal },
  );
  return last;
}

/** The same for parts of the state; everybody who follows is told the last of it. */
async function stateAfter(
  device: Device,
  endpoint: Endpoint,
  connection: Connection,
  parts: readonly StatePart[],
  isSo: (state: Partial<PlatformState>) => boolean,
  signal: AbortSignal,
): Promise<Partial<PlatformState> | null> {
  const state = await shown(
    () => stateOf(connection, parts, signal),
    (one) => one !== null && isSo(one),
    signal,
  );
  if (state) device.confirmEffect(state, isSo(state), endpoint);
  return state;
}

/** Parts of the state, where the device tells it. */
async function seenOf(
  { state }: Connection,
  parts: readonly StatePart[],
  signal: AbortSignal,
): Promise<Partial<PlatformState> | null> {
  return (await (state?.readParts?.(parts, signal) ?? state?.read(signal))) ?? null;
}

/** The same, or `null` where it does not answer: it took the command all the same. */
function stateOf(
  connection: Connection,
  parts: readonly StatePart[],
  signal: AbortSignal,
): Promise<Partial<PlatformState> | null> {
  return seenOf(connection, parts, signal).catch(() => null);
}

/** Whether it does not show what it plays: nothing is looked for there. */
function isBlind({ playback }: Connection): boolean {
  return playback?.isShown === false;
}

/** The commands that are keys, too. */
const commandKeys = ["play", "pause", "stop"] as const;
const statusAfter: Partial<Record<PlaybackCommand, readonly string[]>> = {
  play: ["playing", "buffering"],
  pause: ["paused"],
  stop: ["stopped"],
};

/** Tells the player, where the device lets it; one that only has keys has them pressed. */
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
      await tellPlayer(endpoint, connection, what, positionMs, signal);
      const statuses = what === "seek" ? undefined : statusAfter[what];
      const isSo = (playback: PlatformState["playback"] | undefined) => {
        if (what === "seek")
          return playback?.position_ms != null && Math.abs(playback.position_ms - positionMs) < nearMs;
        return statuses?.includes(playback?.status ?? "stopped") ?? false;
      };
      const isShown = (one: Partial<PlatformState>) => isBlind(connection) || isSo(one.playback);
      const state = await stateAfter(device, endpoint, connection, playbackParts, isShown, signal);
      const tells = state !== null && !isBlind(connection) && (statuses !== undefined || what === "seek");
      const { playback = null } = device.lastState ?? {};
      return { playback, confirmed: tells ? isSo(state.playback) : null };
    },
  });
}

async function tellPlayer(
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
  throw new ZapdError("unsupported_operation", `cannot be told ${what}`, {
    hint: does.length > 0 ? `It can be told: ${[...new Set(does)].join(", ")}` : undefined,
  });
}

/** Hands a file to the device; whether it is seen to play. */
export function playMedia(device: Device, item: MediaItem, turn: Turn): Promise<Confirmed> {
  return device.command(turn, {
    activity: "handing it a file to play",
    timeoutMs: timeoutMs.other,
    needs: "media",
    changes: shownParts,
    callerTexts: [item.url, ...(item.title ? [item.title] : [])],
    work: async (connection, signal, endpoint) => {
      await requireCapability(connection.media, "media").play({ ...item, url: asRequested(item.url) }, signal);
      // A picture plays nothing.
      if (item.mime?.startsWith("image/")) return null;
      const isPlaying = ({ playback }: Partial<PlatformState>) =>
        statusAfter.play?.includes(playback?.status ?? "") ?? false;
      const isShown = (one: Partial<PlatformState>) => isBlind(connection) || isPlaying(one);
      const state = await stateAfter(device, endpoint, connection, shownParts, isShown, signal);
      return state && !isBlind(connection) ? isPlaying(state) : null;
    },
  });
}

/** Sets put an address into a request as it is, which holds no space and nothing beyond ASCII (RFC 9112, 3.2). */
function asRequested(url: string): string {
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
      const input = chosen(device, wanted, await inputs.list(signal), (one) => [one.id, one.name], "input");
      await inputs.select(input.id, signal);
      if (inputs.isShown === false) return { input, confirmed: null };
      const isShown = (one: Partial<PlatformState>) => one.input === input.id;
      const state = await stateAfter(device, endpoint, connection, shownParts, isShown, signal);
      return { input, confirmed: state === null ? null : state.input === input.id };
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
      const channel = chosen(device, wanted, all, (one) => [one.id, one.number, one.name], "channel");
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

/** The icon of an app that the device lists, by its id, its platform id or its name; from the disk where it is kept. */
export async function appIcon(
  device: Device,
  app: string,
  cache: IconCache,
  signal: AbortSignal,
): Promise<CheckedPicture> {
  const { id } = device.preferredEndpoint("icons");
  const apps = await listApps(device, signal);
  // Only what it lists is asked for: a word that looks like an id is none of its apps.
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
  // A disk that takes none costs a question more, and no answer.
  await cache.put(picture, ...words).catch(() => {});
  return picture;
}

export function artwork(device: Device, signal: AbortSignal): Promise<CheckedPicture> {
  const work = checked("picture of what plays", (one, within) => requireCapability(one.artwork, "artwork")(within));
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

/** Reads a picture and checks what it is; `what` is the word for it. */
function checked(
  what: string,
  read: (connection: Connection, signal: AbortSignal) => Promise<Uint8Array | null>,
  mostBytes: number = pictureBytes.icon,
): (connection: Connection, signal: AbortSignal) => Promise<CheckedPicture> {
  return async (connection, within) => checkPicture(await read(connection, within), mostBytes, what);
}

/**
 * The one that a word means: exactly, by the first of their names that is so (a channel called "7" is not channel 7), then
 * without case and spaces. Where several are called so, none is: their users name them, and call two of them "Roku".
 */
function chosen<T>(
  device: Device,
  wanted: string,
  all: readonly T[],
  namesOf: (one: T) => readonly (string | null)[],
  what: string,
): T {
  const last = Math.max(0, ...all.slice(0, 1).map((one) => namesOf(one).length - 1));
  for (let rank = 0; rank < last; rank++) {
    const exact = all.find((one) => namesOf(one)[rank] === wanted);
    if (exact) return exact;
  }
  const word = bareWord(wanted);
  const called = all.filter((one) => namesOf(one)[last] === wanted);
  const alike =
    called.length > 0
      ? called
      : all.filter((one) => namesOf(one).some((name) => name !== null && bareWord(name) === word));
  const [first] = alike;
  if (first && alike.length === 1) return first;
  const { name } = device.record;
  const found = first ? `Several ${what}s of ${name} are called` : `No ${what} of ${name} is called`;
  const listed = (first ? alike : all).slice(0, 12).map((one) => namesOf(one).at(first ? 0 : -1));
  throw new ZapdError("invalid_payload", `${found} ${JSON.stringify(wanted.slice(0, 64))}`, {
    hint: listed.length > 0 ? `${first ? "Use the id of one" : "It has"}: ${listed.join(", ")}` : undefined,
  });
}

/** "HDMI 1" is `hdmi1`. */
const bareWord = (name: string) => name.toLowerCase().replace(/[\s_-]+/g, "");
