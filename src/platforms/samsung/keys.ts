/** The keys of a Samsung TV (smart-tvs.md 8). */
import { type Key, keysIn, type PlatformInput } from "../platform.ts";

const samsungKeys: Readonly<Partial<Record<Key, string>>> = {
  home: "KEY_HOME",
  back: "KEY_RETURN",
  up: "KEY_UP",
  down: "KEY_DOWN",
  left: "KEY_LEFT",
  right: "KEY_RIGHT",
  select: "KEY_ENTER",
  play: "KEY_PLAY",
  pause: "KEY_PAUSE",
  stop: "KEY_STOP",
  rewind: "KEY_REWIND",
  "fast-forward": "KEY_FF",
  // Unverified, as that table says.
  replay: "KEY_QUICK_REPLAY",
  skip: "KEY_FF_",
  "volume-up": "KEY_VOLUP",
  "volume-down": "KEY_VOLDOWN",
  mute: "KEY_MUTE",
  "channel-up": "KEY_CHUP",
  "channel-down": "KEY_CHDOWN",
  "input-tuner": "KEY_TV",
  info: "KEY_INFO",
  options: "KEY_TOOLS",
};

/** TVs after 2018 ignore these: their inputs are switched over the cloud only (smart-tvs.md 3.3). */
const inputKeys: Readonly<Partial<Record<Key, string>>> = {
  "input-hdmi1": "KEY_HDMI1",
  "input-hdmi2": "KEY_HDMI2",
  "input-hdmi3": "KEY_HDMI3",
  "input-hdmi4": "KEY_HDMI4",
  "input-av": "KEY_AV1",
};
const lastYearWithInputs = 2018;

export const allKeys: Readonly<Partial<Record<Key, string>>> = { ...samsungKeys, ...inputKeys };

/** Whether a TV of this model year accepts the input keys. Without a year it counts as newer. */
export function hasInputs(year: number | undefined): boolean {
  return year !== undefined && year <= lastYearWithInputs;
}

/** The inputs by the words of their keys; the TV lists none. */
export const allInputs: readonly PlatformInput[] = [
  ...[1, 2, 3, 4].map((number) => ({ id: `hdmi${number}`, name: `HDMI ${number}` })),
  { id: "av", name: "AV" },
  { id: "tuner", name: "TV" },
];

export function inputCodeOf(id: string): string {
  return allKeys[`input-${id}` as Key] ?? "";
}

export const powerKey = "KEY_POWER";

/** The keys of a TV of this model year. */
export function keysOf(year: number | undefined, canWake: boolean): ReadonlySet<Key> {
  const own = keysIn(hasInputs(year) ? allKeys : samsungKeys);
  return new Set<Key>([...own, "play-pause", "power", "power-off", ...(canWake ? ["power-on" as const] : [])]);
}
