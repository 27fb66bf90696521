/** The options of a simulated Android TV, and its defaults. */
import { type Certificate, createCertificateFor } from "../bench/certificate.ts";
import { digest, macOf } from "../bench/identity.ts";
import type { SetOptions } from "../bench/set.ts";

interface AndroidApp {
  readonly package: string;
  /** The prefixes of links that open it. */
  readonly links: readonly string[];
}

export interface AndroidTvSimulatorOptions extends SetOptions {
  /** 0 is any free port, as for pairing. */
  remotePort?: number;
  pairingPort?: number;
  mdns?: boolean;
  model?: string;
  vendor?: string;
  /** The Bluetooth address in its certificate. */
  bluetooth?: string;
  /** Default: a new certificate. */
  certificate?: Certificate;
  /** The kind of key in the certificate. Pairing needs `rsa`; `ec` is generated faster. */
  keyKind?: "rsa" | "ec";
  /** The MAC address that wakes it. */
  mac?: string;
  /** Feature bits. The usual 639 are ping, key, text, voice, an unknown one, power, volume, links. */
  features?: number;
  /** Null: it reports no volume, like a box whose TV controls it. */
  volume?: { level?: number; max?: number } | null;
  /** The certificates of paired clients, in DER. */
  paired?: readonly Uint8Array[];
  /** An impostor: it accepts any client and reports its certificate as an event. */
  acceptsAnyClient?: boolean;
  /** What turning it off leads to: `standby` keeps its ports open, `off` closes them. */
  standby?: "standby" | "off";
  /** Whether it supports the keys WAKEUP and SLEEP besides the power toggle. */
  knowsWake?: boolean;
  /** The interval of pings. A client with three unanswered ones is disconnected. */
  pingMs?: number;
}

export const APPS: readonly AndroidApp[] = [
  { package: "com.netflix.ninja", links: ["https://www.netflix.com/title", "netflix://"] },
  { package: "com.google.android.youtube.tv", links: ["https://www.youtube.com", "vnd.youtube.launch://"] },
  { package: "com.amazon.amazonvideo.livingroom", links: ["https://app.primevideo.com"] },
  { package: "com.plexapp.android", links: ["plex://"] },
];

const DEFAULTS = {
  host: "127.0.0.1",
  remotePort: 6466,
  pairingPort: 6467,
  mdns: true,
  model: "Google TV Streamer",
  vendor: "Google",
  keyKind: "rsa",
  features: 639,
  paired: [],
  acceptsAnyClient: false,
  standby: "standby",
  knowsWake: true,
  pingMs: 5_000,
} satisfies Partial<AndroidTvSimulatorOptions>;

/** What never changes while a set exists. */
export type AndroidTvOptions = ReturnType<typeof resolve>;

export function resolve(options: AndroidTvSimulatorOptions) {
  const { name, bluetooth = macOf(digest(`bluetooth ${name}`)), volume } = options;
  const all = { ...DEFAULTS, mac: macOf(digest(name).slice(20)), ...options };
  const commonName = `atvremote/kirkwood/kirkwood/${all.model}/${bluetooth.toUpperCase()}`;
  return {
    ...all,
    bluetooth,
    hostName: `Android-${digest(name).slice(0, 12)}`,
    certificate: options.certificate ?? createCertificateFor(commonName, all.keyKind),
    volume: volume === null ? null : { level: 10, max: 25, ...volume },
  };
}
