/** The options of a simulated Roku, and its defaults. */
import { digest, macOf } from "../bench/identity.ts";

export type AccessMode = "enabled" | "permissive" | "limited" | "disabled";
export type RokuKind = "tv" | "stick" | "box" | "soundbar";

export interface SimulatedApp {
  /** Digits, `tvinput.hdmi1`, `31012_ab12` for a private app; `dev` is the sideloaded one. */
  id: string;
  name: string;
  /** Default `appl`, or `tvin` for `tvinput.*`. Null leaves the attribute out, as old sets do. */
  type?: string | null;
  version?: string | null;
  subtype?: string;
  /** Whether it stays in the background when left, as most large apps do. Default true. */
  instantResume?: boolean;
}

export interface SimulatedChannel {
  number: string;
  name: string;
}

/** Something that happened, with a text for people. */
export interface RokuEvent {
  readonly type:
    | "key"
    | "text"
    | "launch"
    | "exit"
    | "input"
    | "install"
    | "install-failed"
    | "delete"
    | "power"
    | "wake"
    | "refused"
    | "discovery";
  readonly text: string;
}

export type Power = "on" | "standby" | "deep";

export interface RokuSimulatorOptions {
  /** The name given by its owner: `user-device-name`. */
  name: string;
  /** Default: derived from the name. */
  serial?: string;
  kind?: RokuKind;
  access?: AccessMode;
  /** The address to bind and to announce. */
  host?: string;
  /** The ECP port; 0 is any free port. */
  port?: number;
  vendor?: string;
  model?: string;
  mac?: string;
  softwareVersion?: string;
  screenSize?: string;
  /** Whether it answers searches. */
  ssdp?: boolean;
  ssdpDelayMs?: number;
  /** Default null: developer mode is off. */
  developer?: DeveloperOptions | null;
  /** The UDP port for magic packets; 0 is any free port. */
  wakePort?: number;
  /** Firmware 11: no WAKEUP, no `ecp-setting-mode`, no audio-device, no exit-app, home is an app of its own. */
  legacy?: boolean;
  /** Sources disagree on `/launch` in limited mode (1.2): field reports say it works. Default true. */
  limitedLaunch?: boolean;
  apps?: SimulatedApp[];
  /** The channels of a TV. */
  channels?: SimulatedChannel[];
  /** The volume at the start, 0 to 100. Default 18. */
  volume?: number;
  /** The time until a launched app is in front. Default 50. */
  launchMs?: number;
  /** The time until Home leaves an app. Default 0. */
  homeMs?: number;
  onEvent?: (event: RokuEvent) => void;
}

export interface DeveloperOptions {
  password: string;
  installerPort?: number;
  consolePort?: number;
  /** Whether a Delete form may lack the `archive` field. Default true, for the usual deploy tool; false follows 2.1. */
  archiveOptional?: boolean;
  /** The realm of the installer; emulators use other names. Default `rokudev`. */
  realm?: string;
}

const MODELS: Record<RokuKind, { vendor: string; model: string; modelNumber: string }> = {
  tv: { vendor: "Lumora", model: "43L520", modelNumber: "L520X" },
  stick: { vendor: "Roku", model: "Roku Streaming Stick 4K", modelNumber: "3820X" },
  box: { vendor: "Roku", model: "Roku Ultra", modelNumber: "4850X" },
  soundbar: { vendor: "Roku", model: "Roku Smart Soundbar", modelNumber: "9101X" },
};

/** What never changes while a set exists. */
export type Identity = ReturnType<typeof identify>;

export function identify(options: RokuSimulatorOptions) {
  const { kind = "tv", legacy = false } = options;
  const { vendor, model, modelNumber } = MODELS[kind];
  const serial = options.serial ?? `X0${digest(options.name).slice(0, 10).toUpperCase()}`;
  /** Hex derived from the serial, for ids that only have to be stable. */
  const seed = digest(serial);
  return {
    serial,
    seed,
    kind,
    legacy,
    vendor: options.vendor ?? vendor,
    model: options.model ?? model,
    modelNumber,
    host: options.host ?? "127.0.0.1",
    mac: options.mac ?? macOf(seed),
    softwareVersion: options.softwareVersion ?? (legacy ? "11.0.0" : "15.2.4"),
    screenSize: options.screenSize ?? "43",
    limitedLaunch: options.limitedLaunch ?? true,
    developer: options.developer ?? null,
  };
}

// Owners can rename inputs, so one has the name of a device (1.4).
const INPUTS: readonly SimulatedApp[] = [
  { id: "tvinput.hdmi1", name: "Blu-ray player" },
  { id: "tvinput.hdmi2", name: "HDMI 2" },
  { id: "tvinput.hdmi3", name: "HDMI 3 (ARC)" },
  { id: "tvinput.cvbs", name: "AV" },
  { id: "tvinput.dtv", name: "Live TV" },
];

const APPS: readonly SimulatedApp[] = [
  { id: "12", name: "Netflix", version: "81.4.12" },
  { id: "837", name: "YouTube", version: "3.11.40" },
  { id: "13", name: "Prime Video", version: "17.2.7" },
  { id: "2285", name: "Hulu", version: "8.1.3" },
  { id: "151908", name: "The Roku Channel", version: "27.2.9" },
  { id: "291097", name: "Disney Plus", version: "1.71.5" },
  { id: "41468", name: "Tubi - Free Movies & TV", version: "4.2.0" },
  { id: "700101", name: "Ciné Écran Œuvres", version: "1.9.3" },
  { id: "700102", name: "Kids' Corner® <3", version: "2.0.11" },
  { id: "31012_4c1f", name: "Home Movies", version: "0.4.2", instantResume: false },
];

export const CHANNELS: readonly SimulatedChannel[] = [
  { number: "2.1", name: "KZAP" },
  { number: "5.1", name: "KDEM" },
  { number: "5.2", name: "KDEM+" },
];

export function defaultApps(kind: RokuKind): readonly SimulatedApp[] {
  return kind === "tv" ? [...INPUTS, ...APPS] : APPS;
}
