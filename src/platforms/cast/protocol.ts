/**
 * Reads the messages of a Cast device into zapd's values. Pure. Facts and their evidence: protocols/players.md 3, by
 * section.
 */
import { asJson, flag, isJson, type Json, listOf, number, text } from "../../transport/json.ts";
import type { PlatformApp, PlatformState, Playback, Power } from "../platform.ts";
import { castMemory } from "./memory.ts";
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
/** The id of the device itself, whatever app runs. */
export const receiverId = "receiver-0";

/** A running app. */
interface Running {
  readonly app: PlatformApp;
  readonly ids: readonly string[];
  readonly sessionId: string;
  /** The transport over which its media is controlled, which changes with each launch (3.4); `null` where it plays none. */
  readonly mediaTransport: string | null;
}

export function readReceiver(message: Json) {
  const status = asJson(message["status"]);
  const volume = asJson(status["volume"]);
  const { level, muted, controlType, stepInterval } = volume;
  const control = castMemory.shape.volume.safeParse(controlType).data ?? null;
  return {
    /** The app that is cast to it; `null` while it idles. */
    running: readRunning(listOf(status, "applications", 1)[0] ?? {}),
    level: typeof level === "number" && level >= 0 && level <= 1 ? level : null,
    muted: flag(muted),
    step: typeof stepInterval === "number" && stepInterval > 0 && stepInterval <= 1 ? stepInterval : usualStep,
    control,
    standby: flag(status["isStandBy"]),
  };
}

/** `RECEIVER_STATUS` (3.2). */
export type Receiver = Readonly<ReturnType<typeof readReceiver>>;

const usualStep = 0.05;

function readRunning(application: Json): Running | null {
  const appId = text(application["appId"]);
  if (appId === null || application["isIdleScreen"] === true || appId === backdrop) return null;
  const universal = text(application["universalAppId"]);
  const { namespaces: listed } = application;
  // Not all name what the app speaks; one that speaks no media leaves the first request unanswered.
  const speaksMedia =
    !Array.isArray(listed) || listed.slice(0, 64).some((one) => (asJson(one)["name"] ?? one) === namespaces.media);
  const id = castServices.get(appId) ?? castServices.get(universal ?? "");
  return {
    app: {
      platformId: appId,
      name: text(application["displayName"]) ?? appId,
      type: "app",
      version: null,
      id,
    },
    ids: universal === null ? [appId] : [appId, universal],
    sessionId: text(application["sessionId"]) ?? "",
    mediaTransport: speaksMedia ? text(application["transportId"]) : null,
  };
}

/** `MEDIA_STATUS` as of `at`; no progress is pushed (3.2). */
export interface Media {
  readonly sessionId: number;
  readonly status: Playback["status"];
  /** It loads, which may fail. */
  readonly isLoading: boolean;
  readonly positionMs: number | null;
  readonly durationMs: number | null;
  readonly live: boolean | null;
  readonly title: string | null;
  readonly artist: string | null;
  readonly image: string | null;
  readonly rate: number;
  /** `null` where it has not said which commands it takes. */
  readonly commands: number | null;
  /** Whether it is one of several items of a queue. */
  readonly inQueue: boolean;
  /** On the monotonic clock. */
  readonly at: number;
}

/** Bits of `supportedMediaCommands` (3.2). */
export const abilities = { pause: 1, seek: 2, next: 64, previous: 128 } as const;

const statuses: ReadonlyMap<string, Playback["status"]> = new Map([
  ["PLAYING", "playing"],
  ["PAUSED", "paused"],
  ["BUFFERING", "buffering"],
]);

/** What the status of an idle player says of a file that it was sent; `former`: that what played before has ended for it. */
export function readIdle(message: Json): "loading" | "failed" | "former" | null {
  const [{ playerState, idleReason, extendedStatus } = {} as Json] = listOf(message, "status", 1);
  if (playerState !== "IDLE") return null;
  // A player that loads a file says that it is idle (home-assistant/core#13483, home-assistant-libs/pychromecast#225).
  if (asJson(extendedStatus)["playerState"] === "LOADING") return "loading";
  return idleReason === "ERROR" ? "failed" : idleReason === "INTERRUPTED" ? "former" : null;
}

