/** Sets of this platform, and connections to them. */
import { afterEach, expect } from "bun:test";
import { ZapdError } from "../../../src/api/errors.ts";
import { perform } from "../../../src/devices/press.ts";
import type { Connection, Key, Sighting, Target } from "../../../src/platforms/platform.ts";
import { webos } from "../../../src/platforms/webos/adapter.ts";
import type { WebosMemory, WebosSecret } from "../../../src/platforms/webos/memory.ts";
import { manifest } from "../../../src/platforms/webos/protocol.ts";
import {
  createWebosSimulator,
  type WebosSimulator,
  type WebosSimulatorOptions,
} from "../../../src/simulators/webos.ts";
import { keptSecret, platformHostOf, type Told, targetOf, turnOn } from "../../support/platform-host.ts";

/** A key that every set of these tests gave us before, and all that it was granted. */
export const key = "0123456789abcdef0123456789abcdef";
export const clientKeys = { [key]: [...manifest.permissions] };

export async function startWebos(options: Partial<WebosSimulatorOptions> = {}): Promise<WebosSimulator> {
  const simulator = createWebosSimulator({
    name: "One",
    securePort: 0,
    plainPort: 0,
    ssdp: false,
    clientKeys,
    promptMs: 30,
    tuner: false,
    bootMs: 200,
    socketsCloseMs: 300,
    portsCloseMs: 100,
    ...options,
  });
  await simulator.start();
  return simulator;
}

/** What makes a set do something, of all that it was asked: buttons, and requests that are no questions. */
export function pressedOn({ received }: WebosSimulator): string[] {
  // `switchInput` is counted, the list of inputs that is read before it is not.
  const asked = /\/(get\w+|register\w+|list\w+|createToast)$/;
  const requests = received.requests.filter(({ uri }) => uri !== "" && !asked.test(uri)).map(({ uri }) => uri);
  return [...received.buttons, ...requests];
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
  readonly set: WebosSimulator;
  readonly sighting: Sighting<WebosMemory>;
  readonly target: Target<WebosMemory, WebosSecret>;
  readonly learned: Told["learned"];
  readonly states: Told["states"];
  readonly ended: Told["ended"];
  connection: Connection;
  kept(): WebosSecret | null;
  /** Pairs, and keeps what the set gives, as the daemon does; gives up with the signal. */
  pair(signal?: AbortSignal): Promise<void>;
  /** A new connection to what is known now, as after a pairing. */
  renew(): Connection;
}

export async function line(
  options: Partial<WebosSimulatorOptions> = {},
  given: WebosSecret | null = { key },
): Promise<Line> {
  const set = await startWebos(options);
  cleanups.push(() => set.stop());
  const platformHost = platformHostOf();
  const { secure, plain, wake } = set.ports;
  const port = secure ?? plain ?? 0;
  const lead = { host: set.host, port };
  const sighting = await webos.identify(lead, platformHost, never);
  const ports = { wake, ...(plain !== null && secure !== null && { plain }) };
  const secret = keptSecret<WebosSecret>(given);
  const { target, told } = targetOf(sighting, lead, { ports, secret });
  const connect = () => {
    const connection = webos.connect(target, platformHost, told.emit);
    cleanups.push(() => connection.close());
    return connection;
  };
  const { learned, states, ended } = told;
  const made: Line = {
    set,
    sighting,
    target,
    learned,
    states,
    ended,
    connection: connect(),
    kept: () => secret.read(),
    async pair(signal = never) {
      const pairing = await webos.pair?.(target, platformHost, { fresh: false }, signal);
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

export const state = ({ connection }: Line) => connection.state?.read(never) ?? expect.unreachable();
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
