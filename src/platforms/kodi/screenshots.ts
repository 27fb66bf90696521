/**
 * Screenshots. Kodi writes each into the folder that its user has set for them, and its web server gives it only from a folder
 * that is one of its sources. Without a folder Kodi would open a dialog that asks for one. Source: Kodi 20.1, ran.
 */
import { ZapdError } from "../../api/errors.ts";
import { until } from "../../system/sleep.ts";
import { type Json, listOf, number } from "../../transport/json.ts";
import { pictureBytes } from "../platform.ts";
import type { KodiDevice } from "./device.ts";
import { encoded } from "./protocol.ts";
import { codeOf } from "./rpc.ts";

/** Kodi writes the file after its answer, which takes some seconds on a slow machine. */
const writeTimeoutMs = 8_000;
const pollEveryMs = 60;
const maxFiles = 20_000;

export const screenshotHint =
  "In Kodi, set Settings > System > Logging > Screenshot folder, and add the same folder under Pictures > Add pictures";

export async function takeScreenshot(device: KodiDevice, signal: AbortSignal): Promise<Uint8Array | null> {
  const folder = await folderOf(device, signal);
  const listed = folder === null ? null : await filesIn(device, folder, maxFiles, signal);
  device.rememberFeatures({ screenshots: listed !== null });
  if (folder === null) throw refused("has no screenshot folder");
  if (listed === null) throw refused("has a screenshot folder that is not one of its sources");
  // With the screen saver on, the action would only end that, and take no picture.
  const saver = "System.ScreenSaverActive";
  if ((await device.read("XBMC.GetInfoBooleans", { booleans: [saver] }, signal))[saver] === true)
    throw new ZapdError("device_refused", "cannot take a screenshot while its screen saver is on", {
      hint: "End the screen saver with any key: zapd key select -d {device}",
    });
  const before = new Set(listed.map(({ file }) => file));
  await device.command("Input.ExecuteAction", { action: "screenshot" }, signal);
  const taken = await newPicture(device, folder, before, signal);
  if (taken === null)
    throw new ZapdError("device_error", "accepted the command, but no new file appeared in its screenshot folder");
  const picture = await device.file(`/vfs/${encoded(taken)}`, pictureBytes.screenshot, signal);
  if (picture === null) throw refused("took a screenshot, but its web server does not serve it");
  return picture;
}

/** Whether there is a folder for them that is one of its sources. */
export async function hasScreenshots(device: KodiDevice, signal: AbortSignal): Promise<boolean> {
  const folder = await folderOf(device, signal);
  return folder !== null && (await filesIn(device, folder, 1, signal)) !== null;
}

async function folderOf(device: KodiDevice, signal: AbortSignal): Promise<string | null> {
  const { value } = await device.read("Settings.GetSettingValue", { setting: "debug.screenshotpath" }, signal);
  return typeof value === "string" && value !== "" ? value : null;
}

interface FolderFile {
  readonly file: string;
  /** In bytes; `null` where Kodi does not tell. */
  readonly size: number | null;
}

/** The pictures in a folder; `null` where the folder is none of its sources. */
async function filesIn(
  device: KodiDevice,
  directory: string,
  most: number,
  signal: AbortSignal,
): Promise<FolderFile[] | null> {
  const limits = { start: 0, end: most };
  const params = { directory, media: "files", properties: ["size"], limits };
  const result = await device.read("Files.GetDirectory", params, signal).catch((error: unknown): Json | null => {
    if (codeOf(error) !== -32_602) throw error;
    return null;
  });
  if (result === null) return null;
  return listOf(result, "files", most).flatMap(({ file, size }) =>
    typeof file === "string" && /\.(?:png|jpe?g)$/i.test(file) ? [{ file, size: number(size) }] : [],
  );
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

function refused(problem: string): ZapdError {
  return new ZapdError("device_refused", problem, { hint: screenshotHint });
}
