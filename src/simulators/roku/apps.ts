/** Launching and leaving apps, and playback in them. */
import { printRun, printStep } from "./console.ts";
import { appType, findApp, type Model } from "./model.ts";
import { CHANNELS, type SimulatedApp } from "./options.ts";

/** An app that plays the URL in its launch parameter `u` (CONTROLS.md). */
const MEDIA_ASSISTANT = "782875";

type LaunchOutcome = "launched" | "running" | "not-installed";

/** Launching a running app without parameters does nothing (1.8). */
export function launch(model: Model, id: string, params: Record<string, string>): LaunchOutcome {
  const app = findApp(model, id);
  if (app === undefined) return "not-installed";
  const current = model.launching?.id ?? model.active;
  if (current === id && Object.keys(params).length === 0) return "running";
  model.lastLaunch = { id, params };
  // No source says whether a launch wakes a sleeping set: here it is accepted without effect.
  if (model.power !== "on") return "launched";
  startLaunch(model, app, params, current === id);
  return "launched";
}

function startLaunch(model: Model, app: SimulatedApp, params: Record<string, string>, restart: boolean): void {
  cancelLaunch(model);
  model.screensaver = false;
  const words = Object.entries(params).map(([name, value]) => ` ${name}=${value}`);
  const text = `${appType(app) === "tvin" ? "input" : "launched"} "${app.name}"${words.join("")}`;
  model.emit("launch", text);
  if (restart) terminate(model, app.id);
  const arrive = () => {
    model.launching = null;
    bringToFront(model, app, params);
  };
  if (model.options.launchMs === 0) return arrive();
  model.launching = { id: app.id, timer: setTimeout(arrive, model.options.launchMs) };
}

export function bringToFront(model: Model, app: SimulatedApp, params: Record<string, string>): void {
  leaveApp(model, app.id);
  const resumed = model.background.delete(app.id);
  model.active = app.id;
  if (app.id === "tvinput.dtv") tune(model, params);
  if (app.id === MEDIA_ASSISTANT && params["u"] !== undefined)
    model.playback = startPlayback(app.id, { durationMs: 60_000 });
  if (app.id !== "dev") return;
  if (resumed) printStep(model, "Resume");
  else printRun(model, app.name);
}

// rokuecp sends the channel as ch, chan and lcn (1.8).
function tune(model: Model, params: Record<string, string>): void {
  const number = params.ch ?? params.chan ?? params.lcn;
  const wanted = CHANNELS.find((channel) => channel.number === number);
  model.channel = wanted ?? model.channel ?? CHANNELS[0] ?? null;
}

/** Leaves the app in front; one with Instant Resume stays in the background. */
function leaveApp(model: Model, next: string | null): void {
  const { active } = model;
  model.playback = null;
  model.active = null;
  if (active === null || active === next) return;
  const app = findApp(model, active);
  const stays = app !== undefined && appType(app) === "appl" && (app.instantResume ?? true);
  if (stays) model.background.add(active);
  if (active === "dev") printStep(model, stays ? "Suspend" : "Exit");
}

export function goHome(model: Model): void {
  cancelLaunch(model);
  model.screensaver = false;
  leaveApp(model, null);
}

/** Forgets what a loss of power forgets: background apps and held keys. */
export function forgetRunning(model: Model): void {
  goHome(model);
  model.background.clear();
  model.held.clear();
}

type ExitOutcome = "suspended" | "terminated" | "not-running";

/** Suspends the app in front if it can be; a second call terminates it (1.8). */
export function exitApp(model: Model, id: string, force: boolean): ExitOutcome {
  const inFront = (model.launching?.id ?? model.active) === id;
  if (!inFront && !model.background.has(id)) return "not-running";
  const name = findApp(model, id)?.name ?? id;
  if (inFront) goHome(model);
  const suspended = inFront && !force && model.background.has(id);
  if (!suspended) terminate(model, id);
  model.emit("exit", `${suspended ? "suspended" : "stopped"} "${name}"`);
  return suspended ? "suspended" : "terminated";
}

/** Ends an app in front or in the background. */
export function terminate(model: Model, id: string): void {
  const wasInBackground = model.background.delete(id);
  if (model.launching?.id === id) cancelLaunch(model);
  if (model.active === id) {
    model.active = null;
    model.playback = null;
  } else if (!wasInBackground) return;
  if (id === "dev") printStep(model, "Exit");
}

export function cancelLaunch(model: Model): void {
  if (model.launching !== null) clearTimeout(model.launching.timer);
  model.launching = null;
}

export function lifecycle(model: Model, id: string): "active" | "background" | "inactive" {
  if (model.active === id) return "active";
  return model.background.has(id) ? "background" : "inactive";
}

export interface Media {
  durationMs?: number;
}

export interface Playback {
  readonly app: string;
  readonly media: Media;
  paused: boolean;
  /** The position at the time `at`. */
  positionMs: number;
  at: number;
}

export const SKIP_MS = 10_000;

export function startPlayback(app: string, media: Media): Playback {
  return { app, media, paused: false, positionMs: 0, at: Date.now() };
}

export function position(playback: Playback): number {
  const elapsed = playback.paused ? 0 : Date.now() - playback.at;
  return Math.min(playback.positionMs + elapsed, playback.media.durationMs ?? Number.POSITIVE_INFINITY);
}

/** `close` at the end; the rest of the document stays, as on real sets (1.6). */
export function playbackState(playback: Playback): "play" | "pause" | "close" {
  const { durationMs } = playback.media;
  if (durationMs !== undefined && position(playback) >= durationMs) return "close";
  return playback.paused ? "pause" : "play";
}

export function togglePause(playback: Playback): void {
  skip(playback, 0);
  playback.paused = !playback.paused;
}

export function skip(playback: Playback, byMs: number): void {
  const end = playback.media.durationMs ?? Number.POSITIVE_INFINITY;
  playback.positionMs = Math.max(0, Math.min(position(playback) + byMs, end));
  playback.at = Date.now();
}
