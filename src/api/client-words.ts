/** The state of a device as text, for the command line and for agents; and the words of people for it. */
import { printable } from "../system/printable.ts";
import type { Result } from "./client.ts";
import type { State } from "./schemas.ts";

/** The texts for `power` after the name of a device. */
export const powerWords = { on: "on", standby: "in standby", off: "off", unknown: "answers" } as const;
/** The same for a state that may be from before: whether a device of unknown power answers now is not known. */
export const lastPowerWords = { ...powerWords, unknown: "power unknown" } as const;

/** Off or in standby: `power-off` leads to standby on most devices. */
export function isPowerOff(power: State["power"]): boolean {
  return power === "off" || power === "standby";
}

/** `Living Room is on · YouTube · playing 12:04 / 31:20 · volume 18` */
export function stateLine({ device, state }: Result<"getState">): string {
  const power = (state.power === "unknown" ? "" : "is ") + powerWords[state.power];
  return printable([`${device.name} ${power}`, ...activity(state)].join(" · "));
}

/** The app, the playback and the volume, each as a text. With `now` the playback position is advanced to that time. */
export function activity(state: State, now?: Date): string[] {
  const { playback } = state;
  const playing = playback && now ? { ...playback, position_ms: positionAt(playback, now.getTime()) } : playback;
  return [appPart(state), playbackPart(playing), volumePart(state.volume)].filter((part) => part !== "");
}

/** The playback position at `now`, both in milliseconds; `null` where the device does not report one. */
export function positionAt(
  { position_ms, position_at, rate, duration_ms }: NonNullable<State["playback"]>,
  now: number,
): number | null {
  if (position_ms === null) return null;
  const elapsed = position_at === null ? 0 : Math.max(0, now - Date.parse(position_at));
  return Math.max(0, Math.min(position_ms + elapsed * (rate ?? 0), duration_ms ?? Number.POSITIVE_INFINITY));
}

function appPart(state: State): string {
  const { app, power, playback } = state;
  // A file or a channel plays without an app.
  const isHome = power === "on" && (playback?.status ?? "stopped") === "stopped";
  const shown = app?.name ?? (isHome ? "home" : "");
  return state.screensaver ? [shown, "screensaver"].filter(Boolean).join(", ") : shown;
}

function playbackPart(playback: State["playback"]): string {
  if (!playback || playback.status === "stopped") return "";
  const { status, position_ms, duration_ms, live, title, artist } = playback;
  const time = [position_ms, live ? null : duration_ms]
    .filter((ms) => ms !== null)
    .map(timecode)
    .join(" / ");
  return [status, title ? `"${title}"` : "", artist ? `by ${artist}` : "", live ? "live" : "", time]
    .filter(Boolean)
    .join(" ");
}

function volumePart(volume: State["volume"]): string {
  if (!volume) return "";
  if (volume.muted) return "muted";
  return volume.level === null ? "" : `volume ${volume.level}`;
}

/** `12:04`, or `1:02:03`. */
export function timecode(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  const shown = parts[0] === 0 ? parts.slice(1) : parts;
  return shown.map((part, at) => (at === 0 ? String(part) : String(part).padStart(2, "0"))).join(":");
}

/** The volume that a word means: `20` a level, `+5` and `-5` steps; `null` for none. The API checks the bounds. */
export function volumeIn(word: string): { readonly level: number } | { readonly step: number } | null {
  if (!/^[+-]?\d{1,9}(\.\d{1,9})?$/.test(word)) return null;
  return /^[+-]/.test(word) ? { step: Number(word) } : { level: Number(word) };
}
