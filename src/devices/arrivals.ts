/** Devices that come into the registry, and where they are: found by a scan, added by the user, or met elsewhere than before. */

import { textOf, ZapdError } from "../api/errors.ts";
import type { ConfigFile } from "../config/config.ts";
import type { Asked, Discovery } from "../discovery/discover.ts";
import { invalidHost, splitHost } from "../discovery/hosts.ts";
import type { Finding, Seats } from "../discovery/probe-queue.ts";
import type { Address, Platform, PlatformHost, Ports, Sighting } from "../platforms/platform.ts";
import { type Log, redacted } from "../system/log.ts";
import type { Devices } from "./devices.ts";
import { type Entry, memoryOf } from "./entry.ts";
import { filled, isPredicate, shown } from "./failures.ts";
import { checkName, inCommand } from "./names.ts";
import type { EntryChange, Merged, Registry } from "./registry.ts";
import { isSameAddress, type Place } from "./standing.ts";
import type { Trust } from "./trust.ts";

export interface ArrivalsDependencies {
  readonly registry: Registry;
  readonly trust: Trust;
  readonly platforms: readonly Platform[];
  readonly platformHost: PlatformHost;
  readonly config: ConfigFile;
  readonly log: Log;
  discovery(): Discovery<Entry>;
  readonly devices: Pick<Devices, "reachOf" | "of" | "forget">;
}

/** What the user gives to add a device. */
export interface Addition {
  readonly host: string;
  readonly port?: number | undefined;
  readonly platform?: string | undefined;
  readonly name?: string | undefined;
  readonly ports?: Ports | undefined;
}

/** How long a device may take to show that it is still at its old address. */
const oldAddressMs = 2_000;
/** The rest of a scan is for those that answer it. */
const mostAlsoAsked = 128;

/** Where a known device was met, what it said there, and what comes of it. */
interface Met {
  readonly place: Place;
  readonly sighting: Sighting | null;
  /** Addresses at which it showed its identity when it was asked. */
  readonly answering: readonly Address[];
}

/** What was found, and when it said who it is, of `performance.now()`: what comes of it may take its turn, and be old by then. */
interface Heard extends Finding {
  readonly at: number;
}

export class Arrivals {
  readonly #deps: ArrivalsDependencies;
  /** What is being decided of each device, by its identity: two findings of one are judged one after the other. */
  readonly #deciding = new Map<string, Promise<unknown>>();

  constructor(deps: ArrivalsDependencies) {
    this.#deps = deps;
  }

  /** Looks for devices now; answers with those found. */
  async discover(): Promise<Entry[]> {
    const found = await this.#deps.discovery().scan();
    // Some may have given way to others by its end.
    return found.flatMap((entry) => this.#deps.registry.get(entry.id) ?? []);
  }

  /** The device that is known at an address, said that it goes off, and would be turned on by being asked who it is. */
  asleepAt(platform: string, address: Address): Entry | null {
    const { registry, devices } = this.#deps;
    const entry = registry.entries.find((one) => one.platform === platform && isSameAddress(one, address));
    const reach = entry && devices.reachOf(entry);
    return reach?.isOff && reach.connection.power?.wakesByConnecting ? reach.record : null;
  }

  /** Where else than at their own addresses a scan asks for devices that are known. */
  alsoAsked(): Asked[] {
    return this.#deps.registry.entries
      .flatMap((entry) => {
        const { platform, identity } = entry;
        const memory = this.#remembered(entry);
        return this.#deps.trust
          .othersToAsk(entry)
          .map(({ host, port }) => ({ platform, identity, host, port, memory }));
      })
      .slice(0, mostAlsoAsked);
  }

  /**
   * Takes in a device that a scan found; a new one needs a seat. A changed address is followed, unless the device still
   * answers at the old one.
   */
  found(found: Finding, seats?: Seats): Promise<Entry> {
    return this.#inTurn(found, async (finding) => {
      const { registry, trust, log } = this.#deps;
      const before = registry.find(finding.platform, finding.sighting, finding.address);
      const stranger = before && this.#strangerTo(before, finding);
      if (stranger) {
        log.recurring(`${before.name} ${stranger}: it is not taken for it`);
        throw new ZapdError("device_error", stranger);
      }
      if (before) registry.meet(before.id);
      if (before) return (await this.#follow(before, finding, await this.#meet(before, finding, oldAddressMs))).entry;
      const seat = seats?.take(finding.address.host);
      if (seat === null) throw new ZapdError("device_busy", "is one of too many new devices in one scan");
      const mac = trust.macOf(finding.address.host);
      const merged = await registry.merge({ ...finding, by: "scan", mac, instead: seat?.instead, since: seats?.since });
      // A part of a device that is known is no new one.
      if (registry.partsOf(merged.entry.id).length > 1) seats?.giveBack(finding.address.host);
      else seats?.took(finding.address.host, merged.entry.id);
      await this.#dropGone(merged);
      const { entry } = merged;
      this.#heard(entry, finding.at, finding.sighting);
      log.info(`found  ${entry.name}  ${entry.model ?? entry.platform}  ${entry.host}`);
      return entry;
    });
  }

