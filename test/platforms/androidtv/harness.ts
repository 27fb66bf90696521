/** Sets of this platform, and connections to them. */
import { androidtv } from "../../../src/platforms/androidtv/adapter.ts";
import type { AndroidMemory, AndroidSecret } from "../../../src/platforms/androidtv/memory.ts";
import {
  type AndroidTvSimulator,
  type AndroidTvSimulatorOptions,
  createAndroidTvSimulator,
} from "../../../src/simulators/androidtv.ts";
import { createCertificateFor } from "../../../src/simulators/bench/certificate.ts";
import { type Line, lineTo } from "../harness.ts";

const { cert, key } = createCertificateFor("zapd");
const bare = (pem: string) => pem.replace(/-----[^-]*-----|\s/g, "");
/** What every set of these tests was paired with before. */
export const own = { cert: bare(cert), key: bare(key) };
export const ours = Buffer.from(own.cert, "base64");

export async function startAndroid(options: Partial<AndroidTvSimulatorOptions> = {}): Promise<AndroidTvSimulator> {
  const simulator = createAndroidTvSimulator({
    name: "One",
    remotePort: 0,
    pairingPort: 0,
    mdns: false,
    paired: [ours],
    // Where nobody is to be paired, what takes less time.
    keyKind: options.paired === undefined ? "ec" : "rsa",
    ...options,
  });
  await simulator.start();
  return simulator;
}

/** A set, and a connection to it; with `given` as null, one that has not been paired. */
export async function line(
  options: Partial<AndroidTvSimulatorOptions> = {},
  given?: AndroidSecret | null,
  timeout = 5_000,
): Promise<Line<AndroidTvSimulator, AndroidMemory, AndroidSecret>> {
  const set = await startAndroid(options);
  const { remote, pairing, wake } = set.ports;
  return lineTo(androidtv, set, {
    lead: { host: set.host, port: remote, announced: { name: options.name ?? "One" } },
    ports: { pairing, wake },
    given: given === undefined ? { ...own, certificate: set.fingerprint } : given,
    facts: { macs: [set.mac] },
    timeout,
  });
}
