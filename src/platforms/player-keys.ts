/** The keys of players without a remote, as playback and volume commands (players.md 9). */
import type { Key, PlaybackCommand } from "./platform.ts";

/** A playback command, a seek by milliseconds, a volume step, or mute. */
type KeyAction =
  | { readonly tell: PlaybackCommand | "toggle" }
  | { readonly by: number }
  | { readonly louder: 1 | -1 }
  | { readonly mute: "toggle" };

export const playerKeys: Partial<Record<Key, KeyAction>> = {
  play: { tell: "play" },
  pause: { tell: "pause" },
  "play-pause": { tell: "toggle" },
  stop: { tell: "stop" },
  rewind: { by: -30_000 },
  "fast-forward": { by: 30_000 },
  replay: { by: -10_000 },
  skip: { by: 10_000 },
  "volume-up": { louder: 1 },
  "volume-down": { louder: -1 },
  mute: { mute: "toggle" },
};
