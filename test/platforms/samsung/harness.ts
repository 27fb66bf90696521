/** Sets of this platform, and connections to them. */
import { samsung } from "../../../src/platforms/samsung/adapter.ts";
import type { SamsungMemory, SamsungSecret } from "../../../src/platforms/samsung/memory.ts";
import {
  createSamsungSimulator,
  type SamsungSimulator,
  type SamsungSimulatorOptions,
} from "../../../src/simulators/samsung.ts";
import { type Line as LineTo, lineTo } from "../harness.ts";

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
  });
  await simulator.start();
  return simulator;
}

export type Line = LineTo<SamsungSimulator, SamsungMemory, SamsungSecret>;

/** A set, and a connection to it; with `given` as null, or over no TLS, one that has not been paired. */
export async function line(
  options: Partial<SamsungSimulatorOptions> = {},
  given?: SamsungSecret | null,
  timeout = 5_000,
): Promise<Line> {
  const set = await startSamsung(options);
  const { secure, plain, renderer, wake } = set.ports;
  const paired = secure === null ? null : { token, certificate: set.fingerprint };
  const kept = given === undefined ? paired : given;
  return lineTo(samsung, set, {
    lead: { host: set.host, port: secure ?? plain ?? 0 },
    ports: { wake, ...(renderer !== null && { renderer }) },
    given: kept,
    ...(kept && { facts: { access: "full" } }),
    timeout,
  });
}

/** The keys that the set took, in its own words. */
export const taken = ({ received }: SamsungSimulator) =>
  received.keys
    .filter(({ outcome }) => outcome === "taken")
    .map(({ code, how }) => (how === "Click" ? code : `${code} ${how}`));
