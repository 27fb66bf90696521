/**
 * Pictures of add-ons and of what plays. Kodi names each by an address of its own, `image://<address>/`, which its web server
 * reads from its cache, its folders or sources, or from elsewhere. Source: Kodi 20.1, ran.
 */
import { ZapdError } from "../../api/errors.ts";
import { asJson, type Json } from "../../transport/json.ts";
import { pictureBytes } from "../platform.ts";
import { favouriteOf, readAddonDetails } from "./apps.ts";
import type { KodiDevice } from "./device.ts";
import { artworkLabels, artworkNamed, artworkProperties, favouritePrefix, pathsOf } from "./protocol.ts";

/** The web server may not have the first pictures that are named. */
const maxTries = 4;

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
