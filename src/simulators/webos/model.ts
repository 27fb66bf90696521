import { APPS, CHANNELS, HOME, INPUTS, LIVE_TV } from "./defaults.ts";
import { createFeeds, type Feeds } from "./feeds.ts";
import { FIRMWARE, type Firmware } from "./firmware.ts";
import {
  type Identity,
  identify,
  type Power,
  type Prompting,
  type SimulatedApp,
  type SimulatedChannel,
  type SimulatedInput,
  type Standby,
  type WebosEvent,
  type WebosSimulatorOptions,
} from "./options.ts";
import { createReceived, type Received, type ShownPrompt } from "./received.ts";

export type PlayState = "starting" | "loaded" | "playing" | "paused";

export interface OpenPrompt {
  readonly shown: ShownPrompt;
  end(answer: "accepted" | "denied" | "gone"): void;
}

/** How the set behaves; nothing here changes while it exists, but what the person at it will do. */
export interface Behaviour {
  readonly promptMs: number;
  readonly denial: string;
  readonly standby: Standby;
  readonly soundOutput: "tv_speaker" | "external_arc";
  readonly tuner: boolean;
  readonly channels: readonly SimulatedChannel[];
  readonly channelMs: number;
  prompting: Prompting;
}

/** What the set knows of itself. The files around this one read and change it; nothing else holds state. */
export interface Model {
  readonly identity: Identity;
  readonly firmware: Firmware;
  readonly behaviour: Behaviour;
  readonly feeds: Feeds;
  readonly received: Received;
  readonly apps: SimulatedApp[];
  readonly inputs: SimulatedInput[];
  /** A key keeps the permissions it was granted (aiowebostv#719). */
  readonly clientKeys: Map<string, ReadonlySet<string>>;
  readonly running: Set<string>;
  /** Where pointer sockets may be opened. */
  readonly pointerPaths: Set<string>;
  name: string;
  power: Power;
  /** Said while the power changes. */
  processing: string | null;
  screen: "on" | "off" | "saver";
  /** The app in front; inputs and the tuner are apps. */
  active: string;
  activeSince: number;
  volume: number;
  muted: boolean;
  channel: SimulatedChannel | null;
  playback: { readonly appId: string; readonly playState: PlayState } | null;
  /** What has been typed into the field in front. */
  text: string;
  /** Whether there is a field in front that takes text. */
  focused: boolean;
  prompt: OpenPrompt | null;
  /** What `turnOff` and the power button do. */
  togglePower(): void;
  emit(event: WebosEvent): void;
}

export function createModel(options: WebosSimulatorOptions): Model {
  const firmware = { ...FIRMWARE[options.firmware ?? "2021"], ...options.traits };
  const tuner = options.tuner ?? true;
  const channels = options.channels ?? CHANNELS;
  const active = tuner ? LIVE_TV : HOME;
  return {
    identity: identify(options),
    firmware,
    behaviour: {
      prompting: options.prompt ?? "accept",
      promptMs: options.promptMs ?? 500,
      denial: options.denial ?? "403 User denied access",
      standby: options.standby ?? "off",
      soundOutput: options.soundOutput ?? "tv_speaker",
      tuner,
      channels,
      channelMs: options.channelMs ?? 2000,
    },
    feeds: createFeeds(),
    received: createReceived(),
    apps: (options.apps ?? APPS).map((app) => ({ ...app })),
    inputs: (options.inputs ?? INPUTS).map((input) => ({ ...input })),
    clientKeys: new Map(Object.entries(options.clientKeys ?? {}).map(([key, granted]) => [key, new Set(granted)])),
    running: new Set([active]),
    pointerPaths: new Set(),
    name: options.name,
    power: "on",
    processing: null,
    screen: "on",
    active,
    activeSince: Date.now(),
    volume: 18,
    muted: false,
    channel: tuner ? (channels[0] ?? null) : null,
    playback: null,
    text: "",
    focused: true,
    prompt: null,
    togglePower: () => {},
    emit: (event) => options.onEvent?.(event),
  };
}

export function titleOf(model: Model, id: string): string {
  return model.apps.find((app) => app.id === id)?.title ?? id;
}

/** As `getPowerState` says it (smart-tvs.md 2.4). */
export function powerState({ power, screen }: Model): string {
  if (power === "standby") return "Active Standby";
  return { on: "Active", off: "Screen Off", saver: "Screen Saver" }[screen];
}
