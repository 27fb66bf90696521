/** What the page says of a device, in words: what is not known is said, not shown as a dash. */
import type { Device, State } from "../api/client-types.ts";

/** How a device is, in one word or two. */
export type Standing = "on" | "standby" | "off" | "unpaired" | "disabled" | "offline" | "unknown";

/** What comes first about a device: that it must be paired, or whether it is on. */
export function standingOf(device: Device, state: State | null): Standing {
  if (device.access === "unpaired") return "unpaired";
  const power = state?.power === undefined || state.power === "unknown" ? device.power : state.power;
  if (power !== "unknown") return power;
  return device.status === "offline" ? "offline" : "unknown";
}

export const standingWords: Readonly<Record<Standing, string>> = {
  on: "on",
  standby: "standby",
  off: "off",
  unpaired: "to be paired",
  disabled: "control is disabled",
  offline: "does not answer",
  unknown: "not asked yet",
};

/** What a device is, beside its name: maker and model as it says them. */
export function modelOf({ manufacturer, model, kind, platform }: Device): string {
  if (model === null) return manufacturer ?? (kind === "unknown" ? platform : kind);
  return manufacturer === null || model.toLowerCase().startsWith(manufacturer.toLowerCase())
    ? model
    : `${manufacturer} ${model}`;
}

/** What plays, in one line; `null` where nothing does. */
export function playingOf(state: State | null): string | null {
  const { playback = null } = state ?? {};
  if (playback === null || playback.status === "stopped") return null;
  if (playback.title !== null) return playback.title;
  const doing = playback.status === "paused" ? "paused" : playback.status === "buffering" ? "is loading" : "plays";
  return `${doing} something; the set does not say what`;
}

/** What is on the screen: the app, or the input. */
export function appOf(state: State | null): string | null {
  if (state === null || state.power !== "on") return null;
  if (state.screensaver === true) return "screensaver";
  return state.app?.name ?? state.input ?? null;
}

/** A length of time: `12:04`, `1:02:03`. */
export function clockOf(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const [h, m, s] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  const two = (n: number) => String(n).padStart(2, "0");
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

/** Where playback is now, from where it was when it was read; `null` where the device did not say. */
export function positionOf(playback: NonNullable<State["playback"]>, now: number): number | null {
  const { position_ms, position_at, rate, duration_ms, status } = playback;
  if (position_ms === null) return null;
  const runs = status === "playing" && position_at !== null ? (now - Date.parse(position_at)) * (rate ?? 1) : 0;
  return Math.max(0, Math.min(position_ms + runs, duration_ms ?? Number.POSITIVE_INFINITY));
}
