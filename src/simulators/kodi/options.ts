import { createHash } from "node:crypto";
import { ADDONS, FAVOURITES, MEDIA } from "./defaults.ts";

export interface SimulatedAddon {
  id: string;
  name: string;
  version?: string;
  /** What it provides: `executable` is a script, any other a plug-in with a folder of its own. */
  content: "video" | "audio" | "image" | "executable";
  /** Default true. */
  enabled?: boolean;
}

/** Something that can be opened; what is not listed is there when it is a URL, and missing when it is a path. */
export interface SimulatedMedia {
  file: string;
  title?: string;
  kind?: "video" | "audio";
  /** Default two minutes; null is a stream without an end. */
  durationMs?: number | null;
  /** The opening is taken and fails then, with a dialog that says so. */
  broken?: boolean;
}

/** A picture that was shown, and is kept. */
export interface SimulatedTexture {
  textureid: number;
  url: string;
  cachedurl?: string;
  lasthashcheck?: string;
  imagehash?: string;
}

export interface SimulatedChannel {
  id: number;
  number: number;
  name: string;
  radio?: boolean;
}

/** The types that Kodi has (players.md 7.2). */
export type SimulatedFavourite = { title: string } & (
  | { type: "media"; path: string }
  | { type: "window"; window: string; windowparameter: string }
  | { type: "script"; path: string }
  | { type: "androidapp"; path: string }
);

export type Power = "on" | "asleep" | "ended";

export type KodiEvent = { text: string } & (
  | { type: "key"; key: string }
  | { type: "text"; characters: string }
  | { type: "launch"; id: string; params: string }
  | { type: "open"; file: string }
  | { type: "stop" }
  | { type: "volume"; level: number; muted: boolean }
  | { type: "window"; id: number }
  | { type: "power"; power: Power }
  | { type: "wake" }
  | { type: "crash"; method: string }
  | { type: "refused"; reason: string }
  | { type: "discovery"; on: false }
);

export interface KodiSimulatorOptions {
  /** What the owner called it: `services.devicename`. */
  name: string;
  /** What mDNS says as `uuid`. Default: derived from the name, so the same name is the same player. */
  uuid?: string;
  /** Address to bind and to announce. */
  host?: string;
  /** HTTP port; 0 is a free one. */
  port?: number;
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
  /** Asleep, its ports are closed, or open and silent as those of a machine that was suspended. Default `closed`. */
  asleep?: "closed" | "silent";
  addons?: SimulatedAddon[];
  favourites?: SimulatedFavourite[];
  media?: SimulatedMedia[];
  textures?: SimulatedTexture[];
  /** UDP port of the event server; 0 is a free one. Null, the default: it is switched off. */
  eventPort?: number | null;
  /** What the tuner receives. Default: no tuner. */
  channels?: SimulatedChannel[];
  /** Time from the answer of Player.Open to the start. Default 20. */
  startMs?: number;
  onEvent?: (event: KodiEvent) => void;
}

/** Everything about a player that never changes while it exists. */
export interface Identity {
  readonly uuid: string;
  readonly mac: string;
  readonly host: string;
  readonly version: string;
  readonly user: string;
  readonly can: Readonly<Record<"shutdown" | "suspend" | "hibernate" | "reboot", boolean>>;
  readonly asleep: "closed" | "silent";
}

export function identify(options: KodiSimulatorOptions): Identity {
  const seed = createHash("sha256").update(options.name).digest("hex");
  return {
    uuid: options.uuid ?? seed.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-4$3-8$4-$5"),
    mac: options.mac ?? ["02", ...(seed.slice(40, 50).match(/../g) ?? [])].join(":"),
    host: options.host ?? "127.0.0.1",
    version: options.version ?? "20.1",
    user: options.user ?? "kodi",
    can: { shutdown: true, suspend: true, hibernate: true, reboot: true, ...options.power },
    asleep: options.asleep ?? "closed",
  };
}

export function contentOf(options: KodiSimulatorOptions) {
  return {
    addons: (options.addons ?? ADDONS).map((addon) => ({ ...addon })),
    favourites: options.favourites ?? FAVOURITES,
    media: options.media ?? MEDIA,
    channels: options.channels ?? [],
  };
}
