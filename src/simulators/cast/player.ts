/** Playback in the running app (players.md 3.2, 3.3). */
import { type JsonObject, objectIn } from "../bench/json.ts";
import type { CastOptions } from "./options.ts";

type State = "PLAYING" | "PAUSED" | "BUFFERING" | "LOADING";

/** Media played by another sender. */
export interface SharedMedia {
  readonly title?: string;
  readonly artist?: string;
  readonly durationMs?: number | null;
  readonly image?: string;
  /** Null where it does not say which it takes: all. */
  readonly supportedCommands?: number | null;
  readonly live?: boolean;
}

interface Playing {
  readonly mediaSessionId: number;
  readonly media: JsonObject;
  /** The bits of `supportedMediaCommands`. */
  readonly supportedCommands: number | null;
  readonly durationMs: number | null;
  state: State;
  positionMs: number;
  /** The time of `positionMs`, on the monotonic clock. */
  at: number;
}

/** Pause, seek, volume, mute; a queue adds 64 and 128. */
const USUAL = 15;
/** A longer timer fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** The playable types; others fail to load. */
const PLAYED =
  /^(video\/(mp4|webm|x-matroska)|audio\/(mpeg|mp4|ogg|wav|flac)|image\/(jpeg|png|gif|webp)|application\/(dash\+xml|x-mpegurl|vnd\.apple\.mpegurl))$/i;

/** What a SEEK can ask for besides; pychromecast always asks to play. */
const RESUMED = new Map<unknown, State>([
  ["PLAYBACK_START", "PLAYING"],
  ["PLAYBACK_PAUSE", "PAUSED"],
]);

