/** Add-ons, favourites, channels and files: listed, launched and stopped, each with its effect read back (players.md 7.2, 7.3). */
import { ZapdError } from "../../api/errors.ts";
import { inParts, unlessSlept } from "../../system/clock.ts";
import { until } from "../../system/sleep.ts";
import { asJson, type Json, listOf, text } from "../../transport/json.ts";
import { type Confirmed, type DeepLink, noEffect, type PlatformApp } from "../platform.ts";
import type { KodiDevice } from "./device.ts";
import {
  addonOf,
  addressIn,
  busyWindow,
  channelPrefix,
  favouritePrefix,
  homeWindow,
  isDialog,
  readAddon,
  readFavourite,
} from "./protocol.ts";
import { codeOf } from "./rpc.ts";
import { blameDialog, dialogOpen, folderOf, readPlayer, refuseIfDialog, windowOf } from "./state.ts";
import { readChannels, showsChannel } from "./tuner.ts";

/** Only add-ons with content of these kinds are listed: most are libraries (7.2). */
const contents = ["video", "audio", "image", "executable"] as const;
const launchTimeoutMs = 6_000;
const stopTimeoutMs = 5_000;
const homeTimeoutMs = 1_500;
const windowTimeoutMs = 1_500;
const homePresses = 3;

export async function listApps(device: KodiDevice, signal: AbortSignal): Promise<PlatformApp[]> {
  const asked = contents.map((content) =>
    device.read("Addons.GetAddons", { content, enabled: true, properties: ["name", "version", "enabled"] }, signal),
  );
  const [favourites, ...addons] = await Promise.all([readFavourites(device, signal), ...asked]);
  const listed = [...addons.flatMap((one) => listOf(one, "addons")).map(readAddon), ...favourites.map(readFavourite)];
  const apps = new Map<string, PlatformApp>();
  for (const app of listed) if (app && !apps.has(app.platformId)) apps.set(app.platformId, app);
  for (const { platformId, name } of apps.values()) device.pushed.rememberName(platformId, name);
  return [...apps.values()];
}

async function readFavourites(device: KodiDevice, signal: AbortSignal): Promise<Json[]> {
  const properties = ["path", "window", "windowparameter", "thumbnail"];
  return listOf(await device.read("Favourites.GetFavourites", { properties }, signal), "favourites");
}

/** The favourite that an id stands for. */
export async function favouriteOf(device: KodiDevice, id: string, signal: AbortSignal): Promise<Json | undefined> {
  const title = id.slice(favouritePrefix.length);
  return (await readFavourites(device, signal)).find((one) => text(one["title"])?.trim() === title);
}

export async function launchApp(
  device: KodiDevice,
  id: string,
  params: DeepLink,
  signal: AbortSignal,
): Promise<Confirmed> {
  await unlessSlept(refuseIfDialog(device, signal));
  if (id.startsWith(favouritePrefix)) return openFavourite(device, id, signal);
  if (id.startsWith(channelPrefix)) return openChannel(device, Number(id.slice(channelPrefix.length)), signal);
  return /[:/\\]/.test(id) ? openFile(device, id, signal) : runAddon(device, id, params, signal);
}

/** Reads properties of one add-on. Fails with `app_not_found` where Kodi does not have it. */
export async function readAddonDetails(
  device: KodiDevice,
  addonid: string,
  properties: readonly string[],
  signal: AbortSignal,
): Promise<Json> {
  const details = await device
    .read("Addons.GetAddonDetails", { addonid, properties }, signal)
    .catch((error: unknown) => {
      throw codeOf(error) === -32_602 || codeOf(error) === -32_100 ? notInstalled(addonid) : error;
    });
  return asJson(details["addon"]);
}

async function runAddon(
  device: KodiDevice,
  addonid: string,
  params: DeepLink,
  signal: AbortSignal,
): Promise<Confirmed> {
  const options = Object.keys(params).length > 0 ? { params } : {};
  // `ExecuteAddon` answers OK for an add-on that is missing or disabled.
  const addon = await unlessSlept(readAddonDetails(device, addonid, ["enabled", "name"], signal));
  if (addon["enabled"] === false)
    throw new ZapdError("device_refused", `has ${addonid} installed, but disabled`, {
      hint: "Enable it in Kodi: Settings > Add-ons > My add-ons",
    });
  const name = text(addon["name"]);
  if (name !== null) device.pushed.rememberName(addonid, name);
  await device.command("Addons.ExecuteAddon", { addonid, ...options, wait: false }, signal);
  // Only the folder of a plug-in can be read back, not what a script does.
  if (!addonid.startsWith("plugin.")) return null;
  const isShown = async () =>
    (await folderOf(device, signal)) === addonid ||
    addonOf((await readPlayer(device, signal))?.path ?? null) === addonid;
  if (await shows(isShown, launchTimeoutMs, signal)) return true;
  await blameDialog(device, signal);
  return false;
}

