/** Reads Kodi's answers into the values of the contract. Pure. Facts and their evidence: protocols/players.md 7, by section. */
import { asJson, flag, isJson, type Json, number, text } from "../../transport/json.ts";
import type { PlatformApp, Playback } from "../platform.ts";
import { kodiServices } from "./services.ts";

/** Reads `{hours, minutes, seconds, milliseconds}`; negative while the sound of a track is still on its way (7.2; Kodi 20.1, ran: -0.6 s). */
export function readTime(value: unknown): number | null {
  if (!isJson(value)) return null;
  const part = (name: string) => number(value[name]) ?? 0;
  return Math.round(((part("hours") * 60 + part("minutes")) * 60 + part("seconds")) * 1_000 + part("milliseconds"));
}

/** The player of pictures, whose id is the only one that is fixed (xbmc/interfaces/json-rpc/PlayerOperations.cpp, GetPlaylist). */
export const pictureShow = 2;

/** Reads `Player.GetProperties`, the item of `Player.GetItem`, and `playingLabels` (7.2). */
export function readPlaying(playerId: number, properties: Json, item: Json, labels: Json) {
  const duration = readTime(properties["totaltime"]);
  const live = flag(properties["live"]);
  const hasEnd = duration !== null && duration > 0;
  const folder = text(labels[folderLabel]);
  return {
    playerId,
    speed: number(properties["speed"]) ?? 0,
    // Live television and pictures answer zero for both.
    positionMs: (live || playerId === pictureShow) && !hasEnd ? null : readTime(properties["time"]),
    durationMs: hasEnd ? duration : null,
    live,
    title: titleOf(item),
    artist: artistOf(item),
    /** Whether there is a picture of it. */
    artwork: artworkNamed(item, labels).length > 0,
    /** Kodi's id of the item; of a channel the channel id. */
    itemId: number(item["id"]),
    /** The file that plays; `plugin://…` names the add-on. */
    path: addressIn(labels[pathLabel]) ?? (addonOf(folder) && folder) ?? addressIn(item["file"]),
    /** On the monotonic clock. */
    at: performance.now(),
  };
}

/** What plays, as read at `at`; the position since then follows from the speed. */
export type Playing = Readonly<ReturnType<typeof readPlaying>>;

/** Files often have a label only; a channel has only its name. */
function titleOf(item: Json): string | null {
  return plain(item["title"]) ?? plain(item["label"]) ?? plain(item["channel"]);
}

/** A label without the markup that Kodi draws and add-ons write into titles too (xbmc/Kore#629; CGUITextLayout::ParseText). */
function plain(label: unknown): string | null {
  return text(text(label)?.replace(/\[\/?(?:B|I|LIGHT|COLOR(?:[ =][^\]]*)?|UPPERCASE|LOWERCASE|CAPITALIZE)\]/g, ""));
}

function artistOf({ artist }: Json): string | null {
  const names = Array.isArray(artist) ? artist.slice(0, 16).flatMap((name) => text(name) ?? []) : [];
  return text(names.join(", "));
}

export function describePlayback(playing: Playing): Playback {
  const { speed, positionMs, durationMs, at } = playing;
  const position = positionMs === null ? null : Math.round(positionMs + speed * (performance.now() - at));
  return {
    status: speed === 0 ? "paused" : "playing",
    position_ms: position === null ? null : Math.max(0, Math.min(position, durationMs ?? position)),
    duration_ms: durationMs,
    live: playing.live,
    title: playing.title,
    artist: playing.artist,
    artwork: playing.artwork,
    rate: speed,
  };
}

const pathLabel = "Player.Filenameandpath";
const folderLabel = "Player.FolderPath";
export const artworkProperties = ["art", "thumbnail", "fanart"];
export const artworkLabels = ["Player.Art(poster)", "Player.Art(thumb)", "Player.Art(fanart)"] as const;
export const itemProperties = ["title", "artist", "file", "channel", ...artworkProperties];
export const playingLabels = [pathLabel, folderLabel, ...artworkLabels];

/** The kinds of pictures, the best first. */
const artKinds = ["poster", "thumb", "season.poster", "tvshow.poster", "album.thumb"] as const;

/** Paths on the web server of the pictures of what plays, the best first; a background (fanart) comes last of each source. */
export function artworkNamed(item: Json, labels: Json): string[] {
  const art = asJson(item["art"]);
  const [poster, thumb, fanart] = artworkLabels.map((label) => labels[label]);
  return pathsOf([...artKinds.map((kind) => art[kind]), item["thumbnail"], poster, thumb, item["fanart"], fanart]);
}

