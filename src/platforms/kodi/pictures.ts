/**
 * Pictures that Kodi's web server gives: icons of add-ons, artwork of what plays, and screenshots. Kodi names a picture by an
 * address of its own, `image://<address>/`, which its web server reads from its cache, its folders or sources, or from elsewhere.
 * A screenshot is a file in the folder that the user has set for them, which must be one of Kodi's sources; without a folder Kodi
 * would open a dialog that asks for one. Source: Kodi 20.1, ran.
 */
import { ZapdError } from "../../api/errors.ts";
import { until } from "../../system/sleep.ts";
import { asJson, type Json, listOf, number } from "../../transport/json.ts";
import { noEffect, pictureBytes } from "../platform.ts";
import { favouriteOf, readAddonDetails } from "./apps.ts";
import type { KodiDevice } from "./device.ts";
import { artworkLabels, artworkNamed, artworkProperties, encoded, favouritePrefix, pathsOf } from "./protocol.ts";
import { codeOf } from "./rpc.ts";
import { isScreenSaverOn } from "./state.ts";

/** The web server may not have the first pictures that are named. */
const maxTries = 4;
/** Kodi writes the file after its answer, which takes some seconds on a slow machine. */
const writeTimeoutMs = 8_000;
const pollEveryMs = 60;
const maxFiles = 20_000;

export const screenshotHint =
  "In Kodi, set Settings > System > Logging > Screenshot folder, and add the same folder under Pictures > Add pictures";

/** The icon of an add-on, or the picture of a favourite. */
export async function iconOf(device: KodiDevice, id: string, signal: AbortSignal): Promise<Uint8Array | null> {
  const item = id.startsWith(favouritePrefix)
    ? await favouriteOf(device, id, signal)
    : await readAddonDetails(device, id, ["thumbnail"], signal);
  return readFirst(device, pathsOf([item?.["thumbnail"]]), signal);
}

/** The best picture of what plays. */
export async function artworkOf(device: KodiDevice, signal: AbortSignal): Promise<Uint8Array | null> {
  const [playerid] = await device.players(signal);
  if (playerid === undefined) return null;
  const [item, labels] = await Promise.all([
    device.read("Player.GetItem", { playerid, properties: artworkProperties }, signal),
    device.read("XBMC.GetInfoLabels", { labels: artworkLabels }, signal).catch((): Json => ({})),
  ]);
  return readFirst(device, artworkNamed(asJson(item["item"]), labels), signal);
}

/** The first picture that can be read; `null` where none is named. */
async function readFirst(
  device: KodiDevice,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<Uint8Array | null> {
  for (const path of paths.slice(0, maxTries)) {
    const picture = await device.file(path, pictureBytes.icon, signal);
    if (picture !== null) return picture;
  }
  if (paths.length === 0) return null;
  throw new ZapdError("picture_not_found", "names a picture, but its web server does not serve it", {
    hint: "In Kodi, add the folder of the picture as a source: Videos, Music or Pictures > Add. Kodi serves only files in its sources",
  });
}

export async function takeScreenshot(device: KodiDevice, signal: AbortSignal): Promise<Uint8Array | null> {
  const folder = await screenshotFolder(device, signal);
  const listed = folder === null ? null : await filesIn(device, folder, maxFiles, signal);
  device.rememberFeatures({ screenshots: listed !== null });
  if (folder === null) throw screenshotRefused("has no screenshot folder");
  if (listed === null) throw screenshotRefused("has a screenshot folder that is not one of its sources");
  if (await isScreenSaverOn(device, signal))
    throw new ZapdError("device_refused", "cannot take a screenshot while its screen saver is on", {
      hint: "End the screen saver with any key: zapd key select -d {device}",
    });
  const before = new Set(listed.map(({ file }) => file));
  await device.command("Input.ExecuteAction", { action: "screenshot" }, signal);
  const taken = await newPicture(device, folder, before, signal);
  if (taken === null) throw noEffect("accepted the command, but no new file appeared in its screenshot folder");
  const picture = await device.file(`/vfs/${encoded(taken)}`, pictureBytes.screenshot, signal);
  if (picture === null) throw screenshotRefused("took a screenshot, but its web server does not serve it");
  return picture;
}

/** Whether there is a screenshot folder that is one of Kodi's sources. */
export async function hasScreenshots(device: KodiDevice, signal: AbortSignal): Promise<boolean> {
  const folder = await screenshotFolder(device, signal);
  return folder !== null && (await filesIn(device, folder, 1, signal)) !== null;
}

async function screenshotFolder(device: KodiDevice, signal: AbortSignal): Promise<string | null> {
  const { value } = await device.read("Settings.GetSettingValue", { setting: "debug.screenshotpath" }, signal);
  return typeof value === "string" && value !== "" ? value : null;
}

interface FolderFile {
  readonly file: string;
  /** In bytes; `null` where Kodi does not report it. */
  readonly size: number | null;
}

/** The pictures in a folder; `null` where the folder is not one of Kodi's sources. */
async function filesIn(
  device: KodiDevice,
  directory: string,
  most: number,
  signal: AbortSignal,
): Promise<FolderFile[] | null> {
  const params = { directory, media: "files", properties: ["size"], limits: { start: 0, end: most } };
  try {
    const result = await device.read("Files.GetDirectory", params, signal);
    return listOf(result, "files", most).flatMap(({ file, size }) =>
      typeof file === "string" && /\.(?:png|jpe?g)$/i.test(file) ? [{ file, size: number(size) }] : [],
    );
  } catch (error) {
    if (codeOf(error) === -32_602) return null;
    throw error;
  }
}

/** The path of the picture that was not there before, once its size stays the same. */
async function newPicture(
  device: KodiDevice,
  folder: string,
  before: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<string | null> {
  let previous: FolderFile | undefined;
  const isWhole = async () => {
    const now = (await filesIn(device, folder, maxFiles, signal))?.find(({ file }) => !before.has(file));
    const isSame = now !== undefined && now.size !== 0 && now.file === previous?.file && now.size === previous.size;
    previous = now;
    return isSame;
  };
  const isWritten = await until(isWhole, { timeoutMs: writeTimeoutMs, everyMs: pollEveryMs, signal });
  return isWritten && previous !== undefined ? previous.file : null;
}

function screenshotRefused(problem: string): ZapdError {
  return new ZapdError("device_refused", problem, { hint: screenshotHint });
}
