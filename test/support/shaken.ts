/** Platforms for which the answers of the network are lost, late, repeated and in any order. */
import { ZapdError } from "../../src/api/errors.ts";
import type { DiscoveryQuery, MdnsService, Platform, SsdpAnswer } from "../../src/platforms/platform.ts";

export interface Shaking {
  /** The part, between 0 and 1, of answers to searches and to probes that is lost. */
  readonly lost: number;
  /** The longest delay of an answer to a probe. */
  readonly lateMs: number;
}

/** Random numbers between 0 and 1 by a seed (mulberry32). */
export function dice(seed: number): () => number {
  let at = seed;
  return () => {
    at = (at + 0x6d2b79f5) | 0;
    let mixed = Math.imul(at ^ (at >>> 15), 1 | at);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** `shaking` is called for each answer, so that it may change. */
export function shaken(platforms: readonly Platform[], shaking: () => Shaking, roll: () => number): Platform[] {
  const isLost = () => roll() < shaking().lost;
  const heard = (query: DiscoveryQuery): DiscoveryQuery =>
    query.over === "ssdp"
      ? { ...query, read: (answer: SsdpAnswer) => (isLost() ? null : query.read(answer)) }
      : { ...query, read: (service: MdnsService) => (isLost() ? null : query.read(service)) };
  return platforms.map((platform) => ({
    ...platform,
    // Each answer comes twice.
    queries: [...platform.queries, ...platform.queries].map(heard),
    async identify(lead, host, signal) {
      await Bun.sleep(roll() * shaking().lateMs);
      if (isLost()) throw new ZapdError("device_unreachable", "was not heard");
      return platform.identify(lead, host, signal);
    },
  }));
}
