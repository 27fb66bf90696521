import { goHome, launch } from "./apps.ts";
import { INPUT_KEYS, type Key, spoken } from "./keys.ts";
import { findApp, type Model } from "./model.ts";
import { SKIP_MS, skip, togglePause } from "./playback.ts";

const KEPT_KEYS = 10_000;

/** A key that went down, alone or as the first half of a press. */
export function pressKey(model: Model, key: Key, action: "press" | "down"): void {
  if (action === "down") model.held.add(word(key));
  if ("character" in key) return typeCharacter(model, key.character);
  record(model, key.name);
  const text = action === "press" ? `key ${spoken(key.name)}` : `key ${spoken(key.name)} held`;
  model.emit({ type: "key", key: key.name, action, text });
  act(model, key.name);
}

/** False for a key that was not held: the set answers 202 then (1.2). */
export function releaseKey(model: Model, key: Key): boolean {
  if (!model.held.delete(word(key))) return false;
  if ("name" in key) model.emit({ type: "key", key: key.name, action: "up", text: `key ${spoken(key.name)} released` });
  return true;
}

function word(key: Key): string {
  return "name" in key ? key.name : `Lit_${key.character}`;
}

function record(model: Model, key: string): void {
  model.keys.push(key);
  if (model.keys.length > KEPT_KEYS) model.keys.shift();
}

function typeCharacter(model: Model, character: string): void {
  model.emit({ type: "text", character, text: `text "${character}"` });
  if (model.power === "on") model.text += character;
}

function act(model: Model, key: string): void {
  if (POWER[key] !== undefined) return POWER[key](model);
  // A set in standby takes the request and does nothing: PowerOn and Power wake it, other keys do not.
  if (model.power !== "on") return;
  model.screensaver = false;
  const input = INPUT_KEYS[key];
  if (input !== undefined) launchInput(model, input);
  else ACTIONS[key]?.(model);
}

function launchInput(model: Model, id: string): void {
  if (findApp(model, id) !== undefined) launch(model, id, {});
}

export function turnOn(model: Model): void {
  if (model.power === "on") return;
  model.power = "on";
  model.emit({ type: "power", power: "on", text: "power on" });
}

export function turnOff(model: Model): void {
  if (model.power !== "on") return;
  goHome(model);
  model.power = "standby";
  model.emit({ type: "power", power: "standby", text: "power standby" });
}

// A player keeps PowerOn: the key only reaches the TV it feeds (1.3).
const isTv = (model: Model) => model.identity.kind === "tv";

const POWER: Readonly<Record<string, (model: Model) => void>> = {
  PowerOn: turnOn,
  PowerOff: (model) => isTv(model) && turnOff(model),
  Power: (model) => (model.power !== "on" ? turnOn(model) : isTv(model) && turnOff(model)),
};

const ACTIONS: Readonly<Record<string, (model: Model) => void>> = {
  Home: goHome,
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
    if (hasVolume(model)) model.muted = !model.muted;
  },
  ChannelUp: (model) => changeChannel(model, 1),
  ChannelDown: (model) => changeChannel(model, -1),
};

export function hasVolume(model: Model): boolean {
  return model.identity.kind === "tv" || model.identity.kind === "soundbar";
}

// As measured on a TV with OS 15: one step a press on a scale of 100, up ends the mute, down does not, 0 is muted.
function changeVolume(model: Model, by: number): void {
  if (!hasVolume(model)) return;
  model.volume = Math.max(0, Math.min(100, model.volume + by));
  model.muted = model.volume === 0 || (by < 0 && model.muted);
}

function changeChannel(model: Model, by: number): void {
  const { active, channel, channels } = model;
  if (active !== "tvinput.dtv" || channel === null) return;
  const next = (channels.indexOf(channel) + by + channels.length) % channels.length;
  model.channel = channels[next] ?? null;
}
