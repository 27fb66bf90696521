/** What the keys of a remote come to on a player that has none (players.md 9): those of what plays, and of how loud. */
import type { Key, PlaybackCommand } from "./platform.ts";

/** What a key does: a command, a way through what plays in milliseconds, or steps of the volume. */
type Does =
  | { readonly tell: PlaybackCommand | "toggle" }
  | { readonly by: number }
  | { readonly louder: 1 | -1 }
  | { readonly mute: "toggle" };

export const playerKeys: Partial<Record<Key, Does>> = {
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