/** The paths of pictures by their names, each once. */
export function pathsOf(named: readonly unknown[]): string[] {
  return [...new Set(named.flatMap((one) => pathOf(one) ?? []))];
}

const maxAddressLength = 4_096;

/** An address or a path, whole: one that is cut is another. `null` where there is none, or a longer one. */
export function addressIn(value: unknown): string | null {
  return typeof value === "string" && value !== "" && value.length <= maxAddressLength ? value : null;
}

/** The path of a picture on the web server, encoded once; `null` where it gives none. A bare file path becomes an `image://` address first. */
export function pathOf(named: unknown): string | null {
  const address = addressIn(named);
  // Pictures of the skin are not served.
  if (address === null || /^(?:image:\/\/)?Default\w*\.png\/?$/.test(address)) return null;
  const picture = address.startsWith("image://") ? address : `image://${encoded(address)}/`;
  return `/image/${encoded(picture)}`;
}

/** The add-on that a path belongs to: `plugin://plugin.video.x/…`. */
export function addonOf(path: string | null): string | null {
  return /^plugin:\/\/([a-z0-9][\w.-]{0,127})(?:\/|$)/i.exec(path ?? "")?.[1] ?? null;
}

/** Percent-encodes a text; a lone surrogate becomes U+FFFD. */
export function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

export const favouritePrefix = "favourite:";
export const channelPrefix = "channel:";

export function appOf(id: string, name: string | null): PlatformApp {
  return { platformId: id, name: name ?? id, type: "app", version: null, id: kodiServices.get(id) };
}

export function readAddon(addon: Json): PlatformApp | null {
  const id = text(addon["addonid"]);
  if (id === null || !/^[a-z0-9][\w.-]{0,127}$/i.test(id) || addon["enabled"] === false) return null;
  return {
    ...appOf(id, plain(addon["name"])),
    version: text(addon["version"]),
  };
}

/** A favourite is known by its title alone. */
export function readFavourite(favourite: Json): PlatformApp | null {
  const title = text(favourite["title"])?.trim();
  if (!title || title.length > 100) return null;
  return appOf(`${favouritePrefix}${title}`, plain(title));
}

/** Whether Kodi can open it: the id of an add-on, a favourite, a channel, an absolute path or an address. */
export function isKodiAppId(text: string): boolean {
  if (text.length > 1_024 || /\p{Cc}/u.test(text)) return false;
  if (/^favourite:\S.{0,99}$/.test(text) || /^channel:\d{1,9}$/.test(text)) return true;
  // A relative path would be looked up in Kodi's own folder, and ".." leads out of any folder.
  if (/(^|[/\\])\.\.([/\\]|$)/.test(text)) return false;
  return addonId.test(text) || address.test(text) || /^(\/|[A-Za-z]:[/\\])\S/.test(text);
}

const addonId =
  /^(plugin|script|service|context|game|weather|webinterface|resource|screensaver|program|executable)\.[\w.-]{1,120}$/i;
const schemes = "plugin|smb|nfs|https?|rtsp|rtmp|ftps?|sftp|davs?|upnp|pvr|special|videodb|musicdb|udp|rtp|mms";
const address = new RegExp(`^(${schemes})://\\S`, "i");

/** The ids of windows that swallow every command until they are answered (7.3). */
const dialogs: ReadonlySet<number> = new Set([
  10_100, 10_103, 10_106, 10_109, 10_111, 10_126, 10_128, 10_129, 10_130, 10_131, 10_132, 10_134, 10_135, 10_138,
  10_140, 10_146, 10_147, 10_150, 10_156, 12_000, 12_001, 12_002, 12_003,
]);
/** The last is the keyboard of the system on iOS and tvOS (xbmc/guilib/GUIKeyboardFactory.cpp). */
const keyboards: ReadonlySet<number> = new Set([10_103, 10_109, 10_156]);
export const homeWindow = 10_000;
export const busyWindow = 10_138;

/** The window in front (`GUI.GetProperties`). */
export function readWindow(result: Json) {
  const window = asJson(result["currentwindow"]);
  return { id: number(window["id"]) ?? 0, label: text(window["label"]) ?? "" };
}

export type Window = Readonly<ReturnType<typeof readWindow>>;

export function isDialog({ id }: Window): boolean {
  return dialogs.has(id);
}

export function takesText({ id }: Window): boolean {
  return keyboards.has(id);
}