export class Player {
  readonly #options: CastOptions;
  readonly #onChange: () => void;
  #playing: Playing | null = null;
  #ended: { readonly mediaSessionId: number; readonly idleReason: string } | null = null;
  #sessions = 0;
  /** Until it starts, or until it ends. */
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: CastOptions, onChange: () => void) {
    this.#options = options;
    this.#onChange = onChange;
  }

  get sessionId(): number | null {
    return this.#playing?.mediaSessionId ?? null;
  }

  get state() {
    const playing = this.#playing;
    if (playing === null) return null;
    return { url: playing.media["contentId"], state: playing.state, positionMs: position(playing) };
  }

  /** A new app starts to number its sessions at 1. */
  reset(): void {
    this.#sessions = 0;
    this.#ended = null;
  }

  /** The entry of `MEDIA_STATUS`; null if nothing was ever loaded. */
  get status(): JsonObject | null {
    const playing = this.#playing;
    if (playing === null)
      return this.#ended && { ...this.#ended, playerState: "IDLE", currentTime: 0, playbackRate: 1 };
    const { mediaSessionId, state, supportedCommands, media, durationMs } = playing;
    return {
      mediaSessionId,
      playerState: state === "LOADING" ? "IDLE" : state,
      ...(state === "LOADING" && { extendedStatus: { playerState: state, mediaSessionId } }),
      currentTime: position(playing) / 1_000,
      playbackRate: 1,
      ...(supportedCommands !== null && { supportedMediaCommands: supportedCommands }),
      volume: { level: 1, muted: false },
      ...((state === "LOADING" || !this.#options.reportsLoading) && {
        media: { ...media, duration: durationMs === null ? null : durationMs / 1_000 },
      }),
    };
  }

  /** Executes LOAD. Returns the error, or null. */
  load(content: JsonObject): string | null {
    const { autoplay, currentTime } = content;
    const media = objectIn(content["media"]);
    const { contentId, contentType } = media;
    if (typeof contentId !== "string" || typeof contentType !== "string") return "INVALID_REQUEST";
    const known = this.#options.media.find(({ url }) => url === contentId);
    this.end("INTERRUPTED");
    const fails = known?.fails ?? (PLAYED.test(contentType) ? null : "LOAD_FAILED");
    const text = `${fails === null ? "plays" : "cannot play"} ${contentId}`;
    this.#options.onEvent?.({ type: "load", text, url: contentId });
    const { reportsLoading } = this.#options;
    const durationMs = known?.durationMs === undefined ? 120_000 : known.durationMs;
    if (fails === null || reportsLoading) {
      const fromMs = typeof currentTime === "number" ? within(currentTime * 1_000, durationMs) : 0;
      const then = autoplay === false ? "PAUSED" : "PLAYING";
      this.#begin(media, durationMs, USUAL, { state: reportsLoading ? "LOADING" : "BUFFERING", then, fromMs });
    }
    return fails;
  }

  play(shown: SharedMedia): void {
    const {
      title = "Shown",
      artist,
      durationMs = 120_000,
      image,
      supportedCommands = USUAL | 64 | 128,
      live = false,
    } = shown;
    const metadata = { metadataType: 0, title, artist, images: image === undefined ? [] : [{ url: image }] };
    const streamType = live ? "LIVE" : "buffered";
    this.#begin({ contentId: "shown", contentType: "video/mp4", streamType, metadata }, durationMs, supportedCommands);
  }

  #begin(
    media: JsonObject,
    durationMs: number | null,
    supportedCommands: number | null,
    { state = "BUFFERING", then = "PLAYING", fromMs = 0 }: { state?: State; then?: State; fromMs?: number } = {},
  ): void {
    clearTimeout(this.#timer);
    this.#sessions += 1;
    const at = performance.now();
    const playing: Playing = {
      mediaSessionId: this.#sessions,
      media,
      supportedCommands,
      durationMs,
      state,
      positionMs: fromMs,
      at,
    };
    this.#playing = playing;
    this.#onChange();
    this.#timer = setTimeout(() => this.#move(playing, then, playing.positionMs), this.#options.bufferMs);
  }

  #move(playing: Playing, state: State, positionMs: number): void {
    Object.assign(playing, { state, positionMs, at: performance.now() });
    // What seeks while it buffers still starts.
    if (state === "PLAYING" || state === "PAUSED") clearTimeout(this.#timer);
    if (state === "PLAYING" && playing.durationMs !== null) {
      this.#timer = setTimeout(() => this.end("FINISHED"), Math.min(playing.durationMs - positionMs, LONGEST_TIMER_MS));
      this.#timer.unref?.();
    }
    this.#onChange();
  }

  /** Executes PLAY, PAUSE, SEEK, STOP or QUEUE_UPDATE. Returns the error, or null. */
  command(type: string, content: JsonObject): string | null {
    const playing = this.#playing;
    if (playing === null) return "INVALID_COMMAND";
    const can = (bit: number) => ((playing.supportedCommands ?? -1) & bit) !== 0;
    const now = position(playing);
    if ((type === "PLAY" || type === "PAUSE") && can(1))
      this.#move(playing, type === "PLAY" ? "PLAYING" : "PAUSED", now);
    else if (type === "SEEK" && can(2) && typeof content["currentTime"] === "number")
      this.#move(
        playing,
        RESUMED.get(content["resumeState"]) ?? playing.state,
        within(content["currentTime"] * 1_000, playing.durationMs),
      );
    else if (type === "STOP") this.end("CANCELLED");
    else if (type === "QUEUE_UPDATE" && (content["jump"] === 1 ? can(64) : content["jump"] === -1 && can(128)))
      this.#begin(playing.media, playing.durationMs, playing.supportedCommands);
    else return "INVALID_COMMAND";
    return null;
  }

  end(idleReason: string): void {
    clearTimeout(this.#timer);
    const playing = this.#playing;
    this.#playing = null;
    // What has ended before is told of once more.
    if (playing) this.#ended = { mediaSessionId: playing.mediaSessionId, idleReason };
    this.#onChange();
  }
}

const within = (ms: number, durationMs: number | null) => Math.max(0, Math.min(ms, durationMs ?? ms));

function position({ state, positionMs, at, durationMs }: Playing): number {
  const now = positionMs + (state === "PLAYING" ? performance.now() - at : 0);
  return Math.min(now, durationMs ?? now);
}
