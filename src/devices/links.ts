/** The connection to each device: made when it is first wanted, kept while what it was made from stays the same. */
import { textOf, ZapdError } from "../api/errors.ts";
import {
  type Capability,
  type Connection,
  capabilities,
  type Description,
  type DeviceSurroundings,
  type Platform,
  type Surroundings,
} from "../platforms/platform.ts";
import type { Log } from "../system/log.ts";
import { type Entry, targetOf } from "./entry.ts";
import { type Subject, subjectOf } from "./failures.ts";
import type { Registry } from "./registry.ts";
import type { Trust } from "./trust.ts";

export interface LinksDependencies {
  readonly registry: Registry;
  readonly trust: Trust;
  readonly platforms: readonly Platform[];
  readonly surroundings: Surroundings;
  readonly log: Log;
}

interface Linked {
  /** What the registry held when the connection was last asked for. */
  entry: Entry;
  /** What the connection was made from. */
  readonly key: string;
  readonly connection: Connection;
}

export class Links {
  readonly #deps: LinksDependencies;
  readonly #links = new Map<string, Linked>();

  constructor(deps: LinksDependencies) {
    this.#deps = deps;
  }

  platform(entry: Entry): Platform {
    const platform = this.#find(entry);
    if (platform) return platform;
    const problem = `${entry.name} is on a platform that this zapd does not know, "${entry.platform}"`;
    throw new ZapdError("unsupported_operation", problem, { named: true });
  }

  connection(entry: Entry): Connection {
    return this.#linked(entry).connection;
  }

  /** What works on a device now; nothing where its platform is not known. */
  capabilities(entry: Entry): readonly Capability[] {
    const { has, withheld } = this.#described(entry);
    return capabilities.filter((one) => has.has(one) && !withheld.has(one));
  }

  /** A device as its failures tell of it. */
  subject(entry: Entry): Subject {
    return subjectOf(entry, this.#find(entry));
  }

  #described(entry: Entry): Description {
    return this.#find(entry)?.describe(targetOf(entry)) ?? { has: new Set(), withheld: new Set() };
  }

  #find({ platform }: Entry): Platform | undefined {
    return this.#deps.platforms.find((one) => one.name === platform);
  }

  forget(id: string): void {
    this.#links.get(id)?.connection.close();
    this.#links.delete(id);
  }

  close(): void {
    for (const id of [...this.#links.keys()]) this.forget(id);
  }

  #linked(entry: Entry): Linked {
    // The caller's entry may be older than what is known by now: it must not bring a past address back.
    const now = this.#deps.registry.get(entry.id) ?? entry;
    const linked = this.#links.get(entry.id);
    if (linked?.entry === now) return linked;
    const key = keyOf(now);
    if (linked?.key === key) {
      linked.entry = now;
      return linked;
    }
    linked?.connection.close();
    const connection = this.platform(now).connect(targetOf(now), this.surroundingsOf(now));
    const made = { entry: now, key, connection };
    this.#links.set(entry.id, made);
    return made;
  }

  /** What the daemon gives to a connection of a device. */
  surroundingsOf(entry: Entry): DeviceSurroundings {
    const { registry, trust, surroundings, log } = this.#deps;
    const { id } = entry;
    return {
      ...surroundings,
      credentials: trust.keeper(entry),
      learned: (facts) => {
        registry
          .learn(id, facts)
          .catch((error: unknown) => log.recurring(`What a device told could not be kept: ${textOf(error)}`));
      },
      heard: (power) => {
        if (registry.get(id)) registry.noteContact(id, power !== "off", power ?? undefined);
      },
      fellSilent: () => {
        if (registry.get(id)) registry.noteContact(id, false);
      },
    };
  }
}

/** A new name or software version is no reason to hang up, nor is the realm that has just taken a password. */
function keyOf({ identity, kind, macs, access, traits, host, port, ports }: Entry): string {
  const { dev_realm: _kept, ...had } = traits;
  return JSON.stringify([identity, kind, macs, access, had, host, port, ports]);
}
