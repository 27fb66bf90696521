/** What a platform is given by the daemon, with the answers of a test. */
import type { Credentials, DeviceSurroundings, Facts, MdnsService, Power } from "../../src/platforms/platform.ts";

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

/** A call of a set that is off, as the daemon's `power-on` makes it. */
export const calling = { silent: false, withinMs: 30_000 } as const;
