import { words } from "../../bench/set.ts";
import { type Method, type Methods, method, required } from "../method.ts";
import type { Model } from "../model.ts";
import { takeScreenshot } from "../pictures.ts";
import { openChannel, pause, playerEvent, setSpeed, stop } from "../playback.ts";
import { flag, oneOf, text } from "../schema.ts";
import { closeDialog, go, goBack, HOME, openDialog } from "../windows.ts";
import { changeVolume, setMuted } from "./application.ts";
import { faster } from "./player.ts";

/** A key; the result is OK whether or not it has an effect (players.md 7.3). */
const key = (name: string, act: (model: Model) => void = () => {}): [string, Method] => [
  `Input.${name}`,
  method({}, (model) => {
    model.emit("key", `key ${name.toLowerCase()}`);
    // The first key only ends the screensaver.
    if (model.screensaver) endScreensaver(model);
    else act(model);
  }),
];

export function endScreensaver(model: Model): void {
  model.screensaver = false;
  model.notify("GUI.OnScreensaverDeactivated", { shuttingdown: false });
}

const back = (model: Model) => (model.dialog === null ? goBack(model) : closeDialog(model));

const ACTIONS: Readonly<Record<string, (model: Model) => void>> = {
  ...Object.fromEntries(words("noop up down left right info osd").map((name) => [name, () => {}])),
  back,
  select,
  contextmenu: contextMenu,
  pause: playPause,
  playpause: playPause,
  stop: (model) => stop(model, false),
  fastforward: (model) => wind(model, 1),
  rewind: (model) => wind(model, -1),
  // pykodi changes the volume by these.
  volumeup: (model) => changeVolume(model, model.volume + 1),
  volumedown: (model) => changeVolume(model, model.volume - 1),
  mute: (model) => setMuted(model, !model.muted),
  channelup: (model) => changeChannel(model, 1),
  channeldown: (model) => changeChannel(model, -1),
  playpvrtv: (model) => changeChannel(model, 0),
  // Without a folder for screenshots it opens a dialog to choose one (Kodi 20.1, ran).
  screenshot(model) {
    if (model.screenshots === null) openDialog(model, "browser");
    else takeScreenshot(model, model.screenshots.folder);
  },
};

export const input: Methods = {
  ...Object.fromEntries([
    ...words("Up Down Left Right Info ShowOSD ShowPlayerProcessInfo").map((name) => key(name)),
    key("Home", (model) => model.dialog === null && go(model, HOME)),
    key("Back", back),
    key("Select", select),
    key("ContextMenu", contextMenu),
  ]),
  "Input.ExecuteAction": method({ action: required(oneOf(...Object.keys(ACTIONS))) }, (model, { action }) => {
    // The first action only ends the screensaver (Kodi 20.1, ran).
    if (model.screensaver) endScreensaver(model);
    else {
      model.emit("key", `action ${String(action)}`);
      ACTIONS[String(action)]?.(model);
    }
  }),
  // The text replaces that of the field; without a keyboard the result is OK too (players.md 7.3).
  "Input.SendText": method({ text: required(text), done: flag }, (model, params) => {
    const characters = String(params["text"]);
    if (model.dialog?.input === undefined) return;
    model.dialog.text = characters;
    model.typed = characters;
    model.emit("text", `text "${characters}"`);
    if (params["done"] !== false) closeDialog(model);
  }),
};

/** It toggles (players.md 7.3); audio has a second notification (Kodi 20.1, ran). */
function playPause(model: Model): void {
  const { playing } = model;
  if (playing === null) return;
  pause(model, playing, playing.speed !== 0);
  if (playing.kind === "audio") model.notify("Player.OnSpeedChanged", playerEvent(playing));
}

/** Has no effect while paused (players.md 7.3). */
function wind(model: Model, direction: 1 | -1): void {
  const { playing } = model;
  if (playing === null || playing.speed === 0) return;
  setSpeed(model, playing, faster(playing.speed, direction));
  model.notify("Player.OnSpeedChanged", playerEvent(playing));
}

function select(model: Model): void {
  if (model.dialog !== null) closeDialog(model);
}

function contextMenu(model: Model): void {
  if (model.dialog === null && model.folder !== "") openDialog(model, "context-menu");
}

function changeChannel(model: Model, by: number): void {
  const { channels } = model.options;
  // Has an effect only while a channel plays.
  if (by !== 0 && !model.playing?.channel) return;
  const at = channels.findIndex(({ id }) => id === model.lastChannel);
  const next = channels[(Math.max(0, at) + by + channels.length) % channels.length];
  if (next !== undefined) openChannel(model, next);
}
