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
import { encoded, favouritePrefix } from "./protocol.ts";

const longestAddress = 4_096;
/** One that is named and not given costs a question more; the next may be given. */
const mostTries = 4;

/** By what it calls them: a poster before a still, and what stands behind everything last. */
const kinds = ["poster", "thumb", "season.poster", "tvshow.poster", "album.thumb"] as const;
const [posterLabel, thumbLabel, fanartLabel] = ["Player.Art(poster)", "Player.Art(thumb)", "Player.Art(fanart)"];

/** The icon of an add-on, or the picture of a favourite. */
export async function iconOf(device: KodiDevice, id: string, signal: AbortSignal): Promise<Uint8Array | null> {
  const named = id.startsWith(favouritePrefix)
    ? await favouriteOf(device, id, signal)
    : await readAddonDetails(device, id, ["thumbnail"], signal);
  return firstGiven(device, [named?.["thumbnail"]], signal);
}

/** The best picture of what plays: of its item, then what it found beside the file and shows itself. */
export async function artworkOf(device: KodiDevice, signal: AbortSignal): Promise<Uint8Array | null> {
  const [playerid] = await device.players(signal);
  if (playerid === undefined) return null;
  const [read, labels] = await Promise.all([
    device.read("Player.GetItem", { playerid, properties: ["art", "thumbnail", "fanart"] }, signal),
    device
      .read("XBMC.GetInfoLabels", { labels: [posterLabel, thumbLabel, fanartLabel] }, signal)
      .catch((): Json => ({})),
  ]);
  const item = asJson(read["item"]);
  const art = asJson(item["art"]);
  const named = [
    ...kinds.map((kind) => art[kind]),
    item["thumbnail"],
    labels[posterLabel],
    labels[thumbLabel],
    item["fanart"],
    labels[fanartLabel],
  ];
  return firstGiven(device, named, signal);
}

/** The first that it gives; `null` where it names none. */
async function firstGiven(
  device: KodiDevice,
  named: readonly unknown[],
  signal: AbortSignal,
): Promise<Uint8Array | null> {
  const paths = new Set(named.flatMap((one) => pathOf(one) ?? []));
  for (const path of [...paths].slice(0, mostTries)) {
    const picture = await device.file(path, pictureBytes.icon, signal);
    if (picture !== null) return picture;
  }
  if (paths.size === 0) return null;
  throw new ZapdError("picture_not_found", "names a picture, but its web server does not give it", {
    hint: "Kodi gives what is in its sources. In Kodi, add the folder that it is in: Videos, Music or Pictures > Add",
  });
}

/** Where its web server has a picture, encoded once; a file that is named by its path alone is made a picture first. */
export function pathOf(named: unknown): string | null {
  if (typeof named !== "string" || named === "" || named.length > longestAddress) return null;
  // Those of its skin are drawn, and given to nobody.
  if (/^(?:image:\/\/)?Default\w*\.png\/?$/.test(named)) return null;
  const picture = named.startsWith("image://") ? named : `image://${encoded(named)}/`;
  return `/image/${encoded(picture)}`;
}
