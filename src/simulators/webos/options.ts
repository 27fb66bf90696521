import { createHash } from "node:crypto";
import type { Certificate } from "./certificate.ts";
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

export type WebosEvent = { text: string } & (
  | { type: "prompt"; permissions: readonly string[] }
  | { type: "prompt-end"; answer: "accepted" | "denied" | "gone" }
  | { type: "registered"; key: string }
  | { type: "button"; name: string }
  | { type: "pointer"; action: "click" | "move" | "scroll"; dx: number; dy: number }
  | { type: "text"; value: string }
  | { type: "launch"; id: string; title: string; params: Readonly<Record<string, unknown>>; contentId: string | null }
  | { type: "close"; id: string; title: string }
  | { type: "volume"; level: number; muted: boolean }
  | { type: "toast"; message: string }
  | { type: "power"; power: Power }
  | { type: "wake" }
  | { type: "refused"; uri: string; error: string }
  | { type: "discovery"; on: false }
);

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
  wifiMac?: string;
  /** The interface in use: only its address wakes the set (smart-tvs.md 1.2). Default wired. */
  network?: "wired" | "wifi";
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
  /** From the start of live TV until `getCurrentChannel` answers. Default 2000 (smart-tvs.md 2.4). */
  channelMs?: number;
  onEvent?: (event: WebosEvent) => void;
}

/** Everything about a set that never changes while it exists. */
export interface Identity {
  readonly uuid: string;
  readonly host: string;
  readonly model: string;
  readonly mac: string;
  readonly wifiMac: string;
  readonly network: "wired" | "wifi";
  /** Hex derived from the uuid: raw material for ids that only have to be stable. */
  readonly seed: string;
}

export function identify(options: WebosSimulatorOptions): Identity {
  const uuid = options.uuid ?? uuidOf(options.name);
  const seed = digest(uuid);
  return {
    uuid,
    seed,
    host: options.host ?? "127.0.0.1",
    model: options.model ?? "OLED55C14LB",
    mac: options.mac ?? macOf(seed),
    wifiMac: options.wifiMac ?? macOf(digest(seed)),
    network: options.network ?? "wired",
  };
}

/** A UUID that is always the same for the same words. */
export function uuidOf(words: string): string {
  const hex = digest(words);
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ];
  return parts.join("-");
}

function macOf(hex: string): string {
  return ["02", ...(hex.slice(0, 10).match(/../g) ?? [])].join(":");
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
