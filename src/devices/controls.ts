/** Commands and reads beyond keys, apps and volume: playback, media, inputs, channels and messages. */
import { ZapdError } from "../api/errors.ts";
import type { Channel, Input, State } from "../api/schemas.ts";
import {
  type Capability,
  type Confirmed,
  type Connection,
  type MediaItem,
  type PlatformState,
  type Playback,
  type PlaybackCommand,
  shownParts,
  statusAfter,
} from "../platforms/platform.ts";
import { unlessSlept } from "../system/clock.ts";
import type { Device } from "./device.ts";
import { awaitEffect, tryReadParts } from "./effects.ts";
import type { Endpoint } from "./endpoint.ts";
import { requireCapability } from "./failures.ts";
import { areAlike } from "./names.ts";
import type { Turn } from "./queue.ts";
import type { Task } from "./task.ts";

const timeoutMs = 15_000;
/** A position this near counts as reached, since players seek to a key frame. */
const nearMs = 10_000;
/** At a position before this one, a file that starts anew cannot be told from one that plays on. */
const justStartedMs = 5_000;

const playbackParts = ["playback"] as const;

/** Whether the device reports what it plays; where it does not, no effect can be read back. It may show only when it is read. */
function showsPlayback({ state }: Connection): boolean {
  return state?.showsPlayback !== false;
}

/** Playback commands that are also keys. */
const commandKeys = ["play", "pause", "stop"] as const;

/**
 * Controls the player, or presses the key where the device has only that. Where several protocols of it have a player, the one
 * that plays is told: another would refuse, or do nothing and say that it is done.
 */
export function controlPlayback(
  device: Device,
  what: PlaybackCommand | "seek",
  positionMs: number,
  turn: Turn,
): Promise<{ playback: State["playback"]; confirmed: Confirmed }> {
  const needs: Capability = what === "seek" ? "seek" : "playback";
  const task: Task<{ playback: State["playback"]; confirmed: Confirmed }> = {
    activity: what === "seek" ? "seeking" : `telling the player to ${what}`,
    timeoutMs,
    needs,
    changes: playbackParts,
    work: async (connection, signal, endpoint) => {
      await sendToPlayer(endpoint, connection, what, positionMs, signal);
      const statuses = statusAfter[what];
      let hidesPosition = false;
      const isDone = ({ playback }: Partial<PlatformState>) => {
        if (statuses) return statuses.includes(playback?.status ?? "stopped");
        hidesPosition = playback?.position_ms === null;
        return playback?.position_ms != null && Math.abs(playback.position_ms - positionMs) < nearMs;
      };
      const isReported = () => (what === "seek" || statuses !== undefined) && showsPlayback(connection);
      const effect = { parts: playbackParts, isReported, isDone };
      const confirmed = await awaitEffect({ device, endpoint, connection }, effect, signal);
      // What the other protocols have shown may be from before the command.
      const { playback } = confirmed === null ? device.lastState.viewOrUnknown : device.lastState.viewOf(endpoint);
      return { playback, confirmed: hidesPosition ? null : confirmed };
    },
  };
  return device.commands(turn, task.activity, async (own) => {
    const takes = (one: Endpoint) =>
      one.has(needs) && (what === "seek" || one.connection.playback?.does.has(what) === true);
    const endpoint = await device.playingEndpoint(takes, own.signal);
    return device.command(own, { ...task, ...(endpoint && { route: { endpoint } }) });
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
    timeoutMs,
    needs: "media",
    changes: shownParts,
    callerTexts: [item.url, ...(item.title ? [item.title] : [])],
    work: async (connection, signal, endpoint) => {
      const media = requireCapability(connection.media, "media");
      // A picture starts no playback.
      const isReported = () => showsPlayback(connection) && item.mime?.startsWith("image/") !== true;
      const before = isReported() ? await unlessSlept(tryReadParts(connection, shownParts, signal)) : null;
      await media.play({ ...item, url: toAsciiUrl(item.url) }, signal);
      if (!isReported()) return null;
      const playing = new PlayingSince(before);
      const isDone = (state: Partial<PlatformState>) => playing.isNew(state);
      const effect = { parts: shownParts, isDone };
      const confirmed = await awaitEffect({ device, endpoint, connection }, effect, signal);
      return confirmed === false && playing.isUnknown ? null : confirmed;
    },
  });
}

/** Tells whether a device plays what it was given, and not what it played before the command. */
class PlayingSince {
  readonly #before: Partial<PlatformState>;
  #hasChanged: boolean;
  #status: Playback["status"] | undefined;

  constructor(before: Partial<PlatformState> | null) {
    this.#before = before ?? {};
    this.#hasChanged = !isPlaying(this.#before);
  }

