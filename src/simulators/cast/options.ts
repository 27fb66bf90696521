/** The options of a simulated Cast device, and its defaults. */
import { digest, macOf } from "../bench/identity.ts";
import type { SetOptions } from "../bench/set.ts";

export interface SimulatedCastApp {
  readonly appId: string;
  readonly name: string;
  /** Whether it supports the media namespace. Default true. */
  readonly media?: boolean;
  /** False for an app that refuses to load files. Default: it loads them. */
  readonly plays?: boolean;
  /** It ends when a file is loaded or playback is stopped, without an answer. */
  readonly quits?: boolean;
}

/** A media file. An unlisted one loads if its type can be played. */
interface SimulatedMedia {
  readonly url: string;
  /** Default two minutes; null for a stream without an end. */
  readonly durationMs?: number | null;
  /** The error of loading it. */
  readonly fails?: "LOAD_FAILED" | "LOAD_CANCELLED";
}

export interface CastSimulatorOptions extends SetOptions {
  id?: string;
  /** 0 is any free port. */
  port?: number;
  mdns?: boolean;
  /** The model name: `md`. */
  model?: string;
  /** The bits of `ca`: 1 video out, 4 audio out, 32 group. By default a device with a screen. */
  capabilities?: number;
  /** The id reported over the connection: its own, or that of the leader of a group. Null reports none. */
  reportsId?: string | null;
  /** `refuses`: a fixed volume refuses commands instead of ignoring them. */
  volume?: {
    level?: number;
    controlType?: "attenuation" | "fixed" | "master";
    stepInterval?: number;
    refuses?: boolean;
  };
  /** The standby state of the TV over HDMI; null if it is not known. */
  standBy?: boolean | null;
  /** The app that an idle device reports. */
  idle?: "backdrop" | "nothing";
  apps?: readonly SimulatedCastApp[];
  /** The reason of a LAUNCH_ERROR by app id. */
  launchErrors?: Readonly<Record<string, string>>;
  media?: readonly SimulatedMedia[];
  /** The time from loading a file to its start. */
  bufferMs?: number;
  /** The interval of pings. A client that is silent for two and a half intervals is disconnected. */
  heartbeatMs?: number;
}

const APPS: readonly SimulatedCastApp[] = [
  { appId: "CC1AD845", name: "Default Media Receiver", plays: true },
  { appId: "233637DE", name: "YouTube" },
  { appId: "EF67CA5A", name: "Netflix" },
  { appId: "CC32E753", name: "Spotify" },
  { appId: "0F5096E8", name: "Chrome Mirroring", media: false },
];

const DEFAULTS = {
  host: "127.0.0.1",
  port: 8009,
  mdns: true,
  model: "Chromecast",
  capabilities: 5,
  standBy: false,
  idle: "backdrop",
  apps: APPS,
  launchErrors: {} as Readonly<Record<string, string>>,
  media: [],
  bufferMs: 20,
  heartbeatMs: 5_000,
} satisfies Partial<CastSimulatorOptions>;

// The step is the value of hardware (3.5).
const VOLUME = { level: 0.5, controlType: "attenuation", stepInterval: 0.05000000074505806, refuses: false };

/** What never changes while a device exists. */
export type CastOptions = ReturnType<typeof resolve>;

export function resolve(options: CastSimulatorOptions) {
  const { id = digest(options.name).slice(0, 32) } = options;
  return {
    ...DEFAULTS,
    reportsId: id,
    ...options,
    id,
    hostName: id.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-"),
    mac: macOf(digest(options.name).slice(40)),
    volume: { ...VOLUME, ...options.volume },
  };
}
