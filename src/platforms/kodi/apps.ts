/** Add-ons, favourites, channels and files: listed, launched and left, each looked at afterwards (players.md 7.2, 7.3). */
import { ZapdError } from "../../api/errors.ts";
import { until } from "../../system/sleep.ts";
import { asJson, type Json, listOf, text } from "../../transport/json.ts";
import type { Confirmed, PlatformApp } from "../platform.ts";
import type { KodiDevice } from "./device.ts";
import {
  addonOf,
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

/** Most add-ons are libraries: only those that provide something are listed (7.2). */
const contents = ["video", "audio", "image", "executable"] as const;
const seenWithin = 6_000;
const goneWithin = 5_000;
const homeWithin = 1_500;
/** From one window to another. */
const windowWithin = 1_500;
const homeRounds = 3;

export async function listApps(device: KodiDevice, signal: AbortSignal): Promise<PlatformApp[]> {
  const asked = contents.map((content) =>
    device.read("Addons.GetAddons", { content, enabled: true, properties: ["name", "version", "enabled"] }, signal),
  );
  const [favourites, ...addons] = await Promise.all([readFavourites(device, signal), ...asked]);
  const found = [...addons.flatMap((one) => listOf(one, "addons")).map(readAddon), ...favourites.map(readFavourite)];
  const apps = new Map<string, PlatformApp>();
  for (const app of found) if (app && !apps.has(app.platformId)) apps.set(app.platformId, app);
  for (const { platformId, name } of apps.values()) device.pushed.name(platformId, name);
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
  params: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Confirmed> {
  await refuseIfDialog(device, signal);
  if (id.startsWith(favouritePrefix)) return openFavourite(device, id, signal);
  if (id.startsWith(channelPrefix)) return openChannel(device, Number(id.slice(channelPrefix.length)), signal);
  return /[:/\\]/.test(id) ? openFile(device, id, signal) : runAddon(device, id, params, signal);
}

/** What it says of one add-on; fails with `app_not_found` where it has it not. */
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
  params: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Confirmed> {
  const given = Object.keys(params).length > 0 ? { params } : {};
  // Kodi takes the id of an add-on that it lacks, or that is disabled, without a word.
  const addon = await readAddonDetails(device, addonid, ["enabled", "name"], signal);
  if (addon["enabled"] === false)
    throw new ZapdError("device_refused", `has ${addonid} installed, but disabled`, {
      hint: "In Kodi: Settings > Add-ons > My add-ons, and enable it",
    });
  const name = text(addon["name"]);
  if (name !== null) device.pushed.name(addonid, name);
  await device.command("Addons.ExecuteAddon", { addonid, ...given, wait: false }, signal);
  // Only a plug-in opens a folder that can be seen; what a script does is its own affair.
  if (!addonid.startsWith("plugin.")) return null;
  const isShown = async () =>
    (await folderOf(device, signal)) === addonid ||
    addonOf((await readPlayer(device, signal))?.path ?? null) === addonid;
  if (await until(isShown, { timeoutMs: seenWithin, signal })) return true;
  await blameDialog(device, signal);
  return false;
}

async function openFavourite(device: KodiDevice, id: string, signal: AbortSignal): Promise<Confirmed> {
  const found = await favouriteOf(device, id, signal);
  if (!found) throw notInstalled(`favourite "${id.slice(favouritePrefix.length)}"`);
  const path = text(found["path"]) ?? "";
  if (found["type"] === "media") return openFile(device, path, signal);
  if (found["type"] === "script") return runAddon(device, path.replace(/^RunScript\("?|"?\)$/g, ""), {}, signal);
  if (found["type"] !== "window")
    throw new ZapdError("device_refused", "has a favourite of that name that no remote can open");
  const parameters = text(found["windowparameter"]);
  const before = await windowOf(device, signal);
  await device.command(
    "GUI.ActivateWindow",
    { window: found["window"], ...(parameters && { parameters: [parameters] }) },
    signal,
  );
  const addon = addonOf(parameters);
  if (addon !== null)
    return until(async () => (await folderOf(device, signal)) === addon, { timeoutMs: seenWithin, signal });
  const isOther = async () => (await windowOf(device, signal)).id !== before.id;
  if (before.id === homeWindow) return until(isOther, { timeoutMs: seenWithin, signal });
  // The window that is in front may be the one that was asked for: that cannot be seen.
  return (await until(isOther, { timeoutMs: windowWithin, signal })) || null;
}

/** An unknown channel without a tuner kills Kodi 20.1: the channels are read first. */
async function openChannel(device: KodiDevice, channelid: number, signal: AbortSignal): Promise<Confirmed> {
  const channels = await readChannels(device, {}, signal);
  if (!channels.some((one) => one["channelid"] === channelid)) throw notInstalled(`channel ${channelid}`);
  return open(device, { channelid }, signal, () => showsChannel(device, channelid, signal));
}

function openFile(device: KodiDevice, file: string, signal: AbortSignal): Promise<Confirmed> {
  const before = performance.now();
  return open(device, { file }, signal, async () => {
    const playing = await readPlayer(device, signal);
    return playing !== null && playing.at > before && isOf(playing.path, file);
  });
}

/** Whether what plays is what was asked for: an add-on's path becomes another when it is resolved. */
function isOf(path: string | null, file: string): boolean {
  const addon = addonOf(file);
  return (
    path === null ||
    path === file ||
    (addon !== null && addonOf(path) === addon) ||
    path.endsWith(file.split(/[\\/]/).at(-1) ?? file)
  );
}

async function open(
  device: KodiDevice,
  item: Json,
  signal: AbortSignal,
  isPlaying: () => Promise<boolean>,
): Promise<Confirmed> {
  await device.command("Player.Open", { item }, signal).catch((error: unknown) => {
    if (codeOf(error) === -32_602) throw new ZapdError("app_not_found", "cannot find what it was to play");
    throw error;
  });
  let begun = false;
  const started = async () => {
    begun = await isPlaying();
    if (begun) return true;
    // It shows that it is busy while it opens something, most of all in the place of another.
    const window = await windowOf(device, signal);
    return window.id !== busyWindow && isDialog(window);
  };
  if (await until(started, { timeoutMs: seenWithin, signal })) {
    if (!begun) throw dialogOpen(await windowOf(device, signal));
    // What cannot be fetched plays for a moment, and then a dialog says so.
    if (await until(async () => !(await isPlaying()), { timeoutMs: 400, signal })) {
      throw new ZapdError("device_refused", "began to play it, and stopped at once: it cannot be played there");
    }
    return true;
  }
  return false;
}

/** Stops what plays, pictures too; with nothing playing, leaves the folder of an add-on. Answers with what was left. */
export async function stopApp(device: KodiDevice, signal: AbortSignal): Promise<PlatformApp | null> {
  const playing = await readPlayer(device, signal);
  if (await stopPlayers(device, signal)) {
    const addon = addonOf(playing?.path ?? null);
    return addon === null ? null : device.pushed.app(addon);
  }
  const addon = await folderOf(device, signal);
  if (addon === null || (await windowOf(device, signal)).id === homeWindow) return null;
  await goHome(device, signal);
  return device.pushed.app(addon);
}

/** Stops every player; whether there was one. */
export async function stopPlayers(device: KodiDevice, signal: AbortSignal): Promise<boolean> {
  const players = await device.players(signal, true);
  if (players.length === 0) return false;
  for (const playerid of players) await device.command("Player.Stop", { playerid }, signal);
  const isOver = async () => (await device.players(signal, true)).length === 0;
  if (await until(isOver, { timeoutMs: goneWithin, signal })) return true;
  await blameDialog(device, signal);
  throw new ZapdError("device_error", "took the command, but goes on playing");
}

/** A folder that is still being opened takes the key, or comes up after it: then it is pressed again, which changes nothing else. */
export async function goHome(device: KodiDevice, signal: AbortSignal): Promise<void> {
  const isHome = async () => (await windowOf(device, signal)).id === homeWindow;
  for (let round = 0; round < homeRounds; round++) {
    await refuseIfDialog(device, signal);
    await device.command("Input.Home", {}, signal);
    if (await until(isHome, { timeoutMs: homeWithin, signal })) return;
  }
  await blameDialog(device, signal);
  throw new ZapdError("device_error", "took the key, but does not show its home screen");
}

function notInstalled(what: string): ZapdError {
  return new ZapdError("app_not_found", `has no ${what}`, {
    hint: "See what it has: zapd refresh -d {device}, then zapd apps -d {device}",
  });
}
