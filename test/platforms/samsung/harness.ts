/** Sets of this platform, and connections to them. */
import { afterEach } from "bun:test";
import { ZapdError } from "../../../src/api/errors.ts";
import { perform } from "../../../src/devices/press.ts";
import type { Connection, Key, Sighting, Target } from "../../../src/platforms/platform.ts";
import { samsung } from "../../../src/platforms/samsung/adapter.ts";
import type { SamsungMemory, SamsungSecret } from "../../../src/platforms/samsung/memory.ts";
import {
  createSamsungSimulator,
  type SamsungSimulator,
  type SamsungSimulatorOptions,
} from "../../../src/simulators/samsung.ts";
import { keptSecret, platformHostOf, type Told, targetOf, turnOn } from "../../support/platform-host.ts";

/** A token that every set of these tests gave us before. */
export const token = "12345678";

export async function startSamsung(options: Partial<SamsungSimulatorOptions> = {}): Promise<SamsungSimulator> {
  const simulator = createSamsungSimulator({
    name: "One",
    securePort: 0,
    plainPort: 0,
    rendererPort: 0,
    ssdp: false,
    tokens: [token],
    promptMs: 30,
    bootMs: 200,
    ...options,
    // What a busy machine brings late comes close to what is sent after it.
    traits: { keyMs: 40, ...options.traits },
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
  readonly set: SamsungSimulator;
  readonly sighting: Sighting<SamsungMemory>;
  readonly target: Target<SamsungMemory, SamsungSecret>;
  readonly told: Told<SamsungMemory>;
  connection: Connection;
  kept(): SamsungSecret | null;
  /** Pairs, and keeps what the set gives, as the daemon does; gives up with the signal. */
  pair(signal?: AbortSignal): Promise<void>;
  /** A new connection to what is known now, as after a pairing. */
  renew(): Connection;
}

/** A set, and a connection to it; without `given`, one that has not been paired. */
export async function line(
  options: Partial<SamsungSimulatorOptions> = {},
  given?: SamsungSecret | null,
  timeout = 5_000,
): Promise<Line> {
  const set = await startSamsung(options);
  cleanups.push(() => set.stop());
  const platformHost = platformHostOf({ timeout });
  const { secure, plain, renderer, wake } = set.ports;
  const lead = { host: set.host, port: secure ?? plain ?? 0 };
  const sighting = await samsung.identify(lead, platformHost, never);
  const certificate = set.fingerprint;
  const secret = keptSecret<SamsungSecret>(
    given === undefined && secure !== null ? { token, certificate } : (given ?? null),
  );
  const known = secret.read() ? { ...sighting, facts: { ...sighting.facts, access: "full" as const } } : sighting;
  const ports = { wake, ...(renderer !== null && { renderer }) };
  const { target, told } = targetOf(known, lead, { ports, secret });
  const connect = () => {
    const connection = samsung.connect(target, platformHost, told.emit);
    cleanups.push(() => connection.close());
    return connection;
  };
  const made: Line = {
    set,
    sighting,
    target,
    told,
    connection: connect(),
    kept: () => secret.read(),
    async pair(signal = never) {
      const pairing = await samsung.pair?.(target, platformHost, { fresh: false }, signal);
      if (pairing?.step !== "confirm") throw new Error("it must be accepted on the screen");
      signal.addEventListener("abort", () => pairing.cancel());
      const { secret: given, ...paired } = await pairing.done;
      if (given) await secret.keep(given);
      told.emit({ type: "facts", ...paired });
    },
    renew() {
      made.connection.close();
      made.connection = connect();
      return made.connection;
    },
  };
  return made;
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
/** The keys that the set took, in its own words. */
export const taken = ({ received }: SamsungSimulator) =>
  received.keys
    .filter(({ outcome }) => outcome === "taken")
    .map(({ code, how }) => (how === "Click" ? code : `${code} ${how}`));
