/** The keys a set accepts, as it names them (1.8). `PowerToggle` and `Sleep` are refused. */
export const KEYS = [
  ...["Home", "Rev", "Fwd", "Play", "Select", "Left", "Right", "Down", "Up", "Back"],
  ...["InstantReplay", "Info", "Backspace", "Search", "Enter", "FindRemote"],
  ...["VolumeUp", "VolumeDown", "VolumeMute", "Power", "PowerOn", "PowerOff", "ChannelUp", "ChannelDown"],
  ...["InputTuner", "InputHDMI1", "InputHDMI2", "InputHDMI3", "InputHDMI4", "InputAV1"],
];

/** The input each key switches to. */
export const INPUT_KEYS: Readonly<Record<string, string>> = {
  InputTuner: "tvinput.dtv",
  InputHDMI1: "tvinput.hdmi1",
  InputHDMI2: "tvinput.hdmi2",
  InputHDMI3: "tvinput.hdmi3",
  InputHDMI4: "tvinput.hdmi4",
  InputAV1: "tvinput.cvbs",
};

const byLowerCase = new Map(KEYS.map((key) => [key.toLowerCase(), key]));

export type Key = { name: string } | { character: string };

/** Null for what the set does not know: a word of no key, or `Lit_` without exactly one character. */
export function parseKey(word: string): Key | null {
  if (/^lit_/i.test(word)) {
    const [character, ...rest] = [...word.slice(4)];
    return character !== undefined && rest.length === 0 ? { character } : null;
  }
  const name = byLowerCase.get(word.toLowerCase());
  return name === undefined ? null : { name };
}

/** `VolumeUp` as `volume up`: for people. */
export function spoken(key: string): string {
  return key.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
}
