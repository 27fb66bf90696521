export interface Media {
  durationMs?: number;
  live?: boolean;
  title?: string;
}

export interface Playback {
  readonly app: string;
  readonly media: Media;
  paused: boolean;
  /** The position, and when it was true. */
  positionMs: number;
  at: number;
}

export const SKIP_MS = 10_000;

export function startPlayback(app: string, media: Media): Playback {
  return { app, media, paused: false, positionMs: 0, at: Date.now() };
}

export function position(playback: Playback): number {
  const elapsed = playback.paused ? 0 : Date.now() - playback.at;
  const end = playback.media.live ? undefined : playback.media.durationMs;
  return Math.min(playback.positionMs + elapsed, end ?? Number.POSITIVE_INFINITY);
}

/** `close` once the end is reached; the rest of the document stays, as sets keep it (1.6). */
export function playbackState(playback: Playback): "play" | "pause" | "close" {
  const { durationMs, live } = playback.media;
  if (!live && durationMs !== undefined && position(playback) >= durationMs) return "close";
  return playback.paused ? "pause" : "play";
}

export function togglePause(playback: Playback): void {
  hold(playback, 0);
  playback.paused = !playback.paused;
}

export function skip(playback: Playback, byMs: number): void {
  hold(playback, byMs);
}

function hold(playback: Playback, byMs: number): void {
  const end = playback.media.live ? position(playback) : (playback.media.durationMs ?? Number.POSITIVE_INFINITY);
  playback.positionMs = Math.max(0, Math.min(position(playback) + byMs, end));
  playback.at = Date.now();
}
