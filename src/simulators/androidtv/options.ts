/** What an Android TV can be made to be, and what it has when nothing is said. */
import type { Certificate } from "../bench/certificate.ts";
import { digest, macOf } from "../bench/identity.ts";

interface AndroidApp {
  readonly package: string;
  /** What the links begin with that open it. */
  readonly links: readonly string[];
}

interface AndroidTvEvent {
  readonly type: "client" | "pairing" | "key" | "text" | "link" | "power" | "volume" | "wake" | "discovery";
  readonly text: string;
}

export interface AndroidTvSimulatorOptions {
  /** What its owner called it, and what is announced. */
  name: string;
  host?: string;
  /** 0 is a free one. */
  remotePort?: number;
  pairingPort?: number;
  wakePort?: number;
  mdns?: boolean;
  model?: string;
  vendor?: string;
  /** The address of its Bluetooth, which stands in its certificate. Default: made from the name. */
  bluetooth?: string;
  /** The certificate that it shows; default one of its own. */
  certificate?: Certificate;
  /** The kind of key in it; nobody can be paired but with `rsa`, the default, and the other takes less time. */
  keyKind?: "rsa" | "ec";
  /** The address that wakes it. */
  mac?: string;
  /** Bits; default 639: ping, key, text, voice, one that nobody knows, power, volume, links. */
  features?: number;
  /** Null: it tells none, as a box that leaves that to its screen. */
  volume?: { level?: number; max?: number } | null;
  /** Certificates in DER that it has been paired with. */
  paired?: readonly Uint8Array[];
  /** A stranger's: it lets in whoever comes, and tells what it is shown. */
  acceptsAnyClient?: boolean;
  /** What it goes to when it is turned off: it stays on the network, or closes its ports. */
  standby?: "standby" | "off";
  /** Whether it knows the keys that only wake, and only put to sleep; else the one that toggles. */
  knowsWake?: boolean;
  /** From its waking until it lets anybody in: it hangs up on all meanwhile. */
  startMs?: number;
  /** Between two pings; who has left three unanswered is hung up on. */
  pingMs?: number;
  onEvent?: (event: AndroidTvEvent) => void;
}

export const APPS: readonly AndroidApp[] = [
  { package: "com.netflix.ninja", links: ["https://www.netflix.com/title", "netflix://"] },
  { package: "com.google.android.youtube.tv", links: ["https://www.youtube.com", "vnd.youtube.launch://"] },
  { package: "com.amazon.amazonvideo.livingroom", links: ["https://app.primevideo.com"] },
  { package: "com.plexapp.android", links: ["plex://"] },
];

/** Everything about a set that never changes while it exists. */
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
