/** What a set knows of itself, what came in, and who is told of changes. */

import { FIRMWARE, type Firmware } from "./firmware.ts";
import {
  APPS,
  CHANNELS,
  HOME,
  type Identity,
  INPUTS,
  identify,
  LIVE_TV,
  type Power,
  type Prompting,
  type SimulatedApp,
  type SimulatedChannel,
  type SimulatedInput,
  type WebosEvent,
  type WebosSimulatorOptions,
} from "./options.ts";
import type { Payload } from "./wire.ts";

export interface ReceivedRequest {
  readonly port: "secure" | "plain";
  /** `request`, `subscribe`, `unsubscribe`, `hello`, `register`. */
  readonly type: string;
  /** "" when the message had none. */
  readonly uri: string;
  readonly payload: Payload;
  /** `answered`, the error as sent, `ignored` by a silent socket, or `closed` when the set hung up instead. */
  outcome: string;
}

export interface ShownPrompt {
  /** What the client asked for in the outer list of its manifest. */
  readonly permissions: readonly string[];
  /** `gone`: the client left, or the set was switched off. */
  answer: "open" | "accepted" | "denied" | "gone";
}

export interface Launched {
  readonly id: string;
  readonly contentId: string | null;
  readonly params: Payload;
  /** Of `system.launcher/open`. */
  readonly target: string | null;
}

/** What came in, the oldest first: the last ten thousand of each. */
export class Received {
  readonly requests: ReceivedRequest[] = [];
  readonly prompts: ShownPrompt[] = [];
  readonly buttons: string[] = [];
  readonly pointer: { action: "click" | "move" | "scroll"; dx: number; dy: number }[] = [];
  readonly texts: string[] = [];
  readonly launches: Launched[] = [];
  readonly toasts: string[] = [];
}

/** What a client may subscribe to; several uris may tell of the same thing. */
export type Topic = "power" | "volume" | "app" | "media" | "apps" | "inputs" | "channel" | "keyboard";

/** Called at the moment of a change, with what is said of the change itself: `cause`, `changed`. */
type Subscriber = (detail: Payload) => void;

class Feeds {
  readonly #subscribers = new Map<Topic, Set<Subscriber>>();

  /** Returns what ends the subscription. */
  add(topic: Topic, subscriber: Subscriber): () => void {
    const those = this.#subscribers.get(topic) ?? new Set();
    this.#subscribers.set(topic, those.add(subscriber));
    return () => void those.delete(subscriber);
  }

  changed(topic: Topic, detail: Payload = {}): void {
    for (const subscriber of this.#subscribers.get(topic) ?? []) subscriber(detail);
  }
}

export type PlayState = "starting" | "loaded" | "playing" | "paused";

export interface OpenPrompt {
  end(answer: "accepted" | "denied" | "gone"): void;
}

/** How the set behaves; nothing here changes while it exists, but what the person at it will do. */
function behaviourOf(options: WebosSimulatorOptions) {
  const prompting: Prompting = options.prompt ?? "accept";
  return {
    prompting,
    promptMs: options.promptMs ?? 500,
    denial: options.denial ?? "403 User denied access",
    standby: options.standby ?? "off",
    soundOutput: options.soundOutput ?? "tv_speaker",
    tuner: options.tuner ?? true,
    channels: options.channels ?? CHANNELS,
    channelMs: options.channelMs ?? 2000,
    iconAt: options.iconAt ?? ((address: string) => address),
  };
}

/** The files around this one read and change it; nothing else holds state. */
export class Model {
  readonly identity: Identity;
  readonly firmware: Firmware;
  readonly behaviour: ReturnType<typeof behaviourOf>;
  readonly feeds = new Feeds();
  readonly received = new Received();
  readonly apps: SimulatedApp[];
  readonly inputs: SimulatedInput[];
  /** A key keeps the permissions it was granted (aiowebostv#719). */
  readonly clientKeys: Map<string, ReadonlySet<string>>;
  readonly running: Set<string>;
  /** Where pointer sockets may be opened. */
  readonly pointerPaths = new Set<string>();
  readonly emit: (type: WebosEvent["type"], text: string) => void;
  name: string;
  power: Power = "on";
  /** Said while the power changes. */
  processing: string | null = null;
  screen: "on" | "off" | "saver" = "on";
  /** The app in front; inputs and the tuner are apps. */
  active: string;
  activeSince = Date.now();
  volume = 18;
  muted = false;
  channel: SimulatedChannel | null;
  playback: { readonly appId: string; readonly playState: PlayState } | null = null;
  /** What has been typed into the field in front. */
  text = "";
  /** Whether there is a field in front that takes text. */
  focused = true;
  prompt: OpenPrompt | null = null;
  /** What `turnOff` and the power button do. */
  togglePower: () => void = () => {};

  constructor(options: WebosSimulatorOptions) {
    this.identity = identify(options);
    this.firmware = { ...FIRMWARE[options.firmware ?? "2021"], ...options.traits };
    this.behaviour = behaviourOf(options);
    const { tuner, channels } = this.behaviour;
    this.active = tuner ? LIVE_TV : HOME;
    this.channel = tuner ? (channels[0] ?? null) : null;
    this.running = new Set([this.active]);
    const player = { id: this.firmware.mediaApp, title: "Media Player", system: true, hidden: true };
    this.apps = [...(options.apps ?? APPS), player].map((app) => ({ ...app }));
    this.inputs = (options.inputs ?? INPUTS).map((input) => ({ ...input }));
    const keys = Object.entries(options.clientKeys ?? {});
    this.clientKeys = new Map(keys.map(([key, granted]) => [key, new Set(granted)]));
    this.name = options.name;
    this.emit = (type, text) => options.onEvent?.({ type, text });
  }
}

export function titleOf(model: Model, id: string): string {
  return model.apps.find((app) => app.id === id)?.title ?? id;
}

/** As `getPowerState` says it (smart-tvs.md 2.4). */
export function powerState({ power, screen }: Model): string {
  if (power === "standby") return "Active Standby";
  return { on: "Active", off: "Screen Off", saver: "Screen Saver" }[screen];
}
