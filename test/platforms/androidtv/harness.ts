/** Sets of this platform, and connections to them. */
import { afterEach } from "bun:test";
import { ZapdError } from "../../../src/api/errors.ts";
import { perform } from "../../../src/devices/press.ts";
import { androidtv } from "../../../src/platforms/androidtv/adapter.ts";
import type { AndroidMemory, AndroidSecret } from "../../../src/platforms/androidtv/memory.ts";
import type { Connection, Key, Sighting, Target } from "../../../src/platforms/platform.ts";
import {
  type AndroidTvSimulator,
  type AndroidTvSimulatorOptions,
  createAndroidTvSimulator,
} from "../../../src/simulators/androidtv.ts";
import { createCertificateFor } from "../../../src/simulators/bench/certificate.ts";
import { keptSecret, platformHostOf, type Told, targetOf, turnOn } from "../../support/platform-host.ts";

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

export const never = new AbortController().signal;
export const cleanups: (() => unknown)[] = [];
/** Ends after each test what it started. */
export function tidy(): void {
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });
}

export interface Line {
  readonly set: AndroidTvSimulator;
  readonly sighting: Sighting<AndroidMemory>;
  readonly target: Target<AndroidMemory, AndroidSecret>;
  readonly told: Told<AndroidMemory>;
  readonly connection: Connection;
  kept(): AndroidSecret | null;
  pair(fresh?: boolean): ReturnType<NonNullable<typeof androidtv.pair>>;
}

/** A set, and a connection to it; with `given` as null, one that has not been paired. */
export async function line(
  options: Partial<AndroidTvSimulatorOptions> = {},
  given?: AndroidSecret | null,
  timeout = 5_000,
): Promise<Line> {
  const set = await startAndroid(options);
  cleanups.push(() => set.stop());
  const platformHost = platformHostOf({ timeout });
  const { remote, pairing, wake } = set.ports;
  const lead = { host: set.host, port: remote, said: { name: options.name ?? "One" } };
  const sighting = await androidtv.identify(lead, platformHost, never);
  const secret = keptSecret<AndroidSecret>(given === undefined ? { ...own, certificate: set.fingerprint } : given);
  const facts = { ...sighting.facts, macs: [set.mac] };
  const { target, told } = targetOf({ ...sighting, facts }, lead, { ports: { pairing, wake }, secret });
  const connection = androidtv.connect(target, platformHost, told.emit);
  cleanups.push(() => connection.close());
  return {
    set,
    sighting,
    target,
    told,
    connection,
    kept: () => secret.read(),
    async pair(fresh = false) {
      const begun = await androidtv.pair?.(target, platformHost, { fresh }, never);
      if (!begun) throw new Error("it does not pair");
      cleanups.push(() => begun.cancel());
      return begun;
    },
  };
}

export const state = ({ connection }: Line) => connection.state?.read(never) ?? Promise.reject(new Error("no state"));
/** As the core presses a key, with waking where that is what the key means. */
export const press = ({ connection, target }: Line, key: Key) =>
  perform({ turnOn: (_connection, signal) => turnOn(connection, target, signal) }, connection, { key }, never);
export const failure = async (work: Promise<unknown>): Promise<ZapdError> => {
  const error = await work.then(
    (result) => new Error(`it gave ${JSON.stringify(result)}`),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ZapdError)) throw error;
  return error;
};
