/** The options of a simulated Kodi, and its defaults. */
import { digest, macOf, uuidOf } from "../bench/identity.ts";
import type { SetOptions } from "../bench/set.ts";

export interface SimulatedAddon {
  id: string;
  name: string;
  version?: string;
  /** `executable` is a script; any other is a plug-in with a folder. */
  content: "video" | "audio" | "image" | "executable";
  /** Default true. */
  enabled?: boolean;
  /** `image://…/`, served by the web server under `/image/`. Default none. */
  thumbnail?: string;
}

/** The folder of screenshots. The web server lists and serves them only if the folder is a source. */
export interface SimulatedScreenshots {
  folder: string;
  /** Default true. */
  isSource?: boolean;
}

/** A media file. An unlisted URL can be opened, an unlisted path is missing. */
export interface SimulatedMedia {
  file: string;
  title?: string;
  /** Default none. */
  artist?: readonly string[];
  kind?: "video" | "audio";
  /** Default two minutes; null for a stream without an end. */
  durationMs?: number | null;
  /** `image://…/`, as of an add-on. Default none. */
  thumbnail?: string;
  /** The path of a picture beside the file, known only by an info label. Default none. */
  poster?: string;
}

export interface SimulatedChannel {
  id: number;
  number: number;
  name: string;
  /** The logo, served like a thumbnail. Default none. */
  logo?: string;
}

/** The types of favourites (players.md 7.2). */
type SimulatedFavourite = { title: string } & (
  | { type: "media"; path: string }
  | { type: "window"; window: string; windowparameter: string }
  | { type: "script"; path: string }
  | { type: "androidapp"; path: string }
);

export type Power = "on" | "asleep" | "ended";

/** The options with a default. */
class Defaults {
  host = "127.0.0.1";
  /** The HTTP port; 0 is any free port. */
  port = 0;
  /** False: the web server is off, and only the TCP port is open. */
  webServer = true;
  /** The port of WebSocket and TCP; 0 is any free port. Null: remote control is off, and the port is closed. */
  tcpPort: number | null = 0;
  /** The password over HTTP, or null; the other port asks for none (xbmc/xbmc#21306). */
  password: string | null = null;
  user = "kodi";
  /** Whether it announces its services over mDNS. */
  mdns = true;
  addons: readonly SimulatedAddon[] = ADDONS;
  favourites: readonly SimulatedFavourite[] = FAVOURITES;
  media: readonly SimulatedMedia[] = MEDIA;
  /** Null: no folder is set. */
  screenshots: SimulatedScreenshots | null = null;
  /** The channels of the tuner; without any there is no tuner. */
  channels: readonly SimulatedChannel[] = [];
  /** The time from the response of Player.Open to the start of playback. */
  startMs = 20;
}

export interface KodiSimulatorOptions extends SetOptions, Partial<Defaults> {
  /** The `uuid` of mDNS. */
  uuid?: string;
  mac?: string;
  /** What the operating system allows; by default everything. */
  power?: { shutdown?: boolean; suspend?: boolean; hibernate?: boolean; reboot?: boolean };
}

const installed: readonly SimulatedAddon[] = [
  { id: "plugin.video.youtube", name: "YouTube", version: "7.0.9", content: "video" },
  { id: "plugin.video.netflix", name: "Netflix", version: "1.23.3", content: "video" },
  { id: "plugin.video.jellyfin", name: "Jellyfin", version: "1.0.9", content: "video" },
  { id: "plugin.video.arteplussept", name: "Arte +7", version: "1.4.2", content: "video", enabled: false },
  { id: "plugin.audio.radio_de", name: "Radio", version: "4.0.1", content: "audio" },
  { id: "plugin.image.picasa", name: "Photo Albums", version: "2.1.0", content: "image" },
  { id: "script.weather.screen", name: "Weather Screen", version: "0.3.1", content: "executable" },
];

const ADDONS: readonly SimulatedAddon[] = installed.map((addon) => ({
  ...addon,
  thumbnail: imageOf(`/home/kodi/.kodi/addons/${addon.id}/icon.png`),
}));

const MEDIA: readonly SimulatedMedia[] = [
  { file: "/media/holiday.mp4", title: "Holiday", durationMs: 754_000, poster: "/media/holiday-poster.jpg" },
  { file: "/media/trailer.mkv", title: "The Trailer" },
  {
    file: "/media/song.flac",
    title: "A Song",
    artist: ["One", "Another"],
    kind: "audio",
    durationMs: 213_000,
    thumbnail: imageOf("/media/song.flac", "music@"),
  },
];

/** An `image://` address. Kodi writes its escapes in lower case. */
export function imageOf(path: string, within = ""): string {
  const escaped = encodeURIComponent(path).replace(/%../g, (letters) => letters.toLowerCase());
  return `image://${within}${escaped}/`;
}

const FAVOURITES: readonly SimulatedFavourite[] = [
  { title: "Holiday", type: "media", path: "/media/holiday.mp4" },
  { title: "Arte", type: "window", window: "videos", windowparameter: "plugin://plugin.video.arteplussept/" },
  { title: "Weather", type: "script", path: "script.weather.screen" },
];

/** What never changes while a player exists. */
export type KodiOptions = ReturnType<typeof resolve>;

export function resolve(options: KodiSimulatorOptions) {
  const ids = { uuid: uuidOf(options.name), mac: macOf(digest(options.name).slice(40)) };
  const power = { shutdown: true, suspend: true, hibernate: true, reboot: true, ...options.power };
  return { ...new Defaults(), ...ids, ...options, power };
}
