import { createHash } from "node:crypto";
import { defaultApps } from "./default-apps.ts";

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

export type RokuEvent = { text: string } & (
  | { type: "key"; key: string; action: "press" | "down" | "up" }
  | { type: "text"; character: string }
  | { type: "launch"; id: string; name: string; params: Record<string, string> }
  | { type: "exit"; id: string; name: string }
  | { type: "input"; params: Record<string, string> }
  | { type: "install"; title: string; version: string; bytes: number }
  | { type: "install-failed"; messages: readonly string[] }
  | { type: "delete"; title: string }
  | { type: "power"; power: Power }
  | { type: "wake" }
  | { type: "refused"; path: string; status: number }
  | { type: "discovery"; on: false }
);

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
  /** Time until a launched app is the active one. */
  launchMs?: number;
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

/** Everything about a set that never changes while it exists. */
export interface Identity {
  serial: string;
  kind: RokuKind;
  host: string;
  vendor: string;
  model: string;
  modelNumber: string;
  mac: string;
  softwareVersion: string;
  screenSize: string;
  legacy: boolean;
  limitedLaunch: boolean;
  developer: DeveloperOptions | null;
  /** Hex derived from the serial: raw material for ids that only have to be stable. */
  seed: string;
}

const MODELS: Record<RokuKind, { vendor: string; model: string; modelNumber: string }> = {
  tv: { vendor: "Lumora", model: "43L520", modelNumber: "L520X" },
  stick: { vendor: "Roku", model: "Roku Streaming Stick 4K", modelNumber: "3820X" },
  box: { vendor: "Roku", model: "Roku Ultra", modelNumber: "4850X" },
  soundbar: { vendor: "Roku", model: "Roku Smart Soundbar", modelNumber: "9101X" },
};

export function identify(options: RokuSimulatorOptions): Identity {
  const kind = options.kind ?? "tv";
  const legacy = options.legacy ?? false;
  const serial = options.serial ?? `X0${digest(options.name).slice(0, 10).toUpperCase()}`;
  const seed = digest(serial);
  return {
    ...MODELS[kind],
    ...(options.vendor === undefined ? {} : { vendor: options.vendor }),
    ...(options.model === undefined ? {} : { model: options.model }),
    ...(options.modelNumber === undefined ? {} : { modelNumber: options.modelNumber }),
    serial,
    seed,
    kind,
    legacy,
    host: options.host ?? "127.0.0.1",
    mac: options.mac ?? ["02", ...(seed.slice(0, 10).match(/../g) ?? [])].join(":"),
    softwareVersion: options.softwareVersion ?? (legacy ? "11.0.0" : "15.2.4"),
    screenSize: options.screenSize ?? "43",
    limitedLaunch: options.limitedLaunch ?? true,
    developer: options.developer ?? null,
  };
}

export function appsOf(options: RokuSimulatorOptions): SimulatedApp[] {
  return (options.apps ?? defaultApps(options.kind ?? "tv")).map((app) => ({ ...app }));
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
