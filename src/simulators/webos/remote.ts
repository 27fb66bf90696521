/** Effects on a set, from the network or its remote. */
import { objectIn } from "../bench/json.ts";
import { pushCapped, words } from "../bench/set.ts";
import { type Launched, type Model, type PlayState, titleOf } from "./model.ts";
import { CHANNELS, HOME, LIVE_TV, type SimulatedChannel } from "./options.ts";

export function setVolume(model: Model, level: number, cause: string): void {
  const bounded = Math.max(0, Math.min(100, level));
  const changed = bounded === model.volume ? [] : ["volume"];
  model.volume = bounded;
  announceVolume(model, changed, cause);
}

/** Up ends muting; no source says that down does not. */
export function stepVolume(model: Model, by: 1 | -1, cause: string): void {
  if (by > 0) setMuted(model, false, cause);
  setVolume(model, model.volume + by, cause);
}

export function setMuted(model: Model, muted: boolean, cause: string): void {
  const changed = muted === model.muted ? [] : ["muted"];
  model.muted = muted;
  announceVolume(model, changed, cause);
}

function announceVolume(model: Model, changed: readonly string[], cause: string): void {
  if (changed.length === 0) return;
  const { volume: level, muted } = model;
  model.emit("volume", muted ? `volume ${level}, muted` : `volume ${level}`);
  model.feeds.changed("volume", { changed, cause });
}

export function launch(model: Model, launched: Launched): void {
  const { id, params } = pushCapped(model.received.launches, launched);
  const words = Object.entries(params).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
  const text = `launched "${titleOf(model, id)}"${words.join("")}`;
  // The media is listed in `payload`, in the form of DLNA.
  const [media] = Array.isArray(params["payload"]) ? params["payload"] : [];
  const url = objectIn(media)["fullPath"];
  model.emit("launch", text, typeof url === "string" ? url : undefined);
  bringToFront(model, id);
}

export function bringToFront(model: Model, id: string): void {
  if (model.active === id) return;
  model.active = id;
  model.activeSince = Date.now();
  model.running.add(id);
  if (id === LIVE_TV && model.options.tuner) model.channel ??= CHANNELS[0] ?? null;
  setPlayback(model, null);
  model.feeds.changed("app");
}

export function closeApp(model: Model, id: string): void {
  if (id !== fallback(model)) model.running.delete(id);
  model.emit("close", `closed "${titleOf(model, id)}"`);
  if (model.active === id) bringToFront(model, fallback(model));
}

/** The app shown when the one in front is closed. No source says which app sets without a home app show. */
function fallback({ firmware, options }: Model): string {
  return firmware.homeApp || !options.tuner ? HOME : LIVE_TV;
}

function goHome(model: Model): void {
  if (model.firmware.homeApp) bringToFront(model, HOME);
}

export function setPlayback(model: Model, playState: PlayState | null): void {
  const playback = playState === null ? null : { appId: model.active, playState };
  if (playback === null && model.playback === null) return;
  model.playback = playback;
  model.feeds.changed("media");
}

export function changeChannel(model: Model, by: 1 | -1): void {
  if (model.active !== LIVE_TV || model.channel === null) return;
  const at = CHANNELS.indexOf(model.channel) + by + CHANNELS.length;
  tune(model, CHANNELS[at % CHANNELS.length] ?? model.channel);
}

/** Has no visible effect while another app than live TV is in front. */
export function tune(model: Model, channel: SimulatedChannel): void {
  model.channel = channel;
  model.feeds.changed("channel");
}

/** Types into the focused field; without one the text is lost. */
export function typeText(model: Model, text: string, replace: boolean): void {
  pushCapped(model.received.texts, text);
  model.emit("text", `text "${text}"`);
  if (model.focused) model.text = replace ? text : model.text + text;
}

export function setFocus(model: Model, focused: boolean): void {
  if (model.focused === focused) return;
  model.focused = focused;
  model.text = "";
  model.feeds.changed("keyboard", { focusChanged: true });
}

/** Buttons with an effect on the state; other buttons only move the highlight. */
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
  ...words(`
    UP DOWN LEFT RIGHT ENTER BACK INFO QMENU MENU GUIDE LIST DASH ASTERISK
    REWIND FASTFORWARD RECORD GOTOPREV GOTONEXT RED GREEN YELLOW BLUE CC SAP AD
    INPUT_HUB MYAPPS PROGRAM SETTINGS SEARCH TELETEXT TEXTOPTION 3D_MODE SCREEN_REMOTE
  `),
  ...Array.from({ length: 10 }, (_, digit) => String(digit)),
]);

/** There is never a response, not even for an unknown button (smart-tvs.md 2.4). */
function pressButton(model: Model, name: string): void {
  if (!BUTTONS.has(name)) {
    model.emit("refused", `unknown button "${name}"`);
    return;
  }
  pushCapped(model.received.buttons, name);
  model.emit("button", `button ${name.toLowerCase()}`);
  applyButton(model, name);
}

/** The effect of a button, from the network or the original remote. */
export function applyButton(model: Model, name: string): void {
  if (!BUTTONS.has(name)) throw new Error(`no remote has a button "${name}"`);
  ACTIONS[name]?.(model);
}

/** Handles pointer frames: lines of `name:value`, ended by an empty line (smart-tvs.md 2.4). */
export function handleFrames(model: Model, text: string): void {
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
  pushCapped(model.received.pointer, { action, dx, dy });
  model.emit("pointer", action === "click" ? "click" : `${action} ${dx} ${dy}`);
}
