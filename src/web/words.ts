/** What the page says of a device, in words: what is not known is said, not shown as a dash. */
import type { Result } from "../api/client.ts";
import type { Device, State } from "../api/client-types.ts";

/** How a device is, in one word or two. */
export type Standing = "on" | "standby" | "off" | "unpaired" | "offline" | "silent" | "unknown";

/** What comes first about a device: that it must be paired, or whether it is on. */
export function standingOf(device: Device, state: State | null): Standing {
  if (device.access === "unpaired" && !device.capabilities.includes("state")) return "unpaired";
  const isGone = device.status === "offline";
  // What was seen of it last stays its state: that it was on says nothing of one that does not answer any more.
  const isTold = state !== null && state.power !== "unknown" && !(isGone && state.power === "on");
  const power = isTold ? state.power : device.power;
  if (power !== "unknown") return power;
  if (isGone) return "offline";
  // What plays is on, whether or not it says so.
  if (state?.playback && state.playback.status !== "stopped") return "on";
  return device.status === "online" ? "silent" : "unknown";
}

export const standingWords: Readonly<Record<Standing, string>> = {
  on: "on",
  standby: "standby",
  off: "off",
  unpaired: "to be paired",
  offline: "does not answer",
  silent: "answers, but does not say whether it is on",
  unknown: "not asked yet",
};

type Capability = Device["capabilities"][number];
export type Key = Device["keys"][number];

/** The key that turns a device off when it is on, and on when it is not; `undefined` where it has none. */
export function powerKey({ keys }: Device, isOn: boolean): Key | undefined {
  const wanted: readonly Key[] = isOn ? ["power-off", "power"] : ["power-on", "power"];
  return wanted.find((one) => keys.includes(one));
}

/** `1 line`, `3 lines`. */
export function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

/** Whether a text has each of the words that are looked for, whatever their case. */
export function hasWords(text: string, wanted: string): boolean {
  const lower = text.toLowerCase();
  return wanted
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}

/** What a device can do, as people call it: what they miss when it is kept back. */
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

/** What a device's settings keep back, and what its user does about it; `null` where they keep nothing back. */
export function withheldOf(device: Device): { readonly what: string; readonly hints: readonly string[] } | null {
  if (device.access === "unpaired") return null;
  const words = device.withheld.flatMap(({ capability }) => capabilityWords[capability] ?? []);
  const hints = [...new Set(device.withheld.flatMap(({ hint }) => hint ?? []))];
  if (words.length === 0) return null;
  const named = words.slice(0, 3).join(", ");
  return { what: words.length > 3 ? `${named} and more` : named, hints };
}

/** Why a capability is withheld; `undefined` where it is not. For the `withheld` of a button. */
export function withheldHint(device: Device, capability: Capability): string | undefined {
  const found = device.withheld.find((one) => one.capability === capability);
  return found && (found.hint ?? "Its settings keep this back");
}

type Looking = Pick<Result<"readConfig">["discovery"], "on_start" | "interfaces">;

/** Where devices were looked for, and what came of it. `found`: how many answered the last time; `undefined` before that. */
export function askedWords({ on_start, interfaces }: Looking, found: number | undefined): string {
  const where =
    interfaces.length === 0 ? "every interface of this machine" : `${interfaces.join(", ")} (discovery.interfaces)`;
  if (found === 0) return `zapd asked on ${where}, and nobody answered.`;
  if (found !== undefined) return `zapd asked on ${where}. Who answered was forgotten since; Look again asks anew.`;
  return on_start
    ? `Asking on ${where} …`
    : `zapd was told not to look when it starts (discovery.on_start). Look again asks on ${where}.`;
}

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
  if (playback.title !== null) return [playback.title, playback.artist].filter(Boolean).join(" · ");
  const doing = { playing: "plays something", paused: "something is paused", buffering: "is loading" }[playback.status];
  return `${doing}; the set does not say what`;
}

/** What is on the screen: the app, or the input. `null`: the home screen, or it is not known. */
export function appOf(state: State | null): string | null {
  if (state === null || state.power === "off" || state.power === "standby") return null;
  if (state.screensaver === true) return "screensaver";
  return state.app?.name ?? (state.input === null ? null : inputWords(state.input));
}

/** An input by its word: `hdmi1` is HDMI 1. */
export function inputWords(input: string): string {
  const [, kind, number] = /^(hdmi|av|tuner)(\d*)$/.exec(input) ?? [];
  if (kind === undefined) return input;
  return `${kind === "tuner" ? "Tuner" : kind.toUpperCase()} ${number ?? ""}`.trim();
}

/** A time of day: `09:05:12`, or `09:05`. */
export function timeOf(at: Date, hasSeconds = true): string {
  const second = hasSeconds ? "2-digit" : undefined;
  return at.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", second, hourCycle: "h23" });
}

/** What the daemon says, with its times as a clock here has them. */
export function here(text: string): string {
  return text.replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, (at) => timeOf(new Date(at), false));
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
