/** The options of a simulated LG set, and its defaults. */
import { type Certificate, sharedCertificate } from "../bench/certificate.ts";
import { digest, macOf, uuidOf } from "../bench/identity.ts";
import type { SetOptions } from "../bench/set.ts";
import type { Firmware, FirmwareYear } from "./firmware.ts";

export interface SimulatedApp {
  id: string;
  title: string;
  /** Whether it is preinstalled. */
  system?: boolean;
  /** Whether it is only in `listApps` and not a launch point. */
  hidden?: boolean;
}

interface SimulatedInput {
  /** `HDMI_1`. */
  id: string;
  /** The name given by its owner. */
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
 * How a prompt is answered: accepted or denied after `promptMs`; not at all unless `answerPrompt` is called; or `none`: no
 * prompt is shown and the client is registered at once.
 */
export type Prompting = "accept" | "deny" | "wait" | "none";

/**
 * What `turnOff` leads to: `off`, all ports closed; `quick-start`, open ports that refuse registration with 1008;
 * `active-standby`, a set that still answers (smart-tvs.md 1.2, 2.5).
 */
type Standby = "off" | "quick-start" | "active-standby";

export type Power = "on" | "standby";

/** The options with a default. */
class Defaults {
  host = "127.0.0.1";
  /** The port of wss; 0 is any free port, null is closed. */
  securePort: number | null = 3001;
  /** The port of ws; 0 is any free port, null is closed. */
  plainPort: number | null = 3000;
  /** By default both ports are open, and an old manifest can still pair. */
  firmware: FirmwareYear = "2021";
  model = "OLED55C14LB";
  /** The `modelName` of its descriptions; on many sets the same for all: `LG Smart TV`, `LG TV`. Default: the model. */
  describedModel: string | null = null;
  prompt: Prompting = "accept";
  /** The time until a prompt is answered. */
  promptMs = 500;
  /** The error of a denied prompt; some firmware sends `403 cancelled` (smart-tvs.md 2.3). */
  denial = "403 User denied access";
  /** Known client keys with their permissions. */
  clientKeys: Readonly<Record<string, readonly string[]>> = {};
  /** Whether it answers searches; 2026 firmware can switch that off (smart-tvs.md 2.1). */
  ssdp = true;
  ssdpDelayMs = 0;
  standby: Standby = "off";
  /** The time from `turnOff` until the silent sockets close: 4000 on webOS 6 (smart-tvs.md 2.5). */
  socketsCloseMs = 4_000;
  /** The time from then until the ports close. */
  portsCloseMs = 10_000;
  /** The time from a magic packet until the ports are open. */
  bootMs = 2_000;
  /** With a soundbar on ARC the volume is -1, `setVolume` is ignored, and steps work (smart-tvs.md 2.5). */
  soundOutput: "tv_speaker" | "external_arc" = "tv_speaker";
  /** Without a tuner the set closes the socket at `getChannelList` (smart-tvs.md 2.5). */
  tuner = true;
  inputs: readonly SimulatedInput[] = INPUTS;
  /** Changes the icon URL in launch points, given the real one. */
  iconAt = (address: string) => address;
  /** The time from the start of live TV until `getCurrentChannel` works (smart-tvs.md 2.4). */
  channelMs = 2_000;
}

export interface WebosSimulatorOptions extends SetOptions, Partial<Defaults> {
  /** The `deviceUUID`. */
  uuid?: string;
  /** Differences from the firmware of the year. */
  traits?: Partial<Firmware>;
  /** The wired address. */
  mac?: string;
  /** By default one that all sets of this process share. See `createCertificate`. */
  certificate?: Certificate;
}

export const LIVE_TV = "com.webos.app.livetv";
export const HOME = "com.webos.app.home";
export const BROWSER = "com.webos.app.browser";

/** Preinstalled apps with their real ids (smart-tvs.md 2.4 for inputs and tuner). */
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

const INPUTS: readonly SimulatedInput[] = [
  { id: "HDMI_1", label: "PlayStation 5", appId: "com.webos.app.hdmi1", connected: true },
  { id: "HDMI_2", label: "HDMI 2", appId: "com.webos.app.hdmi2", connected: false },
  { id: "HDMI_3", label: "HDMI 3", appId: "com.webos.app.hdmi3", connected: false },
];

export const CHANNELS: readonly SimulatedChannel[] = [
  { number: "5-1", name: "KQED" },
  { number: "7-1", name: "KGO" },
  { number: "11-1", name: "KNTV" },
];

/** The common name on the certificate of every set (smart-tvs.md 1.3). */
export const COMMON_NAME = "LGE TV SSG";

/** What never changes while a set exists. */
export type WebosOptions = ReturnType<typeof resolve>;

export function resolve(options: WebosSimulatorOptions) {
  const { uuid = uuidOf(options.name), certificate = sharedCertificate(COMMON_NAME) } = options;
  /** Hex derived from the UUID, for ids that only have to be stable. */
  const seed = digest(uuid);
  return { ...new Defaults(), mac: macOf(seed), ...options, uuid, seed, certificate, wifiMac: macOf(digest(seed)) };
}
