/** What a set can be made to be, and what it is when nothing is said. */
import { digest, macOf } from "../bench/identity.ts";

export type AccessMode = "enabled" | "permissive" | "limited" | "disabled";
export type RokuKind = "tv" | "stick" | "box" | "soundbar";

export interface SimulatedApp {
  /** Digits, `tvinput.hdmi1`, `31012_ab12` for a private app; `dev` is the sideloaded one. */
  id: string;
  name: string;
  /** `appl` unless said otherwise, `tvin` for `tvinput.*`. Null leaves the attribute out, as old sets do. */
  type?: string | null;
  version?: string | null;
  subtype?: string;
  /** Stays in the background when left, as most large apps do. Default true. */
  instantResume?: boolean;
}

export interface SimulatedChannel {
  number: string;
  name: string;
}

/** What happens, in words. */
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
  /** What the owner called it: `user-device-name`. */
  name: string;
  /** Default: derived from the name, so the same name is the same set. */
  serial?: string;
  kind?: RokuKind;
  access?: AccessMode;
  /** Address to bind and to announce. */
  host?: string;
  /** ECP port; 0 is a free one. */
  port?: number;
  vendor?: string;
  model?: string;
  modelNumber?: string;
  mac?: string;
  softwareVersion?: string;
  screenSize?: string;
  /** Answer searches for the set. */
  ssdp?: boolean;
  ssdpDelayMs?: number;
  /** Null, the default: developer mode is off. */
  developer?: DeveloperOptions | null;
  /** UDP port for magic packets; 0 is a free one. */
  wakePort?: number;
  /** Firmware 11: no WAKEUP, no `ecp-setting-mode`, no audio-device, no exit-app, home is an app of its own. */
  legacy?: boolean;
  /** Sources disagree on `/launch` in limited mode (1.2): field reports say it works. Default true. */
  limitedLaunch?: boolean;
  apps?: SimulatedApp[];
  /** What the tuner of a TV receives. */
  channels?: SimulatedChannel[];
  /** Of a hundred, when it starts. Default 18. */
  volume?: number;
  /** Time until a launched app is the active one. */
  launchMs?: number;
  /** Time until Home has left an app. */
  homeMs?: number;
  onEvent?: (event: RokuEvent) => void;
}

export interface DeveloperOptions {
  password: string;
  installerPort?: number;
  consolePort?: number;
  /** Take a Delete form without an `archive` field. Default true, as the usual deploy tool sends it; false is as 2.1 has it. */
  archiveOptional?: boolean;
  /** What the installer calls its realm; emulators have names of their own. Default `rokudev`. */
  realm?: string;
}

const MODELS: Record<RokuKind, { vendor: string; model: string; modelNumber: string }> = {
  tv: { vendor: "Lumora", model: "43L520", modelNumber: "L520X" },
  stick: { vendor: "Roku", model: "Roku Streaming Stick 4K", modelNumber: "3820X" },
  box: { vendor: "Roku", model: "Roku Ultra", modelNumber: "4850X" },
  soundbar: { vendor: "Roku", model: "Roku Smart Soundbar", modelNumber: "9101X" },
};

/** Everything about a set that never changes while it exists. */
export type Identity = ReturnType<typeof identify>;

export function identify(options: RokuSimulatorOptions) {
  const { kind = "tv", legacy = false } = options;
  const { vendor, model, modelNumber } = MODELS[kind];
  const serial = options.serial ?? `X0${digest(options.name).slice(0, 10).toUpperCase()}`;
  /** Hex derived from the serial: raw material for ids that only have to be stable. */
  const seed = digest(serial);
  return {
    serial,
    seed,
    kind,
    legacy,
    vendor: options.vendor ?? vendor,
    model: options.model ?? model,
    modelNumber: options.modelNumber ?? modelNumber,
    host: options.host ?? "127.0.0.1",
    mac: options.mac ?? macOf(seed),
    softwareVersion: options.softwareVersion ?? (legacy ? "11.0.0" : "15.2.4"),
    screenSize: options.screenSize ?? "43",
    limitedLaunch: options.limitedLaunch ?? true,
    developer: options.developer ?? null,
  };
}

// Labels of inputs are the owner's own words, so one of them is a device's name (1.4).
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
