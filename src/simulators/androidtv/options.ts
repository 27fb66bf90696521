/** The options of a simulated Android TV, and its defaults. */
import type { Certificate } from "../bench/certificate.ts";
import { digest, macOf } from "../bench/identity.ts";

interface AndroidApp {
  readonly package: string;
  /** The prefixes of links that open it. */
  readonly links: readonly string[];
}

interface AndroidTvEvent {
  readonly type: "client" | "pairing" | "key" | "text" | "link" | "power" | "volume" | "wake" | "discovery";
  readonly text: string;
}

export interface AndroidTvSimulatorOptions {
  /** The name given by its owner, which is announced. */
  name: string;
  host?: string;
  /** Default 6466, and 6467 for pairing; 0 is any free port. */
  remotePort?: number;
  pairingPort?: number;
  wakePort?: number;
  mdns?: boolean;
  model?: string;
  vendor?: string;
  /** The Bluetooth address in its certificate. Default: derived from the name. */
  bluetooth?: string;
  /** Default: a new certificate. */
  certificate?: Certificate;
  /** The kind of key in the certificate. Pairing needs `rsa`, the default; `ec` is generated faster. */
  keyKind?: "rsa" | "ec";
  /** The MAC address that wakes it. */
  mac?: string;
  /** Feature bits. Default 639: ping, key, text, voice, an unknown one, power, volume, links. */
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
  /** The time after waking during which it disconnects every client. */
  startMs?: number;
  /** The interval of pings. A client with three unanswered ones is disconnected. */
  pingMs?: number;
  onEvent?: (event: AndroidTvEvent) => void;
}

export const APPS: readonly AndroidApp[] = [
  { package: "com.netflix.ninja", links: ["https://www.netflix.com/title", "netflix://"] },
  { package: "com.google.android.youtube.tv", links: ["https://www.youtube.com", "vnd.youtube.launch://"] },
  { package: "com.amazon.amazonvideo.livingroom", links: ["https://app.primevideo.com"] },
  { package: "com.plexapp.android", links: ["plex://"] },
];

/** What never changes while a set exists. */
export type AndroidTvOptions = ReturnType<typeof identify>;

export function identify(options: AndroidTvSimulatorOptions) {
  const model = options.model ?? "Google TV Streamer";
  const bluetooth = options.bluetooth ?? macOf(digest(`bluetooth ${options.name}`));
  return {
    name: options.name,
    host: options.host ?? "127.0.0.1",
    hostName: `Android-${digest(options.name).slice(0, 12)}`,
    remotePort: options.remotePort ?? 6_466,
    pairingPort: options.pairingPort ?? 6_467,
    wakePort: options.wakePort,
    mdns: options.mdns ?? true,
    model,
    vendor: options.vendor ?? "Google",
    bluetooth,
    commonName: `atvremote/kirkwood/kirkwood/${model}/${bluetooth.toUpperCase()}`,
    certificate: options.certificate,
    keyKind: options.keyKind ?? "rsa",
    mac: options.mac ?? macOf(digest(options.name).slice(20)),
    features: options.features ?? 639,
    volume: options.volume === null ? null : { level: options.volume?.level ?? 10, max: options.volume?.max ?? 25 },
    paired: options.paired ?? [],
    acceptsAnyClient: options.acceptsAnyClient ?? false,
    standby: options.standby ?? "standby",
    knowsWake: options.knowsWake ?? true,
    startMs: options.startMs ?? 0,
    pingMs: options.pingMs ?? 5_000,
    onEvent: options.onEvent,
  };
}
