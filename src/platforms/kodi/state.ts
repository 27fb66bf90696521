/** Reading what a Kodi does and shows (players.md 7.2): each part may fail alone. */
import { ZapdError } from "../../api/errors.ts";
import { until } from "../../system/sleep.ts";
import { asJson, flag, isJson, type Json, number, text } from "../../transport/json.ts";
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
  return device.pushed.describe(device.pushed.read(await readAll(device, signal), since));
}

async function readAll(device: KodiDevice, signal: AbortSignal): Promise<Reading> {
  const volume = device.read("Application.GetProperties", { properties: ["volume", "muted"] }, signal);
  const [application, playing, booleans, folder] = await Promise.allSettled([
    volume,
    readPlayer(device, signal),
    device.read("XBMC.GetInfoBooleans", { booleans: ["System.ScreenSaverActive"] }, signal),
    folderOf(device, signal),
  ]);
  // A Kodi that does not answer one of them answers none: nothing is told of what is not there.
  if (application.status === "rejected" && (playing.status === "rejected" || unreachable(application.reason)))
    throw application.reason;
  const { volume: said, muted } = settledValue(application);
  const level = number(said);
  return {
    playing: playing.status === "fulfilled" ? playing.value : null,
    volume: { level: level === null ? null : Math.round(level), muted: flag(muted) },
    screensaver: flag(settledValue(booleans)["System.ScreenSaverActive"]),
    folder: folder.status === "fulfilled" ? folder.value : null,
  };
}

function unreachable(reason: unknown): boolean {
  return isJson(reason) && reason["code"] !== "device_refused" && reason["code"] !== "device_error";
}

function settledValue(settled: PromiseSettledResult<Json>): Json {
  return settled.status === "fulfilled" ? settled.value : {};
}

/** What plays. Of a player whose place another has taken between two questions nothing is told (-32100): it is looked at again. */
export async function readPlayer(device: KodiDevice, signal: AbortSignal): Promise<Playing | null> {
  for (let looks = 1; ; looks++) {
    const [playerid] = await device.players(signal);
    if (playerid === undefined) return null;
    try {
      return await readPlayerOf(device, playerid, signal);
    } catch (error) {
      if (codeOf(error) !== -32_100 || looks === 3) throw error;
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

// Dialogs take everything that is sent, and Kodi says OK all the same (7.3): what is done is looked at.

/** It shows that it is busy, and takes nothing, while it opens something; then it is over by itself. */
const busyFor = 5_000;

/** Before a command: fails when a dialog is open, with its name. */
export async function refuseIfDialog(device: KodiDevice, signal: AbortSignal): Promise<void> {
  let window = await windowOf(device, signal);
  const isOver = async () => {
    window = await windowOf(device, signal);
    return window.id !== busyWindow;
  };
  if (window.id === busyWindow) await until(isOver, { timeoutMs: busyFor, signal });
  if (isDialog(window)) throw dialogOpen(window);
}

/** After a command without effect: fails with the name of the dialog that may have taken it. */
export async function blameDialog(device: KodiDevice, signal: AbortSignal): Promise<void> {
  const window = await windowOf(device, signal);
  if (isDialog(window)) throw dialogOpen(window);
}

export function dialogOpen({ id, label }: Window): ZapdError {
  if (id === busyWindow)
    return new ZapdError("device_busy", "is busy, and takes nothing", { hint: "Try again in a moment" });
  return new ZapdError("device_refused", `has a dialog open (${label || id}), which takes all that is sent`, {
    hint: "Answer it with zapd key select -d {device}, or close it with zapd key back -d {device}",
  });
}
