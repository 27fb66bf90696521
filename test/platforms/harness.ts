/** A set of a platform, and a connection to it: what the tests of every platform do alike. */
import { afterAll, afterEach } from "bun:test";
import { perform } from "../../src/devices/press.ts";
import type {
  Connection,
  Facts,
  Key,
  Lead,
  Pairing,
  Platform,
  Ports,
  Sighting,
  Target,
} from "../../src/platforms/platform.ts";
import { has, never } from "../contract/bench.ts";
import {
  keptSecret,
  type PlatformHostOptions,
  platformHostOf,
  type Told,
  targetOf,
  turnOn,
} from "../support/platform-host.ts";
import { passTime, wakeUp } from "../support/test-clock.ts";

export { failure, never } from "../contract/bench.ts";

export const cleanups: (() => unknown)[] = [];
/** Ends after each test what it started; or, where tests run beside each other, after all of them. */
export function tidy(when: typeof afterEach = afterEach): void {
  when(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });
}

/** Time that passes at once: so many milliseconds more than have gone by since the test began. The clock never goes back. */
export function passing(): { ms: number } {
  const passed = { ms: 0 };
  let before = 0;
  const { now } = performance;
  performance.now = () => now.call(performance) + before + passed.ms;
  afterEach(() => {
    before += passed.ms;
    passed.ms = 0;
  });
  // The next file begins later than whatever was noted of this one.
  afterAll(() => {
    passTime(3_600_000);
    wakeUp();
  });
  return passed;
}

export interface Line<S, Memory = unknown, Secret = unknown> {
  readonly set: S;
  readonly sighting: Sighting<Memory>;
  readonly target: Target<Memory, Secret>;
  readonly told: Told<Memory>;
  connection: Connection;
  kept(): Secret | null;
  /** Begins to pair, afresh without the kept secret; that is given up after the test. */
  begin(fresh?: boolean): Promise<Pairing<Memory, Secret>>;
  /** Pairs by a prompt, and keeps what the set gives, as the daemon does; gives up with the signal. */
  pair(signal?: AbortSignal): Promise<void>;
  /** Another connection to it. */
  again(): Connection;
  /** A new connection to what is known now, as after a pairing. */
  renew(): Connection;
}

export interface LineOptions<Secret> extends PlatformHostOptions {
  readonly lead: Lead;
  readonly ports?: Ports;
  /** What is known of it beyond what it says who it is. */
  readonly facts?: Partial<Facts>;
  /** What it gave when it was paired; or what is made of the fingerprint of the certificate that it shows. */
  readonly given?: Secret | null | ((certificate: string) => Secret);
}

/** A connection to a set that runs; `tidy` ends both. */
export async function lineTo<S extends { stop(): Promise<void> }, Memory, Secret>(
  platform: Platform<Memory, Secret>,
  set: S,
  options: LineOptions<Secret>,
): Promise<Line<S, Memory, Secret>> {
  const { lead, ports = {}, facts, given = null } = options;
  cleanups.push(() => set.stop());
  const platformHost = platformHostOf(options);
  // The time for one answer is that of the connection: who it is may take longer on a busy machine.
  const sighting = await platform.identify(lead, platformHostOf({ ...options, timeout: 5_000 }), never);
  const kept = given instanceof Function ? given(sighting.certificate ?? "") : given;
  const secret = keptSecret<Secret>(kept);
  const known = { ...sighting, facts: { ...sighting.facts, ...facts } };
  const { target, told } = targetOf<Memory, Secret>(known, lead, { ports, secret });
  const again = () => {
    const connection = platform.connect(target, platformHost, told.emit);
    cleanups.push(() => connection.close());
    return connection;
  };
  const begin = async (fresh = false, signal = never) => {
    const asked = fresh ? { ...target, secret: keptSecret<Secret>() } : target;
    const pairing = await platform.pair?.(asked, platformHost, signal);
    if (!pairing) throw new Error("it does not pair");
    cleanups.push(() => pairing.cancel());
    return pairing;
  };
  const line: Line<S, Memory, Secret> = {
    set,
    sighting,
    target,
    told,
    connection: again(),
    kept: () => secret.read(),
    begin,
    async pair(signal = never) {
      const pairing = await begin(false, signal);
      if (pairing.step !== "confirm") throw new Error("it must be accepted on the screen");
      signal.addEventListener("abort", () => pairing.cancel());
      const { secret: own, ...paired } = await pairing.done;
      if (own) await secret.keep(own);
      told.emit({ type: "facts", ...paired });
    },
    again,
    renew() {
      line.connection.close();
      line.connection = again();
      return line.connection;
    },
  };
  return line;
}

export const state = ({ connection }: { readonly connection: Connection }) => has(connection.state).read(never);
/** As the core presses a key, with waking where that is what the key means. */
export const press = (
  { connection, target }: { readonly connection: Connection; readonly target: Target },
  key: Key,
): Promise<void> =>
  perform({ turnOn: (_connection, signal) => turnOn(connection, target, signal) }, connection, { key }, never);
