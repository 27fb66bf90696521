/** Devices of this platform, and connections to them. */
import { afterAll } from "bun:test";
import { randomBytes } from "node:crypto";
import { cast } from "../../../src/platforms/cast/adapter.ts";
import type { Connection, MdnsService, Sighting, Target } from "../../../src/platforms/platform.ts";
import { type CastSimulator, type CastSimulatorOptions, createCastSimulator } from "../../../src/simulators/cast.ts";
import { platformHostOf, type Told, targetOf } from "../../support/platform-host.ts";

export const never = new AbortController().signal;

export function newId(): string {
  return randomBytes(16).toString("hex");
}

export async function startCast(options: Partial<CastSimulatorOptions> = {}): Promise<CastSimulator> {
  const simulator = createCastSimulator({ name: "One", id: newId(), port: 0, mdns: false, bufferMs: 5, ...options });
  await simulator.start();
  return simulator;
}

/** What was done to a device, as it said it. */
export function doneTo({ commands }: CastSimulator): string[] {
  return commands.map(({ type }) => type);
}

const cleanups: (() => unknown)[] = [];
afterAll(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

export interface Room {
  readonly set: CastSimulator;
  readonly sighting: Sighting;
  readonly target: Target;
  readonly connection: Connection;
  readonly told: Told;
  /** Another connection to it. */
  again(): Connection;
}

export interface RoomOptions extends Partial<CastSimulatorOptions> {
  readonly timeout?: number;
  readonly said?: Readonly<Record<string, string>>;
  announced?(type: string, host: string): MdnsService | null;
}

/** A device, identified and connected to; all is gone after the tests. */
export async function room({ timeout, said, announced, ...options }: RoomOptions = {}): Promise<Room> {
  const set = await startCast(options);
  cleanups.push(() => set.stop());
  const platformHost = platformHostOf({ ...(timeout && { timeout }), ...(announced && { announced }) });
  const lead = { host: set.host, port: set.port, ...(said && { said }) };
  const sighting = await cast.identify(lead, platformHost, never);
  const { target, told } = targetOf(sighting, set);
  const connect = () => {
    const connection = cast.connect(target, platformHost, told.emit);
    cleanups.push(() => connection.close());
    return connection;
  };
  return { set, sighting, target, told, connection: connect(), again: connect };
}

/** What a device announces, as it is heard. */
export function serviceOf(set: CastSimulator, txt: Readonly<Record<string, string>>): MdnsService {
  const { host, port } = set;
  return { name: "x", type: "_googlecast._tcp", source: host, addresses: [host], port, txt };
}
