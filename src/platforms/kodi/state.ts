/** Reads the state of a Kodi (players.md 7.2); the failure of one part leaves the others. */
import { hasCode, ZapdError } from "../../api/errors.ts";
import { until } from "../../system/sleep.ts";
import { asJson, flag, type Json, number, text } from "../../transport/json.ts";
import type { PlatformState } from "../platform.ts";
import type { KodiDevice } from "./device.ts";
import {
  busyWindow,
  isDialog,
  itemProperties,
  type Playing,
  playingLabels,
  readPlaying,
  readWindow,
  type Window,
} from "./protocol.ts";
import type { Reading } from "./pushed.ts";
import { codeOf } from "./rpc.ts";

export async function readState(device: KodiDevice, signal: AbortSignal): Promise<PlatformState> {
  device.follow();
  const known = device.isFollowed ? device.pushed.fresh : null;
  if (known) return device.pushed.describe(known);
  const since = performance.now();
  return device.pushed.describe(device.pushed.store(await readAll(device, signal), since));
}

async function readAll(device: KodiDevice, signal: AbortSignal): Promise<Reading> {
  const [application, playing, screensaver, folder] = await Promise.allSettled([
    device.read("Application.GetProperties", { properties: ["volume", "muted"] }, signal),
    readPlayer(device, signal),
    isScreenSaverOn(device, signal),
    folderOf(device, signal),
  ]);
  if (
    application.status === "rejected" &&
    (playing.status === "rejected" || !hasCode(application.reason, "device_refused", "device_error"))
  )
    throw application.reason;
  const { volume: reported, muted } = asJson(settledValue(application));
  const level = number(reported);
  return {
    playing: settledValue(playing),
    volume: { level: level === null ? null : Math.round(level), muted: flag(muted) },
    screensaver: settledValue(screensaver),
    folder: settledValue(folder),
  };
}

function settledValue<T>(settled: PromiseSettledResult<T>): T | null {
  return settled.status === "fulfilled" ? settled.value : null;
}

/** The first key or action only ends it (Kodi 20.1, ran). */
export async function isScreenSaverOn(device: KodiDevice, signal: AbortSignal): Promise<boolean | null> {
  const saver = "System.ScreenSaverActive";
  return flag((await device.read("XBMC.GetInfoBooleans", { booleans: [saver] }, signal))[saver]);
}

/** What plays. Kodi answers -32100 when another player has taken over between two questions: then they are asked again. */
export async function readPlayer(device: KodiDevice, signal: AbortSignal): Promise<Playing | null> {
  for (let attempt = 1; ; attempt++) {
    const [playerid] = await device.players(signal);
    if (playerid === undefined) return null;
    try {
      return await readPlayerOf(device, playerid, signal);
    } catch (error) {
      if (codeOf(error) !== -32_100 || attempt === 3) throw error;
    }
  }
}

async function readPlayerOf(device: KodiDevice, playerid: number, signal: AbortSignal): Promise<Playing> {
  const [properties, read, labels] = await Promise.all([
    device.read("Player.GetProperties", { playerid, properties: ["speed", "time", "totaltime", "live"] }, signal),
    device.read("Player.GetItem", { playerid, properties: itemProperties }, signal).catch((): Json => ({})),
    device.read("XBMC.GetInfoLabels", { labels: playingLabels }, signal).catch((): Json => ({})),
  ]);
  return readPlaying(playerid, properties, asJson(read["item"]), labels);
}

/** The add-on whose folder is open. */
export async function folderOf(device: KodiDevice, signal: AbortSignal): Promise<string | null> {
  const label = "Container.PluginName";
  return text((await device.read("XBMC.GetInfoLabels", { labels: [label] }, signal))[label]);
}

/** The window in front. */
export async function windowOf(device: KodiDevice, signal: AbortSignal): Promise<Window> {
  return readWindow(await device.read("GUI.GetProperties", { properties: ["currentwindow"] }, signal));
}

// Kodi answers OK to a command that an open dialog has swallowed (7.3).

/** While Kodi opens something it shows a busy dialog, which goes away by itself. */
const busyTimeoutMs = 5_000;

/** Called before a command: fails with the name of the dialog that is open. */
export async function refuseIfDialog(device: KodiDevice, signal: AbortSignal): Promise<void> {
  let window = await windowOf(device, signal);
  const isOver = async () => {
    window = await windowOf(device, signal);
    return window.id !== busyWindow;
  };
  if (window.id === busyWindow) await until(isOver, { timeoutMs: busyTimeoutMs, signal });
  if (isDialog(window)) throw dialogOpen(window);
}

/** Called after a command without effect: fails with the name of the dialog that may have swallowed it. */
export async function blameDialog(device: KodiDevice, signal: AbortSignal): Promise<void> {
  const window = await windowOf(device, signal);
  if (isDialog(window)) throw dialogOpen(window);
}

export function dialogOpen({ id, label }: Window): ZapdError {
  if (id === busyWindow)
    return new ZapdError("device_busy", "is busy and accepts no commands", { hint: "Try again in a moment" });
  return new ZapdError("device_refused", `has a dialog open (${label || id}), which blocks all commands`, {
    hint: "Answer it with zapd key select -d {device}, or close it with zapd key back -d {device}",
  });
}
