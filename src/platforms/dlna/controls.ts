/** Commands to a renderer (players.md 8, 9), and the meaning of its faults. */
import { hasCode, ZapdError } from "../../api/errors.ts";
import { inParts, unlessSlept } from "../../system/clock.ts";
import { until } from "../../system/sleep.ts";
import { SoapFault, unlessFault } from "../../transport/soap.ts";
import { type Connection, type Key, type MediaItem, ofKey, type PlaybackCommand } from "../platform.ts";
import { playerKeys } from "../player-keys.ts";
import {
  actions,
  describeItem,
  pressedLevel,
  readActions,
  readStatus,
  timeOf,
  typeFor,
  usualRange,
} from "./protocol.ts";
import type { Args, Renderer } from "./renderer.ts";

/** A renderer may still be loading a file when the command to play it arrives. */
const readyTimeoutMs = 5_000;
/** A renderer answers Stop when it has accepted it, and may play on for this long (jellyfin-plugin-dlna 245). */
const stopTimeoutMs = 3_000;
/** Illegal MIME type; resource not found; format not supported for playback; the transport is locked (AVTransport:1, 2.4). */
const faults = { type: 714, missing: 716, format: 704, unready: 701, locked: 705 } as const;
/**
 * Faults for "not in this state", such as nothing to play, to pause or to seek in: 501 of any service (Device Architecture 1.0,
 * 3.2.2), with which libupnp answers commands that it lacks as well, and those of AVTransport:1 (2.4; 710 is rygel's for what it
 * cannot seek in, songchenwen/plexdlnaplayer#34).
 */
const wrongState = [501, 701, 710, 711] as const;

/** The status in which a refused command has nothing to do. */
const statusWithoutEffect: Partial<Record<PlaybackCommand, readonly (string | null)[]>> = {
  play: ["playing", "buffering"],
  pause: ["paused"],
  stop: [null],
};

/** The commands that a renderer has, by the document of its service. */
export function commandsOf({ actions: own }: Renderer["memory"]): ReadonlySet<PlaybackCommand> {
  const all = Object.entries(actions) as [PlaybackCommand, string][];
  return new Set(all.flatMap(([what, action]) => (own === undefined || own.includes(action) ? [what] : [])));
}

export async function controlPlayer(
  renderer: Pick<Renderer, "memory" | "stack" | "query" | "command" | "playback" | "showsPlayback">,
  what: PlaybackCommand,
  signal: AbortSignal,
): Promise<void> {
  const { actions: own = [] } = renderer.memory;
  const listsPossible = own.includes("GetCurrentTransportActions") && !renderer.stack.acceptsEverything;
  if ((what === "next" || what === "previous") && listsPossible) {
    const listed = unlessFault(renderer.query("transport", "GetCurrentTransportActions", signal));
    const possible = readActions(await unlessSlept(listed));
    if (possible.size > 0 && !possible.has(actions[what].toLowerCase()))
      throw new ZapdError("device_refused", `has nothing ${what === "next" ? "after" : "before"} what it is playing`);
  }
  try {
    await renderer.command("transport", actions[what], signal, what === "play" ? { Speed: "1" } : {});
  } catch (error) {
    if (!isFault(error, ...wrongState)) throw error;
    const status = (await renderer.playback(signal))?.status ?? null;
    if (!renderer.showsPlayback)
      throw new ZapdError("device_refused", `does not accept ${what} now, and does not report what it is playing`);
    if (statusWithoutEffect[what]?.includes(status)) return;
    if (status === null) throw nothingLoaded(what === "play" ? "has nothing to play" : notPlaying);
    throw new ZapdError("device_refused", `does not accept ${what} while it is ${status}`);
  }
}

