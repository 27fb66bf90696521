/** What a set can be made to be, and what it comes with when nothing is said. */
import type { Certificate } from "../bench/certificate.ts";
import { digest, macOf, uuidOf } from "../bench/identity.ts";

export interface SimulatedApp {
  id: string;
  name: string;
  version?: string;
  /** 4: it is started natively, and its state is not told (smart-tvs.md 3.3). Default 2. */
  type?: 2 | 4;
}

/**
 * What becomes of a request on the screen: a person allows or denies it after `promptMs`; nobody does anything until it is
 * over (`answerPrompt` may still be called); or it is over at once, and was never shown (smart-tvs.md 3.4, Odyssey G8).
 */
export type Prompting = "accept" | "deny" | "wait" | "unshown";

/** What happens, in words. */
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
  /** What the owner called it; REST puts `[TV]` before it. */
  name: string;
  /** Default: derived from the name, so the same name is the same set. */
  duid?: string;
  /** Address to bind and to announce. */
  host?: string;
  /** The year of the model: tokens and `PowerState` from 2018 on, no list of apps from 2020 on. Default 2021. */
  year?: number;
  /** Where the set differs from its year. */
  traits?: Partial<Traits>;
  model?: string;
  /** 8002 unless said otherwise, 0 is a free one; sets of before 2018 have none. */
  securePort?: number;
  /** 8001 unless said otherwise, 0 is a free one, null is closed. */
  plainPort?: number | null;
  /** Of its renderer: 9197 unless said otherwise, 0 is a free one, null is a set without. */
  rendererPort?: number | null;
  /** UDP port for magic packets; 0, the default, is a free one. */
  wakePort?: number;
  wifiMac?: string;
  /** Its other address, which it does not tell. */
  wiredMac?: string;
  /** The interface in use: only its address wakes the set. Default wireless. */
  network?: "wired" | "wireless";
  frame?: boolean;
  certificate?: Certificate;
  /** Default "accept". */
  prompt?: Prompting;
  /** Until the person allows or denies. Default 500. */
  promptMs?: number;
  /** Until a request is over that nobody answers. Default 30 000 (smart-tvs.md 3.2). */
  promptEndsMs?: number;
  /** Access Notification: asks once, or with every connection, token or not, or never. Default "first". */
  asks?: "first" | "always" | "never";
  /** Tokens that were given before. */
  tokens?: readonly string[];
  /** Where power off leads: REST goes on answering `standby`, or nothing answers. Default "standby". */
  standby?: "standby" | "off";
  /** From a magic packet until the ports are open again. Default 1000. */
  bootMs?: number;
  /** Answer searches. Default true. */
  ssdp?: boolean;
  ssdpDelayMs?: number;
  apps?: readonly SimulatedApp[];
  onEvent?: (event: SamsungEvent) => void;
}

/** What a set does by its year and firmware. */
export interface Traits {
  /** Wants a token, over TLS alone. */
  tokens: boolean;
  /** Takes tokens at its plain port, too. No set does; who takes the place of one may. */
  tokensInPlain: boolean;
  reportsPower: boolean;
  listsApps: boolean;
  hdmiKeys: boolean;
  /** A number, as some fixtures show. */
  numericToken: boolean;
  /** Another token with each connection. */
  newTokens: boolean;
  /** Lets in, and refuses behind the first key: some Frames of 2020. */
  refusesKeys: boolean;
  /** Opening the channel turns it on. */
  socketWakes: boolean;
  /** From then until it says that it is on. */
  socketWakesMs: number;
  /** Connections of the channel at a time; with one more all are closed with 1005. */
  connections: number;
  /** Takes no key sooner than this after the last. */
  keyMs: number;
  /** Says nothing on its channel, whoever comes. */
  silent: boolean;
  /** Says something else before it says whether it lets in (smart-tvs.md 3.2). */
  sendsOtherEventsFirst: boolean;
  /** Some sets do not (smart-tvs.md 3.4). */
  answersPings: boolean;
  /** Leaves out of REST who it is. */
  hidesIdentity: boolean;
  /** Tells one who comes that a field has the focus already; in no source, and convenient. */
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

/** Everything about a set that never changes while it exists. */
export function identify(options: SamsungSimulatorOptions) {
  const duid = options.duid ?? uuidOf(`samsung ${options.name}`);
  const seed = digest(duid);
  const { year = 2021, network = "wireless" } = options;
  const wifiMac = options.wifiMac ?? macOf(seed);
  const wiredMac = options.wiredMac ?? macOf(digest(seed));
  return {
    duid,
    seed,
    year,
    network,
    wifiMac,
    wiredMac,
    host: options.host ?? "127.0.0.1",
    model: options.model ?? "QE55Q60AAUXXH",
    usedMac: network === "wired" ? wiredMac : wifiMac,
  };
}

/** What a set comes with; the ids are those of smart-tvs.md 3.3. */
export const APPS: readonly SimulatedApp[] = [
  { id: "3201907018807", name: "Netflix", version: "5.3.318" },
  { id: "111299001912", name: "YouTube", version: "2.1.546" },
  { id: "3201910019365", name: "Prime Video", version: "1.0.18" },
  { id: "3201901017640", name: "Disney+", version: "1.8.7" },
  { id: "3201606009684", name: "Spotify - Music and Podcasts", version: "3.1.2" },
  { id: "org.tizen.browser", name: "Internet", version: "6.0.1", type: 4 },
];
