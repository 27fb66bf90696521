/** Key codes of an Android TV (players.md 9). */
import { type Key, keysIn } from "../platform.ts";

export const keyCodes = {
  home: 3,
  back: 4,
  up: 19,
  down: 20,
  left: 21,
  right: 22,
  select: 23,
  play: 126,
  pause: 127,
  "play-pause": 85,
  stop: 86,
  rewind: 89,
  "fast-forward": 90,
  replay: 273,
  skip: 272,
  "volume-up": 24,
  "volume-down": 25,
  mute: 164,
  "channel-up": 166,
  "channel-down": 167,
  search: 84,
  info: 165,
  options: 82,
} as const satisfies Partial<Record<Key, number>>;

/** Keys that a streaming box does not have. */
const televisionCodes = {
  "input-hdmi1": 243,
  "input-hdmi2": 244,
  "input-hdmi3": 245,
  "input-hdmi4": 246,
  "input-av": 247,
  "input-tuner": 170,
} as const satisfies Partial<Record<Key, number>>;

export const allCodes: Readonly<Partial<Record<Key, number>>> = { ...keyCodes, ...televisionCodes };

/** `power` toggles; `sleep` and `wake` do not (players.md 4.3). */
export const codes = { sleep: 223, wake: 224, power: 26, next: 87, previous: 88 } as const;

export function keysOf(isStreamingBox: boolean): ReadonlySet<Key> {
  return new Set<Key>([...keysIn(isStreamingBox ? keyCodes : allCodes), "power", "power-on", "power-off"]);
}
