import { bringToFront, changeChannel, endScreensaver, goHome, setMuted, setPlayback, stepVolume } from "./actions.ts";
import type { Model } from "./model.ts";
import { keep } from "./received.ts";

/** What a button does to what the set tells of itself; the rest moves a highlight that nobody sees. */
const ACTIONS: Readonly<Record<string, (model: Model) => void>> = {
  HOME: goHome,
  EXIT: goHome,
  POWER: (model) => model.togglePower(),
  VOLUMEUP: (model) => stepVolume(model, 1, "volumeUp"),
  VOLUMEDOWN: (model) => stepVolume(model, -1, "volumeDown"),
  MUTE: (model) => setMuted(model, !model.muted, "setMuted"),
  CHANNELUP: (model) => changeChannel(model, 1),
  CHANNELDOWN: (model) => changeChannel(model, -1),
  PLAY: (model) => model.playback && setPlayback(model, "playing"),
  PAUSE: (model) => model.playback && setPlayback(model, "paused"),
  STOP: (model) => setPlayback(model, null),
  NETFLIX: (model) => bringToFront(model, "netflix"),
  AMAZON: (model) => bringToFront(model, "amazon"),
};

/** The names of smart-tvs.md 8, and the others that bscpylgtv lists. */
const BUTTONS: ReadonlySet<string> = new Set([
  ...Object.keys(ACTIONS),
  ...["UP", "DOWN", "LEFT", "RIGHT", "ENTER", "BACK", "INFO", "QMENU", "MENU", "GUIDE", "LIST", "DASH", "ASTERISK"],
  ...["REWIND", "FASTFORWARD", "RECORD", "GOTOPREV", "GOTONEXT", "RED", "GREEN", "YELLOW", "BLUE", "CC", "SAP", "AD"],
  ...["INPUT_HUB", "MYAPPS", "PROGRAM", "SETTINGS", "SEARCH", "TELETEXT", "TEXTOPTION", "3D_MODE", "SCREEN_REMOTE"],
  ...Array.from({ length: 10 }, (_, digit) => String(digit)),
]);

/** No word ever comes back, not for a button that does not exist either (smart-tvs.md 2.4). */
export function pressButton(model: Model, name: string): void {
  if (!BUTTONS.has(name)) {
    model.emit({ type: "refused", uri: "pointer", error: "unknown button", text: `unknown button "${name}"` });
    return;
  }
  keep(model.received.buttons, name);
  model.emit({ type: "button", name, text: `button ${name.toLowerCase()}` });
  feelButton(model, name);
}

/** What a button does, whichever remote it is on. */
export function feelButton(model: Model, name: string): void {
  if (!BUTTONS.has(name)) throw new Error(`no remote has a button "${name}"`);
  endScreensaver(model);
  ACTIONS[name]?.(model);
}

/** Frames are lines of `name:value`, each frame ended by an empty line (smart-tvs.md 2.4). */
export function takeFrames(model: Model, text: string): void {
  for (const frame of text.split("\n\n").filter((one) => one.trim() !== "")) {
    const lines = frame.split("\n").map((line) => line.split(":"));
    const field = (name: string) => lines.find(([key]) => key?.trim() === name)?.[1]?.trim() ?? "";
    const type = field("type");
    if (type === "button") pressButton(model, field("name"));
    else if (type === "click" || type === "move" || type === "scroll")
      point(model, type, Number(field("dx")) || 0, Number(field("dy")) || 0);
  }
}

function point(model: Model, action: "click" | "move" | "scroll", dx: number, dy: number): void {
  keep(model.received.pointer, { action, dx, dy });
  endScreensaver(model);
  model.emit({ type: "pointer", action, dx, dy, text: action === "click" ? "click" : `${action} ${dx} ${dy}` });
}
