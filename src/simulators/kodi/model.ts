import {
  ADDONS,
  FAVOURITES,
  type Identity,
  identify,
  type KodiEvent,
  type KodiSimulatorOptions,
  MEDIA,
  type Power,
  type SimulatedAddon,
  type SimulatedChannel,
  type SimulatedFavourite,
  type SimulatedMedia,
  type SimulatedScreenshots,
} from "./options.ts";
import type { Playing } from "./playback.ts";
import { HOME, type OpenDialog, type Window } from "./windows.ts";

/** One call as it came in; `method` is empty when there was none. */
export interface ReceivedCall {
  readonly via: "http" | "websocket" | "tcp";
  readonly method: string;
  readonly params: unknown;
  /** The code of the error it was answered with. */
  readonly error: number | null;
}

/** An entry of a play list. */
export interface ListItem {
  readonly file: string;
  readonly title: string;
}

/** A picture of the screen in its folder. */
export interface Shot {
  /** None while it is being written. */
  bytes: Uint8Array;
  readonly at: Date;
}

/** What the player knows of itself. The files around this one read and change it; nothing else holds state. */
export class Model {
  readonly identity: Identity;
  readonly addons: readonly SimulatedAddon[];
  readonly favourites: readonly SimulatedFavourite[];
  readonly media: readonly SimulatedMedia[];
  readonly channels: readonly SimulatedChannel[];
  readonly startMs: number;
  readonly emit: (type: KodiEvent["type"], text: string) => void;
  /** The calls that came in. */
  readonly calls: ReceivedCall[] = [];
  name: string;
  /** The port of its web server; null where that is off. */
  webPort: () => number | null = () => 0;
  /** What its web server asks for; null asks nothing. */
  password: string | null;
  power: Power = "on";
  volume = 80;
  muted = false;
  playing: Playing | null = null;
  opening?: ReturnType<typeof setTimeout>;
  window: Window = HOME;
  /** The windows below it, which Back goes to. */
  below: Window[] = [];
  dialog: OpenDialog | null = null;
  /** The folder in front, if it is one of a plug-in. */
  folder = "";
  screensaver = false;
  /** What was typed into the last keyboard. */
  typed = "";
  readonly launched: { readonly id: string; readonly params: unknown }[] = [];
  lastChannel: number | null = null;
  /** Whether it has looked up its MAC address, which it does once that is asked for. */
  knowsMac = false;
  /** What is in the play lists, by their ids. */
  readonly lists = new Map<number, ListItem[]>();
  /** Where pictures of its screen go, and those that are there; null where its owner has set no folder. */
  screenshots: SimulatedScreenshots | null;
  readonly shots = new Map<string, Shot>();
  /** Tells everybody on the WebSocket and on TCP. */
  notify: (method: string, content: unknown, sender?: string) => void = () => {};
  /** The end of the process, or the sleep of the machine; an answer given before still goes out. */
  shutDown: (power: Exclude<Power, "on">, how: "told" | "crash") => void = () => {};

  constructor(options: KodiSimulatorOptions) {
    this.identity = identify(options);
    this.addons = (options.addons ?? ADDONS).map((addon) => ({ ...addon }));
    this.favourites = options.favourites ?? FAVOURITES;
    this.media = options.media ?? MEDIA;
    this.channels = options.channels ?? [];
    this.startMs = options.startMs ?? 20;
    this.emit = (type, text) => options.onEvent?.({ type, text });
    this.name = options.name;
    this.password = options.password ?? null;
    this.screenshots = options.screenshots ?? null;
  }

  /** What a start of the program forgets. */
  forget(): void {
    Object.assign(this, { window: HOME, below: [], dialog: null, folder: "", screensaver: false, knowsMac: false });
    this.lists.clear();
  }
}
