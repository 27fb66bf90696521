/**
 * The keys of a Roku (protocols/roku.md 1.8): the set's own word for each normalized key, and what a set must have for
 * it. A Roku has no stop and no skip key; its star button, called `Info`, is both info and options.
 */
import type { Key } from "../platform.ts";

interface RokuKey {
  /** The word in `/keypress/<word>`. */
  readonly word: string;
  /** The key is there only when the set has this. */
  readonly needs?: "volume" | "power" | "inputs";
}

export const rokuKeys: Partial<Record<Key, RokuKey>> = {
  home: { word: "Home" },
  back: { word: "Back" },
  up: { word: "Up" },
  down: { word: "Down" },
  left: { word: "Left" },
  right: { word: "Right" },
  select: { word: "Select" },
  // One key that toggles: `play` and `pause` look at the player first (adapter.ts).
  play: { word: "Play" },
  pause: { word: "Play" },
  "play-pause": { word: "Play" },
  rewind: { word: "Rev" },
  "fast-forward": { word: "Fwd" },
  replay: { word: "InstantReplay" },
  search: { word: "Search" },
  info: { word: "Info" },
  options: { word: "Info" },
  "volume-up": { word: "VolumeUp", needs: "volume" },
  "volume-down": { word: "VolumeDown", needs: "volume" },
  mute: { word: "VolumeMute", needs: "volume" },
  power: { word: "Power", needs: "power" },
  "power-on": { word: "PowerOn", needs: "power" },
  "power-off": { word: "PowerOff", needs: "power" },
  "channel-up": { word: "ChannelUp", needs: "inputs" },
  "channel-down": { word: "ChannelDown", needs: "inputs" },
  "input-hdmi1": { word: "InputHDMI1", needs: "inputs" },
  "input-hdmi2": { word: "InputHDMI2", needs: "inputs" },
  "input-hdmi3": { word: "InputHDMI3", needs: "inputs" },
  "input-hdmi4": { word: "InputHDMI4", needs: "inputs" },
  "input-av": { word: "InputAV1", needs: "inputs" },
  "input-tuner": { word: "InputTuner", needs: "inputs" },
};
