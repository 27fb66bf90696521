/** A network on which answers are lost, late, doubled and in any order: platforms that hear so what the real ones would hear. */
import { ZapdError } from "../../src/api/errors.ts";
import type { DiscoveryQuery, MdnsService, Platform, SsdpAnswer } from "../../src/platforms/platform.ts";

export interface Shaking {
  /** Between 0 and 1: of the answers to a search, and of those who are asked who they are. */
  readonly lost: number;
  /** The latest that one who is asked says who it is. */
  readonly lateMs: number;
}

/** Numbers between 0 and 1, the same for the same seed (mulberry32). */
export function dice(seed: number): () => number {
  let at = seed;
  return () => {
    at = (at + 0x6d2b79f5) | 0;
    let mixed = Math.imul(at ^ (at >>> 15), 1 | at);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** `shaking` is asked anew for each answer: the network may calm down. */
export function shaken(platforms: readonly Platform[], shaking: () => Shaking, roll: () => number): Platform[] {
  const isLost = () => roll() < shaking().lost;
  const heard = (query: DiscoveryQuery): DiscoveryQuery =>
    query.over === "ssdp"
      ? { ...query, read: (answer: SsdpAnswer) => (isLost() ? null : query.read(answer)) }
      : { ...query, read: (service: MdnsService) => (isLost() ? null : query.read(service)) };
  return platforms.map((platform) => ({
    ...platform,
    // Each is heard twice.
    queries: [...platform.queries, ...platform.queries].map(heard),
    async identify(lead, host, signal) {
      await Bun.sleep(roll() * shaking().lateMs);
      if (isLost()) throw new ZapdError("device_unreachable", "was not heard");
      return platform.identify(lead, host, signal);
    },
  }));
}