  /**
   * Asks an address which device lives there, and adds it. One that is known, and that answers where it is, or has secrets
   * that only the set itself may get, is not moved there: `device_elsewhere`.
   */
  async add(addition: Addition): Promise<Entry> {
    const { host, port } = this.#addressIn(addition.host, addition.port);
    // A name that cannot be is refused before the network is asked; whether it is taken, when the device is known.
    if (addition.name !== undefined) checkName(addition.name, []);
    const found = await this.#probe(host, port, addition.platform ?? null, addHint);
    this.#checkPorts(found.platform, addition.ports);
    const given = { ports: addition.ports, name: addition.name, by: "user" } as const;
    return this.#inTurn(found, async (finding) => {
      const { registry, trust } = this.#deps;
      const before = registry.find(finding.platform, finding.sighting, finding.address);
      if (!before) {
        const mac = trust.macOf(finding.address.host);
        const merged = await registry.merge({ ...finding, ...given, mac });
        await this.#dropGone(merged);
        this.#heard(merged.entry, finding.at, finding.sighting);
        return merged.entry;
      }
      const stranger = this.#strangerTo(before, finding);
      if (stranger)
        throw new ZapdError("device_elsewhere", `${before.name} ${stranger}`, {
          hint: `It is driven where it is known, at ${shown(before)}; if it was really replaced, or shows another since: ${this.#anewAt(before, finding.address)}`,
        });
      const met = await this.#meet(before, finding, this.#patience());
      await this.#checkElsewhere(before, finding, met);
      const { entry } = await this.#follow(before, finding, met, given);
      await this.#followDefault(before, entry);
      return entry;
    });
  }

  /** Asks an address whether a known device is there, to pair with it anew. Fails when nobody is, or another. */
  async recognize(entry: Entry, text: string): Promise<Finding> {
    const { host, port } = this.#addressIn(text);
    const usual = this.#deps.platforms.find((one) => one.name === entry.platform)?.ports.control ?? entry.port;
    const finding = await this.#probe(host, port ?? entry.port, entry.platform, pairHint).catch((error: unknown) => {
      if (port !== null || entry.port === usual) throw error;
      return this.#probe(host, usual, entry.platform, pairHint);
    });
    if (provesToBe(finding.sighting, entry)) return finding;
    const at = shown(finding.address);
    const other = this.#deps.registry.find(finding.platform, finding.sighting, finding.address);
    // A record without an identity of its own has nothing that could be compared: the user says who it is.
    if (entry.provisional && (!other || other.id === entry.id)) return finding;
    if (finding.sighting.provisional)
      throw new ZapdError(
        "device_error",
        `${entry.name} could not be recognized: what answers at ${at} does not say who it is`,
        {
          hint: "Check that the device is on and has finished starting, then try again",
        },
      );
    const { facts } = finding.sighting;
    const who = other?.name ?? facts.name ?? facts.model ?? finding.sighting.identity;
    throw new ZapdError(
      "device_elsewhere",
      `${entry.name} is not at ${at}: another device answers there, ${JSON.stringify(who)}`,
      {
        hint: `Check the address in the network settings of ${entry.name}; to add the other one: zapd add ${at}`,
      },
    );
  }

  /** Renames a device or sets its ports; the default device stays the default under its new name. */
  async change(entry: Entry, change: EntryChange): Promise<Entry> {
    const words = Object.keys(change.ports ?? {});
    const parts = [entry, ...this.#deps.registry.partsOf(entry.id)];
    const part = parts.find(({ platform }) => words.every((word) => this.#portsOf(platform).includes(word))) ?? entry;
    this.#checkPorts(part.platform, change.ports);
    const changed = await this.#deps.registry.change(part.id, change);
    await this.#followDefault(entry, changed);
    return changed;
  }

  /** One decision about one device at a time. */
  #inTurn<T>(finding: Finding, decide: (heard: Heard) => Promise<T>): Promise<T> {
    const key = `${finding.platform} ${finding.sighting.identity}`;
    const heard = { ...finding, at: performance.now() };
    const take = () => decide(heard);
    const turn = (this.#deciding.get(key) ?? Promise.resolve()).then(take, take);
    this.#deciding.set(key, turn);
    const done = () => {
      if (this.#deciding.get(key) === turn) this.#deciding.delete(key);
    };
    turn.then(done, done);
    return turn;
  }

  /** Finds out where a known device is that was met at an address: whoever else may be it is asked, too. */
  async #meet(before: Entry, finding: Finding, withinMs: number): Promise<Met> {
    const { sighting, address } = finding;
    const { trust } = this.#deps;
    const here = { host: before.host, port: before.port };
    const former = trust.formerOf(before);
    // What does not say who it is tells nothing of where the device is.
    const isIt = provesToBe(sighting, before) && !this.#strangerTo(before, finding);
    const others = [here, ...(former ? [former] : [])].filter((one) => !isSameAddress(one, address));
    const asked = await Promise.all(
      others.map(async (at) => ({ at, sighting: await this.#identityAt(before, at, withinMs) })),
    );
    const answers = asked.flatMap(({ at, sighting: told }) =>
      told && !this.#strangerTo(before, { ...finding, sighting: told, address: at }) ? [{ at, sighting: told }] : [],
    );
    const atHome = answers.find(({ at }) => isSameAddress(at, here));
    // One device, by another of its own ports.
    const isOtherDoor =
      before.host === address.host &&
      (sighting.beside === true || (atHome !== undefined && this.#isOtherDoor(before, address)));
    if (isIt && !isOtherDoor) answers.push({ at: address, sighting });
    const answering = answers.map(({ at }) => at);
    const place = trust.placeOf(before, isIt && !isOtherDoor ? address : null, answering);
    const told = answers.find(({ at }) => isSameAddress(at, place))?.sighting;
    return { place, sighting: told ?? (isSameAddress(place, address) ? sighting : null), answering };
  }

  /** Writes down where a known device is, and what it says there. */
  async #follow(before: Entry, finding: Heard, { place, sighting }: Met, given: object = {}): Promise<Merged> {
    const { registry, log } = this.#deps;
    const { platform, at } = finding;
    const merged = await registry.merge({
      platform,
      sighting: sighting ?? sightingOf(before),
      address: place,
      ...given,
      place: { from: before, to: place },
    });
    const { entry } = merged;
    this.#heard(entry, at, sighting ?? {});
    if (!isSameAddress(before, entry)) log.info(`moved  ${entry.name}  from ${shown(before)} to ${shown(entry)}`);
    const doubt = entry.standing?.probation;
    if (doubt && !before.standing?.probation) log.warn(`${entry.name} ${this.#deps.trust.doubt(entry)?.message ?? ""}`);
    this.#deps.devices.reachOf(entry).met();
    this.#deps.devices.of(entry).appeared();
    return merged;
  }

  /** Adding moves no device that answers where it is, and none that is silent and has secrets (SECURITY.md 2.4, T28). */
  async #checkElsewhere(before: Entry, finding: Heard, met: Met): Promise<void> {
    const { registry, trust } = this.#deps;
    const { address } = finding;
    const stays = isSameAddress(met.place, before);
    if (stays && (isSameAddress(before, address) || this.#isOtherDoor(before, address))) return;
    if (isSameAddress(met.place, address)) {
      const former = trust.formerOf(before);
      const isHome = former !== undefined && isSameAddress(former, address);
      if (isHome || !trust.hasSecrets(before)) return;
    } else if (!stays) {
      // Its former address has answered: there it is, whoever answers where it was taken to be.
      const answering = met.answering.filter((one) => isSameAddress(before, one) || !isSameAddress(address, one));
      await this.#follow(before, finding, { ...met, place: trust.placeOf(before, null, answering) });
    }
    const { answering } = met;
    const now = registry.get(before.id) ?? before;
    const [name, at, new_] = [inCommand(now.name), shown(now), shown(address)];
    const isThere = answering.some((one) => isSameAddress(one, now));
    const anew = `if it has moved to ${new_} for good: ${this.#anewAt(now, address)}`;
    throw isThere
      ? new ZapdError(
          "device_elsewhere",
          `${now.name} answers at ${at}, where it is known: what is at ${new_} says that it is the same device`,
          {
            hint: `Drive it as ${name}: it is at ${at}, not at ${new_}; ${anew}`,
          },
        )
      : new ZapdError(
          "device_elsewhere",
          `${now.name} is known at ${at}, and does not answer there now; it has secrets, and what is at ${new_} may be another`,
          {
            hint: `Turn on the one at ${at} if it is there; ${anew}`,
          },
        );
  }

  /**
   * Why what answers at an address is not a device that it says to be: what is known of it was shown under a certificate, and
   * here there is another or none (SECURITY.md 2.4). At its own address its platform judges that, with every connection.
   */
  #strangerTo(before: Entry, { sighting, address }: Finding): string | null {
    const { certificate = null } = sighting;
    const kept = this.#deps.trust.certificateOf(before);
    if (kept === null || certificate === kept || isSameAddress(before, address)) return null;
    if (this.#isOtherDoor(before, address)) return null;
    const shows = certificate === null ? "no certificate" : "another certificate";
    return `is known at ${shown(before)}, and what says at ${shown(address)} that it is the same device shows ${shows}`;
  }

  /** How a known device is taken to be at an address from now on. */
  #anewAt(entry: Entry, address: Address): string {
    const [name, at] = [inCommand(entry.name), shown(address)];
    const forget = `zapd forget ${name}, then zapd add ${at}`;
    if (!this.#deps.trust.canPair(entry)) return forget;
    return `zapd pair ${name} --host ${at}, which begins without the old key, or ${forget}`;
  }

  /** The user says that two devices are one; where one of them is the default device, it is that by the name it has then. */
  async join(one: Entry, other: Entry): Promise<Entry> {
    const { registry } = this.#deps;
    const before = registry.defaultEntry;
    const joined = await registry.join(one.id, other.id);
    if (before) await this.#followDefault(before, joined);
    return joined;
  }

  async #followDefault(before: Entry, after: Entry): Promise<void> {
    const { config, registry } = this.#deps;
    const wanted = config.running.daemon.default_device;
    const byName = wanted !== "" && !registry.get(wanted.toLowerCase());
    const isDefault = byName && registry.defaultEntry?.id === registry.deviceOf(after.id)?.id;
    if (after.name !== before.name && isDefault) await config.patch({ "daemon.default_device": after.name });
  }

  #addressIn(text: string, port?: number): { host: string; port: number | null } {
    const given = splitHost(text);
    if (given.port !== null && port !== undefined && given.port !== port)
      throw invalidHost(text, "two ports are given");
    return { host: given.host, port: port ?? given.port };
  }

  #probe(host: string, port: number | null, platform: string | null, hint: string): Promise<Finding> {
    return this.#deps
      .discovery()
      .probe(host, port, platform)
      .catch((error: unknown) => {
        if (!isPredicate(error)) throw error;
        const { message } = redacted(error, this.#deps.log, [host]);
        // Who knows what is there says what to do about it.
        const subject = { name: host, host, port: port ?? 0, canWake: false };
        const own = error.code === "device_error" ? filled(error.hint, subject) : undefined;
        throw error.reworded(`${host} ${message}`, { hint: own ?? hint, named: true });
      });
  }

  #checkPorts(platform: string, ports: Ports | undefined): void {
    const known = this.#portsOf(platform);
    const unknown = Object.keys(ports ?? {}).find((word) => !known.includes(word));
    if (unknown === undefined) return;
    throw new ZapdError(
      "invalid_payload",
      `ports: ${JSON.stringify(unknown.slice(0, 64))} is not a port of this platform`,
      { hint: `It has: ${known.join(", ")}` },
    );
  }

  #portsOf(platform: string): readonly string[] {
    const ports = this.#deps.platforms.find((one) => one.name === platform)?.ports ?? {};
    return Object.keys(ports).filter((word) => word !== "control");
  }

  /** Whether an address is of the same machine as the device, and its port one that its platform uses beside the control port. */
  #isOtherDoor({ platform, host, port, ports }: Entry, address: Address): boolean {
    const known = this.#deps.platforms.find((one) => one.name === platform);
    if (!known || host !== address.host || port === address.port) return false;
    return [...Object.values(known.ports), ...Object.values(ports)].includes(address.port);
  }

  /** What answers at an address, if it shows that it is the very device; one that cannot say who it is does not. */
  async #identityAt(entry: Entry, at: Address, withinMs: number): Promise<Sighting | null> {
    const platform = this.#deps.platforms.find((one) => one.name === entry.platform);
    const sighting = await platform
      ?.identify(
        { host: at.host, port: at.port, memory: this.#remembered(entry) },
        this.#deps.platformHost,
        AbortSignal.timeout(withinMs),
      )
      .catch(() => null);
    if (!sighting) return null;
    if (provesToBe(sighting, entry)) return sighting;
    return mayBe(sighting, entry, at) ? sightingOf(entry) : null;
  }

  /** What its platform remembers of a device; nothing where there is no such platform. */
  #remembered(entry: Entry): unknown {
    const platform = this.#deps.platforms.find((one) => one.name === entry.platform);
    return platform && memoryOf(entry, platform);
  }

  /** Milliseconds that a device may take to show that it is still where it is, while somebody waits to add it. */
  #patience(): number {
    return Math.max(oldAddressMs, this.#deps.config.running.devices.request_timeout_ms);
  }

  /** It has said who it is, and perhaps what its power is. */
  #heard(entry: Entry, at: number, { power = "unknown" }: Pick<Sighting, "power">): void {
    this.#deps.devices.reachOf(entry).answered(power === "unknown" ? undefined : power, at);
  }

  async #dropGone({ gone }: Merged): Promise<void> {
    const { devices, log } = this.#deps;
    await devices.forget(gone).catch((error: unknown) => log.recurring(textOf(error)));
  }
}

