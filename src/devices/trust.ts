/** How far what answers as a device is trusted to be it, where it is then, and what it does not get (SECURITY.md 2.4). */
import { textOf, ZapdError } from "../api/errors.ts";
import type { KnownAddress } from "../discovery/discover.ts";
import type { FoundDevice } from "../discovery/probe-queue.ts";
import type { Address, Platform, PlatformHost, Sighting } from "../platforms/platform.ts";
import type { Log } from "../system/log.ts";
import type { Neighbours } from "../system/neighbours.ts";
import { neverAborted } from "../system/never-aborted.ts";
import { addressText, shellQuote } from "../system/text.ts";
import type { CredentialKeeper, Credentials } from "./credentials.ts";
import { type DeviceRecord, descriptionOf, memoryOf, placeIn } from "./record.ts";
import type { Registry } from "./registry.ts";
import {
  initialStanding,
  isSameAddress,
  isStrangeMac,
  type Observation,
  otherAddresses,
  type Place,
  type Probation,
  placeAfterContact,
  probationAt,
  standingWhenPaired,
  standingWhenTrusted,
  standingWithStrangeMac,
  withoutExpired,
} from "./standing.ts";

export interface TrustDependencies {
  readonly registry: Registry;
  readonly credentials: Credentials;
  readonly neighbours: Neighbours;
  readonly platforms: readonly Platform[];
  readonly platformHost: PlatformHost;
  readonly log: Log;
  /** Aborts when the daemon stops. */
  readonly stopping?: AbortSignal;
  /** Milliseconds since 1970. */
  now(): number;
}

const maxWarnings = 32;
/** Known addresses that one scan asks beside the devices that answer it. */
const maxKnownAddresses = 128;

/** Where a known device is. */
export interface Location {
  readonly place: Place;
  /** What it reports there; `null` where it was not asked. */
  readonly sighting: Sighting | null;
  /** The addresses at which it proved its identity. */
  readonly answering: readonly Address[];
}

export class Trust {
  readonly #deps: TrustDependencies;

  constructor(deps: TrustDependencies) {
    this.#deps = deps;
  }

  /** Why a device gets no secret now, as an error without its subject; `null` where it is trusted. */
  doubt(record: DeviceRecord): ZapdError | null {
    const { registry, neighbours, now } = this.#deps;
    const known = registry.get(record.id) ?? record;
    return this.#doubt(known, neighbours.macOf(known.host), now());
  }

  #doubt(record: DeviceRecord, mac: string | null, now: number): ZapdError | null {
    const probation = this.#probation(record, mac, now);
    if (!probation) return null;
    return new ZapdError(
      "device_unproven",
      `${probationText(record, probation)}: zapd sends it no pairing key, no password and no typed text`,
      { hint: this.#probationHint(record, now) },
    );
  }

  /** A device's kept credentials; on probation they cannot be read. */
  keeper(record: DeviceRecord): CredentialKeeper {
    const keeper = this.#deps.credentials.keeper(record.id);
    return {
      ...keeper,
      read: () => {
        const kept = keeper.read();
        const doubt = kept && this.doubt(record);
        if (doubt) throw doubt;
        return kept;
      },
    };
  }

  /** The place of a device after it was found at `at`; at the addresses `answering` it proved its identity. */
  placeOf(record: DeviceRecord, at: Address | null, answering: readonly Address[]): Place {
    const { neighbours, now } = this.#deps;
    const seen: Observation = {
      at,
      answering,
      hasSecrets: this.hasSecrets(record),
      reportedMacs: record.macs,
      // A group of speakers has that of the speaker which leads it now.
      macOf: (host) => (record.alone ? null : neighbours.macOf(host)),
    };
    return placeAfterContact(placeIn(record), seen, now());
  }

  /** The addresses beside their own at which a scan asks for known devices. */
  knownAddresses(): KnownAddress[] {
    const { registry, now } = this.#deps;
    return registry.records
      .flatMap((record) => {
        const { platform, identity } = record;
        const memory = this.#memoryOf(record);
        return otherAddresses(record.standing, now()).map(({ host, port }) => ({
          platform,
          identity,
          host,
          port,
          memory,
        }));
      })
      .slice(0, maxKnownAddresses);
  }