  isNew(state: Partial<PlatformState>): boolean {
    this.#status = state.playback?.status;
    this.#hasChanged ||= !isPlaying(state) || this.#differs(state);
    // A file that is still loading may yet fail to.
    return this.#status === "playing" && this.#hasChanged;
  }

  /** Whether it still loads, or plays and shows too little to tell the new file from the old one. */
  get isUnknown(): boolean {
    const isSoon = (this.#before.playback?.position_ms ?? 0) < justStartedMs;
    return this.#status === "buffering" || (this.#status === "playing" && isSoon);
  }

  #differs({ app, playback }: Partial<PlatformState>): boolean {
    const { app: appBefore, playback: before } = this.#before;
    if (app?.id !== appBefore?.id || playback?.title !== before?.title) return true;
    if (playback?.duration_ms !== before?.duration_ms) return true;
    return (playback?.position_ms ?? 0) < (before?.position_ms ?? 0);
  }
}

function isPlaying({ playback }: Partial<PlatformState>): boolean {
  return statusAfter.play?.includes(playback?.status ?? "") ?? false;
}

/** Devices put a URL into a request unchanged, where it may hold no space and only ASCII (RFC 9112, 3.2). */
function toAsciiUrl(url: string): string {
  return /[^!-~]/.test(url) ? new URL(url).href : url;
}

export function listInputs(device: Device, signal: AbortSignal, isUse = true): Promise<Input[]> {
  return device.read("inputs", signal, {
    activity: "listing its inputs",
    timeoutMs,
    needs: "inputs",
    isUse,
    work: (connection, within) => requireCapability(connection.inputs, "inputs").list(within),
  });
}

export function selectInput(
  device: Device,
  wanted: string,
  turn: Turn,
): Promise<{ input: Input; confirmed: Confirmed }> {
  return device.command(turn, {
    activity: "selecting an input",
    timeoutMs,
    needs: "inputs",
    changes: shownParts,
    callerTexts: [wanted],
    work: async (connection, signal, endpoint) => {
      const inputs = requireCapability(connection.inputs, "inputs");
      const input = findNamed(device, wanted, await unlessSlept(inputs.list(signal)), "input");
      await inputs.select(input.id, signal);
      if (inputs.isShown === false) return { input, confirmed: null };
      const isDone = (state: Partial<PlatformState>) => state.input === input.id;
      const effect = { parts: shownParts, isDone };
      return { input, confirmed: await awaitEffect({ device, endpoint, connection }, effect, signal) };
    },
  });
}

export function listChannels(device: Device, signal: AbortSignal): Promise<Channel[]> {
  return device.read("channels", signal, {
    activity: "listing its channels",
    timeoutMs,
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
    activity: "selecting a channel",
    timeoutMs,
    needs: "channels",
    changes: shownParts,
    callerTexts: [wanted],
    work: async (connection, signal) => {
      const channels = requireCapability(connection.channels, "channels");
      const all = await unlessSlept(channels.list(signal));
      const channel = findNamed(device, wanted, all, "channel");
      return { channel, confirmed: await channels.select(channel.id, signal) };
    },
  });
}

export function notify(device: Device, message: string, turn: Turn): Promise<void> {
  return device.command(turn, {
    activity: "showing a message",
    timeoutMs,
    needs: "notify",
    changes: [],
    callerTexts: [message],
    work: (connection, signal) => requireCapability(connection.notify, "notify")(message, signal),
  });
}

/**
 * Finds an input or channel: by exact name, ids before names (a channel called "7" is not channel 7), then without case and
 * spaces. Fails where several match, since users give two inputs the same name.
 */
function findNamed<T extends Input & Partial<Pick<Channel, "number">>>(
  device: Device,
  wanted: string,
  all: readonly T[],
  what: "input" | "channel",
): T {
  const byId = all.find(({ id }) => id === wanted) ?? all.find(({ number }) => number === wanted);
  if (byId) return byId;
  const exact = all.filter((one) => one.name === wanted);
  const isAlike = (text: string | null | undefined) => text != null && areAlike(text, wanted);
  const alike = exact.length > 0 ? exact : all.filter(({ id, number, name }) => [id, number, name].some(isAlike));
  const [first] = alike;
  if (first && alike.length === 1) return first;
  const { name } = device.record;
  const found = first ? `Several ${what}s of ${name} are called` : `No ${what} of ${name} is called`;
  const label = (one: T) => (first ? one.id : one.number == null ? one.name : `${one.name} (${one.number})`);
  const meant = first ? alike : all;
  const listed = meant.slice(0, 12).map(label).join(", ") + (meant.length > 12 ? " …" : "");
  throw new ZapdError("invalid_payload", `${found} ${JSON.stringify(wanted.slice(0, 64))}`, {
    hint: listed === "" ? undefined : `${first ? "Use the id of one" : "It has"}: ${listed}`,
  });
}
