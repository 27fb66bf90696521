/** What a set can be made to be, and what it comes with when nothing is said. */
import type { Certificate } from "../bench/certificate.ts";
import { digest, macOf, uuidOf } from "../bench/identity.ts";
import type { Firmware, FirmwareYear } from "./firmware.ts";

export interface SimulatedApp {
  id: string;
  title: string;
  version?: string;
  /** Came with the set. */
  system?: boolean;
  /** Not among the launch points, only in `listApps`. */
  hidden?: boolean;
}

export interface SimulatedInput {
  /** `HDMI_1`. */
  id: string;
  /** What the owner called it. */
  label: string;
  /** Inputs are apps: `com.webos.app.hdmi1`. */
  appId: string;
  connected: boolean;
}

export interface SimulatedChannel {
  number: string;
  name: string;
}

/**
 * What becomes of a prompt: a person accepts or denies it after `promptMs`; nobody does anything (`answerPrompt` may
 * still be called); or no prompt is shown and the set goes straight to `registered`.
 */
export type Prompting = "accept" | "deny" | "wait" | "none";

/**
 * What `turnOff` leads to: all ports closed in the end; ports that stay open and refuse registration with 1008, as
 * Quick Start+ does; or "Active Standby", in which the set goes on answering (smart-tvs.md 1.2, 2.5).
 */
export type Standby = "off" | "quick-start" | "active-standby";

export type Power = "on" | "standby";

/** What happens, in words. */
export interface WebosEvent {
  readonly type:
    | "prompt"
    | "prompt-end"
    | "registered"
    | "button"
    | "pointer"
    | "text"
    | "launch"
    | "close"
    | "volume"
    | "toast"
    | "power"
    | "wake"
    | "refused"
    | "discovery";
  readonly text: string;
}

export interface WebosSimulatorOptions {
  /** What the owner called it: `friendlyName`. */
  name: string;
  /** `deviceUUID`. Default: derived from the name, so the same name is the same set. */
  uuid?: string;
  /** Address to bind and to announce. */
  host?: string;
  /** wss; 3001 unless said otherwise, 0 is a free one, null is closed. */
  securePort?: number | null;
  /** ws; 3000 unless said otherwise, 0 is a free one, null is closed. */
  plainPort?: number | null;
  /** UDP port for magic packets; 0, the default, is a free one. */
  wakePort?: number;
  /** Default "2021": both ports, an old manifest still pairs. */
  firmware?: FirmwareYear;
  /** Where the set differs from its firmware. */
  traits?: Partial<Firmware>;
  model?: string;
  /** Wired. */
  mac?: string;
  /** Another certificate than the one that all sets of this process share; see `createCertificate`. */
  certificate?: Certificate;
  /** Default "accept". */
  prompt?: Prompting;
  /** Time until the person accepts or denies. Default 500. */
  promptMs?: number;
  /** `403 User denied access` unless said otherwise; some firmware says `403 cancelled` (smart-tvs.md 2.3). */
  denial?: string;
  /** Client keys that are known from before, with the permissions each was granted. */
  clientKeys?: Readonly<Record<string, readonly string[]>>;
  /** Answer searches for the set: 2026 firmware can switch that off (smart-tvs.md 2.1). Default true. */
  ssdp?: boolean;
  ssdpDelayMs?: number;
  standby?: Standby;
  /** From `turnOff` until the silent sockets close. Default 4000, as on webOS 6 (smart-tvs.md 2.5). */
  socketsCloseMs?: number;
  /** From then until the ports close. Default 10 000. */
  portsCloseMs?: number;
  /** From a magic packet until the ports are open again. Default 2000. */
  bootMs?: number;
  /** A soundbar on ARC: volume -1, `setVolume` is ignored, steps work (smart-tvs.md 2.5). */
  soundOutput?: "tv_speaker" | "external_arc";
  /** Without a tuner `getChannelList` makes the set close the socket (smart-tvs.md 2.5). Default true. */
  tuner?: boolean;
  apps?: readonly SimulatedApp[];
  inputs?: readonly SimulatedInput[];
  /** What the tuner receives. */
  channels?: readonly SimulatedChannel[];
  /** What its launch points say of where the icon of an app is, made from the address where it is. */
  iconAt?: (address: string) => string;
  /** From the start of live TV until `getCurrentChannel` answers. Default 2000 (smart-tvs.md 2.4). */
  channelMs?: number;
  onEvent?: (event: WebosEvent) => void;
}

/** Everything about a set that never changes while it exists. */
export type Identity = ReturnType<typeof identify>;

export function identify(options: WebosSimulatorOptions) {
  const uuid = options.uuid ?? uuidOf(options.name);
  /** Hex derived from the uuid: raw material for ids that only have to be stable. */
  const seed = digest(uuid);
  return {
    uuid,
    seed,
    host: options.host ?? "127.0.0.1",
    model: options.model ?? "OLED55C14LB",
    mac: options.mac ?? macOf(seed),
    wifiMac: macOf(digest(seed)),
  };
}

export const LIVE_TV = "com.webos.app.livetv";
export const HOME = "com.webos.app.home";
export const BROWSER = "com.webos.app.browser";

/** What a set comes with; the ids are those that sets give (smart-tvs.md 2.4 for inputs and tuner). */
export const APPS: readonly SimulatedApp[] = [
  { id: "netflix", title: "Netflix" },
  { id: "youtube.leanback.v4", title: "YouTube" },
  { id: "amazon", title: "Prime Video" },
  { id: "com.disney.disneyplus-prod", title: "Disney+" },
  { id: "com.apple.appletv", title: "Apple TV" },
  { id: "spotify-beehive", title: "Spotify - Music and Podcasts" },
  { id: BROWSER, title: "Web Browser", system: true },
  { id: LIVE_TV, title: "Live TV", system: true },
  { id: "com.webos.app.hdmi1", title: "HDMI 1", system: true },
  { id: "com.webos.app.hdmi2", title: "HDMI 2", system: true },
  { id: "com.webos.app.hdmi3", title: "HDMI 3", system: true },
  { id: HOME, title: "Home", system: true, hidden: true },
  { id: "com.webos.app.screensaver", title: "Screen Saver", system: true, hidden: true },
];

export const INPUTS: readonly SimulatedInput[] = [
  { id: "HDMI_1", label: "PlayStation 5", appId: "com.webos.app.hdmi1", connected: true },
  { id: "HDMI_2", label: "HDMI 2", appId: "com.webos.app.hdmi2", connected: false },
  { id: "HDMI_3", label: "HDMI 3", appId: "com.webos.app.hdmi3", connected: false },
];

export const CHANNELS: readonly SimulatedChannel[] = [
  { number: "5-1", name: "KQED" },
  { number: "7-1", name: "KGO" },
  { number: "11-1", name: "KNTV" },
];