  /** The address that a device left less than a day ago, where it is trusted as soon as it answers. */
  formerAddress(record: DeviceRecord): Address | undefined {
    return withoutExpired(record.standing ?? initialStanding, this.#deps.now()).former;
  }

  /** The neighbour table's hardware address for a host. */
  macOf(host: string): string | null {
    return this.#deps.neighbours.macOf(host);
  }

  isPaired(record: DeviceRecord): boolean {
    return this.#deps.credentials.has(record.id);
  }

  /** Whether a device has a secret of its own: of its pairing, or of its developer mode (SECURITY.md 2.4). */
  hasSecrets(record: DeviceRecord): boolean {
    return this.isPaired(record) || this.#deps.credentials.developer(record.id).readAnyway() !== null;
  }

  /** The user says that what answers at a device's address is the device. */
  trust(record: DeviceRecord): Promise<DeviceRecord> {
    const { registry, neighbours } = this.#deps;
    return registry.setStanding(record.id, (now) => standingWhenTrusted(placeIn(now), neighbours.macOf(now.host)));
  }

  /** Moves a device to the address where it is being paired: its old secret does not go there. */
  move(record: DeviceRecord, { host, port }: Address): Promise<DeviceRecord> {
    const { registry, now } = this.#deps;
    return registry.setStanding(record.id, (before) => {
      return { host, port, standing: standingWhenPaired(placeIn(before), { host, port }, now()) };
    });
  }

  /** The warnings about devices on probation. */
  warnings(): string[] {
    const { registry, neighbours } = this.#deps;
    // Read once: reading the clock for each of a hundred devices takes half the time of a health check.
    const [macs, now] = [neighbours.table(), this.#deps.now()];
    const all: string[] = [];
    for (const record of registry.records) {
      const doubt = this.#doubt(record, macs.get(record.host) ?? null, now);
      if (doubt) all.push(`${record.name} ${doubt.message}. ${doubt.hint}`);
    }
    const more = all.length - maxWarnings;
    return more > 0 ? [...all.slice(0, maxWarnings), `${more} more devices are on probation`] : all;
  }

  /** Whether a device's platform pairs at all. */
  canPair(record: DeviceRecord): boolean {
    const platform = this.#platformOf(record.platform);
    return (platform && descriptionOf(record, platform, this.isPaired(record)).has.has("pair")) ?? false;
  }

  /**
   * Why a found device is not the known one that it claims to be: the known one was paired under a certificate, and this one
   * shows another or none (SECURITY.md 2.4). At the known address the platform checks that with every connection.
   */
  impostorReason(before: DeviceRecord, { sighting, address }: FoundDevice): string | null {
    const { certificate = null } = sighting;
    const kept = this.#deps.credentials.keeper(before.id).readAnyway()?.["certificate"] ?? null;
    if (kept === null || certificate === kept || isSameAddress(before, address)) return null;
    if (this.isOtherPort(before, address)) return null;
    const shows = certificate === null ? "no certificate" : "another certificate";
    return `is known at ${addressText(before)}, but the device at ${addressText(address)} that claims to be it shows ${shows}`;
  }

  /** Whether an address has the device's host, with one of its platform's ports beside the control port. */
  isOtherPort({ platform, host, port, ports }: DeviceRecord, address: Address): boolean {
    const known = this.#platformOf(platform);
    if (!known || host !== address.host || port === address.port) return false;
    return [...Object.values(known.ports), ...Object.values(ports)].includes(address.port);
  }

  /** Finds out where a known device is that was found at an address, by asking its other known addresses, too. */
  async locate(before: DeviceRecord, finding: FoundDevice, timeoutMs: number): Promise<Location> {
    const { sighting, address } = finding;
    const here = { host: before.host, port: before.port };
    const former = this.formerAddress(before);
    // A device that does not prove its identity shows nothing about where the known one is.
    const isIt = provesToBe(sighting, before) && !this.impostorReason(before, finding);
    const others = [here, ...(former ? [former] : [])].filter((one) => !isSameAddress(one, address));
    const asked = await Promise.all(
      others.map(async (at) => ({ at, sighting: await this.#identityAt(before, at, timeoutMs) })),
    );
    // A device may answer at another port with its control port.
    const answers = asked.flatMap(({ at, sighting: answer }) =>
      answer && !this.impostorReason(before, { ...finding, sighting: answer, address: at })
        ? [{ at: { host: at.host, port: answer.port ?? at.port }, sighting: answer }]
        : [],
    );
    const atHome = answers.find(({ at }) => isSameAddress(at, here));
    // The device itself, found at another of its ports.
    const isOtherPort =
      before.host === address.host &&
      (sighting.atSecondaryPort === true || (atHome !== undefined && this.isOtherPort(before, address)));
    if (isIt && !isOtherPort) answers.push({ at: address, sighting });
    const answering = answers.map(({ at }) => at);
    const place = this.placeOf(before, isIt && !isOtherPort ? address : null, answering);
    const there = answers.find(({ at }) => isSameAddress(at, place))?.sighting;
    return { place, sighting: there ?? (isSameAddress(place, address) ? sighting : null), answering };
  }

  /** What answers at an address, if it proves to be the device. */
  async #identityAt(record: DeviceRecord, at: Address, timeoutMs: number): Promise<Sighting | null> {
    const { host, port } = at;
    const { platformHost, stopping = neverAborted } = this.#deps;
    const lead = { host, port, memory: this.#memoryOf(record) };
    const sighting = await this.#platformOf(record.platform)
      ?.identify(lead, platformHost, AbortSignal.any([stopping, AbortSignal.timeout(timeoutMs)]))
      .catch(() => null);
    // That it was asked no longer does not mean that it is silent.
    stopping.throwIfAborted();
    if (!sighting) return null;
    if (provesToBe(sighting, record)) return sighting;
    return mayBe(sighting) ? sightingOf(record) : null;
  }

  #memoryOf(record: DeviceRecord): unknown {
    const platform = this.#platformOf(record.platform);
    return platform && memoryOf(record, platform);
  }

  #platformOf(name: string): Platform | undefined {
    return this.#deps.platforms.find((one) => one.name === name);
  }

  /** The error of adding a known device at another address, while it answers at its own or has secrets. */
  elsewhereError(record: DeviceRecord, address: Address, answering: readonly Address[]): ZapdError {
    const [name, at, other] = [shellQuote(record.name), addressText(record), addressText(address)];
    const anew = `if it has moved to ${other} for good: ${this.startOverHint(record, address)}`;
    return answering.some((one) => isSameAddress(one, record))
      ? new ZapdError(
          "device_elsewhere",
          `${record.name} answers at ${at}, its known address, but the device at ${other} claims to be it`,
          { hint: `Use it as ${name}, at ${at}; ${anew}` },
        )
      : new ZapdError(
          "device_elsewhere",
          `${record.name} is known at ${at}, but does not answer there now; it has secrets, and the device at ${other} may be another one`,
          { hint: `Turn on the device at ${at} if it is there; ${anew}` },
        );
  }

  /** The commands for a user who knows that a device is at an address from now on. */
  startOverHint(record: DeviceRecord, address: Address): string {
    const [name, at] = [shellQuote(record.name), addressText(address)];
    const forget = `zapd forget ${name}, then zapd add ${at}`;
    if (!this.canPair(record)) return forget;
    return `zapd pair ${name} --host ${at}, which starts without the old key, or ${forget}`;
  }

  #probationHint(record: DeviceRecord, now: number): string {
    const name = shellQuote(record.name);
    // Another known device may have such an address by now.
    const isOthers = (at: Address) => this.#deps.registry.records.some((one) => isSameAddress(one, at));
    const elsewhere = otherAddresses(record.standing, now).filter((at) => !isOthers(at));
    const canPair = this.canPair(record);
    const at = (one: Address) =>
      canPair
        ? `zapd pair ${name} --host ${addressText(one)}`
        : `zapd forget ${name}, then zapd add ${addressText(one)}`;
    const others = elsewhere.map((one) => `; if the one at ${addressText(one)} is: ${at(one)}`).join("");
    const anew = canPair ? `. To start over without the old key: ${at(record)}` : "";
    return `If the device at ${addressText(record)} is the right one: zapd trust ${name}${others}${anew}`;
  }

  #probation(record: DeviceRecord, mac: string | null, now: number): Probation | undefined {
    const known = probationAt(record.standing, now);
    if (known) return known;
    if (mac === null || record.alone || !isStrangeMac(mac, record.standing, record.macs)) return undefined;
    const doubted = ({ standing = initialStanding }: DeviceRecord) =>
      standingWithStrangeMac(withoutExpired(standing, now), mac, now);
    // When this is saved, the user may have trusted the device, or it may have moved.
    const stillDoubted = (current: DeviceRecord) =>
      current.host === record.host && isStrangeMac(mac, current.standing, current.macs)
        ? doubted(current)
        : (current.standing ?? initialStanding);
    this.#deps.registry
      .setStanding(record.id, stillDoubted)
      .catch((error: unknown) =>
        this.#deps.log.recurring(`Could not save how far a device is trusted: ${textOf(error)}`),
      );
    return doubted(record).probation;
  }
}

/** Whether a sighting is of the device: by its identity, or, where that is provisional, by a hardware address. */
export function provesToBe({ identity, provisional, facts: { macs } }: Sighting, record: DeviceRecord): boolean {
  if (identity === record.identity) return !provisional || record.provisional === true;
  return provisional === true && macs.some((mac) => record.macs.includes(mac));
}

/**
 * Whether an unpaired device that reports nothing of itself may be the one known at that address. It holds its place against
 * rivals, but gets no secret.
 */
function mayBe({ provisional, pairing, facts: { macs } }: Sighting): boolean {
  return provisional === true && pairing === "required" && macs.length === 0;
}

/** A sighting that reports nothing new of a device. */
export function sightingOf({ identity, provisional = false }: DeviceRecord): Sighting {
  const nothing = { name: null, manufacturer: null, model: null, serial: null, softwareVersion: null, access: null };
  return {
    identity,
    provisional,
    facts: { ...nothing, kind: "unknown", macs: [] },
    memory: {},
    pairing: "none",
  };
}

function probationText(record: DeviceRecord, { reason, mac }: Probation): string {
  const { former, rivals } = record.standing ?? initialStanding;
  const here = addressText(record);
  const others = rivals.map(addressText);
  if (others.length > 0)
    return `answers at ${[here, ...others].join(" and at ")}, but only one of them can be the real device`;
  if (former) return `moved from ${addressText(former)} to ${here}, and the device there may be another one`;
  if (reason === "hardware" && mac !== undefined)
    return `is at ${here} with the hardware address ${mac}, which is not the one it had`;
  return `is at ${here}, and the device there may be another one`;
}
