/** The options of a simulated Roku, and its defaults. */
import { digest, macOf } from "../bench/identity.ts";
import type { SetOptions } from "../bench/set.ts";

export type AccessMode = "enabled" | "permissive" | "limited" | "disabled";
export type RokuKind = "tv" | "stick" | "box" | "soundbar";

export interface SimulatedApp {
  /** Digits, `tvinput.hdmi1`, `31012_ab12` for a private app; `dev` is the sideloaded one. */
  id: string;
  name: string;
  /** Default `appl`, or `tvin` for `tvinput.*`. Null leaves the attribute out, as old sets do. */
  type?: string | null;
  version?: string | null;
  /** Whether it stays in the background when left, as most large apps do. Default true. */
  instantResume?: boolean;
}

export interface SimulatedChannel {
  number: string;
  name: string;
}

export type Power = "on" | "standby" | "deep";

/** The options with a default. */
class Defaults {
  host = "127.0.0.1";
  kind: RokuKind = "tv";
  access: AccessMode = "enabled";
  /** The ECP port; 0 is any free port. */
  port = 0;
  screenSize = "43";
  /** Whether it answers searches. */
  ssdp = true;
  ssdpDelayMs = 0;
  /** Null: developer mode is off. */
  developer: DeveloperOptions | null = null;
  /** Firmware 11: no WAKEUP, no `ecp-setting-mode`, no audio-device, no exit-app, home is an app of its own. */
  legacy = false;
  /** Sources disagree on `/launch` in limited mode (1.2): field reports say it works. */
  limitedLaunch = true;
  /** The volume at the start, 0 to 100. */
  volume = 18;
  /** The time until a launched app is in front. */
  launchMs = 50;
  /** The time until Home leaves an app. */
  homeMs = 0;
}

export interface RokuSimulatorOptions extends SetOptions, Partial<Defaults> {
  serial?: string;
  mac?: string;
  apps?: readonly SimulatedApp[];
}

export interface DeveloperOptions {
  password: string;
  installerPort?: number;
  consolePort?: number;
  /** Whether a Delete form may lack the `archive` field. Default true, for the usual deploy tool; false follows 2.1. */
  archiveOptional?: boolean;
}

const MODELS: Record<RokuKind, { vendor: string; model: string; modelNumber: string }> = {
  tv: { vendor: "Lumora", model: "43L520", modelNumber: "L520X" },
  stick: { vendor: "Roku", model: "Roku Streaming Stick 4K", modelNumber: "3820X" },
  box: { vendor: "Roku", model: "Roku Ultra", modelNumber: "4850X" },
  soundbar: { vendor: "Roku", model: "Roku Smart Soundbar", modelNumber: "9101X" },
};

/** What never changes while a set exists. */
export type RokuOptions = ReturnType<typeof resolve>;

export function resolve(options: RokuSimulatorOptions) {
  const { serial = `X0${digest(options.name).slice(0, 10).toUpperCase()}` } = options;
  /** Hex derived from the serial, for ids that only have to be stable. */
  const seed = digest(serial);
  const all = { ...new Defaults(), mac: macOf(seed), ...options };
  const usual = {
    ...MODELS[all.kind],
    softwareVersion: all.legacy ? "11.0.0" : "15.2.4",
    apps: all.kind === "tv" ? [...INPUTS, ...APPS] : APPS,
  };
  return { ...usual, ...all, serial, seed };
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
