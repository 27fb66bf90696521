/** The keys of the remote and their effects. */
import { pushCapped, words } from "../bench/set.ts";
import { goHome, launch, SKIP_MS, skip, togglePause } from "./apps.ts";
import type { Model } from "./model.ts";
import { CHANNELS } from "./options.ts";

/** The keys a set accepts, as it names them (1.8). `PowerToggle` and `Sleep` are refused. */
const KEYS = words(`
  Home Rev Fwd Play Select Left Right Down Up Back
  InstantReplay Info Backspace Search Enter FindRemote
  VolumeUp VolumeDown VolumeMute Power PowerOn PowerOff ChannelUp ChannelDown
  InputTuner InputHDMI1 InputHDMI2 InputHDMI3 InputHDMI4 InputAV1
`);

/** The input that each key selects. */
const INPUT_KEYS: Readonly<Record<string, string>> = {
  InputTuner: "tvinput.dtv",
  InputHDMI1: "tvinput.hdmi1",
  InputHDMI2: "tvinput.hdmi2",
  InputHDMI3: "tvinput.hdmi3",
  InputHDMI4: "tvinput.hdmi4",
  InputAV1: "tvinput.cvbs",
};

const byLowerCase = new Map(KEYS.map((key) => [key.toLowerCase(), key]));

type Key = { name: string } | { character: string };

/** Null for an unknown key, or for `Lit_` without exactly one character. */
export function parseKey(keyName: string): Key | null {
  if (/^lit_/i.test(keyName)) {
    const [character, ...rest] = [...keyName.slice(4)];
    return character !== undefined && rest.length === 0 ? { character } : null;
  }
  const name = byLowerCase.get(keyName.toLowerCase());
  return name === undefined ? null : { name };
}

/** `volume up` for `VolumeUp`. */
export function keyWords(key: string): string {
  return key.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
}

/** Handles a press, or the `down` of a held key. */
export function pressKey(model: Model, key: Key, action: "press" | "down"): void {
  if (action === "down") model.held.add(word(key));
  if ("character" in key) return typeCharacter(model, key.character);
  pushCapped(model.keys, key.name);
  const text = action === "press" ? `key ${keyWords(key.name)}` : `key ${keyWords(key.name)} held`;
  model.emit("key", text);
  performKey(model, key.name);
}

/** False for a key that was not down, which gets 202 (1.2). */
export function releaseKey(model: Model, key: Key): boolean {
  if (!model.held.delete(word(key))) return false;
  if ("name" in key) model.emit("key", `key ${keyWords(key.name)} released`);
  return true;
}

function word(key: Key): string {
  return "name" in key ? key.name : `Lit_${key.character}`;
}

function typeCharacter(model: Model, character: string): void {
  model.emit("text", `text "${character}"`);
  if (model.power === "on") model.text += character;
}

function performKey(model: Model, key: string): void {
  if (POWER[key] !== undefined) return POWER[key](model);
  // In standby only PowerOn and Power have an effect; other keys are accepted and ignored.
  if (model.power !== "on") return;
  model.screensaver = false;
  const input = INPUT_KEYS[key];
  if (input !== undefined) launch(model, input, {});
  else ACTIONS[key]?.(model);
}

export function turnOn(model: Model): void {
  if (model.power === "on") return;
  model.power = "on";
  model.emit("power", "power on");
}

export function turnOff(model: Model): void {
  if (model.power !== "on") return;
  goHome(model);
  model.power = "standby";
  model.emit("power", "power standby");
}

// A player stays on: its power keys only reach the TV over HDMI (1.3).
const POWER: Readonly<Record<string, (model: Model) => void>> = {
  PowerOn: turnOn,
  PowerOff: (model) => model.isTv && turnOff(model),
  Power: (model) => (model.power !== "on" ? turnOn(model) : model.isTv && turnOff(model)),
};

const ACTIONS: Readonly<Record<string, (model: Model) => void>> = {
  Home: (model) => {
    const { homeMs } = model.options;
    if (homeMs === 0) goHome(model);
    else setTimeout(goHome, homeMs, model);
  },
  Play: (model) => model.playback && togglePause(model.playback),
  Fwd: (model) => model.playback && skip(model.playback, SKIP_MS),
  Rev: (model) => model.playback && skip(model.playback, -SKIP_MS),
  InstantReplay: (model) => model.playback && skip(model.playback, -SKIP_MS),
  Backspace: (model) => {
    model.text = [...model.text].slice(0, -1).join("");
  },
  VolumeUp: (model) => changeVolume(model, 1),
  VolumeDown: (model) => changeVolume(model, -1),
  VolumeMute: (model) => {
    if (model.hasVolume) model.muted = !model.muted;
  },
  ChannelUp: (model) => changeChannel(model, 1),
  ChannelDown: (model) => changeChannel(model, -1),
};

// Measured on a TV with OS 15: a press is one step of 100; up ends muting, down does not; 0 counts as muted.
function changeVolume(model: Model, by: number): void {
  if (!model.hasVolume) return;
  model.volume = Math.max(0, Math.min(100, model.volume + by));
  model.muted = model.volume === 0 || (by < 0 && model.muted);
}

function changeChannel(model: Model, by: number): void {
  const { active, channel } = model;
  if (active !== "tvinput.dtv" || channel === null) return;
  const next = (CHANNELS.indexOf(channel) + by + CHANNELS.length) % CHANNELS.length;
  model.channel = CHANNELS[next] ?? null;
}
