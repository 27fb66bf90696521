/** The state of a set, what it received, and its subscriptions. */
import { type Emit, emitter } from "../bench/set.ts";
import { FIRMWARE, type Firmware } from "./firmware.ts";
import {
  APPS,
  CHANNELS,
  HOME,
  LIVE_TV,
  type Power,
  type Prompting,
  resolve,
  type SimulatedApp,
  type SimulatedChannel,
  type WebosOptions,
  type WebosSimulatorOptions,
} from "./options.ts";
import type { Payload } from "./wire.ts";

export interface ReceivedRequest {
  readonly port: "secure" | "plain";
  /** `request`, `subscribe`, `unsubscribe`, `hello`, `register`. */
  readonly type: string;
  /** Empty if the message had none. */
  readonly uri: string;
  readonly payload: Payload;
  /** `answered`, the error as sent, `ignored` by a silent socket, or `closed` if the set closed the connection. */
  outcome: string;
}

export interface ShownPrompt {
  /** The permissions in the outer list of the manifest. */
  readonly permissions: readonly string[];
  /** `cancelled`: the client disconnected, or the set was switched off. */
  answer: "open" | "accepted" | "denied" | "cancelled";
}

export interface Launched {
  readonly id: string;
  readonly contentId: string | null;
  readonly params: Payload;
}

/** The last ten thousand received items of each kind, oldest first. */
export class Received {
  readonly requests: ReceivedRequest[] = [];
  readonly prompts: ShownPrompt[] = [];
  readonly buttons: string[] = [];
  readonly pointer: { action: "click" | "move" | "scroll"; dx: number; dy: number }[] = [];
  readonly texts: string[] = [];
  readonly launches: Launched[] = [];
  readonly toasts: string[] = [];
}

/** What a client can subscribe to; several URIs may share a topic. */
export type Topic = "power" | "volume" | "app" | "media" | "apps" | "inputs" | "channel" | "keyboard";

/** Called for each change with its details, such as `cause` and `changed`. */
type Subscriber = (detail: Payload) => void;

class Feeds {
  readonly #subscribers = new Map<Topic, Set<Subscriber>>();

  /** Returns the unsubscribe function. */
  add(topic: Topic, subscriber: Subscriber): () => void {
    const subscribers = this.#subscribers.get(topic) ?? new Set();
    this.#subscribers.set(topic, subscribers.add(subscriber));
    return () => void subscribers.delete(subscriber);
  }

  changed(topic: Topic, detail: Payload = {}): void {
    for (const subscriber of this.#subscribers.get(topic) ?? []) subscriber(detail);
  }
}

export type PlayState = "starting" | "loaded" | "playing" | "paused";

export interface OpenPrompt {
  end(answer: "accepted" | "denied" | "cancelled"): void;
}

/** The whole state of a set, which the other files read and change. */
export class Model {
  readonly options: WebosOptions;
  readonly firmware: Firmware;
  readonly feeds = new Feeds();
  readonly received = new Received();
  readonly apps: readonly SimulatedApp[];
  /** Permissions by client key, as granted at pairing (aiowebostv#719). */
  readonly clientKeys: Map<string, ReadonlySet<string>>;
  readonly running: Set<string>;
  /** The valid paths of pointer sockets. */
  readonly pointerPaths = new Set<string>();
  readonly emit: Emit;
  name: string;
  prompting: Prompting;
  power: Power = "on";
  /** The `processing` value while the power changes. */
  processing: string | null = null;
  /** The app in front; inputs and the tuner are apps too. */
  active: string;
  activeSince = Date.now();
  volume = 18;
  muted = false;
  channel: SimulatedChannel | null;
  playback: { readonly appId: string; readonly playState: PlayState } | null = null;
  /** The text of the focused field. */
  text = "";
  /** Whether a text field has the focus. */
  focused = true;
  prompt: OpenPrompt | null = null;
  /** The effect of `turnOff` and of the power button. */
  togglePower: () => void = () => {};

  constructor(options: WebosSimulatorOptions) {
    this.options = resolve(options);
    const { firmware, traits, tuner, clientKeys, name, prompt } = this.options;
    this.firmware = { ...FIRMWARE[firmware], ...traits };
    this.active = tuner ? LIVE_TV : HOME;
    this.channel = tuner ? (CHANNELS[0] ?? null) : null;
    this.running = new Set([this.active]);
    this.apps = [...APPS, { id: this.firmware.mediaApp, title: "Media Player", system: true, hidden: true }];
    this.clientKeys = new Map(
      Object.entries<readonly string[]>(clientKeys).map(([key, granted]) => [key, new Set(granted)]),
    );
    this.name = name;
    this.prompting = prompt;
    this.emit = emitter(options);
  }
}

export function titleOf(model: Model, id: string): string {
  return model.apps.find((app) => app.id === id)?.title ?? id;
}

/** The value of `getPowerState` (smart-tvs.md 2.4). */
export function powerState({ power }: Model): string {
  return power === "standby" ? "Active Standby" : "Active";
}
