/** How the page describes a device in words. What is not known is said in words too, not shown as a dash. */
import type { Result } from "../api/client.ts";
import type { Device, State } from "../api/client-types.ts";

/** The status that the page shows of a device; `silent`: it answers, but does not report its power. */
export type DisplayStatus = "on" | "standby" | "off" | "unpaired" | "offline" | "silent" | "unknown";

/** The status to show: first that the device must be paired, then whether it is on. */
export function displayStatusOf(device: Device, state: State | null): DisplayStatus {
  if (device.access === "unpaired" && !device.capabilities.includes("state")) return "unpaired";
  const isOffline = device.status === "offline";
  // The state keeps the last known power, and "on" is not true any more of a device that does not answer.
  const isPowerKnown = state !== null && state.power !== "unknown" && !(isOffline && state.power === "on");
  const power = isPowerKnown ? state.power : device.power;
  if (power !== "unknown") return power;
  if (isOffline) return "offline";
  // A device that plays something is on, even if it does not report its power.
  if (state?.playback && state.playback.status !== "stopped") return "on";
  return device.status === "online" ? "silent" : "unknown";
}

export const displayStatusWords: Readonly<Record<DisplayStatus, string>> = {
  on: "on",
  standby: "standby",
  off: "off",
  unpaired: "not paired",
  offline: "does not answer",
  silent: "answers, but does not say whether it is on",
  unknown: "not asked yet",
};

type Capability = Device["capabilities"][number];
export type Key = Device["keys"][number];

/** The key that turns the device off if it is on, and on otherwise; `undefined` if it has none. */
export function powerKey({ keys }: Device, isOn: boolean): Key | undefined {
  const wanted: readonly Key[] = isOn ? ["power-off", "power"] : ["power-on", "power"];
  return wanted.find((one) => keys.includes(one));
}

/** `1 line`, `3 lines`. */
export function countOf(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

/** Whether a text contains every word of `wanted`, in any case and order. */
export function includesWords(text: string, wanted: string): boolean {
  const lower = text.toLowerCase();
  return wanted
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}

/** Everyday names of the capabilities that a user may miss. */
const capabilityWords: Partial<Readonly<Record<Capability, string>>> = {
  keys: "keys",
  text: "typing",
  launch: "apps",
  volume: "volume",
  mute: "mute",
  power_on: "turning on",
  playback: "playback",
  inputs: "inputs",
  channels: "channels",
};

/** The capabilities that the settings of a device withhold, and what the user can do about it; `null` for none. */
export function withheldOf(device: Device): { readonly what: string; readonly hints: readonly string[] } | null {
  if (device.access === "unpaired") return null;
  const words = device.withheld.flatMap(({ capability }) => capabilityWords[capability] ?? []);
  const hints = [...new Set(device.withheld.flatMap(({ hint }) => hint ?? []))];
  if (words.length === 0) return null;
  const named = words.slice(0, 3).join(", ");
  return { what: words.length > 3 ? `${named} and more` : named, hints };
}

/** Why a capability is withheld, for the `withheld` of a button; `undefined` if it is not. */
export function withheldHint(device: Device, capability: Capability): string | undefined {
  const found = device.withheld.find((one) => one.capability === capability);
  return found && (found.hint ?? "Its settings withhold this");
}

type DiscoverySettings = Pick<Result<"readConfig">["discovery"], "on_start" | "interfaces">;

/** Where zapd looked for devices and what came of it. `found`: how many answered the last search; `undefined` before the first. */
export function discoverySummary({ on_start, interfaces }: DiscoverySettings, found: number | undefined): string {
  const where =
    interfaces.length === 0
      ? "every network interface of this machine"
      : `${interfaces.join(", ")} (discovery.interfaces)`;
  if (found === 0) return `zapd searched on ${where}, and no device answered.`;
  if (found !== undefined)
    return `zapd searched on ${where}. The devices that answered have been removed since. Press Look again to search again.`;
  return on_start
    ? `The search on ${where} at the start has reported no device yet. Press Look again to search now.`
    : `The search at start is off (discovery.on_start). Press Look again to search on ${where}.`;
}

/** The maker and model of a device; its kind or platform if it reports neither. */
export function modelOf({ manufacturer, model, kind, platform }: Device): string {
  if (model === null) return manufacturer ?? (kind === "unknown" ? platform : kind);
  return manufacturer === null || model.toLowerCase().startsWith(manufacturer.toLowerCase())
    ? model
    : `${manufacturer} ${model}`;
}

/** What plays, in one line; `null` if nothing plays. */
export function playingOf(state: State | null): string | null {
  const { playback = null } = state ?? {};
  if (playback === null || playback.status === "stopped") return null;
  if (playback.title !== null) return [playback.title, playback.artist].filter(Boolean).join(" · ");
  const text = { playing: "plays something", paused: "something is paused", buffering: "is loading" }[playback.status];
  return `${text}; the set does not say what`;
}

/** What is on the screen: the app or the input. `null` for the home screen, or if it is not known. */
export function screenContentOf(state: State | null): string | null {
  if (state === null || state.power === "off" || state.power === "standby") return null;
  if (state.screensaver === true) return "screensaver";
  return state.app?.name ?? (state.input === null ? null : inputWords(state.input));
}

/** The name of an input: `hdmi1` is HDMI 1. */
export function inputWords(input: string): string {
  const [, kind, number] = /^(hdmi|av|tuner)(\d*)$/.exec(input) ?? [];
  if (kind === undefined) return input;
  return `${kind === "tuner" ? "Tuner" : kind.toUpperCase()} ${number ?? ""}`.trim();
}

/** A time of day: `09:05:12`, or `09:05`. */
export function formatTime(at: Date, hasSeconds = true): string {
  const second = hasSeconds ? "2-digit" : undefined;
  return at.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", second, hourCycle: "h23" });
}

/** A message of the daemon with its UTC times replaced by local times of day. */
export function withLocalTimes(text: string): string {
  return text.replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, (at) => formatTime(new Date(at), false));
}

/** A duration: `12:04`, `1:02:03`. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const [h, m, s] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  const two = (n: number) => String(n).padStart(2, "0");
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

/** The playback position now, in ms, computed from the last one reported; `null` if the device reports none. */
export function positionOf(playback: NonNullable<State["playback"]>, now: number): number | null {
  const { position_ms, position_at, rate, duration_ms, status } = playback;
  if (position_ms === null) return null;
  const elapsed = status === "playing" && position_at !== null ? (now - Date.parse(position_at)) * (rate ?? 1) : 0;
  return Math.max(0, Math.min(position_ms + elapsed, duration_ms ?? Number.POSITIVE_INFINITY));
}
