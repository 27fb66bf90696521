import {
  contentOf,
  type Identity,
  identify,
  type KodiEvent,
  type KodiSimulatorOptions,
  type Power,
  type SimulatedAddon,
  type SimulatedChannel,
  type SimulatedFavourite,
  type SimulatedMedia,
  type SimulatedTexture,
} from "./options.ts";
import type { Playing } from "./playback.ts";
import { HOME, type OpenDialog, type Window } from "./windows.ts";

/** One call as it came in; `method` is empty when there was none. */
export interface ReceivedCall {
  readonly via: "http" | "websocket" | "tcp" | "event";
  readonly method: string;
  readonly params: unknown;
  /** The code of the error it was answered with. */
  readonly error: number | null;
}

/** An entry of a play list. */
export interface ListItem {
  readonly file: string;
  readonly label: string;
  readonly title: string;
}

/** What the player knows of itself. The files around this one read and change it; nothing else holds state. */
export interface Model {
  readonly identity: Identity;
  readonly addons: SimulatedAddon[];
  readonly favourites: readonly SimulatedFavourite[];
  readonly media: readonly SimulatedMedia[];
  readonly channels: readonly SimulatedChannel[];
  readonly startMs: number;
  name: string;
  /** The ports that it listens on, as its settings tell them. */
  webPort: number;
  eventPort: number | null;
  /** What its web server asks for; null asks nothing. */
  password: string | null;
  power: Power;
  volume: number;
  muted: boolean;
  playing: Playing | null;
  opening: ReturnType<typeof setTimeout> | null;
  window: Window;
  /** The windows below it, which Back goes to. */
  below: Window[];
  dialog: OpenDialog | null;
  /** The folder in front, if it is one of a plug-in. */
  folder: string;
  screensaver: boolean;
  /** What was typed into the last keyboard. */
  typed: string;
  readonly launched: { readonly id: string; readonly params: unknown }[];
  lastChannel: number | null;
  /** Labels that were asked for: some are worked out only then. */
  readonly asked: Map<string, number>;
  /** What is in the play lists, by their ids. */
  readonly lists: Map<number, ListItem[]>;
  /** The pictures that it keeps. */
  readonly textures: SimulatedTexture[];
  /** Tells everybody on the WebSocket and on TCP. */
  notify(method: string, content: unknown, sender?: string): void;
  emit(event: KodiEvent): void;
  /** The end of the process, or the sleep of the machine; an answer given before still goes out. */
  leave(power: Exclude<Power, "on">, how: "told" | "crash"): void;
}

export function createModel(options: KodiSimulatorOptions): Model {
  return {
    identity: identify(options),
    ...contentOf(options),
    startMs: options.startMs ?? 20,
    name: options.name,
    webPort: options.port ?? 0,
    eventPort: null,
    password: options.password ?? null,
    power: "on",
    volume: 80,
    muted: false,
    playing: null,
    opening: null,
    window: HOME,
    below: [],
    dialog: null,
    folder: "",
    screensaver: false,
    typed: "",
    launched: [],
    lastChannel: null,
    asked: new Map(),
    lists: new Map(),
    textures: (options.textures ?? []).map((texture) => ({ ...texture })),
    notify: () => {},
    emit: (event) => options.onEvent?.(event),
    leave: () => {},
  };
}

/** What a start of the program forgets. */
export function forget(model: Model): void {
  Object.assign(model, { window: HOME, below: [], dialog: null, folder: "", screensaver: false });
  model.asked.clear();
  model.lists.clear();
}
