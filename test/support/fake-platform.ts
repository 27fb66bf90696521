/** A platform that is nothing but an object: what the daemon needs of one, and no network. */

import { ZapdError } from "../../src/api/errors.ts";
import type {
  Address,
  Capability,
  Connection,
  Description,
  DeviceSurroundings,
  Emit,
  Facts,
  Finder,
  Identified,
  Key,
  Platform,
  PlatformState,
  Target,
} from "../../src/platforms/platform.ts";
import { capabilities } from "../../src/platforms/platform.ts";

export function factsOf(identity: string, more: Partial<Facts> = {}): Facts {
  const nothing = { manufacturer: null, model: null, softwareVersion: null, access: null, macs: [], traits: {} };
  return { identity, serial: identity, name: `Set ${identity}`, kind: "tv", ...nothing, ...more };
}

export const asleep: PlatformState = {
  ...{ power: "standby", app: null, screensaver: null, playback: null, volume: null, input: null },
};

/** A device that is on, whenever it is asked. */
export const neverOff: NonNullable<Connection["power"]> = { isOn: async () => true, wakesByPacket: true };

export interface FakeOptions {
  readonly name?: string;
  readonly finders?: readonly Finder[];
  readonly defaultPort?: number;
  identify?(address: Address, signal: AbortSignal): Promise<Identified>;
  connect?(target: Target, surroundings: DeviceSurroundings, emit: Emit): Connection;
  describe?(target: Target): Description;
  pair?: Platform["pair"];
}

/** What a connection has, by its methods. */
export function descriptionOf(connection: Connection, withheld: readonly Capability[] = []): Description {
  const methods: Partial<Record<Capability, unknown>> = { ...connection, power_on: connection.power };
  return { has: new Set(capabilities.filter((one) => methods[one] !== undefined)), withheld: new Set(withheld) };
}

export function fakePlatform(options: FakeOptions = {}): Platform {
  return {
    name: options.name ?? "fake",
    defaultPort: options.defaultPort ?? 9,
    ports: { door: 7 },
    finders: options.finders ?? [],
    isAppId: (text) => /^\d+$/.test(text),
    identify: async (address, _surroundings, signal) => {
      if (options.identify) return options.identify(address, signal);
      throw new ZapdError("device_error", "is nobody");
    },
    describe: (target) => options.describe?.(target) ?? descriptionOf(new FakeSet().connection()),
    connect: (target, surroundings, emit) => options.connect?.(target, surroundings, emit) ?? { close: () => {} },
    ...(options.pair && { pair: options.pair }),
  };
}

/** One device in memory: what was done to it, in order, with as long as each thing takes. */
export class FakeSet {
  readonly done: string[] = [];
  readonly closed: string[] = [];
  /** Milliseconds that each command and read takes. */
  takes = 0;
  /** Fails every command and read while it is set. */
  failure: ZapdError | undefined;
  state: PlatformState = asleep;
  /** How many commands and reads are under way, and the most there have been. */
  running = 0;
  mostRunning = 0;

  /** Does one thing: takes its time, ends with its signal. */
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

  connection(names: readonly Key[] = ["home", "up", "down", "play"]): Connection {
    return {
      state: (signal) => this.do("state", signal, this.state),
      apps: (signal) => this.do("apps", signal, []),
      launch: (id, params, signal) => this.do(`launch ${id} ${JSON.stringify(params)}`, signal, true),
      stop: (signal) => this.do("stop", signal, null),
      keys: { names: new Set(names), press: (key, signal) => this.do(key, signal, undefined) },
      text: { msPerCharacter: 10, type: (text, signal) => this.do(`text ${text}`, signal, undefined) },
      close: () => this.closed.push("closed"),
    };
  }
}
