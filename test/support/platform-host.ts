/** The services of the daemon for a platform, with answers for a test. */

import { wake } from "../../src/devices/wake.ts";
import type {
  Address,
  Connection,
  Emit,
  Facts,
  KeptSecret,
  MdnsService,
  PlatformHost,
  PlatformState,
  Ports,
  Sighting,
  Target,
} from "../../src/platforms/platform.ts";
import { sendMagicPackets } from "../../src/transport/wake-on-lan.ts";

export interface PlatformHostOptions {
  readonly timeout?: number;
  announced?(type: string, host: string): MdnsService | null | Promise<MdnsService | null>;
}

export function platformHostOf(options: PlatformHostOptions = {}): PlatformHost {
  return {
    requestTimeoutMs: () => options.timeout ?? 5_000,
    isOwnListener: () => false,
    broadcasts: () => [],
    announced: async (type, host) => (await options.announced?.(type, host)) ?? null,
    debug: () => {},
  };
}

/** The secret of a device, in memory. */
export function keptSecret<Secret>(kept: Secret | null = null): KeptSecret<Secret> {
  let now = kept;
  return {
    read: () => now,
    readAnyway: () => now,
    keep: async (secret) => {
      now = secret;
    },
    drop: async () => {
      now = null;
    },
  };
}

/** Turns a set on as the daemon's `power-on` does; `isSilent` as a command to a set that has just not answered. */
export async function turnOn(
  { power }: Connection,
  { host, facts: { macs }, ports }: Target,
  signal: AbortSignal,
  isSilent = false,
): Promise<void> {
  if (!power) throw new Error("it has no power of its own");
  const sendPackets = () => sendMagicPackets(macs, [host], ports["wake"] ?? 9);
  const parts = { power, macs, hint: "hint", reportedOnAt: () => Number.NEGATIVE_INFINITY, sendPackets };
  await wake(parts, { isSilent, timeoutMs: 30_000 }, signal);
}

export interface Told<Memory = unknown> {
  /** What connections learned on the way, and what they said of the state, each in order. */
  readonly learned: Partial<Facts>[];
  readonly remembered: Partial<Memory>[];
  readonly states: Partial<PlatformState>[];
  /** Why each connection that ended did. */
  readonly ended: ("hung_up" | "going_off")[];
  hints: number;
  /** Called as one ends. */
  onEnd?: () => void;
  readonly emit: Emit<Memory>;
}

/** The target of a device that was sighted; facts and memory from its connections are kept. */
export function targetOf<Memory, Secret>(
  sighting: Sighting<Memory>,
  { host, port }: Address,
  more: { readonly ports?: Ports; readonly secret?: KeptSecret<Secret> } = {},
): { readonly target: Target<Memory, Secret>; readonly told: Told<Memory> } {
  let { facts, memory } = sighting;
  const { identity, provisional = false } = sighting;
  const { ports = {}, secret = keptSecret<Secret>() } = more;
  const target: Target<Memory, Secret> = {
    identity,
    provisional,
    host,
    port,
    ports,
    secret,
    get facts() {
      return facts;
    },
    get memory() {
      return memory;
    },
  };
  const told: Told<Memory> = {
    learned: [],
    remembered: [],
    states: [],
    ended: [],
    hints: 0,
    emit(event) {
      if (event.type === "hint") told.hints++;
      if (event.type === "state") told.states.push(event.patch);
      if (event.type === "disconnected") {
        told.ended.push(event.why);
        told.onEnd?.();
      }
      if (event.type !== "facts") return;
      if (event.facts) told.learned.push(event.facts);
      if (event.memory) told.remembered.push(event.memory);
      const { macs = [], ...said } = event.facts ?? {};
      const news = Object.entries(said).filter(([, value]) => value !== null);
      facts = { ...facts, ...Object.fromEntries(news), ...(macs.length > 0 && { macs }) };
      memory = { ...memory, ...event.memory };
    },
  };
  return { target, told };
}
