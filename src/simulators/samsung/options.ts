/** The options of a simulated Samsung set, and its defaults. */
import type { Certificate } from "../bench/certificate.ts";
import { digest, macOf, uuidOf } from "../bench/identity.ts";

export interface SimulatedApp {
  id: string;
  name: string;
  version?: string;
  /** 4 is a native app, whose state REST does not report (smart-tvs.md 3.3). Default 2. */
  type?: 2 | 4;
}

/**
 * How a prompt is answered: accepted or denied after `promptMs`; not at all until it times out, unless `answerPrompt` is
 * called; or `unshown`: it times out at once and was never shown (smart-tvs.md 3.4, Odyssey G8).
 */
export type Prompting = "accept" | "deny" | "wait" | "unshown";

/** Something that happened, with a text for people. */
export interface SamsungEvent {
  readonly type:
    | "prompt"
    | "prompt-end"
    | "key"
    | "text"
    | "launch"
    | "close"
    | "volume"
    | "power"
    | "wake"
    | "discovery";
  readonly text: string;
}

export interface SamsungSimulatorOptions {
  /** The name given by its owner; REST puts `[TV]` before it. */
  name: string;
  /** Default: derived from the name. */
  duid?: string;
  /** The address to bind and to announce. */
  host?: string;
  /** The year of the model: tokens and `PowerState` from 2018 on, no list of apps from 2020 on. Default 2021. */
  year?: number;
  /** Differences from sets of the year. */
  traits?: Partial<Traits>;
  model?: string;
  /** Default 8002; 0 is any free port. Sets before 2018 have none. */
  securePort?: number;
  /** Default 8001; 0 is any free port, null is closed. */
  plainPort?: number | null;
  /** The port of its renderer. Default 9197; 0 is any free port, null is a set without one. */
  rendererPort?: number | null;
  /** The UDP port for magic packets; 0, the default, is any free port. */
  wakePort?: number;
  wifiMac?: string;
  /** The interface in use: only its address wakes the set, and REST reports only the wireless one. Default wireless. */
  network?: "wired" | "wireless";
  frame?: boolean;
  certificate?: Certificate;
  /** Default "accept". */
  prompt?: Prompting;
  /** The time until a prompt is answered. Default 500. */
  promptMs?: number;
  /** The time until an unanswered prompt ends. Default 30 000 (smart-tvs.md 3.2). */
  promptEndsMs?: number;
  /** The setting Access Notification: prompts once, for every connection, or never. Default "first". */
  asks?: "first" | "always" | "never";
  /** Known tokens. */
  tokens?: readonly string[];
  /** What power off leads to: `standby`, in which REST still answers, or `off`. Default "standby". */
  standby?: "standby" | "off";
  /** The time from a magic packet until the ports are open. Default 1000. */
  bootMs?: number;
  /** Whether it answers searches. Default true. */
  ssdp?: boolean;
  ssdpDelayMs?: number;
  apps?: readonly SimulatedApp[];
  onEvent?: (event: SamsungEvent) => void;
}

/** How sets differ by year and firmware. */
export interface Traits {
  /** Requires a token, over TLS only. */
  tokens: boolean;
  /** Accepts tokens at its plain port too. No set does that; an impostor may. */
  tokensInPlain: boolean;
  reportsPower: boolean;
  listsApps: boolean;
  hdmiKeys: boolean;
  /** Sends the token as a number, as some fixtures show. */
  numericToken: boolean;
  /** Sends a new token with each connection. */
  newTokens: boolean;
  /** Admits a client and refuses it after the first key: some Frames of 2020. */
  refusesKeys: boolean;
  /** Opening the channel turns the set on. */
  socketWakes: boolean;
  /** The time from then until it reports to be on. */
  socketWakesMs: number;
  /** The limit of channel connections; one more closes all of them with 1005. */
  connections: number;
  /** Ignores a key sooner than this after the previous one. */
  keyMs: number;
  /** Sends nothing on its channel. */
  silent: boolean;
  /** Sends other events before it admits or refuses a client (smart-tvs.md 3.2). */
  sendsOtherEventsFirst: boolean;
  /** Whether it answers WebSocket pings; some sets do not (smart-tvs.md 3.4). */
  answersPings: boolean;
  /** Leaves its ids out of REST. */
  hidesIdentity: boolean;
  /** Announces an already focused field to a new client; in no source, for convenience. */
  announcesFocus: boolean;
}

export function traitsOf({ year = 2021, traits }: SamsungSimulatorOptions): Traits {
  return {
    tokens: year >= 2018,
    tokensInPlain: false,
    reportsPower: year >= 2018,
    listsApps: year < 2020,
    hdmiKeys: year <= 2018,
    numericToken: false,
    newTokens: false,
    refusesKeys: false,
    socketWakes: false,
    socketWakesMs: 0,
    connections: 3,
    keyMs: 120,
    silent: false,
    sendsOtherEventsFirst: false,
    answersPings: true,
    hidesIdentity: false,
    announcesFocus: true,
    ...traits,
  };
}

/** What never changes while a set exists. */
export function identify(options: SamsungSimulatorOptions) {
  const duid = options.duid ?? uuidOf(`samsung ${options.name}`);
  const seed = digest(duid);
  const { year = 2021, network = "wireless" } = options;
  const wifiMac = options.wifiMac ?? macOf(seed);
  const wiredMac = macOf(digest(seed));
  return {
    duid,
    seed,
    year,
    network,
    wifiMac,
    host: options.host ?? "127.0.0.1",
    model: options.model ?? "QE55Q60AAUXXH",
    usedMac: network === "wired" ? wiredMac : wifiMac,
  };
}

/** Preinstalled apps; the ids are from smart-tvs.md 3.3. */
export const APPS: readonly SimulatedApp[] = [
  { id: "3201907018807", name: "Netflix", version: "5.3.318" },
  { id: "111299001912", name: "YouTube", version: "2.1.546" },
  { id: "3201910019365", name: "Prime Video", version: "1.0.18" },
  { id: "3201901017640", name: "Disney+", version: "1.8.7" },
  { id: "3201606009684", name: "Spotify - Music and Podcasts", version: "3.1.2" },
  { id: "org.tizen.browser", name: "Internet", version: "6.0.1", type: 4 },
];
