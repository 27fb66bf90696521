/** A platform in memory, without a network. */

import { z } from "zod";
import { ZapdError } from "../../src/api/errors.ts";
import type {
  Address,
  Capability,
  Connection,
  Description,
  DiscoveryQuery,
  Emit,
  Facts,
  Key,
  Platform,
  PlatformHost,
  PlatformState,
  Sighting,
  Target,
} from "../../src/platforms/platform.ts";
import { capabilities } from "../../src/platforms/platform.ts";

export function factsOf(identity: string, more: Partial<Facts> = {}): Facts {
  const nothing = { manufacturer: null, model: null, softwareVersion: null, access: null, macs: [] };
  return { serial: identity, name: `Set ${identity}`, kind: "tv", ...nothing, ...more };
}

export function sightingOf(identity: string, facts: Partial<Facts> = {}, more: Partial<Sighting> = {}): Sighting {
  return { identity, facts: factsOf(identity, facts), memory: {}, pairing: "none", ...more };
}

export const asleep: PlatformState = {
  power: "standby",
  app: null,
  screensaver: null,
  playback: null,
  volume: null,
  input: null,
};

/** The state of a device that is on, and shows nothing. */
export const idle = {
  power: "on",
  app: null,
  screensaver: false,
  playback: null,
  volume: { level: 20, muted: false },
  input: null,
} as const satisfies PlatformState;

/** Power of a device that is always on. */
export const neverOff: NonNullable<Connection["power"]> = { isOn: async () => true, wakesByPacket: true };

export interface FakeOptions {
  readonly name?: string;
  readonly queries?: readonly DiscoveryQuery[];
  readonly port?: number;
  readonly services?: Platform["services"];
  identify?(address: Address, signal: AbortSignal): Promise<Sighting>;
  connect?(target: Target, platformHost: PlatformHost, emit: Emit): Connection;
  describe?(facts: Facts): Description;
  pair?: Platform["pair"];
}

/** The capabilities of a connection, by its parts. */
export function descriptionOf(connection: Connection, withheld: readonly Capability[] = []): Description {
  const { list, launch, stop } = connection.apps ?? {};
  const parts: Partial<Record<Capability, unknown>> = {
    ...connection,
    apps: list,
    launch,
    stop,
    power_on: connection.power,
    seek: connection.playback?.seek,
  };
  const has = new Set(capabilities.filter((one) => parts[one] !== undefined));
  const power = connection.power ? (["power-on"] as const) : [];
  return { has, withheld: new Set(withheld), keys: new Set([...fakeKeys, ...power]) };
}

const fakeKeys: readonly Key[] = ["home", "up", "down", "play", "power", "power-off"];

export function fakePlatform(options: FakeOptions = {}): Platform {
  return {
    name: options.name ?? "fake",
    ports: { control: options.port ?? 9, door: 7 },
    queries: options.queries ?? [],
    memory: z.record(z.string(), z.unknown()),
    secret: z.record(z.string(), z.string()),
    isAppId: (text) => /^\d+$/.test(text),
    identify: async (address, _surroundings, signal) => {
      if (options.identify) return options.identify(address, signal);
      throw new ZapdError("device_error", "is nobody");
    },
    describe: (facts) => options.describe?.(facts) ?? descriptionOf(new FakeSet().connection()),
    connect: (target, platformHost, emit) => options.connect?.(target, platformHost, emit) ?? { close: () => {} },
    ...(options.services && { services: options.services }),
    ...(options.pair && { pair: options.pair }),
  };
}

/** A device in memory: the commands and reads that reached it, in order. */
export class FakeSet {
  readonly done: string[] = [];
  readonly closed: string[] = [];
  /** Milliseconds that each command and read takes. */
  takes = 0;
  /** While it is set, every command and read fails with it. */
  failure: ZapdError | undefined;
  state: PlatformState = asleep;
  /** How many commands and reads run now, and the most that ran at once. */
  running = 0;
  mostRunning = 0;

  /** Does one thing, which takes `takes` milliseconds, or until the signal. */
  async do<T>(what: string, signal: AbortSignal, result: T): Promise<T> {
    this.mostRunning = Math.max(this.mostRunning, ++this.running);
    try {
      await new Promise<void>((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const timer = setTimeout(resolve, this.takes);
        signal.addEventListener("abort", () => {
          clearTimeout(timer);
          reject(signal.reason);
        });
      });
      if (this.failure) throw this.failure;
      this.done.push(what);
      return result;
    } finally {
      this.running--;
    }
  }

  connection(): Connection {
    return {
      state: { read: (signal) => this.do("state", signal, this.state) },
      apps: {
        list: (signal) => this.do("apps", signal, []),
        launch: (id, params, signal) => this.do(`launch ${id} ${JSON.stringify(params)}`, signal, true),
        stop: (signal) => this.do("stop", signal, null),
      },
      keys: { press: (key, signal) => this.do(key, signal, undefined) },
      text: {
        longestMs: (text) => 10 * text.length,
        type: (text, signal) => this.do(`text ${text}`, signal, undefined),
      },
      close: () => this.closed.push("closed"),
    };
  }
}
