/**
 * Pictures of the screen. Kodi puts each into the folder that its user has set for them, and gives that only where it lies in
 * one of its sources; without a folder it would ask somebody in front of it for one. Source: Kodi 20.1, ran.
 */
import { ZapdError } from "../../api/errors.ts";
import { until } from "../../system/sleep.ts";
import { type Json, listOf, number } from "../../transport/json.ts";
import { pictureBytes } from "../platform.ts";
import type { KodiDevice } from "./device.ts";
import { encoded } from "./protocol.ts";
import { codeOf } from "./rpc.ts";

/** It is written behind the answer, for some seconds on a slow machine. */
const writtenWithin = 8_000;
const lookEvery = 60;
const mostFiles = 20_000;

export const screenshotHint =
  "In Kodi: Settings > System > Logging > Screenshot folder, and the same folder once more under Pictures > Add pictures";

export async function takeScreenshot(device: KodiDevice, signal: AbortSignal): Promise<Uint8Array | null> {
  const folder = await folderOf(device, signal);
  const listed = folder === null ? null : await filesIn(device, folder, mostFiles, signal);
  device.learn({ screenshots: listed !== null });
  if (folder === null) throw refused("has no folder for pictures of its screen");
  if (listed === null) throw refused("keeps pictures of its screen in a folder that is none of its sources");
  // The first action only ends its screen saver, and takes no picture; nobody asked for that.
  const saver = "System.ScreenSaverActive";
  if ((await device.read("XBMC.GetInfoBooleans", { booleans: [saver] }, signal))[saver] === true)
    throw new ZapdError("device_refused", "shows its screen saver, of which it takes no picture", {
      hint: "End it first, with any key: zapd key select -d {device}",
    });
  const before = new Set(listed.map(({ file }) => file));
  await device.command("Input.ExecuteAction", { action: "screenshot" }, signal);
  const taken = await written(device, folder, before, signal);
  if (taken === null)
    throw new ZapdError("device_error", "took the command, but no new picture is in its folder for them");
  const picture = await device.file(`/vfs/${encoded(taken)}`, pictureBytes.screenshot, signal);
  if (picture === null) throw refused("does not give the picture that it took of its screen");
  return picture;
}

/** Whether there is a folder for them that it shows to others. */
export async function hasScreenshots(device: KodiDevice, signal: AbortSignal): Promise<boolean> {
  const folder = await folderOf(device, signal);
  return folder !== null && (await filesIn(device, folder, 1, signal)) !== null;
}

async function folderOf(device: KodiDevice, signal: AbortSignal): Promise<string | null> {
  const { value } = await device.read("Settings.GetSettingValue", { setting: "debug.screenshotpath" }, signal);
  return typeof value === "string" && value !== "" ? value : null;
}

interface Found {
  readonly file: string;
  /** In bytes; `null` where it does not say. */
  readonly size: number | null;
}

/** The pictures in a folder; `null` where it does not show it, for it is none of its sources. */
async function filesIn(
  device: KodiDevice,
  directory: string,
  most: number,
  signal: AbortSignal,
): Promise<Found[] | null> {
  const limits = { start: 0, end: most };
  const params = { directory, media: "files", properties: ["size"], limits };
  const said = await device.read("Files.GetDirectory", params, signal).catch((error: unknown): Json | null => {
    if (codeOf(error) !== -32_602) throw error;
    return null;
  });
  if (said === null) return null;
  return listOf(said, "files", most).flatMap(({ file, size }) =>
    typeof file === "string" && /\.(?:png|jpe?g)$/i.test(file) ? [{ file, size: number(size) }] : [],
  );
}

/** The picture that was not there before, once it does not grow any more. */
async function written(
  device: KodiDevice,
  folder: string,
  before: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<string | null> {
  let last: Found | undefined;
  const isWhole = async () => {
    const now = (await filesIn(device, folder, mostFiles, signal))?.find(({ file }) => !before.has(file));
    const isSame = now !== undefined && now.size !== 0 && now.file === last?.file && now.size === last.size;
    last = now;
    return isSame;
  };
  const isWritten = await until(isWhole, { timeoutMs: writtenWithin, everyMs: lookEvery, signal });
  return isWritten && last !== undefined ? last.file : null;
}

function refused(problem: string): ZapdError {
  return new ZapdError("device_refused", problem, { hint: screenshotHint });
}
