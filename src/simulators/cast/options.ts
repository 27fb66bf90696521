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
  /** Which messages have a number: answers, or those to GET_STATUS. Default: all; without one, answers go to all senders. */
  readonly numbers?: "answers" | "status" | "none";
  /** It takes commands for what plays, and refuses them. */
  readonly refuses?: boolean;
  /** It ends when a file is loaded or playback is stopped, without an answer. */
  readonly quits?: boolean;
}

/** A media file. An unlisted one loads if its type can be played. */
interface SimulatedMedia {
  readonly url: string;
  /** Default two minutes; null for a stream without an end. */
  readonly durationMs?: number | null;
  /** The error of loading it; `IDLE`: only the status shows it, where the device reports what loads. */
  readonly fails?: "LOAD_FAILED" | "LOAD_CANCELLED" | "IDLE";
}

/** The options with a default. */
class Defaults {
  host = "127.0.0.1";
  /** 0 is any free port. */
  port = 8009;
  mdns = true;
  /** The model name: `md`. */
  model = "Chromecast";
  /** The bits of `ca`: 1 video out, 4 audio out, 32 group. By default a device with a screen. */
  capabilities = 5;
  /** The standby state of the TV over HDMI; null if it is not known. */
  standBy: boolean | null = false;
  /** The app that an idle device reports. */
  idle: "backdrop" | "nothing" = "backdrop";
  apps: readonly SimulatedCastApp[] = APPS;
  /** The reason of a LAUNCH_ERROR by app id. */
  launchErrors: Readonly<Record<string, string>> = {};
  media: readonly SimulatedMedia[] = [];
  /** The time from loading a file to its start. */
  bufferMs = 20;
  /** Whether it reports a file that loads, as idle (home-assistant-libs/pychromecast#225), and describes it only then. */
  reportsLoading = false;
  /** The interval of pings. A client that is silent for two and a half intervals is disconnected. */
  heartbeatMs = 5_000;
}

export interface CastSimulatorOptions extends SetOptions, Partial<Defaults> {
  id?: string;
  /** The id reported over the connection: its own, or that of the leader of a group. Null reports none. */
  reportsId?: string | null;
  /** `refuses`: a fixed volume refuses commands instead of ignoring them. `steps`: what it rounds levels to, as an Android TV. */
  volume?: {
    level?: number;
    controlType?: "attenuation" | "fixed" | "master";
    stepInterval?: number;
    refuses?: boolean;
    steps?: number;
  };
}

const APPS: readonly SimulatedCastApp[] = [
  { appId: "CC1AD845", name: "Default Media Receiver", plays: true },
  { appId: "233637DE", name: "YouTube" },
  { appId: "EF67CA5A", name: "Netflix" },
  { appId: "CC32E753", name: "Spotify" },
  { appId: "0F5096E8", name: "Chrome Mirroring", media: false },
];

// The step is the value of hardware (3.5).
const VOLUME = {
  level: 0.5,
  controlType: "attenuation",
  stepInterval: 0.05000000074505806,
  refuses: false,
  steps: 1e6,
};

/** What never changes while a device exists. */
export type CastOptions = ReturnType<typeof resolve>;

export function resolve(options: CastSimulatorOptions) {
  const { id = digest(options.name).slice(0, 32) } = options;
  return {
    ...new Defaults(),
    reportsId: id,
    ...options,
    id,
    hostName: id.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-"),
    mac: macOf(digest(options.name).slice(40)),
    volume: { ...VOLUME, ...options.volume },
  };
}
