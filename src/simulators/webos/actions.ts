import { HOME, LIVE_TV } from "./defaults.ts";
import { type Model, type PlayState, titleOf } from "./model.ts";
import { keep, type Launched } from "./received.ts";

/** What can be done to the set, whether over the network or with the remote. */

export function setVolume(model: Model, level: number, cause: string): void {
  const bounded = Math.max(0, Math.min(100, level));
  const changed = bounded === model.volume ? [] : ["volume"];
  model.volume = bounded;
  tellVolume(model, changed, cause);
}

/** Up ends the mute; that down does not is in no source. */
export function stepVolume(model: Model, by: 1 | -1, cause: string): void {
  if (by > 0) setMuted(model, false, cause);
  setVolume(model, model.volume + by, cause);
}

export function setMuted(model: Model, muted: boolean, cause: string): void {
  const changed = muted === model.muted ? [] : ["muted"];
  model.muted = muted;
  tellVolume(model, changed, cause);
}

function tellVolume(model: Model, changed: readonly string[], cause: string): void {
  if (changed.length === 0) return;
  const { volume: level, muted } = model;
  model.emit({ type: "volume", level, muted, text: muted ? `volume ${level}, muted` : `volume ${level}` });
  model.feeds.changed("volume", { changed, cause });
}

export function launch(model: Model, launched: Launched): void {
  const { id, params, contentId, target } = keep(model.received.launches, launched);
  const words = Object.entries(params).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
  const text = `launched "${titleOf(model, id)}"${target === null ? "" : ` ${target}`}${words.join("")}`;
  model.emit({ type: "launch", id, title: titleOf(model, id), params, contentId, text });
  bringToFront(model, id);
}

export function bringToFront(model: Model, id: string): void {
  endScreensaver(model);
  if (model.active === id) return;
  model.active = id;
  model.activeSince = Date.now();
  model.running.add(id);
  if (id === LIVE_TV) model.channel ??= model.behaviour.channels[0] ?? null;
  setPlayback(model, null);
  model.feeds.changed("app");
}

export function closeApp(model: Model, id: string): void {
  if (id !== fallback(model)) model.running.delete(id);
  model.emit({ type: "close", id, title: titleOf(model, id), text: `closed "${titleOf(model, id)}"` });
  if (model.active === id) bringToFront(model, fallback(model));
}

/** Without a home of its own the set falls back to live TV; which app real sets show then is in no source. */
function fallback({ firmware, behaviour }: Model): string {
  return firmware.homeApp || !behaviour.tuner ? HOME : LIVE_TV;
}

export function goHome(model: Model): void {
  if (model.firmware.homeApp) bringToFront(model, HOME);
}

export function setPlayback(model: Model, playState: PlayState | null): void {
  const playback = playState === null ? null : { appId: model.active, playState };
  if (playback === null && model.playback === null) return;
  model.playback = playback;
  model.feeds.changed("media");
}

export function setScreen(model: Model, screen: "on" | "off" | "saver"): void {
  if (model.screen === screen) return;
  model.screen = screen;
  model.feeds.changed("power");
}

export function endScreensaver(model: Model): void {
  if (model.screen === "saver") setScreen(model, "on");
}

export function changeChannel(model: Model, by: 1 | -1): void {
  const { channels } = model.behaviour;
  if (model.active !== LIVE_TV || model.channel === null) return;
  const at = channels.indexOf(model.channel) + by + channels.length;
  model.channel = channels[at % channels.length] ?? null;
  model.feeds.changed("channel");
}

/** Text for the field in front; without one it is lost. */
export function typeText(model: Model, text: string, replace: boolean): void {
  keep(model.received.texts, text);
  model.emit({ type: "text", value: text, text: `text "${text}"` });
  if (model.focused) model.text = replace ? text : model.text + text;
}

export function deleteText(model: Model, count: number): void {
  if (model.focused && count > 0) model.text = [...model.text].slice(0, -count).join("");
}

export function setFocus(model: Model, focused: boolean): void {
  if (model.focused === focused) return;
  model.focused = focused;
  model.text = "";
  model.feeds.changed("keyboard", { focusChanged: true });
}
