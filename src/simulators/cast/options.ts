/** What a Cast device can be made to be, and what it has when nothing is said. */
import { digest, macOf } from "../bench/identity.ts";

export interface SimulatedCastApp {
  readonly appId: string;
  readonly name: string;
  /** Whether it speaks the media namespace. Default true. */
  readonly media?: boolean;
  /** Whether it takes files from anybody, as the default receiver does. Default false but for that. */
  readonly plays?: boolean;
}

/** A file that can be loaded; what is not listed loads, where its type is one that is played. */
interface SimulatedMedia {
  readonly url: string;
  /** Default two minutes; null is one without an end. */
  readonly durationMs?: number | null;
  /** Why it cannot be loaded. */
  readonly fails?: "LOAD_FAILED" | "LOAD_CANCELLED";
}

interface CastEvent {
  readonly type: "media" | "launch" | "stop" | "volume" | "load" | "wake" | "discovery";
  readonly text: string;
}

export interface CastSimulatorOptions {
  /** What its owner called it: `fn`. */
  name: string;
  /** Default: made from the name. */
  id?: string;
  host?: string;
  /** 0 is a free one. */
  port?: number;
  mdns?: boolean;
  /** `md`. */
  model?: string;
  /** `ca`: 1 video out, 4 audio out, 32 a group. Default a device with a screen. */
  capabilities?: number;
  /** The id that it tells over its line: its own, or that of the speaker that leads a group. Null: it does not tell one. */
  reportsId?: string | null;
  /** `refuses`: a fixed volume says so; others take the command and ignore it. */
  volume?: {
    level?: number;
    controlType?: "attenuation" | "fixed" | "master";
    stepInterval?: number;
    refuses?: boolean;
  };
  /** What the screen says over HDMI; null where nothing is known. */
  standBy?: boolean | null;
  /** What an idle device says that it runs. */
  idle?: "backdrop" | "nothing";
  apps?: readonly SimulatedCastApp[];
  /** Reasons of a LAUNCH_ERROR by app id. */
  launchErrors?: Readonly<Record<string, string>>;
  media?: readonly SimulatedMedia[];
  /** From the load of a file to its start. */
  bufferMs?: number;
  /** Between two pings; who has said nothing for two and a half of them is hung up on. */
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

/** Everything about a device that never changes while it exists. */
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
      // As hardware says it (3.5).
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
