/** What a player can be made to be, and what it has when nothing is said. */
import { digest, macOf, uuidOf } from "../bench/identity.ts";

export interface SimulatedAddon {
  id: string;
  name: string;
  version?: string;
  /** What it provides: `executable` is a script, any other a plug-in with a folder of its own. */
  content: "video" | "audio" | "image" | "executable";
  /** Default true. */
  enabled?: boolean;
  /** `image://…/`, which its web server then serves under `/image/`. Default none. */
  thumbnail?: string;
}

/** Where pictures of its screen go. Its web server gives them, and says which there are, only where that is a source. */
export interface SimulatedScreenshots {
  folder: string;
  /** Default true. */
  isSource?: boolean;
}

/** Something that can be opened; what is not listed is there when it is a URL, and missing when it is a path. */
export interface SimulatedMedia {
  file: string;
  title?: string;
  /** Who made it. Default nobody. */
  artist?: readonly string[];
  kind?: "video" | "audio";
  /** Default two minutes; null is a stream without an end. */
  durationMs?: number | null;
  /** The opening is taken and fails then, with a dialog that says so. */
  broken?: boolean;
  /** As of an add-on: what is shown of it while it plays. Default none. */
  thumbnail?: string;
  /** The path of a picture beside the file, of which only its screen tells. Default none. */
  poster?: string;
}

export interface SimulatedChannel {
  id: number;
  number: number;
  name: string;
  radio?: boolean;
  /** The address of its logo, which is served like a thumbnail. Default none. */
  logo?: string;
}

/** The types that Kodi has (players.md 7.2). */
export type SimulatedFavourite = { title: string } & (
  | { type: "media"; path: string }
  | { type: "window"; window: string; windowparameter: string }
  | { type: "script"; path: string }
  | { type: "androidapp"; path: string }
);

export type Power = "on" | "asleep" | "ended";

/** What happens, in words. */
export interface KodiEvent {
  readonly type:
    | "toast"
    | "key"
    | "text"
    | "launch"
    | "open"
    | "stop"
    | "volume"
    | "window"
    | "power"
    | "wake"
    | "crash"
    | "refused"
    | "discovery";
  readonly text: string;
}

export interface KodiSimulatorOptions {
  /** What the owner called it: `services.devicename`. */
  name: string;
  /** What mDNS says as `uuid`. Default: derived from the name, so the same name is the same player. */
  uuid?: string;
  /** Address to bind and to announce. */
  host?: string;
  /** HTTP port; 0 is a free one. */
  port?: number;
  /** False: its owner has the web server off, and it is reached over its socket alone. Default true. */
  webServer?: boolean;
  /** WebSocket and bare TCP; 0 is a free one. Null: other systems may not control it, and there is none. */
  tcpPort?: number | null;
  /** Asked over HTTP, and never on the other port (xbmc/xbmc#21306). Null, the default, asks nothing. */
  password?: string | null;
  /** Default `kodi`. */
  user?: string;
  mac?: string;
  /** As `System.BuildVersion` begins. */
  version?: string;
  /** Announce both services over mDNS. */
  mdns?: boolean;
  /** UDP port for magic packets; 0 is a free one. */
  wakePort?: number;
  /** What the system under it lets it do. Default: all of it. */
  power?: { shutdown?: boolean; suspend?: boolean; hibernate?: boolean; reboot?: boolean };
  addons?: SimulatedAddon[];
  favourites?: SimulatedFavourite[];
  media?: SimulatedMedia[];
  /** Default: its owner has set no folder for them. */
  screenshots?: SimulatedScreenshots;
  /** What the tuner receives. Default: no tuner. */
  channels?: SimulatedChannel[];
  /** Time from the answer of Player.Open to the start. Default 20. */
  startMs?: number;
  onEvent?: (event: KodiEvent) => void;
}

/** Everything about a player that never changes while it exists. */
export type Identity = ReturnType<typeof identify>;

export function identify(options: KodiSimulatorOptions) {
  return {
    uuid: options.uuid ?? uuidOf(options.name),
    mac: options.mac ?? macOf(digest(options.name).slice(40)),
    host: options.host ?? "127.0.0.1",
    version: options.version ?? "20.1",
    user: options.user ?? "kodi",
    can: { shutdown: true, suspend: true, hibernate: true, reboot: true, ...options.power },
  };
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

export const ADDONS: readonly SimulatedAddon[] = installed.map((addon) => ({
  ...addon,
  thumbnail: imageOf(`/home/kodi/.kodi/addons/${addon.id}/icon.png`),
}));

export const MEDIA: readonly SimulatedMedia[] = [
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

/** The address of a picture, with its escapes in small letters, as Kodi writes them. */
export function imageOf(path: string, within = ""): string {
  const escaped = encodeURIComponent(path).replace(/%../g, (letters) => letters.toLowerCase());
  return `image://${within}${escaped}/`;
}

export const FAVOURITES: readonly SimulatedFavourite[] = [
  { title: "Holiday", type: "media", path: "/media/holiday.mp4" },
  { title: "Arte", type: "window", window: "videos", windowparameter: "plugin://plugin.video.arteplussept/" },
  { title: "Weather", type: "script", path: "script.weather.screen" },
];
