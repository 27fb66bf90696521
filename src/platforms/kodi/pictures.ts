/**
 * Pictures of add-ons and of what plays. Kodi names each by an address of its own, `image://<address>/`, and its web server
 * gives it: what it keeps already, what lies in a folder of its own or in a source, and what it fetches from elsewhere itself.
 * Source: Kodi 20.1, ran.
 */
import { ZapdError } from "../../api/errors.ts";
import { asJson, type Json } from "../../transport/json.ts";
import { pictureBytes } from "../platform.ts";
import { favouriteOf, readAddonDetails } from "./apps.ts";
import type { KodiDevice } from "./device.ts";
import { artworkLabels, artworkNamed, artworkProperties, favouritePrefix, pathsOf } from "./protocol.ts";

/** One that is named and not given costs a question more; the next may be given. */
const mostTries = 4;

/** The icon of an add-on, or the picture of a favourite. */
export async function iconOf(device: KodiDevice, id: string, signal: AbortSignal): Promise<Uint8Array | null> {
  const named = id.startsWith(favouritePrefix)
    ? await favouriteOf(device, id, signal)
    : await readAddonDetails(device, id, ["thumbnail"], signal);
  return firstGiven(device, pathsOf([named?.["thumbnail"]]), signal);
}

/** The best picture of what plays. */
export async function artworkOf(device: KodiDevice, signal: AbortSignal): Promise<Uint8Array | null> {
  const [playerid] = await device.players(signal);
  if (playerid === undefined) return null;
  const [read, labels] = await Promise.all([
    device.read("Player.GetItem", { playerid, properties: artworkProperties }, signal),
    device.read("XBMC.GetInfoLabels", { labels: artworkLabels }, signal).catch((): Json => ({})),
  ]);
  return firstGiven(device, artworkNamed(asJson(read["item"]), labels), signal);
}

/** The first that it gives; `null` where there is none. */
async function firstGiven(
  device: KodiDevice,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<Uint8Array | null> {
  for (const path of paths.slice(0, mostTries)) {
    const picture = await device.file(path, pictureBytes.icon, signal);
    if (picture !== null) return picture;
  }
  if (paths.length === 0) return null;
  throw new ZapdError("picture_not_found", "names a picture, but its web server does not give it", {
    hint: "Kodi gives what is in its sources. In Kodi, add the folder that it is in: Videos, Music or Pictures > Add",
  });
}