async function openFavourite(device: KodiDevice, id: string, signal: AbortSignal): Promise<Confirmed> {
  const favourite = await unlessSlept(favouriteOf(device, id, signal));
  if (!favourite) throw notInstalled(`favourite "${id.slice(favouritePrefix.length)}"`);
  const { type, windowparameter } = favourite;
  const path = addressIn(favourite["path"]);
  if (type === "media" && path !== null) return openFile(device, path, signal);
  if (type === "script" && path !== null)
    return runAddon(device, path.replace(/^RunScript\("?|"?\)$/g, ""), {}, signal);
  const parameters = addressIn(windowparameter);
  if (type !== "window" || (parameters === null && windowparameter))
    throw new ZapdError("device_refused", "has that favourite, but cannot open it by remote control");
  const before = await unlessSlept(windowOf(device, signal));
  await device.command(
    "GUI.ActivateWindow",
    { window: favourite["window"], ...(parameters && { parameters: [parameters] }) },
    signal,
  );
  const addon = addonOf(parameters);
  if (addon !== null) return shows(async () => (await folderOf(device, signal)) === addon, launchTimeoutMs, signal);
  const isOther = async () => (await windowOf(device, signal)).id !== before.id;
  if (before.id === homeWindow) return shows(isOther, launchTimeoutMs, signal);
  // Where the window stays the same, it may be the one that was asked for.
  return (await shows(isOther, windowTimeoutMs, signal)) || null;
}

/** The channels are read first, as an unknown channel without a tuner crashes Kodi 20.1. */
async function openChannel(device: KodiDevice, channelid: number, signal: AbortSignal): Promise<Confirmed> {
  const channels = await unlessSlept(readChannels(device, {}, signal));
  if (!channels.some((one) => one["channelid"] === channelid)) throw notInstalled(`channel ${channelid}`);
  return open(device, { channelid }, signal, () => showsChannel(device, channelid, signal));
}

function openFile(device: KodiDevice, file: string, signal: AbortSignal): Promise<Confirmed> {
  return open(device, { file }, signal, async () => {
    const playing = await readPlayer(device, signal);
    return playing !== null && isFile(playing.path, file);
  });
}

/** Whether a path that plays is the file that was opened: the path of an add-on becomes another one when it is resolved. */
function isFile(path: string | null, file: string): boolean {
  const addon = addonOf(file);
  return (
    path === null ||
    path === file ||
    (addon !== null && addonOf(path) === addon) ||
    path.endsWith(file.split(/[\\/]/).findLast((part) => part !== "") ?? file)
  );
}

async function open(
  device: KodiDevice,
  item: Json,
  signal: AbortSignal,
  isPlaying: () => Promise<boolean>,
): Promise<Confirmed> {
  await device.command("Player.Open", { item }, signal).catch((error: unknown) => {
    if (codeOf(error) === -32_602) throw new ZapdError("app_not_found", "cannot find the item to play");
    throw error;
  });
  let begun = false;
  const started = async () => {
    begun = await isPlaying();
    if (begun) return true;
    const window = await windowOf(device, signal);
    return window.id !== busyWindow && isDialog(window);
  };
  if (await shows(started, launchTimeoutMs, signal)) {
    if (!begun) throw dialogOpen(await windowOf(device, signal));
    // A file that cannot be fetched plays for a moment, until a dialog says so.
    if (await shows(async () => !(await isPlaying()), 400, signal)) {
      throw new ZapdError("device_refused", "started to play it and stopped at once: it cannot play this item");
    }
    return true;
  }
  return false;
}

/** Polls for the effect of a launch: a Kodi that is too busy with it to answer has taken it all the same. */
function shows(holds: () => Promise<boolean>, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
  return until(() => holds().catch(() => false), { timeoutMs, signal });
}

/** Stops what plays, pictures too; where nothing plays, leaves the folder of an add-on. Returns the add-on that was left. */
export async function stopApp(device: KodiDevice, signal: AbortSignal): Promise<PlatformApp | null> {
  const playing = await unlessSlept(readPlayer(device, signal));
  if (await stopPlayers(device, signal)) {
    const addon = addonOf(playing?.path ?? null);
    return addon === null ? null : device.pushed.appNamed(addon);
  }
  const addon = await unlessSlept(folderOf(device, signal));
  if (addon === null || (await unlessSlept(windowOf(device, signal))).id === homeWindow) return null;
  await goHome(device, signal);
  return device.pushed.appNamed(addon);
}

/** Stops every player; whether there was one. */
export async function stopPlayers(device: KodiDevice, signal: AbortSignal): Promise<boolean> {
  const players = await unlessSlept(device.players(signal));
  if (players.length === 0) return false;
  await inParts(async (next) => {
    for (const [at, playerid] of players.entries()) {
      if (at > 0) next();
      await device.command("Player.Stop", { playerid }, signal);
    }
  });
  const isOver = async () => (await device.players(signal)).length === 0;
  if (await until(isOver, { timeoutMs: stopTimeoutMs, signal })) return true;
  await blameDialog(device, signal);
  throw noEffect("accepted the command, but continues to play");
}

/** Presses Home until it is shown: a folder that is still being opened swallows the key, or comes up after it. */
export async function goHome(device: KodiDevice, signal: AbortSignal): Promise<void> {
  const isHome = async () => (await windowOf(device, signal)).id === homeWindow;
  await inParts(async (next) => {
    for (let round = 0; round < homePresses; round++) {
      if (round > 0) next();
      await unlessSlept(refuseIfDialog(device, signal));
      await device.command("Input.Home", {}, signal);
      if (await until(isHome, { timeoutMs: homeTimeoutMs, signal })) return;
    }
    await blameDialog(device, signal);
    throw noEffect("accepted the key, but does not show its home screen");
  });
}

function notInstalled(what: string): ZapdError {
  return new ZapdError("app_not_found", `has no ${what}`, {
    hint: "See what it has: zapd refresh -d {device}, then zapd apps -d {device}",
  });
}
