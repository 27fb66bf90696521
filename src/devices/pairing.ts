/**
 * Pairing anew, with a device that may be another than the one that was paired before: it begins without what was kept, and
 * only its success changes anything. Then the device is where it was paired, what it gave takes the place of what was
 * kept, and its probation is over (SECURITY.md 2.4).
 */

import { textOf } from "../api/errors.ts";
import type { Finding } from "../discovery/probe-queue.ts";
import type { Connection, Emit, Platform, Surroundings } from "../platforms/platform.ts";
import { type Credentials, type Kept, typed } from "./credentials.ts";
import { both, type Entry, factsOf, memoryOf, type Told, withTold } from "./entry.ts";
import type { Registry } from "./registry.ts";
import { firstMet } from "./standing.ts";
import type { Trust } from "./trust.ts";

export interface FreshDependencies {
  readonly registry: Registry;
  readonly credentials: Credentials;
  readonly trust: Trust;
  readonly surroundings: Surroundings;
  readonly emit: Emit;
}

export class FreshPairing {
  /** To the device where it is to be paired, with nothing of what was kept. */
  readonly connection: Connection;
  readonly #deps: FreshDependencies;
  readonly #entry: Entry;
  readonly #at: Finding | undefined;
  #given: Kept | null = null;
  #learned: Told = {};
  #isTaken = false;

  constructor(deps: FreshDependencies, platform: Platform, entry: Entry, at: Finding | undefined) {
    this.#deps = deps;
    this.#entry = entry;
    this.#at = at;
    const there = at ? { ...withTold(entry, at.sighting, []), ...at.address } : entry;
    const secret = {
      read: () => this.#given,
      readAnyway: () => this.#given,
      keep: async (kept: Kept) => {
        // Not on disk yet, and no less a secret.
        deps.credentials.conceal(kept);
        this.#given = kept;
      },
      drop: async () => {
        this.#given = null;
      },
    };
    const { identity, provisional = false, host, port, ports } = there;
    const known = { facts: factsOf(there), memory: memoryOf(there, platform), secret: typed(secret, platform) };
    this.connection = platform.connect(
      { identity, provisional, host, port, ports, ...known },
      deps.surroundings,
      (event) => {
        if (event.type !== "facts") return;
        if (this.#isTaken) deps.emit(event);
        else this.#learned = both(this.#learned, event);
      },
    );
  }

  /**
   * It has let us in: what was learned is written down. First the place, where what was kept is withheld, then what it
   * gave, and at last that it is believed: whatever is cut off in between, no key goes to the wrong one.
   */
  async take(): Promise<void> {
    const { registry, credentials, trust, surroundings } = this.#deps;
    const { id, host, port, standing = firstMet } = this.#entry;
    await trust.move(this.#entry, this.#at?.address ?? { host, port });
    try {
      if (this.#given) await credentials.keeper(id).keep(this.#given);
      else await credentials.forget(id);
    } catch (error) {
      await registry.stand(id, () => ({ host, port, standing })).catch(() => {});
      throw error;
    }
    await trust.trust(this.#entry);
    this.#isTaken = true;
    const learned = both(this.#at?.sighting ?? {}, this.#learned);
    await registry.learn(id, learned).catch((error: unknown) => surroundings.debug(textOf(error)));
  }

  close(): void {
    this.connection.close();
  }
}
