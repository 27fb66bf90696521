/** The options of a simulated Samsung set, and its defaults. */
import { type Certificate, sharedCertificate } from "../bench/certificate.ts";
import { digest, macOf, uuidOf } from "../bench/identity.ts";
import type { SetOptions } from "../bench/set.ts";

interface SimulatedApp {
  id: string;
  name: string;
  version: string;
  /** 4 is a native app, whose state REST does not report (smart-tvs.md 3.3). Default 2. */
  type?: 2 | 4;
}

/**
 * How a prompt is answered: accepted or denied after `promptMs`; not at all until it times out, unless `answerPrompt` is
 * called; or `unshown`: it times out at once and was never shown (smart-tvs.md 3.4, Odyssey G8).
 */
export type Prompting = "accept" | "deny" | "wait" | "unshown";

/** The options with a default. */
class Defaults {
  host = "127.0.0.1";
  /** The year of the model: tokens and `PowerState` from 2018 on, no list of apps from 2020 on. */
  year = 2021;
  model = "QE55Q60AAUXXH";
  /** 0 is any free port. Most sets before 2018 have none (`traits.tls`). */
  securePort = 8002;
  /** 0 is any free port, null is closed. */
  plainPort: number | null = 8001;
  /** The port of its renderer; 0 is any free port, null is a set without one. */
  rendererPort: number | null = 9197;
  /** The interface in use: only its address wakes the set, and REST reports only the wireless one. */
  network: "wired" | "wireless" = "wireless";
  frame = false;
  prompt: Prompting = "accept";
  /** The time until a prompt is answered. */
  promptMs = 500;
  /** The time until an unanswered prompt ends (smart-tvs.md 3.2). */
  promptEndsMs = 30_000;
  /** The setting Access Notification: prompts once, for every connection, or never. */
  asks: "first" | "always" | "never" = "first";
  /** Known tokens. */
  tokens: readonly string[] = [];
  /** What power off leads to: `standby`, in which REST still answers, or `off`. */
  standby: "standby" | "off" = "standby";
  /** The time from a magic packet until the ports are open. */
  bootMs = 1_000;
  /** Whether it answers searches. */
  ssdp = true;
}

export interface SamsungSimulatorOptions extends SetOptions, Partial<Defaults> {
  duid?: string;
  /** Differences from sets of the year. */
  traits?: Partial<Traits>;
  wifiMac?: string;
  /** By default one that all sets of this process share: no source says whether real sets do; clients must not rely on it. */
  certificate?: Certificate;
}

/** How sets differ by year and firmware. */
class Traits {
  /** Requires a token, over TLS only. */
  tokens: boolean;
  /** Has a port with TLS. Some sets of 2016 do, and give no tokens (tavicu/homebridge-samsung-tizen#52). */
  tls: boolean;
  /** Accepts tokens at its plain port too. No set does that; an impostor may. */
  tokensInPlain = false;
  reportsPower: boolean;
  /** Answers the request for its apps; `empty`: with an empty list (smart-tvs.md 0.3). */
  listsApps: boolean | "empty";
  hdmiKeys: boolean;
  /** Sends the token as a number, as some fixtures show. */
  numericToken = false;
  /** Sends a new token with each connection. */
  newTokens = false;
  /** Admits a client and refuses it after the first key: some Frames of 2020. */
  refusesKeys = false;
  /** The same, where it is asked for its apps, or to launch one. */
  refusesApps = false;
  /** Answers each key with an error (tavicu/homebridge-samsung-tizen#225), or the connection itself. */
  knowsNoKeys: boolean | "from the start" = false;
  /** The status with which it answers the launch of an app that it has; no source names another one. */
  launchStatus = 200;
  /** The status of an app that it does not have, or that has no state: 404 (3.3), or 401, which was seen at a launch (balmli/com.samsung.smart#65). */
  missingApp: 404 | 401 = 404;
  /** Opening the channel turns the set on. */
  socketWakes = false;
  /** The time from then until it reports to be on. */
  socketWakesMs = 0;
  /** The limit of channel connections; one more closes all of them with 1005. */
  connections = 3;
  /** Ignores a key sooner than this after the previous one. */
  keyMs = 120;
  /** Sends nothing on its channel. */
  silent = false;
  /** Sends other events before it admits or refuses a client (smart-tvs.md 3.2). */
  sendsOtherEventsFirst = false;
  /** Whether it answers WebSocket pings; some sets do not (smart-tvs.md 3.4). */
  answersPings = true;
  /** Leaves its ids out of REST. */
  hidesIdentity = false;
  /** Announces an already focused field to a new client; in no source, for convenience. */
  announcesFocus = true;

  constructor(year: number) {
    this.tokens = year >= 2018;
    this.tls = year >= 2018;
    this.reportsPower = year >= 2018;
    this.listsApps = year < 2020;
    this.hdmiKeys = year <= 2018;
  }
}

/** What never changes while a set exists. */
export type SamsungOptions = ReturnType<typeof resolve>;

export function resolve(options: SamsungSimulatorOptions) {
  const { duid = uuidOf(`samsung ${options.name}`) } = options;
  const seed = digest(duid);
  const all = { ...new Defaults(), wifiMac: macOf(seed), ...options };
  return {
    ...all,
    duid,
    traits: { ...new Traits(all.year), ...options.traits },
    certificate: options.certificate ?? sharedCertificate("SmartViewSDK"),
    /** The address of the interface in use. */
    mac: all.network === "wired" ? macOf(digest(seed)) : all.wifiMac,
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
