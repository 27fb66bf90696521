/** What a platform is given by the daemon, with the answers of a test. */
import type { Facts, Surroundings } from "../../src/platforms/platform.ts";

export function surroundingsOf(options: { timeout?: number; learned?: (facts: Facts) => void } = {}): Surroundings {
  return {
    requestTimeout: () => options.timeout ?? 2_000,
    isOwnDoor: () => false,
    broadcasts: () => [],
    learned: (facts) => options.learned?.(facts),
    debug: () => {},
  };
}