/** Reads a status, which leaves out what has not changed since `before`; `null` where nothing is loaded. */
export function readMedia(message: Json, before: Media | null, now = performance.now()): Media | null {
  const [report = {}] = listOf(message, "status", 1);
  const { mediaSessionId, playerState, media } = report;
  const isLoading = readIdle(message) === "loading";
  const status = isLoading ? "buffering" : statuses.get(text(playerState) ?? "");
  if (typeof mediaSessionId !== "number" || status === undefined) return null;
  const same = before?.sessionId === mediaSessionId ? before : null;
  const rate = number(report["playbackRate"]);
  const commands = number(report["supportedMediaCommands"]) ?? same?.commands ?? null;
  const inQueue = report["items"] === undefined ? (same?.inQueue ?? false) : listOf(report, "items", 2).length > 1;
  // The default receiver takes these in a queue, and does not say so (i8beef/node-red-contrib-castv2#57, #37).
  const queue = inQueue ? abilities.next | abilities.previous : 0;
  return {
    ...(isJson(media) ? readItem(media) : (same ?? readItem({}))),
    sessionId: mediaSessionId,
    status,
    isLoading,
    positionMs: milliseconds(report["currentTime"]),
    rate: rate !== null && Math.abs(rate) <= maxRate ? rate : 1,
    commands: commands === null ? null : commands | queue,
    inQueue,
    at: now,
  };
}

/** What a player gives as the length of a stream without an end (shaka-project/shaka-player#1052). */
const endlessSeconds = 2 ** 32;
const maxRate = 1_000;

function milliseconds(value: unknown): number | null {
  const seconds = number(value);
  return seconds !== null && seconds >= 0 && seconds < endlessSeconds ? seconds * 1_000 : null;
}

function readItem(media: Json): Pick<Media, "durationMs" | "live" | "title" | "artist" | "image"> {
  const metadata = asJson(media["metadata"]);
  const stream = text(media["streamType"])?.toUpperCase();
  return {
    durationMs: milliseconds(media["duration"]) || null,
    live: stream === "LIVE" ? true : stream === "BUFFERED" ? false : null,
    title: text(metadata["title"]) ?? text(metadata["songName"]),
    artist: text(metadata["artist"]) ?? text(metadata["albumArtist"]),
    image: text(listOf(metadata, "images", 1)[0]?.["url"]),
  };
}

/** Where it is in what plays, in milliseconds; `null` where it does not report that. */
export function positionOf(
  { status, positionMs, durationMs, rate, at }: Media,
  now = performance.now(),
): number | null {
  if (positionMs === null) return null;
  const position = positionMs + (status === "playing" ? rate * (now - at) : 0);
  return Math.max(0, Math.min(position, durationMs ?? position));
}

function describePlayback(media: Media, now: number): Playback {
  const { status, durationMs, live, title, artist, image, rate } = media;
  const position = positionOf(media, now);
  const isEndless = live === true && durationMs === null;
  return {
    status,
    position_ms: position === null || isEndless ? null : Math.round(position),
    duration_ms: durationMs === null ? null : Math.round(durationMs),
    live,
    title,
    artist,
    artwork: image !== null,
    ...(status === "playing" && rate !== 1 && { rate }),
  };
}

/** Only a device with a screen reports standby; without that, its power is unknown (3.2). */
function powerOf({ standby }: Receiver): Power {
  return standby === null ? "unknown" : standby ? "standby" : "on";
}

export function describeState(receiver: Receiver, media: Media | null, now = performance.now()): PlatformState {
  const { running, level, muted, control } = receiver;
  // Where it is fixed the level says nothing: what is heard is that of the TV, or of the Android TV on the same box.
  const isFixed = control === "fixed";
  return {
    power: powerOf(receiver),
    app: running?.app ?? null,
    screensaver: null,
    playback: media && describePlayback(media, now),
    volume: isFixed ? null : { level: level === null ? null : Math.round(level * 100), muted },
    input: null,
  };
}

/** An id in lower case without dashes and without `uuid:`. */
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
