import type { RecordedRequest } from "../bench/http.ts";
import { type Emit, emitter } from "../bench/set.ts";
import type { Playback } from "./apps.ts";
import { ConsoleBuffer } from "./console.ts";
import {
  type AccessMode,
  type Power,
  type RokuOptions,
  type RokuSimulatorOptions,
  resolve,
  type SimulatedApp,
  type SimulatedChannel,
} from "./options.ts";

export interface Sideloaded {
  readonly title: string;
  readonly version: string;
  readonly md5: string;
  readonly bytes: number;
  readonly fileName: string;
  readonly instantResume: boolean;
}

interface Launch {
  readonly id: string;
  readonly params: Record<string, string>;
}

export type InstallFault = "compile" | "update-required" | "update-page" | "reset" | "bad-zip";

/** The whole state of a set, which the other files read and change. */
export class Model {
  readonly options: RokuOptions;
  apps: readonly SimulatedApp[];
  readonly console = new ConsoleBuffer();
  readonly background = new Set<string>();
  readonly held = new Set<string>();
  readonly keys: string[] = [];
  readonly requests: RecordedRequest[] = [];
  readonly emit: Emit;
  name: string;
  access: AccessMode;
  power: Power = "on";
  bootedAt = Date.now();
  /** The app in front; null is home. */
  active: string | null = null;
  launching: { id: string; timer: ReturnType<typeof setTimeout> } | null = null;
  lastLaunch: Launch | null = null;
  channel: SimulatedChannel | null = null;
  screensaver = false;
  playback: Playback | null = null;
  volume: number;
  muted = false;
  text = "";
  sideloaded: Sideloaded | null = null;
  installFault: InstallFault | null = null;

  constructor(options: RokuSimulatorOptions) {
    this.options = resolve(options);
    const { name, access, apps, volume } = this.options;
    this.name = name;
    this.access = access;
    this.apps = apps;
    this.volume = volume;
    this.emit = emitter(options);
  }

  get isTv(): boolean {
    return this.options.kind === "tv";
  }

  get hasVolume(): boolean {
    return this.isTv || this.options.kind === "soundbar";
  }
}

/** The installed apps, including the sideloaded one (1.4). */
export function installed(model: Model): readonly SimulatedApp[] {
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
