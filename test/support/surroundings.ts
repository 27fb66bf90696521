/** What a platform is given by the daemon, with the answers of a test. */

import { wake } from "../../src/devices/wake.ts";
import type {
  Connection,
  Credentials,
  DeviceSurroundings,
  Facts,
  MdnsService,
  Power,
  Target,
} from "../../src/platforms/platform.ts";
import { sendMagicPackets } from "../../src/transport/wake-on-lan.ts";

export interface SurroundingsOptions {
  readonly timeout?: number;
  readonly broadcasts?: readonly string[];
  /** What is kept for the device at first. */
  readonly credentials?: Credentials;
  announced?(type: string, host: string): MdnsService | null;
  learned?(facts: Partial<Facts>): void;
  heard?(power: Power | null): void;
  fellSilent?(): void;
}

export function surroundingsOf(options: SurroundingsOptions = {}): DeviceSurroundings {
  let kept = options.credentials ?? null;
  return {
    requestTimeout: () => options.timeout ?? 2_000,
    isOwnListener: () => false,
    broadcasts: () => options.broadcasts ?? [],
    announced: async (type, host) => options.announced?.(type, host) ?? null,
    debug: () => {},
    credentials: {
      read: () => kept,
      readAnyway: () => kept,
      keep: async (credentials) => {
        kept = credentials;
      },
      drop: async () => {
        kept = null;
      },
    },
    learned: (facts) => options.learned?.(facts),
    heard: (power) => options.heard?.(power),
    fellSilent: () => options.fellSilent?.(),
  };
}

/** Turns a set on as the daemon's `power-on` does; `silent` as a command to a set that has just not answered. */
export async function turnOn(
  { power }: Connection,
  { host, macs, ports }: Target,
  signal: AbortSignal,
  silent = false,
): Promise<void> {
  if (!power) throw new Error("it has no power of its own");
  const call = () => sendMagicPackets(macs, [host], ports["wake"] ?? 9);
  const parts = { power, macs, hint: "hint", saidOnAt: () => Number.NEGATIVE_INFINITY, call };
  await wake(parts, { silent, timeoutMs: 30_000 }, signal);
}