/** Stops it before it is given another file: one that has not stopped yet, only said that it will, refuses that or drops it. */
async function stopFirst(renderer: Renderer, signal: AbortSignal): Promise<void> {
  await controlPlayer(renderer, "stop", signal);
  const hasStopped = async () => {
    const asked = unlessFault(renderer.query("transport", "GetTransportInfo", signal));
    // What was sent stays sent, whether it tells or not.
    const status = await asked.then(readStatus, () => null);
    signal.throwIfAborted();
    return status !== "playing" && status !== "buffering";
  };
  await until(hasStopped, { timeoutMs: stopTimeoutMs, everyMs: 250, signal });
}

async function seek(renderer: Renderer, positionMs: number, signal: AbortSignal): Promise<void> {
  const args = { Unit: "REL_TIME", Target: timeOf(positionMs) };
  try {
    await renderer.command("transport", "Seek", signal, args);
  } catch (error) {
    if (!isFault(error, ...wrongState)) throw error;
    if ((await renderer.playback(signal)) === null && renderer.showsPlayback) throw nothingLoaded(notPlaying);
    throw new ZapdError("device_refused", "cannot seek in what it is playing");
  }
}

/** The address of what plays; `undefined` where nothing does, or the renderer does not tell it. */
async function playingAddress(renderer: Renderer, signal: AbortSignal): Promise<string | undefined> {
  const ask = (action: string) => unlessFault(renderer.query("transport", action, signal));
  if (readStatus(await ask("GetTransportInfo")) === null) return undefined;
  return (await ask("GetMediaInfo")).get("CurrentURI") || undefined;
}

/** Gives the renderer the address of a file, with its description, and plays it. */
async function playMedia(renderer: Renderer, item: MediaItem, signal: AbortSignal): Promise<void> {
  const mime = item.mime === null ? null : await unlessSlept(supportedType(renderer, item.mime, signal));
  const uri: Args = { CurrentURI: item.url, CurrentURIMetaData: describeItem({ ...item, mime }) };
  const load = () => renderer.command("transport", "SetAVTransportURI", signal, uri);
  const play = () => renderer.command("transport", "Play", signal, { Speed: "1" });
  const asked = playingAddress(renderer, signal).catch((error: unknown) => {
    // One that is slow to tell may take the file all the same.
    if (hasCode(error, "device_unreachable")) throw error;
  });
  const before = await unlessSlept(asked);
  try {
    await inParts(async (next) => {
      const stopAndLoad = async () => {
        next();
        await stopFirst(renderer, signal);
        next();
        await load();
      };
      await load().catch((error: unknown) => {
        if (!isFault(error, faults.locked, faults.unready)) throw error;
        // Some TVs accept no other file while they play, or after their own remote has closed the player (jellyfin-plugin-dlna 220).
        return stopAndLoad();
      });
      // Some accept it while they play, and drop it (jellyfin-plugin-dlna 244: HEOS).
      if (before !== undefined && before !== item.url) {
        const after = await playingAddress(renderer, signal).catch(() => undefined);
        if (after === before) await stopAndLoad();
      }
      next();
      await play().catch(async (error: unknown) => {
        if (!isFault(error, faults.unready)) throw error;
        // It is still loading the file, or is already playing it, like a renderer that was playing before (AVTransport:1, 2.4.1;
        // seen with rygel). The refused command had no effect, so sending it again does not do it twice.
        let state: string | undefined;
        const isReady = async () => {
          const info = await unlessFault(renderer.query("transport", "GetTransportInfo", signal));
          state = info.get("CurrentTransportState");
          return state !== "TRANSITIONING";
        };
        await until(isReady, { timeoutMs: readyTimeoutMs, everyMs: 250, signal });
        if (state === "PLAYING") return;
        // It waits for the file before this one, which does not come, and does not begin with another (seen with rygel).
        if (state === "TRANSITIONING") await stopAndLoad();
        next();
        await play();
      });
    });
  } catch (error) {
    throw explainMediaError(error, item);
  }
}

async function supportedType(renderer: Renderer, mime: string, signal: AbortSignal): Promise<string> {
  const { connections } = renderer.memory;
  if (!connections) return mime;
  const info = await unlessFault(renderer.query("connections", "GetProtocolInfo", signal));
  return typeFor(mime, info.get("Sink") ?? "");
}

