/** The options of a simulated Android TV, and its defaults. */
import { type Certificate, createCertificateFor } from "../bench/certificate.ts";
import { digest, macOf } from "../bench/identity.ts";
import type { SetOptions } from "../bench/set.ts";

interface AndroidApp {
  readonly package: string;
  /** The prefixes of links that open it. */
  readonly links: readonly string[];
}

/** The options with a default. */
class Defaults {
  host = "127.0.0.1";
  /** 0 is any free port, as for pairing. */
  remotePort = 6466;
  pairingPort = 6467;
  mdns = true;
  model = "Google TV Streamer";
  vendor = "Google";
  /** The kind of key in the certificate. Pairing needs `rsa`; `ec` is generated faster. */
  keyKind: "rsa" | "ec" = "rsa";
  /** Feature bits. The usual 639 are ping, key, text, voice, an unknown one, power, volume, links. */
  features = 639;
  /** The certificates of paired clients, in DER. */
  paired: readonly Uint8Array[] = [];
  /** An impostor: it accepts any client and reports its certificate as an event. */
  acceptsAnyClient = false;
  /** What turning it off leads to: `standby` keeps its ports open, `off` closes them. */
  standby: "standby" | "off" = "standby";
  /** Whether it supports the keys WAKEUP and SLEEP besides the power toggle. */
  knowsWake = true;
  /** Whether it sends commands back as errors, and hangs up (home-assistant/core#92596) or stays. */
  refuses: boolean | "stays" = false;
  /** The interval of pings. A client with three unanswered ones is disconnected. */
  pingMs = 5_000;
}

export interface AndroidTvSimulatorOptions extends SetOptions, Partial<Defaults> {
  /** The Bluetooth address in its certificate. */
  bluetooth?: string;
  /** Default: a new certificate. */
  certificate?: Certificate;
  /** The MAC address that wakes it. */
  mac?: string;
  /** Null: it reports no volume, like a box whose TV controls it. */
  volume?: { level?: number; max?: number } | null;
}

export const APPS: readonly AndroidApp[] = [
  { package: "com.netflix.ninja", links: ["https://www.netflix.com/title", "netflix://"] },
  { package: "com.google.android.youtube.tv", links: ["https://www.youtube.com", "vnd.youtube.launch://"] },
  { package: "com.amazon.amazonvideo.livingroom", links: ["https://app.primevideo.com"] },
  { package: "com.plexapp.android", links: ["plex://"] },
];

/** What never changes while a set exists. */
export type AndroidTvOptions = ReturnType<typeof resolve>;

export function resolve(options: AndroidTvSimulatorOptions) {
  const { name, bluetooth = macOf(digest(`bluetooth ${name}`)), volume } = options;
  const all = { ...new Defaults(), mac: macOf(digest(name).slice(20)), ...options };
  const commonName = `atvremote/kirkwood/kirkwood/${all.model}/${bluetooth.toUpperCase()}`;
  return {
    ...all,
    bluetooth,
    hostName: `Android-${digest(name).slice(0, 12)}`,
    certificate: options.certificate ?? createCertificateFor(commonName, all.keyKind),
    volume: volume === null ? null : { level: 10, max: 25, ...volume },
  };
}
