import { type ConsoleBuffer, createConsoleBuffer } from "./console.ts";
import { CHANNELS } from "./default-apps.ts";
import {
  type AccessMode,
  appsOf,
  type Identity,
  identify,
  type Power,
  type RokuEvent,
  type RokuSimulatorOptions,
  type SimulatedApp,
  type SimulatedChannel,
} from "./options.ts";
import type { Playback } from "./playback.ts";

export interface Sideloaded {
  readonly title: string;
  readonly version: string;
  readonly md5: string;
  readonly bytes: number;
  readonly fileName: string;
  readonly instantResume: boolean;
  fileType: "zip" | "squashfs";
}

export interface Launch {
  readonly id: string;
  readonly params: Record<string, string>;
}

export type InstallFault = "compile" | "update-required" | "update-page" | "reset" | "bad-zip";

/** What the set knows of itself. The files around this one read and change it; nothing else holds state. */
export interface Model {
  readonly identity: Identity;
  readonly channels: readonly SimulatedChannel[];
  readonly launchMs: number;
  readonly console: ConsoleBuffer;
  readonly apps: SimulatedApp[];
  readonly background: Set<string>;
  readonly held: Set<string>;
  readonly keys: string[];
  name: string;
  access: AccessMode;
  power: Power;
  bootedAt: number;
  /** The app in front; null is home. */
  active: string | null;
  launching: { id: string; timer: ReturnType<typeof setTimeout> } | null;
  lastLaunch: Launch | null;
  channel: SimulatedChannel | null;
  screensaver: boolean;
  playback: Playback | null;
  volume: number;
  muted: boolean;
  text: string;
  sideloaded: Sideloaded | null;
  installFault: InstallFault | null;
  emit(event: RokuEvent): void;
}

export function createModel(options: RokuSimulatorOptions): Model {
  return {
    identity: identify(options),
    channels: options.channels ?? CHANNELS,
    launchMs: options.launchMs ?? 50,
    console: createConsoleBuffer(),
    apps: appsOf(options),
    background: new Set(),
    held: new Set(),
    keys: [],
    name: options.name,
    access: options.access ?? "enabled",
    power: "on",
    bootedAt: Date.now(),
    active: null,
    launching: null,
    lastLaunch: null,
    channel: null,
    screensaver: false,
    playback: null,
    volume: 18,
    muted: false,
    text: "",
    sideloaded: null,
    installFault: null,
    emit: (event) => options.onEvent?.(event),
  };
}

/** The installed apps, the sideloaded one among them (1.4). */
export function installed(model: Model): SimulatedApp[] {
  const { sideloaded } = model;
  if (sideloaded === null) return model.apps;
  const { title, version, instantResume } = sideloaded;
  return [...model.apps, { id: "dev", name: title, version, instantResume }];
}

export function findApp(model: Model, id: string): SimulatedApp | undefined {
  return installed(model).find((app) => app.id === id);
}

export function appType(app: SimulatedApp): string | null {
  return app.type === undefined ? (app.id.startsWith("tvinput.") ? "tvin" : "appl") : app.type;
}

export function appName(model: Model, id: string): string {
  return findApp(model, id)?.name ?? id;
}
