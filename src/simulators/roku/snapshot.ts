import type { Launch, Model, Sideloaded } from "./model.ts";
import type { Power } from "./options.ts";
import { playbackState, position } from "./playback.ts";

/** A view of the set at one moment. */
export interface RokuState {
  readonly power: Power;
  /** The id of the app in front; null is home. */
  readonly activeApp: string | null;
  /** The television input in front, if one is. */
  readonly input: string | null;
  readonly channel: string | null;
  readonly background: readonly string[];
  readonly screensaver: boolean;
  readonly playback: {
    readonly state: "play" | "pause" | "close";
    readonly positionMs: number;
    readonly durationMs: number | null;
    readonly live: boolean;
    readonly title: string | null;
  } | null;
  readonly volume: number;
  readonly muted: boolean;
  /** Keys that went down and have not come up. */
  readonly held: readonly string[];
  readonly lastLaunch: Launch | null;
  readonly sideloaded: Readonly<Sideloaded> | null;
  /** Whether searches are answered now. */
  readonly discoverable: boolean;
}

export function snapshot(model: Model, discoverable: boolean): RokuState {
  const { active, playback } = model;
  return {
    power: model.power,
    activeApp: active,
    input: active?.startsWith("tvinput.") ? active : null,
    channel: model.channel?.number ?? null,
    background: [...model.background],
    screensaver: model.screensaver,
    playback: playback && {
      state: playbackState(playback),
      positionMs: position(playback),
      durationMs: playback.media.durationMs ?? null,
      live: playback.media.live ?? false,
      title: playback.media.title ?? null,
    },
    volume: model.volume,
    muted: model.muted,
    held: [...model.held],
    lastLaunch: model.lastLaunch,
    sideloaded: model.sideloaded && { ...model.sideloaded },
    discoverable,
  };
}
