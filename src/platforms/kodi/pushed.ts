/** What a Kodi does, as it was last read and as its notifications changed it since (players.md 7.1). */
import { asJson, flag, type Json, number } from "../../transport/json.ts";
import type { PlatformApp, PlatformState } from "../platform.ts";
import { addonOf, appOf, describePlayback, type Playing, readTime } from "./protocol.ts";

/** The window in front is not pushed: what was read or heard is good for this long. */
const freshFor = 1_000;

export interface Reading {
  readonly playing: Playing | null;
  readonly volume: { readonly level: number | null; readonly muted: boolean | null };
  readonly screensaver: boolean | null;
  /** The add-on whose folder is open. */
  readonly folder: string | null;
}

export class PushedState {
  #reading: Reading | null = null;
  #heardAt = Number.NEGATIVE_INFINITY;
  #commandAt = Number.NEGATIVE_INFINITY;
  #toldAt = Number.NEGATIVE_INFINITY;
  readonly #names = new Map<string, string>();

  /** What is known well enough to be told without asking, or `null`. */
  get fresh(): Reading | null {
    return performance.now() - this.#heardAt < freshFor ? this.#reading : null;
  }

  /** Whether what was read last is still true, but for what goes on by itself. */
  get isKnown(): boolean {
    return this.#reading !== null;
  }

  /**
   * A whole reading, begun at `since`: one from before the last command is not kept. Gives what is so: what a notification has
   * told meanwhile is newer.
   */
  read(reading: Reading, since: number): Reading {
    if (since <= this.#commandAt) return reading;
    const { playing, volume, screensaver } = (since <= this.#toldAt && this.#reading) || reading;
    this.#reading = { ...reading, playing, volume, screensaver };
    this.#heardAt = performance.now();
    return this.#reading;
  }

  /** From now on what was said before is old. */
  commanded(): void {
    this.#commandAt = performance.now();
    this.forget();
  }

  forget(): void {
    this.#reading = null;
  }

  name(id: string, name: string): void {
    this.#names.set(id, name);
  }

  /** A notification: what it says itself is taken, and given back; what it only hints at has to be read. */
  take(method: string, data: Json): Partial<PlatformState> {
    const reading = this.#reading;
    this.#take(method, data);
    if (!reading || !this.#reading) return {};
    const [was, is] = [this.describe(reading), this.describe(this.#reading)];
    return {
      ...(reading.volume !== this.#reading.volume && { volume: is.volume }),
      ...(was.screensaver !== is.screensaver && { screensaver: is.screensaver }),
      ...(reading.playing !== this.#reading.playing && { playback: is.playback }),
    };
  }

  #take(method: string, data: Json): void {
    const reading = this.#reading;
    // What is being read now may be from before it.
    if (!reading) return this.commanded();
    this.#heardAt = performance.now();
    this.#toldAt = this.#heardAt;
    const player = asJson(data["player"]);
    const speed = player["speed"];
    // Pictures are shown beside the music, and paused for themselves (CGUIWindowSlideShow::AnnouncePlayerPause).
    const isOther = player["playerid"] !== undefined && player["playerid"] !== reading.playing?.playerId;
    const playing = isOther ? null : reading.playing;
    switch (method) {
      case "Application.OnVolumeChanged": {
        const { level, muted } = reading.volume;
        const said = number(data["volume"]);
        const volume = { level: said === null ? level : Math.round(said), muted: flag(data["muted"]) ?? muted };
        this.#reading = { ...reading, volume };
        return;
      }
      case "GUI.OnScreensaverActivated":
      case "GUI.OnScreensaverDeactivated":
        this.#reading = { ...reading, screensaver: method.endsWith("Activated") && !method.endsWith("Deactivated") };
        return;
      case "Player.OnPause":
      case "Player.OnResume":
      case "Player.OnSpeedChanged": {
        // Opening a file while another plays resumes the old one first: only what is known to play changes its speed.
        if (!playing || typeof speed !== "number") return this.commanded();
        const { position_ms } = describePlayback(playing);
        this.#reading = { ...reading, playing: { ...playing, speed, positionMs: position_ms, at: performance.now() } };
        return;
      }
      case "Player.OnSeek": {
        const positionMs = readTime(player["time"]);
        if (!playing || positionMs === null) return this.commanded();
        this.#reading = { ...reading, playing: { ...playing, positionMs, at: performance.now() } };
        return;
      }
      default:
        // OnPlay, OnStop, OnAVStart …: several come for one start, and what plays is read once, by who asks next.
        if (method.startsWith("Player.") || method.startsWith("GUI.")) this.commanded();
    }
  }

  describe({ playing, volume, screensaver, folder }: Reading): PlatformState {
    const addon = playing ? addonOf(playing.path) : folder;
    return {
      power: "on",
      app: addon === null ? null : this.app(addon),
      screensaver,
      playback: playing && describePlayback(playing),
      volume,
      input: null,
    };
  }

  /** An add-on by the name that it was listed with. */
  app(id: string): PlatformApp {
    return appOf(id, this.#names.get(id) ?? null);
  }
}
