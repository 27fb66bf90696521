/** The keys of the terminal: what each does, where it is drawn, and whether it works on a device. */
import { isPowerOff } from "../../api/client-words.ts";
import type { Device } from "../../api/schemas.ts";
import type { Command, DeviceView, PressedKey } from "./model.ts";

/** The pickers: the key that opens each, the label of its input line, and what Enter does. */
export const lists = {
  apps: { input: "/", operation: "listApps", label: "/", enters: "launches" },
  inputs: { input: "s", operation: "listInputs", label: "inputs ", enters: "selects it" },
  channels: { input: "c", operation: "listChannels", label: "channels ", enters: "tunes to it" },
} as const;
export type ListName = keyof typeof lists;

export interface Binding {
  /** The key of the terminal, as `terminal.ts` names it. */
  readonly input: string;
  /** The key of the device, or the milliseconds to seek by. */
  readonly key: PressedKey | number;
  /** The name of the terminal's key on the screen. */
  readonly cap: string;
  readonly word: string;
  /** Row and column in the drawing; none for a key that is drawn together with another. */
  readonly place?: readonly [row: number, column: number];
  /** The key is held while the terminal's key is down. */
  readonly isHeld?: true;
}

export const bindings: readonly Binding[] = [
  { input: "up", key: "up", cap: "↑", word: "", place: [2, 21], isHeld: true },
  { input: "left", key: "left", cap: "←", word: "", place: [3, 15], isHeld: true },
  { input: "enter", key: "select", cap: "Enter", word: "", place: [3, 19] },
  { input: "right", key: "right", cap: "→", word: "", place: [3, 27], isHeld: true },
  { input: "down", key: "down", cap: "↓", word: "", place: [4, 21], isHeld: true },
  { input: "backspace", key: "back", cap: "Bksp", word: "back", place: [3, 2] },
  { input: "h", key: "home", cap: "h", word: "home", place: [0, 36] },
  { input: " ", key: "play-pause", cap: "Space", word: "play/pause", place: [7, 14] },
  { input: "r", key: "rewind", cap: "r", word: "rewind", place: [7, 2] },
  { input: "f", key: "fast-forward", cap: "f", word: "forward", place: [7, 34] },
  { input: ",", key: -10_000, cap: ",", word: "10 s back", place: [8, 2] },
  { input: ".", key: 30_000, cap: ".", word: "30 s on", place: [8, 34] },
  { input: "+", key: "volume-up", cap: "+", word: "louder", place: [2, 34], isHeld: true },
  { input: "-", key: "volume-down", cap: "-", word: "softer", place: [3, 34], isHeld: true },
  { input: "m", key: "mute", cap: "m", word: "mute", place: [4, 34] },
  { input: "i", key: "info", cap: "i", word: "info", place: [6, 2] },
  { input: "o", key: "options", cap: "o", word: "options", place: [6, 34] },
  { input: "page-up", key: "channel-up", cap: "PgUp", word: "channel up", place: [6, 15], isHeld: true },
  { input: "page-down", key: "channel-down", cap: "PgDn", word: "channel down", isHeld: true },
  { input: "p", key: "power", cap: "p", word: "power", place: [0, 2] },
];

/** Other keys of the terminal that mean the same. */
const synonyms: Readonly<Record<string, string>> = { "=": "+", _: "-", delete: "backspace", "<": ",", ">": "." };

export function canonicalInput(input: string): string {
  return synonyms[input] ?? input;
}

/** What the remote itself does, with the capability that it needs. */
export const commands: readonly { readonly cap: string; readonly word: string; readonly needs?: Capability }[] = [
  ...(Object.keys(lists) as ListName[]).map((what) => ({ cap: lists[what].input, word: what, needs: what })),
  { cap: "t", word: "text", needs: "text" },
  { cap: "0-9", word: "volume", needs: "volume" },
  { cap: "Tab", word: "next set" },
  { cap: "?", word: "help" },
  { cap: "q", word: "quit" },
];

/** `withheld`: the device could do it, but its settings or a missing pairing prevent it. */
export type Availability = "works" | "withheld";

/** The keys that work on this device. A device that withholds its keys may have any. */
export function availableBindings(view: DeviceView): readonly (Binding & { readonly availability: Availability })[] {
  const { device } = view;
  const hasChannels = device.kind === "tv" || availabilityOf(view, "channels") !== null;
  return bindings.flatMap((binding) => {
    const { key } = binding;
    if (typeof key === "number") return withAvailability(binding, availabilityOf(view, "seek"));
    if (key.startsWith("channel") && !hasChannels) return [];
    if (device.keys.some((one) => one === key) || alternativeTo(view, key)) return withAvailability(binding, "works");
    return withAvailability(binding, whyWithheld(view, "keys") ? "withheld" : null);
  });
}

/** What the remote itself can do with this device; `count`: how many devices there are. */
export function availableCommands(
  view: DeviceView | undefined,
  count: number,
): readonly { cap: string; word: string; availability: Availability }[] {
  return commands.flatMap((command) => {
    const { needs, word } = command;
    if (needs) return withAvailability(command, view ? availabilityOf(view, needs) : null);
    return withAvailability(command, word === "next set" && count < 2 ? null : "works");
  });
}

function withAvailability<T>(
  what: T,
  availability: Availability | null,
): (T & { readonly availability: Availability })[] {
  return availability === null ? [] : [{ ...what, availability }];
}

export function availabilityOf(view: DeviceView, capability: Capability): Availability | null {
  if (view.device.capabilities.includes(capability)) return "works";
  return whyWithheld(view, capability) ? "withheld" : null;
}

/** The command that does the same as a key on a device without that key. */
export function alternativeTo(view: DeviceView, key: PressedKey): Command | null {
  const { device, state } = view;
  const can = (capability: Capability) => device.capabilities.includes(capability);
  if (key === "power") {
    const other = can("power_on") && isAsleep(view) ? "power-on" : "power-off";
    return other === "power-on" || device.keys.includes(other) ? press(other) : null;
  }
  if (key === "volume-up" || key === "volume-down")
    return can("volume") ? { operation: "setVolume", body: { step: key === "volume-up" ? 1 : -1 } } : null;
  if (key === "mute")
    return can("mute") ? { operation: "setVolume", body: { muted: state?.volume?.muted !== true } } : null;
  if (key !== "play-pause" || !can("playback")) return null;
  return { operation: "controlPlayback", body: { do: state?.playback?.status === "playing" ? "pause" : "play" } };
}

export function press(key: PressedKey): Command {
  return { operation: "pressKey", body: { key } };
}

/** Whether the device takes no keys now: off, in standby or offline. */
export function isAsleep({ device, state }: DeviceView): boolean {
  return device.status === "offline" || isPowerOff(state?.power ?? device.power);
}

/** Why the device withholds a capability, where it does. */
export function whyWithheld({ device }: DeviceView, capability: Capability): Device["withheld"][number] | undefined {
  return device.withheld.find((one) => one.capability === capability);
}

export type Capability = Device["capabilities"][number];
