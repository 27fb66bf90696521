/** The options of a simulated Cast device, and its defaults. */
import { digest, macOf } from "../bench/identity.ts";

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

interface CastEvent {
  readonly type: "media" | "launch" | "stop" | "volume" | "load" | "wake" | "discovery";
  readonly text: string;
}

export interface CastSimulatorOptions {
  /** The name given by its owner: `fn`. */
  name: string;
  /** Default: derived from the name. */
  id?: string;
  host?: string;
  /** Default 8009; 0 is any free port. */
  port?: number;
  mdns?: boolean;
  /** The model name: `md`. */
  model?: string;
  /** The bits of `ca`: 1 video out, 4 audio out, 32 group. Default 5, a device with a screen. */
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
  onEvent?: (event: CastEvent) => void;
}

const APPS: readonly SimulatedCastApp[] = [
  { appId: "CC1AD845", name: "Default Media Receiver", plays: true },
  { appId: "233637DE", name: "YouTube" },
  { appId: "EF67CA5A", name: "Netflix" },
  { appId: "CC32E753", name: "Spotify" },
  { appId: "0F5096E8", name: "Chrome Mirroring", media: false },
];

/** What never changes while a device exists. */
export type CastOptions = ReturnType<typeof identify>;

export function identify(options: CastSimulatorOptions) {
  const id = options.id ?? digest(options.name).slice(0, 32);
  const { volume = {} } = options;
  return {
    name: options.name,
    id,
    host: options.host ?? "127.0.0.1",
    hostName: `${id.slice(0, 8)}-${id.slice(8, 12)}-${id.slice(12, 16)}-${id.slice(16, 20)}-${id.slice(20, 32)}`,
    port: options.port ?? 8_009,
    mdns: options.mdns ?? true,
    model: options.model ?? "Chromecast",
    mac: macOf(digest(options.name).slice(40)),
    capabilities: options.capabilities ?? 5,
    reportsId: options.reportsId === undefined ? id : options.reportsId,
    volume: {
      level: volume.level ?? 0.5,
      controlType: volume.controlType ?? "attenuation",
      // The value of hardware (3.5).
      stepInterval: volume.stepInterval ?? 0.05000000074505806,
      refuses: volume.refuses ?? false,
    },
    standBy: options.standBy === undefined ? false : options.standBy,
    idle: options.idle ?? "backdrop",
    apps: options.apps ?? APPS,
    launchErrors: options.launchErrors ?? {},
    media: options.media ?? [],
    bufferMs: options.bufferMs ?? 20,
    heartbeatMs: options.heartbeatMs ?? 5_000,
    onEvent: options.onEvent,
  };
}
