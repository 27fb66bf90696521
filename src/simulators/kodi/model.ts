import { type Emit, emitter } from "../bench/set.ts";
import {
  type KodiOptions,
  type KodiSimulatorOptions,
  type Power,
  resolve,
  type SimulatedAddon,
  type SimulatedScreenshots,
} from "./options.ts";
import type { Playing } from "./playback.ts";
import { HOME, type OpenDialog, type Window } from "./windows.ts";

/** A received call; `method` is empty if it named none. */
export interface ReceivedCall {
  readonly via: "http" | "websocket" | "tcp";
  readonly method: string;
  readonly params: unknown;
  /** The code of the error in the response. */
  readonly error: number | null;
}

/** An entry of a playlist. */
export interface ListItem {
  readonly file: string;
  readonly title: string;
}

/** A screenshot file. */
export interface Shot {
  /** Empty while the file is being written. */
  bytes: Uint8Array;
  readonly at: Date;
}

/** The whole state of a player, which the other files read and change. */
export class Model {
  readonly options: KodiOptions;
  readonly addons: readonly SimulatedAddon[];
  readonly emit: Emit;
  readonly calls: ReceivedCall[] = [];
  name: string;
  /** The port of the web server; null if it is off. */
  webPort: () => number | null = () => 0;
  /** The password of the web server; null for none. */
  password: string | null;
  power: Power = "on";
  volume = 80;
  muted = false;
  playing: Playing | null = null;
  opening?: ReturnType<typeof setTimeout>;
  window: Window = HOME;
  /** The windows below, for Back. */
  below: Window[] = [];
  dialog: OpenDialog | null = null;
  /** The plug-in folder in front, or empty. */
  folder = "";
  screensaver = false;
  /** The text typed into the last keyboard. */
  typed = "";
  lastChannel: number | null = null;
  /** Whether it has looked up its MAC address, which the first request for it starts. */
  knowsMac = false;
  /** The playlists by id. */
  readonly lists = new Map<number, ListItem[]>();
  /** The settings of screenshots; null if no folder is set. */
  screenshots: SimulatedScreenshots | null;
  readonly shots = new Map<string, Shot>();
  /** Notifies all WebSocket and TCP clients. */
  notify: (method: string, content: unknown, sender?: string) => void = () => {};
  /** Ends the process or puts the machine to sleep, after pending responses have gone out. */
  shutDown: (power: Exclude<Power, "on">, how: "clean" | "crash") => void = () => {};

  constructor(options: KodiSimulatorOptions) {
    this.options = resolve(options);
    const { addons, name, password, screenshots } = this.options;
    this.addons = addons.map((addon) => ({ ...addon }));
    this.emit = emitter(options);
    this.name = name;
    this.password = password;
    this.screenshots = screenshots;
  }

  /** Resets what a start of Kodi resets. */
  forget(): void {
    Object.assign(this, { window: HOME, below: [], dialog: null, folder: "", screensaver: false, knowsMac: false });
    this.lists.clear();
  }
}