/** Whether facts are of the very device: by its identity, or, where it cannot say that now, by its hardware's address. */
function provesToBe({ identity, provisional, facts: { macs } }: Sighting, entry: Entry): boolean {
  if (identity === entry.identity) return !provisional || entry.provisional === true;
  return provisional === true && macs.some((mac) => entry.macs.includes(mac));
}

/**
 * Whether what answers where a device is known, in its platform's own way, may be it, though it says nothing of itself before
 * it is paired with. It holds its place against others, and nothing else comes of it: what is secret waits for more.
 */
function mayBe({ provisional, pairing, facts: { macs } }: Sighting, entry: Entry, at: Address): boolean {
  const known = [entry, ...(entry.standing?.former ? [entry.standing.former] : [])];
  return (
    provisional === true && pairing === "required" && macs.length === 0 && known.some((one) => isSameAddress(one, at))
  );
}

/** A sighting that tells nothing new of a device. */
function sightingOf({ identity, provisional }: Entry): Sighting {
  const nothing = { name: null, manufacturer: null, model: null, serial: null, softwareVersion: null, access: null };
  return {
    identity,
    ...(provisional && { provisional: true as const }),
    facts: { ...nothing, kind: "unknown", macs: [] },
    memory: {},
    pairing: "none",
  };
}

const pairHint = "Check the address in the network settings of the device, and that it is on";
const addHint =
  "Check the address in the network settings of the device, and that it is on: a device that is off cannot be added";
