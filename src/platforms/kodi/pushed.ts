/** The state of a Kodi as it was last read, kept up by its notifications (players.md 7.1). */
import { asJson, flag, type Json, number } from "../../transport/json.ts";
import type { PlatformApp, PlatformState } from "../platform.ts";
import { addonOf, appOf, describePlayback, type Playing, readTime } from "./protocol.ts";

/** The window in front is not pushed, so the state is read again after this. */
const freshForMs = 1_000;
/** More than one list of add-ons holds. */
const maxNames = 10_000;

export interface Reading {
  readonly playing: Playing | null;
  readonly volume: { readonly level: number | null; readonly muted: boolean | null };
  readonly screensaver: boolean | null;
  /** The add-on whose folder is open. */
  readonly folder: string | null;
}

export class PushedState {
  #reading: Reading | null = null;
  #updatedAt = Number.NEGATIVE_INFINITY;
  #notifiedAt = Number.NEGATIVE_INFINITY;
  #invalidatedAt = Number.NEGATIVE_INFINITY;
  readonly #names = new Map<string, string>();

  /** The state, where it need not be read again; else `null`. */
  get fresh(): Reading | null {
    return performance.now() - this.#updatedAt < freshForMs ? this.#reading : null;
  }

  /** Whether notifications have kept up what was read last. */
  get isKnown(): boolean {
    return this.#reading !== null;
  }

  /**
   * Keeps a whole reading that began at `since`, unless the state was invalidated meanwhile. Returns it with the parts that a
   * notification has changed meanwhile.
   */
  store(reading: Reading, since: number): Reading {
    if (since <= this.#invalidatedAt) return reading;
    const { playing, volume, screensaver } = (since <= this.#notifiedAt && this.#reading) || reading;
    this.#reading = { ...reading, playing, volume, screensaver };
    this.#updatedAt = performance.now();
    return this.#reading;
  }

  /** What was read, or is being read, may no longer be true. */
  invalidate(): void {
    this.#invalidatedAt = performance.now();
    this.#reading = null;
  }

  rememberName(id: string, name: string): void {
    if (this.#names.size >= maxNames) this.#names.clear();
    this.#names.set(id, name);
  }

  /** Applies a notification, and returns the parts of the state that it changed. One that contains too little invalidates it. */
  apply(method: string, data: Json): Partial<PlatformState> {
    // Libraries and add-ons notify too, many times a second during a scan.
    if (!/^(?:Player|GUI|Application)\./.test(method)) return {};
    const before = this.#reading;
    this.#apply(method, data);
    const after = this.#reading;
    if (!before || !after) return {};
    const { volume, screensaver, playback } = this.describe(after);
    return {
      ...(before.volume !== after.volume && { volume }),
      ...(before.screensaver !== after.screensaver && { screensaver }),
      ...(before.playing !== after.playing && { playback }),
    };
  }

  #apply(method: string, data: Json): void {
    const reading = this.#reading;
    if (!reading) return this.invalidate();
    this.#notifiedAt = performance.now();
    const player = asJson(data["player"]);
    const speed = player["speed"];
    // Pictures are shown beside the music, and paused for themselves (CGUIWindowSlideShow::AnnouncePlayerPause).
    const playing = player["playerid"] === reading.playing?.playerId ? reading.playing : null;
    switch (method) {
      case "Application.OnVolumeChanged": {
        const { level, muted } = reading.volume;
        const reported = number(data["volume"]);
        const volume = { level: reported === null ? level : Math.round(reported), muted: flag(data["muted"]) ?? muted };
        this.#reading = { ...reading, volume };
        return;
      }
      case "GUI.OnScreensaverActivated":
      case "GUI.OnScreensaverDeactivated":
        this.#reading = { ...reading, screensaver: method === "GUI.OnScreensaverActivated" };
        return;
      case "Player.OnPause":
      case "Player.OnResume":
      case "Player.OnSpeedChanged": {
        // Opening a file while another plays resumes that one first, so only what is known to play changes its speed.
        if (!playing || typeof speed !== "number") return this.invalidate();
        const { position_ms } = describePlayback(playing);
        this.#reading = { ...reading, playing: { ...playing, speed, positionMs: position_ms, at: performance.now() } };
        return;
      }
      case "Player.OnSeek": {
        const positionMs = readTime(player["time"]);
        if (!playing || positionMs === null) return this.invalidate();
        this.#reading = { ...reading, playing: { ...playing, positionMs, at: performance.now() } };
        return;
      }
      default:
        // OnPlay, OnStop, OnAVStart …: several come for one start, so what plays is read once, with the next question.
        this.invalidate();
    }
  }

  describe({ playing, volume, screensaver, folder }: Reading): PlatformState {
    const addon = (playing && addonOf(playing.path)) ?? folder;
    return {
      power: "on",
      app: addon === null ? null : this.appNamed(addon),
      screensaver,
      playback: playing && describePlayback(playing),
      volume,
      input: null,
    };
  }

  /** An add-on by the name that it was listed with. */
  appNamed(id: string): PlatformApp {
    return appOf(id, this.#names.get(id) ?? null);
  }
}
