/** Devices of this platform, and connections to them. */
import { randomBytes } from "node:crypto";
import { cast } from "../../../src/platforms/cast/adapter.ts";
import type { MdnsService } from "../../../src/platforms/platform.ts";
import { type CastSimulator, type CastSimulatorOptions, createCastSimulator } from "../../../src/simulators/cast.ts";
import { type Line, lineTo } from "../harness.ts";

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

export interface RoomOptions extends Partial<CastSimulatorOptions> {
  readonly timeout?: number;
  readonly said?: Readonly<Record<string, string>>;
  announced?(type: string, host: string): MdnsService | null;
}

/** A device, identified and connected to. */
export async function room({ said, timeout, announced, ...options }: RoomOptions = {}): Promise<Line<CastSimulator>> {
  const set = await startCast(options);
  return lineTo<CastSimulator, unknown, unknown>(cast, set, {
    lead: { host: set.host, port: set.port, ...(said && { announced: said }) },
    ...(timeout && { timeout }),
    ...(announced && { announced }),
  });
}

/** What a device announces, as it is heard. */
export function serviceOf(set: CastSimulator, txt: Readonly<Record<string, string>>): MdnsService {
  const { host, port } = set;
  return { name: "x", type: "_googlecast._tcp", source: host, addresses: [host], port, txt };
}
