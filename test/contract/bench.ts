/** What the suite works with: sets, relays to them, and connections, all gone after each test. */
import { afterAll, expect } from "bun:test";
import { ZapdError } from "../../src/api/errors.ts";
import type { Capability, Connection, Key, Platform, Ports, Sighting, Target } from "../../src/platforms/platform.ts";
import { keptSecret, platformHostOf, type Told, targetOf } from "../support/platform-host.ts";
import { type Relay, startRelay } from "../support/relay.ts";

/** Standby still answers; in deep sleep nothing does. */
export type Sleep = "standby" | "deep";

/** A simulated device, as this suite sees it: in words that every platform has. */
export interface SimulatedSet {
  readonly identity: string;
  readonly host: string;
  readonly port: number;
  /** Its other ports, by the platform's words for them. */
  readonly ports: Ports;
  /** Where it says who it is, where sets choose that. */
  readonly path?: string;
  /** What a search's answer says of it, where that tells more. */
  readonly announced?: Readonly<Record<string, string>>;
  /** What it has given to us already, where sets are paired. */
  readonly secret?: unknown;
  /** What the network shows of its hardware, where it does not tell what wakes it. */
  readonly macs?: readonly string[];
  /** The keys it took, in its own words, in order, and the text. */
  readonly pressed: readonly string[];
  readonly typed: string;
  /** The platform's id of the app in front; `null` is home. */
  readonly inFront: string | null;
  readonly awake: boolean;
  sleep(kind: Sleep): Promise<void>;
  /** Brings the set where a key has an effect, where it must be somewhere. */
  readyForKey?(key: Key): Promise<void>;
  /** Opens a field that takes text, where there must be one. */
  readyForText?(): Promise<void> | void;
  stop(): Promise<void>;
}

export interface Contract {
  readonly platform: Platform;
  /** Starts a set, and says how it is to fall asleep; two of one `name` are the same set. */
  startSet(name: string, asleep: Sleep): Promise<SimulatedSet>;
  /** A connection learns more of a set than those are told who only ask who it is. */
  readonly learnsMore?: boolean;
  /** What no set of the platform has: that is not tried. */
  readonly lacks?: ReadonlySet<Capability>;
  /** Two keys that every set takes whatever it does, where `up` and `down` are none; the first comes first. */
  readonly anyKeys?: readonly [Key, Key];
  /** A set does not tell whether it has an app that it is told to launch. */
  readonly hidesMissingApps?: boolean;
  /** Its apps take no deep link. */
  readonly takesNoLinks?: boolean;
  /** Nothing is told of power: who drives the set otherwise knows. */
  readonly tellsNoPower?: boolean;
  /** There is on and off, and nothing between. */
  readonly noStandby?: boolean;
  /** Text goes to the set in one message. */
  readonly typesAtOnce?: boolean;
  /** An app that each set has, and an id in the platform's form that none has. */
  readonly app: { readonly platformId: string; readonly name: string };
  readonly unknownApp: string;
}

export const never = new AbortController().signal;

/** A connection through a relay that counts, cuts and misleads. */
export interface Line {
  readonly set: SimulatedSet;
  readonly relay: Relay;
  readonly sighting: Sighting;
  readonly target: Target;
  readonly connection: Connection;
  /** What the connection told. */
  readonly told: Told;
}

export interface Bench extends Contract {
  start(name?: string, asleep?: Sleep): Promise<SimulatedSet>;
  /** A set called One, and a connection to it through a relay; `timeout` is what one answer may take. */
  line(timeout?: number, asleep?: Sleep): Promise<Line>;
  /** A set and a connection to it past the relay. */
  direct(): Promise<{ set: SimulatedSet; target: Target; connection: Connection }>;
  /** Whether its sets have a capability. */
  can(capability: Capability): boolean;
  readonly anyKeys: readonly [Key, Key];
  /** Does this after the test. */
  after(cleanup: () => unknown): void;
}

export function createBench(contract: Contract): Bench {
  const { platform } = contract;
  const cleanups: (() => unknown)[] = [];
  afterAll(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });
  const after = (cleanup: () => unknown) => void cleanups.push(cleanup);

  async function start(name = "One", asleep: Sleep = "deep"): Promise<SimulatedSet> {
    const set = await contract.startSet(name, asleep);
    after(() => set.stop());
    return set;
  }

  async function connect(set: SimulatedSet, port: number, timeout: number) {
    const platformHost = platformHostOf({ timeout });
    const { host, announced, path } = set;
    const lead = { host, port: set.port, ...(announced && { announced }), ...(path !== undefined && { path }) };
    // The time for one answer is that of the connection: who it is may take longer on a busy machine.
    const sighting = await platform.identify(lead, platformHostOf(), never);
    const known = withMacs(contract.learnsMore ? await onceConnected(sighting, set) : sighting, set);
    const { target, told } = targetOf(known, { host, port }, given(set));
    const connection = platform.connect(target, platformHost, told.emit);
    after(() => connection.close());
    return { sighting: known, target, connection, told };
  }

  const given = ({ ports, secret = null }: SimulatedSet) => ({ ports, secret: keptSecret(secret) });

  const withMacs = (sighting: Sighting, { macs }: SimulatedSet): Sighting =>
    macs ? { ...sighting, facts: { ...sighting.facts, macs } } : sighting;

  /** One set after the other: the handshakes of all sets of a file at once may take longer than one is given. */
  let connecting: Promise<unknown> = Promise.resolve();

  /** What is known of a set that tells the most to those it knows. */
  function onceConnected(sighting: Sighting, set: SimulatedSet): Promise<Sighting> {
    const connected = connecting.then(async () => {
      const { target, told } = targetOf(sighting, set, given(set));
      const connection = platform.connect(target, platformHostOf(), told.emit);
      await has(connection.state)
        .read(never)
        .finally(() => connection.close());
      return { ...sighting, facts: target.facts, memory: target.memory };
    });
    connecting = connected.catch(() => {});
    return connected;
  }

  return {
    ...contract,
    start,
    after,
    anyKeys: contract.anyKeys ?? ["up", "down"],
    can: (capability) => !contract.lacks?.has(capability),
    async line(timeout = 5_000, asleep: Sleep = "deep") {
      const set = await start("One", asleep);
      const relay = await startRelay(set.host, set.port);
      after(() => relay.stop());
      return { set, relay, ...(await connect(set, relay.port, timeout)) };
    },
    async direct() {
      const set = await start();
      return { set, ...(await connect(set, set.port, 1_500)) };
    },
  };
}

/** The failure of something that must fail as a platform fails. */
export async function failure(work: Promise<unknown>): Promise<ZapdError> {
  const error = await work.then(
    (result) => new Error(`it did not fail, but gave ${JSON.stringify(result)}`),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ZapdError)) throw error;
  // The control path puts the device's name before it.
  expect(error.message).toMatch(/^[a-z]/);
  return error;
}

/** A capability of a set that has every one of its platform. */
export function has<T>(capability: T | undefined): T {
  if (capability === undefined) throw new Error("the sets of this suite must have every capability of their platform");
  return capability;
}
