/** Sets of this platform, and connections to them. */
import { afterEach, expect } from "bun:test";
import { ZapdError } from "../../../src/api/errors.ts";
import { perform } from "../../../src/devices/press.ts";
import type { Connection, Credentials, Facts, Key, Target } from "../../../src/platforms/platform.ts";
import { webos } from "../../../src/platforms/webos/adapter.ts";
import { manifest } from "../../../src/platforms/webos/protocol.ts";
import {
  createWebosSimulator,
  type WebosSimulator,
  type WebosSimulatorOptions,
} from "../../../src/simulators/webos.ts";
import { listener, surroundingsOf, type Told, turnOn } from "../../support/surroundings.ts";

/** A key that every set of these tests gave us before, and all that it was granted. */
export const key = "0123456789abcdef0123456789abcdef";
export const clientKeys = { [key]: [...manifest.permissions] };

export async function startWebos(options: Partial<WebosSimulatorOptions> = {}): Promise<WebosSimulator> {
  const simulator = createWebosSimulator({
    ...{ name: "One", securePort: 0, plainPort: 0, ssdp: false, clientKeys, promptMs: 30, tuner: false },
    ...{ bootMs: 200, socketsCloseMs: 300, portsCloseMs: 100, ...options },
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
  readonly facts: Facts;
  readonly learned: Partial<Facts>[];
  readonly states: Told["states"];
  readonly ended: Told["ended"];
  kept(): Credentials | null;
  connection: Connection;
  /** What it was made for. */
  target: Target;
  /** Pairs, and keeps what the set gives, as the daemon does; gives up with the signal. */
  pair(signal?: AbortSignal): Promise<void>;
  /** As the daemon does when it learned something. */
  renew(more?: Partial<Target>): Connection;
}

export async function line(
  options: Partial<WebosSimulatorOptions> = {},
  credentials: Credentials | null = { key },
): Promise<Line> {
  const set = await startWebos(options);
  cleanups.push(() => set.stop());
  const { learned, states, ended, emit } = listener();
  const surroundings = surroundingsOf({ timeout: 1_500, ...(credentials && { credentials }) });
  const { secure, plain, wake } = set.ports;
  const port = secure ?? plain ?? 0;
  const lead = { host: set.host, port };
  const facts = await webos.identify(lead, surroundings, never);
  const connect = (more: Partial<Target> = {}) => {
    const known = learned.findLast(({ access }) => access === "full") ?? facts;
    const ports = { wake, ...(plain !== null && secure !== null && { plain }) };
    const traits = { ...facts.traits, ...known.traits };
    const target: Target = { ...facts, ...known, ...lead, ports, traits, ...more };
    const connection = webos.connect(target, surroundings, emit);
    cleanups.push(() => connection.close());
    return { connection, target };
  };
  const made: Line = {
    ...{ set, facts, learned, states, ended, ...connect() },
    kept: () => surroundings.credentials.read(),
    async pair(signal = never) {
      const pairing = await webos.pair?.(made.target, surroundings, { fresh: false }, signal);
      if (pairing?.step !== "confirm") throw new Error("it must be accepted on the screen");
      signal.addEventListener("abort", () => pairing.cancel());
      const { secret, facts } = await pairing.done;
      if (secret) await surroundings.credentials.keep(secret);
      if (facts) learned.push(facts);
    },
    renew(more) {
      made.connection.close();
      Object.assign(made, connect(more));
      return made.connection;
    },
  };
  return made;
}

export const state = ({ connection }: Line) => connection.state?.(never) ?? expect.unreachable();
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
