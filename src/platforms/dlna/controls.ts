/** What a renderer can be told (players.md 8, 9), and what its refusals mean. */
import { ZapdError } from "../../api/errors.ts";
import { until } from "../../system/sleep.ts";
import { SoapFault, unlessFault } from "../../transport/soap.ts";
import { type Connection, type Key, type MediaItem, ofKey, type PlaybackCommand } from "../platform.ts";
import { playerKeys } from "../player-keys.ts";
import { describeItem, pressedLevel, readActions, timeOf, typeFor, usualRange } from "./protocol.ts";
import type { Args, Renderer } from "./renderer.ts";

/** A set that was handed a file is not ready to play it at once. */
const readyWithinMs = 5_000;
/** Illegal MIME type; resource not found; format not supported for playback (AVTransport:1, 2.4). */
const faults = { type: 714, missing: 716, format: 704, unready: 701 } as const;

const actions: Readonly<Record<PlaybackCommand, string>> = {
  play: "Play",
  pause: "Pause",
  stop: "Stop",
  next: "Next",
  previous: "Previous",
};
/** What a set shows that has done as it was told, or was there already. */
const shows: Partial<Record<PlaybackCommand, readonly (string | null)[]>> = {
  play: ["playing", "buffering"],
  pause: ["paused"],
  stop: [null],
};

/** The commands that a renderer has, by its own document. */
export function commandsOf({ actions: own }: Renderer["memory"]): ReadonlySet<PlaybackCommand> {
  const all = Object.entries(actions) as [PlaybackCommand, string][];
  return new Set(all.flatMap(([what, action]) => (own === undefined || own.includes(action) ? [what] : [])));
}

export async function tellPlayer(
  renderer: Pick<Renderer, "memory" | "stack" | "ask" | "tell" | "playback">,
  what: PlaybackCommand,
  signal: AbortSignal,
): Promise<void> {
  const { actions: own = [] } = renderer.memory;
  // What it can do now it says where it is asked.
  const isAsked = own.includes("GetCurrentTransportActions") && !renderer.stack.agreesToAll;
  if ((what === "next" || what === "previous") && isAsked) {
    const now = readActions(await unlessFault(renderer.ask("transport", "GetCurrentTransportActions", signal)));
    if (now.size > 0 && !now.has(actions[what].toLowerCase()))
      throw new ZapdError("device_refused", `has nothing ${what === "next" ? "after" : "before"} what it plays`);
  }
  try {
    await renderer.tell("transport", actions[what], signal, what === "play" ? { Speed: "1" } : {});
  } catch (error) {
    if (!isNotNow(renderer, error)) throw error;
    const status = (await renderer.playback(signal))?.status ?? null;
    if (shows[what]?.includes(status)) return;
    if (status === null) throw nothingThere(what === "play" ? "has nothing to play" : "plays nothing");
    throw new ZapdError("device_refused", `shows that it is ${status}, and takes no ${what} now`);
  }
}

export async function seek(renderer: Renderer, positionMs: number, signal: AbortSignal): Promise<void> {
  const args = { Unit: "REL_TIME", Target: timeOf(positionMs) };
  try {
    await renderer.tell("transport", "Seek", signal, args);
  } catch (error) {
    if (!isNotNow(renderer, error)) throw error;
    if ((await renderer.playback(signal)) === null) throw nothingThere("plays nothing");
    throw new ZapdError("device_refused", "cannot go to another place in what it plays");
  }
}

/** Hands it a file, with what is said of it, and has it play that. */
export async function playMedia(renderer: Renderer, item: MediaItem, signal: AbortSignal): Promise<void> {
  const mime = item.mime === null ? null : await ownType(renderer, item.mime, signal);
  const uri: Args = { CurrentURI: item.url, CurrentURIMetaData: describeItem({ ...item, mime }) };
  const told = (action: string, args: Args) =>
    renderer.tell("transport", action, signal, args).catch((error: unknown) => {
      throw explained(error, item);
    });
  await told("SetAVTransportURI", uri);
  try {
    await renderer.tell("transport", "Play", signal, { Speed: "1" });
  } catch (error) {
    if (!(error instanceof SoapFault) || error.errorCode !== faults.unready) throw explained(error, item);
    // It is still fetching it, or plays it already, as one does that was playing before (AVTransport:1, 2.4.1; rygel, as run):
    // what has refused to play has done nothing, so nothing is done twice.
    let state: string | undefined;
    const isReady = async () => {
      state = (await renderer.ask("transport", "GetTransportInfo", signal)).get("CurrentTransportState");
      return state !== "TRANSITIONING";
    };
    await until(isReady, { timeoutMs: readyWithinMs, everyMs: 250, signal });
    if (state === "PLAYING") return;
    await told("Play", { Speed: "1" });
  }
}

async function ownType(renderer: Renderer, mime: string, signal: AbortSignal): Promise<string> {
  const { connections } = renderer.memory;
  if (!connections) return mime;
  const said = await unlessFault(renderer.ask("connections", "GetProtocolInfo", signal));
  return typeFor(mime, said.get("Sink") ?? "");
}

export async function press(renderer: Renderer, key: Key, signal: AbortSignal): Promise<void> {
  const does = ofKey(playerKeys, key);
  if ("louder" in does) return step(renderer, does.louder, signal);
  if ("mute" in does) return renderer.mute((await renderer.volume(signal))?.muted !== true, signal);
  if ("by" in does) {
    const now = await renderer.playback(signal);
    if (now === null) throw nothingThere("plays nothing");
    if (now.position_ms === null) throw new ZapdError("device_refused", "does not say where it is in what it plays");
    const to = Math.max(0, now.position_ms + does.by);
    return seek(renderer, now.duration_ms === null ? to : Math.min(to, now.duration_ms), signal);
  }
  if (does.tell !== "toggle") return tellPlayer(renderer, does.tell, signal);
  const isPlaying = (await renderer.playback(signal))?.status === "playing";
  return tellPlayer(renderer, isPlaying ? "pause" : "play", signal);
}

/** One step of the volume, as a key of a remote does. */
export async function step(renderer: Renderer, by: 1 | -1, signal: AbortSignal): Promise<void> {
  const level = (await renderer.volume(signal))?.level;
  if (level == null) throw new ZapdError("device_error", "does not say how loud it is");
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
        do: (what: PlaybackCommand, signal: AbortSignal) => tellPlayer(renderer, what, signal),
        ...(seeks !== false && { seek: (ms: number, signal: AbortSignal) => seek(renderer, ms, signal) }),
      },
      media: { play: (item: MediaItem, signal: AbortSignal) => playMedia(renderer, item, signal) },
    }),
  };
}

function isNotNow({ stack }: Pick<Renderer, "stack">, error: unknown): boolean {
  return error instanceof SoapFault && error.errorCode !== null && stack.notNow.has(error.errorCode);
}

function nothingThere(problem: string): ZapdError {
  return new ZapdError("device_refused", problem, { hint: "Hand it something first: zapd play URL -d {device}" });
}

/** Why it does not play what it was handed. */
function explained(error: unknown, { url, mime }: MediaItem): unknown {
  if (!(error instanceof SoapFault)) return error;
  const { errorCode } = error;
  if (errorCode === faults.type || errorCode === faults.format)
    return new ZapdError("unsupported_media", `cannot play ${url}: it takes no ${mime ?? "file of this kind"}`, {
      cause: error,
    });
  if (errorCode !== faults.missing && errorCode !== faults.unready) return error;
  return new ZapdError("device_error", `could not fetch ${url}`, {
    hint: "It fetches the file by itself: check that the address opens from its network, and is no loopback address",
    cause: error,
  });
}