async function press(renderer: Renderer, key: Key, signal: AbortSignal): Promise<void> {
  const does = ofKey(playerKeys, key);
  if ("louder" in does) return step(renderer, does.louder, signal);
  if ("mute" in does) {
    const now = await unlessSlept(renderer.volume(signal));
    return renderer.mute(!(now?.muted ?? renderer.isToldToMute), signal);
  }
  if ("by" in does) {
    const now = await unlessSlept(renderer.playback(signal));
    if (now === null && renderer.showsPlayback) throw nothingLoaded(notPlaying);
    if (now?.position_ms == null)
      throw new ZapdError("device_refused", "does not report the position of what it is playing");
    const to = Math.max(0, now.position_ms + does.by);
    return seek(renderer, now.duration_ms === null ? to : Math.min(to, now.duration_ms), signal);
  }
  if (does.tell !== "toggle") return controlPlayer(renderer, does.tell, signal);
  const now = await unlessSlept(renderer.playback(signal));
  const isPlaying = renderer.showsPlayback ? now?.status === "playing" : renderer.isToldToPlay;
  return controlPlayer(renderer, isPlaying ? "pause" : "play", signal);
}

/** One step of the volume, as by a key of a remote. */
async function step(renderer: Renderer, by: 1 | -1, signal: AbortSignal): Promise<void> {
  const level = (await unlessSlept(renderer.volume(signal)))?.level;
  if (level == null) throw new ZapdError("device_error", "does not report its volume");
  await renderer.setVolume(pressedLevel(level, by, renderer.memory.volume ?? usualRange), signal);
}

export function controlsOf(renderer: Renderer): Pick<Connection, "volume" | "playback" | "media" | "keys"> {
  const { transport, volume, mutes, seeks } = renderer.memory;
  const sound = volume !== null || mutes !== false;
  return {
    keys: { press: (key, signal) => press(renderer, key, signal) },
    ...(sound && {
      volume: {
        ...(volume !== null && {
          set: (level: number, signal: AbortSignal) => renderer.setVolume(level, signal),
          step: (by: 1 | -1, signal: AbortSignal) => step(renderer, by, signal),
        }),
        ...(mutes !== false && { mute: (muted: boolean, signal: AbortSignal) => renderer.mute(muted, signal) }),
      },
    }),
    ...(transport && {
      playback: {
        get does() {
          return commandsOf(renderer.memory);
        },
        do: (what: PlaybackCommand, signal: AbortSignal) => controlPlayer(renderer, what, signal),
        ...(seeks !== false && { seek: (ms: number, signal: AbortSignal) => seek(renderer, ms, signal) }),
      },
      media: { play: (item: MediaItem, signal: AbortSignal) => playMedia(renderer, item, signal) },
    }),
  };
}

/** Whether the renderer answered with one of these faults. */
function isFault(error: unknown, ...codes: readonly number[]): boolean {
  return error instanceof SoapFault && error.errorCode !== null && codes.includes(error.errorCode);
}

const notPlaying = "is not playing anything";

function nothingLoaded(problem: string): ZapdError {
  return new ZapdError("device_refused", problem, { hint: "Start something first: zapd play URL -d {device}" });
}

/** The reason why the renderer does not play a file. */
function explainMediaError(error: unknown, { url, mime }: MediaItem): unknown {
  if (isFault(error, faults.type, faults.format))
    return new ZapdError(
      "unsupported_media",
      `cannot play ${url}: it does not support ${mime ?? "this kind of file"}`,
      {
        cause: error,
      },
    );
  if (!isFault(error, faults.missing, faults.unready)) return error;
  return new ZapdError("device_error", `could not fetch ${url}`, {
    hint: "Check that the address can be opened from the network of the device, and is not a loopback address: the device loads the file itself",
    cause: error,
  });
}
