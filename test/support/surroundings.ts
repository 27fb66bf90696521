/** What a platform is given by the daemon, with the answers of a test. */

import { wake } from "../../src/devices/wake.ts";
import type {
  Connection,
  Credentials,
  DeviceSurroundings,
  Emit,
  Facts,
  MdnsService,
  PlatformState,
  Target,
} from "../../src/platforms/platform.ts";
import { sendMagicPackets } from "../../src/transport/wake-on-lan.ts";

export interface SurroundingsOptions {
  readonly timeout?: number;
  readonly broadcasts?: readonly string[];
  /** What is kept for the device at first. */
  readonly credentials?: Credentials;
  announced?(type: string, host: string): MdnsService | null;
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

export interface Told {
  /** What connections learned on the way, and what they said of the state, each in order. */
  readonly learned: Partial<Facts>[];
  readonly states: Partial<PlatformState>[];
  /** Why each connection that ended did. */
  readonly ended: ("hung_up" | "going_off")[];
  readonly emit: Emit;
}

/** Takes down what connections tell. */
export function listener(): Told {
  const told: Told = {
    learned: [],
    states: [],
    ended: [],
    emit(event) {
      if (event.type === "facts") told.learned.push(event.facts);
      else if (event.type === "state") told.states.push(event.patch);
      else told.ended.push(event.why);
    },
  };
  return told;
}

/** Takes nothing down. */
export const nobody: Emit = () => {};
