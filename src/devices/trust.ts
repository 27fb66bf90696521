/** How far what answers as a device is believed to be it, and what is withheld from it meanwhile (SECURITY.md 2.4). */
import { textOf, ZapdError } from "../api/errors.ts";
import type { Address, Platform } from "../platforms/platform.ts";
import type { Log } from "../system/log.ts";
import type { Neighbours } from "../system/neighbours.ts";
import type { CredentialKeeper, Credentials } from "./credentials.ts";
import { descriptionOf, type Entry } from "./entry.ts";
import { shown } from "./failures.ts";
import { inCommand } from "./names.ts";
import type { Registry } from "./registry.ts";
import {
  doubted,
  firstMet,
  isStrangeMac,
  othersToAsk,
  type Place,
  type Probation,
  placeAfter,
  probationAt,
  repaired,
  type Seen,
  settled,
  trusted,
} from "./standing.ts";

export interface TrustDependencies {
  readonly registry: Registry;
  readonly credentials: Credentials;
  readonly neighbours: Neighbours;
  readonly platforms: readonly Platform[];
  readonly log: Log;
  /** Milliseconds since 1970. */
  now(): number;
}

const mostWarnings = 32;

export class Trust {
  readonly #deps: TrustDependencies;

  constructor(deps: TrustDependencies) {
    this.#deps = deps;
  }

  /** Why nothing secret may go to a device now, as a predicate with its way out; `null` when it is plausible. */
  doubt(entry: Entry): ZapdError | null {
    const now = this.#deps.registry.get(entry.id) ?? entry;
    const probation = this.#probation(now);
    if (!probation) return null;
    return new ZapdError(
      "device_unproven",
      `${predicateOf(now, probation)}: it gets no key, no password and no typed text`,
      {
        hint: this.#wayOut(now),
      },
    );
  }

  /** Fails with `device_unproven` while a device is on probation. */
  check(entry: Entry): void {
    const doubt = this.doubt(entry);
    if (doubt) throw doubt;
  }

  /** Where a platform keeps what lets us in at a device; on probation nothing of it can be read. */
  keeper(entry: Entry): CredentialKeeper {
    const keeper = this.#deps.credentials.keeper(entry.id);
    return {
      ...keeper,
      read: () => {
        const kept = keeper.read();
        if (kept !== null) this.check(entry);
        return kept;
      },
    };
  }

  /** Where a device is, and how it stands, after it was met; `answering` are the addresses where its very identity was shown. */
  placeOf(entry: Entry, at: Address | null, answering: readonly Address[]): Place {
    const { credentials, neighbours, now } = this.#deps;
    const seen: Seen = {
      at,
      answering,
      secrets: credentials.has(entry.id),
      told: entry.macs,
      macOf: (host) => neighbours.macOf(host),
    };
    const { host, port, standing = firstMet } = entry;
    return placeAfter({ host, port, standing }, seen, now());
  }

  /** Other addresses at which a device is to be asked for. */
  othersToAsk(entry: Entry): Address[] {
    return othersToAsk(entry.standing, this.#deps.now());
  }

  /** The address that a device left not long ago, where it is believed as soon as it answers. */
  formerOf(entry: Entry): Address | undefined {
    return settled(entry.standing ?? firstMet, this.#deps.now()).former;
  }

  /** What the neighbour table shows for a host. */
  macOf(host: string): string | null {
    return this.#deps.neighbours.macOf(host);
  }

  hasSecrets(entry: Entry): boolean {
    return this.#deps.credentials.has(entry.id);
  }

  /** The user says that what answers where a device is now is it. */
  trust(entry: Entry): Promise<Entry> {
    const { registry, neighbours } = this.#deps;
    return registry.stand(entry.id, ({ host, port, standing = firstMet }) =>
      trusted({ host, port, standing }, neighbours.macOf(host)),
    );
  }

  /** A device is being paired anew at an address: it is there from now on, and no secret of before goes there. */
  move(entry: Entry, { host, port }: Address): Promise<Entry> {
    const { registry, now } = this.#deps;
    return registry.stand(entry.id, (before) => {
      const place = { host: before.host, port: before.port, standing: before.standing ?? firstMet };
      return { host, port, standing: repaired(place, { host, port }, now()) };
    });
  }

  /** What a person should know of devices that are on probation. */
  warnings(): string[] {
    const all = this.#deps.registry.entries.flatMap((entry) => {
      const probation = this.#probation(entry);
      return probation
        ? [
            `${entry.name} ${predicateOf(entry, probation)}: it gets no key, no password and no typed text. ${this.#wayOut(entry)}`,
          ]
        : [];
    });
    const more = all.length - mostWarnings;
    return more > 0 ? [...all.slice(0, mostWarnings), `${more} more devices are on probation`] : all;
  }

  /** Whether a device's platform pairs at all. */
  canPair(entry: Entry): boolean {
    const platform = this.#deps.platforms.find((one) => one.name === entry.platform);
    return (platform && descriptionOf(entry, platform, this.hasSecrets(entry)).has.has("pair")) ?? false;
  }

  /** The certificate that a device showed when it was paired; `null` where none was kept. */
  certificateOf(entry: Entry): string | null {
    return this.#deps.credentials.keeper(entry.id).readAnyway()?.["certificate"] ?? null;
  }

  #wayOut(entry: Entry): string {
    return wayOut(entry, this.canPair(entry));
  }

  #probation(entry: Entry): Probation | undefined {
    const { neighbours, now } = this.#deps;
    const known = probationAt(entry.standing, now());
    if (known) return known;
    const mac = neighbours.macOf(entry.host);
    if (mac === null || !isStrangeMac(mac, entry.standing, entry.macs)) return undefined;
    const change = doubted(settled(entry.standing ?? firstMet, now()), mac, now());
    this.#deps.registry
      .stand(entry.id, () => change)
      .catch((error: unknown) =>
        this.#deps.log.recurring(`How far a device is believed could not be kept: ${textOf(error)}`),
      );
    return change.probation;
  }
}

function predicateOf(entry: Entry, { reason, mac }: Probation): string {
  const { former, rivals = [] } = entry.standing ?? firstMet;
  const here = shown(entry);
  const others = rivals.map(shown);
  if (others.length > 0) return `is answered for at ${[here, ...others].join(" and at ")}, and only one can be it`;
  if (former) return `moved from ${shown(former)} to ${here}, and what answers there may be another`;
  if (reason === "hardware" && mac !== undefined)
    return `is at ${here} with the network hardware ${mac}, which is not the one it had`;
  return `is at ${here}, and what answers there may be another`;
}

function wayOut(entry: Entry, canPair: boolean): string {
  const name = inCommand(entry.name);
  const { former, rivals } = entry.standing ?? firstMet;
  const elsewhere = [...(former ? [former] : []), ...rivals];
  const at = (one: Address) =>
    canPair ? `zapd pair ${name} --host ${shown(one)}` : `zapd forget ${name}, then zapd add ${shown(one)}`;
  const others = elsewhere.map((one) => `; if it is the one at ${shown(one)}: ${at(one)}`).join("");
  const anew = canPair ? `. To begin anew, without the old key: ${at(entry)}` : "";
  return `If what is at ${shown(entry)} is it: zapd trust ${name}${others}${anew}`;
}
