/** What a Cast device says, read into zapd's words. Pure. Facts and their evidence: protocols/players.md 3, by section. */
import { asJson, flag, isJson, type Json, listOf, number, text } from "../../transport/json.ts";
import type { PlatformApp, PlatformState, Playback, Power } from "../platform.ts";
import type { CastMemory } from "./memory.ts";
import { backdrop, castServices } from "./services.ts";

const prefix = "urn:x-cast:com.google.cast.";
export const namespaces = {
  connection: `${prefix}tp.connection`,
  heartbeat: `${prefix}tp.heartbeat`,
  receiver: `${prefix}receiver`,
  media: `${prefix}media`,
  discovery: `${prefix}receiver.discovery`,
  setup: `${prefix}setup`,
} as const;
/** The device itself, whatever runs on it. */
export const receiverId = "receiver-0";

/** An app that runs; media is controlled over its transport, which is another with each launch (3.4). */
export interface Running {
  readonly app: PlatformApp;
  readonly ids: readonly string[];
  readonly sessionId: string;
  readonly transportId: string;
  readonly hasMedia: boolean;
}

/** `RECEIVER_STATUS` (3.2). */
export interface Receiver {
  /** What is cast to it; `null` while it idles. */
  readonly running: Running | null;
  readonly level: number | null;
  readonly muted: boolean | null;
  readonly step: number;
  readonly control: NonNullable<CastMemory["volume"]> | null;
  readonly standby: boolean | null;
}

export function readReceiver(said: Json): Receiver {
  const status = asJson(said["status"]);
  const volume = asJson(status["volume"]);
  const { level, muted, controlType, stepInterval } = volume;
  const control = (["attenuation", "fixed", "master"] as const).find((one) => one === controlType) ?? null;
  return {
    running: readRunning(listOf(status, "applications", 1)[0]),
    level: typeof level === "number" && level >= 0 && level <= 1 ? level : null,
    muted: flag(muted),
    step: typeof stepInterval === "number" && stepInterval > 0 && stepInterval <= 1 ? stepInterval : usualStep,
    control,
    standby: flag(status["isStandBy"]),
  };
}

const usualStep = 0.05;

function readRunning(application: Json | undefined): Running | null {
  const appId = text(application?.["appId"]);
  if (!application || appId === null || application["isIdleScreen"] === true || appId === backdrop) return null;
  const universal = text(application["universalAppId"]);
  const names = listOf(application, "namespaces", 64).map(({ name }) => name);
  const id = castServices.get(appId) ?? castServices.get(universal ?? "");
  return {
    app: {
      platformId: appId,
      name: text(application["displayName"]) ?? appId,
      type: "app",
      version: null,
      ...(id !== undefined && { id }),
    },
    ids: universal === null ? [appId] : [appId, universal],
    sessionId: text(application["sessionId"]) ?? "",
    transportId: text(application["transportId"]) ?? "",
    hasMedia: names.includes(namespaces.media),
  };
}

/** `MEDIA_STATUS` of what plays, as it was when it came; no ticks are sent (3.2). */
export interface Media {
  readonly sessionId: number;
  readonly status: Playback["status"];
  readonly positionMs: number | null;
  readonly durationMs: number | null;
  readonly live: boolean | null;
  readonly title: string | null;
  readonly artist: string | null;
  readonly image: string | null;
  readonly rate: number;
  readonly commands: number;
  /** On the monotonic clock. */
  readonly at: number;
}

/** Bits of `supportedMediaCommands` (3.2). */
export const abilities = { pause: 1, seek: 2, next: 64, previous: 128 } as const;

const statuses: Readonly<Record<string, Playback["status"]>> = {
  PLAYING: "playing",
  PAUSED: "paused",
  BUFFERING: "buffering",
  LOADING: "buffering",
};

/** What plays now; a status leaves out what has not changed since `before`. `null`: nothing is loaded. */
export function readMedia(said: Json, before: Media | null, now = performance.now()): Media | null {
  const [status] = listOf(said, "status", 1);
  const { mediaSessionId, playerState } = status ?? {};
  const playing = typeof playerState === "string" ? statuses[playerState] : undefined;
  if (!status || typeof mediaSessionId !== "number" || playing === undefined) return null;
  const same = before?.sessionId === mediaSessionId ? before : null;
  const { currentTime, playbackRate, supportedMediaCommands } = status;
  const media = isJson(status["media"]) ? status["media"] : null;
  const metadata = asJson(media?.["metadata"]);
  const duration = number(media?.["duration"]);
  const stream = text(media?.["streamType"])?.toUpperCase();
  const seconds = number(currentTime);
  return {
    sessionId: mediaSessionId,
    status: playing,
    positionMs: seconds === null ? null : Math.max(0, seconds * 1_000),
    durationMs: media ? (duration !== null && duration > 0 ? duration * 1_000 : null) : (same?.durationMs ?? null),
    live: media ? (stream === "LIVE" ? true : stream === "BUFFERED" ? false : null) : (same?.live ?? null),
    title: media ? (text(metadata["title"]) ?? text(metadata["songName"])) : (same?.title ?? null),
    artist: media ? (text(metadata["artist"]) ?? text(metadata["albumArtist"])) : (same?.artist ?? null),
    image: media ? text(listOf(metadata, "images", 1)[0]?.["url"]) : (same?.image ?? null),
    rate: number(playbackRate) ?? 1,
    commands: number(supportedMediaCommands) ?? same?.commands ?? 0,
    at: now,
  };
}

function describePlayback(media: Media, now: number): Playback {
  const { status, positionMs, durationMs, live, title, artist, image, rate, at } = media;
  const isRunning = status === "playing";
  const position = positionMs === null ? null : positionMs + (isRunning ? rate * (now - at) : 0);
  const isEndless = live === true && durationMs === null;
  const shown = position === null || isEndless ? null : Math.max(0, Math.min(position, durationMs ?? position));
  return {
    status,
    position_ms: shown === null ? null : Math.round(shown),
    duration_ms: durationMs === null ? null : Math.round(durationMs),
    live,
    title,
    artist,
    artwork: image !== null,
    ...(isRunning && rate !== 1 && { rate }),
  };
}

/** Cast has no power: only one behind a screen says that it is in standby, and its silence on it means nothing (3.2). */
function powerOf({ standby }: Receiver): Power {
  return standby === null ? "unknown" : standby ? "standby" : "on";
}

export function describeState(receiver: Receiver, media: Media | null, now = performance.now()): PlatformState {
  const { running, level, muted } = receiver;
  return {
    power: powerOf(receiver),
    app: running?.app ?? null,
    screensaver: null,
    playback: media && describePlayback(media, now),
    volume: { level: level === null ? null : Math.round(level * 100), muted },
    input: null,
  };
}

/** An id in one form, whether it came with dashes, in capitals or as a `uuid:`. */
export function readId(value: unknown): string | null {
  const bare =
    typeof value === "string"
      ? value
          .toLowerCase()
          .replace(/^uuid:/, "")
          .replaceAll("-", "")
      : "";
  return /^[0-9a-f]{8,64}$/.test(bare) ? bare : null;
}

export function isCastAppId(text: string): boolean {
  return /^[0-9A-Fa-f]{8}$/.test(text);
}
