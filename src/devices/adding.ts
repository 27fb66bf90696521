/** Adding devices: those that a scan found, and those that the user names by their address. Decides where a known one is. */
import { hasCode, textOf, ZapdError } from "../api/errors.ts";
import type { BodyOf } from "../api/operations.ts";
import { invalidHost, splitHost } from "../discovery/hosts.ts";
import type { FoundDevice, Seats } from "../discovery/probe-queue.ts";
import type { Sighting } from "../platforms/platform.ts";
import { redacted } from "../system/log.ts";
import { addressText } from "../system/text.ts";
import type { Device } from "./device.ts";
import type { Devices, DevicesDependencies } from "./devices.ts";
import { fillHint, isPredicate } from "./failures.ts";
import type { MergeResult } from "./merge.ts";
import { checkName, removedError } from "./names.ts";
import type { DeviceRecord, Discovered } from "./record.ts";
import { isSameAddress } from "./standing.ts";
import { type Location, provesToBe, sightingOf } from "./trust.ts";

/** A found device with the time at which it answered (`performance.now()`), which may be a while before it is taken in. */
interface Answer extends FoundDevice {
  readonly at: number;
}

/** How long a device may take to answer at its old address. */
const oldAddressMs = 2_000;
const hostHint = "Check the address in the network settings of the device, and that it is on";
const addHint = `${hostHint}: a device that is off cannot be added`;
const portHint = "Only the usual port of each platform was asked; to give another: zapd add HOST:PORT";

export class Adding {
  readonly #deps: DevicesDependencies;
  readonly #devices: Devices;
  /** What is being decided of each identity: a device found twice is taken in once, then again. */
  readonly #deciding = new Map<string, Promise<unknown>>();

  constructor(deps: DevicesDependencies, devices: Devices) {
    this.#deps = deps;
    this.#devices = devices;
  }

  /**
   * Takes in a device that a scan found; a new one needs a seat. A known one gets its new address, unless it still answers at
   * the old one.
   */
  addFound(finding: FoundDevice, seats: Seats): Promise<DeviceRecord> {
    const adding = this.#inTurn(finding, async (answer) => {
      const { registry, trust, log } = this.#deps;
      const { platform, sighting, address } = answer;
      const before = registry.find(platform, sighting, address);
      const impostor = before && trust.impostorReason(before, answer);
      if (impostor) {
        log.recurring(`Ignored a device: ${before.name} ${impostor}`);
        throw new ZapdError("device_error", impostor);
      }
      if (before) {
        registry.markFound(before.id);
        return this.#saveLocation(before, answer, await trust.locate(before, answer, oldAddressMs));
      }
      if (registry.removedAt(platform, sighting.identity) > seats.wantedAt) throw removedError();
      const seat = seats.take(address.host);
      if (!seat) throw new ZapdError("device_busy", "was not added: one scan found too many new devices");
      const mac = trust.macOf(address.host);
      const merged = await registry.merge({
        ...answer,
        by: "scan",
        mac,
        evicts: seat.instead,
        scanStartedAt: seats.since,
      });
      if (merged.isNewDevice) seats.took(address.host, merged.record.id);
      else seats.giveBack(address.host);
      const record = await this.#added(merged, answer);
      if (merged.isNewDevice) log.info(`found  ${record.name}  ${record.model ?? record.platform}  ${record.host}`);
      return record;
    });
    // The scan goes on without it, and would say that nothing is there.
    adding.catch((error: unknown) => {
      if (hasCode(error, "storage_error")) this.#deps.log.recurring(error.message);
    });
    return adding;
  }

  /**
   * Probes an address and adds the device there. A known device is not moved there while it answers at its own address, or has
   * secrets: `device_elsewhere`. Only the holder of its lease renames it or sets its ports: `device_leased`.
   */
  async add(addition: BodyOf<"addDevice">, lease?: string): Promise<Device> {
    const { host, port } = addressIn(addition.host, addition.port);
    // An invalid name is refused before the probe; a name that is taken, once the device is known.
    if (addition.name !== undefined) checkName(addition.name, []);
    const hint = port === null ? `${addHint}. ${portHint}` : addHint;
    const found = await this.#probe(host, port, addition.platform ?? null, hint);
    this.#devices.checkPorts(found.platform, addition.ports);
    const given = { ports: addition.ports, name: addition.name, by: "user" } as const;
    const record = await this.#inTurn(found, async (answer) => {
      const { registry, trust, config } = this.#deps;
      const { platform, sighting, address } = answer;
      const before = registry.find(platform, sighting, address);
      if (!before) {
        const mac = trust.macOf(address.host);
        return this.#added(await registry.merge({ ...answer, ...given, mac }), answer);
      }
      if (addition.name !== undefined || addition.ports !== undefined) this.#devices.deviceOf(before).checkLease(lease);
      const impostor = trust.impostorReason(before, answer);
      if (impostor)
        throw new ZapdError("device_elsewhere", `${before.name} ${impostor}`, {
          hint: `zapd keeps using ${addressText(before)}; if the device was replaced, or has a new certificate: ${trust.startOverHint(before, address)}`,
        });
      const timeoutMs = Math.max(oldAddressMs, config().devices.request_timeout_ms);
      const location = await trust.locate(before, answer, timeoutMs);
      await this.#checkElsewhere(before, answer, location);
      const after = await this.#saveLocation(before, answer, location, given);
      await this.#devices.followDefault(before, after);
      return after;
    });
    return this.#devices.deviceOf(record);
  }

  /** Probes an address for a known device, to pair it again there. Fails where there is no device, or another. */
  async identifyAt(record: DeviceRecord, text: string): Promise<FoundDevice> {
    const { platforms, registry } = this.#deps;
    const { host, port } = addressIn(text);
    const usual = platforms.find((one) => one.name === record.platform)?.ports.control ?? record.port;
    const finding = await this.#probe(host, port ?? record.port, record.platform, hostHint).catch((error: unknown) => {
      if (port !== null || record.port === usual) throw error;
      return this.#probe(host, usual, record.platform, hostHint);
    });
    const { platform, sighting, address } = finding;
    if (provesToBe(sighting, record)) return finding;
    const at = addressText(address);
    const other = registry.find(platform, sighting, address);
    // A provisional identity cannot be compared: the user says which device it is.
    if (record.provisional && (!other || other.id === record.id)) return finding;
    if (sighting.provisional)
      throw new ZapdError(
        "device_error",
        `${record.name} could not be recognized: the device at ${at} does not identify itself`,
        { hint: "Check that the device is on and has finished starting, then try again" },
      );
    const who = other?.name ?? sighting.facts.name ?? sighting.facts.model ?? sighting.identity;
    throw new ZapdError(
      "device_elsewhere",
      `${record.name} is not at ${at}: another device answers there, ${JSON.stringify(who)}`,
      { hint: `Check the address in the network settings of ${record.name}; to add the other one: zapd add ${at}` },
    );
  }

  /** Makes one decision about one identity at a time. */
  #inTurn<T>(finding: FoundDevice, decide: (answer: Answer) => Promise<T>): Promise<T> {
    const key = `${finding.platform} ${finding.sighting.identity}`;
    const answer = { ...finding, at: performance.now() };
    const take = () => decide(answer);
    const turn = (this.#deciding.get(key) ?? Promise.resolve()).then(take, take);
    this.#deciding.set(key, turn);
    const done = () => {
      if (this.#deciding.get(key) === turn) this.#deciding.delete(key);
    };
    turn.then(done, done);
    return turn;
  }

  /** Forgets the devices that were evicted for a new one, and notes that this one answered. */
  async #added({ record, evicted }: MergeResult, { at, sighting }: Answer): Promise<DeviceRecord> {
    await this.#devices.deleteKept(evicted).catch((error: unknown) => this.#deps.log.recurring(textOf(error)));
    this.#answered(record, at, sighting);
    return record;
  }

  /** Saves where a known device is, and what it reports there. */
  async #saveLocation(
    before: DeviceRecord,
    { platform, at }: Answer,
    { place, sighting }: Location,
    given: Pick<Discovered, "name" | "ports" | "by"> = {},
  ): Promise<DeviceRecord> {
    const { registry, trust, log } = this.#deps;
    const { record } = await registry.merge({
      platform,
      sighting: sighting ?? sightingOf(before),
      address: place,
      by: "scan",
      ...given,
      place: { from: before, to: place },
    });
    this.#answered(record, at, sighting ?? {});
    if (!isSameAddress(before, record))
      log.info(`moved  ${record.name}  from ${addressText(before)} to ${addressText(record)}`);
    const doubt = record.standing?.probation;
    if (doubt && !before.standing?.probation) log.warn(`${record.name} ${trust.doubt(record)?.message ?? ""}`);
    this.#devices.endpointOf(record).recovery.foundAgain();
    this.#devices.deviceOf(record).reappeared();
    return record;
  }

  #answered(record: DeviceRecord, at: number, { power = "unknown" }: Pick<Sighting, "power">): void {
    this.#devices.endpointOf(record).presence.noteAnswer(power === "unknown" ? undefined : power, at);
  }

  /** Adding moves no device that answers at its address, and none that does not answer but has secrets (SECURITY.md 2.4, T28). */
  async #checkElsewhere(before: DeviceRecord, answer: Answer, location: Location): Promise<void> {
    const { registry, trust } = this.#deps;
    const { address } = answer;
    const { place, answering } = location;
    const stays = isSameAddress(place, before);
    if (stays && (isSameAddress(before, address) || trust.isOtherPort(before, address))) return;
    if (isSameAddress(place, address)) {
      const former = trust.formerAddress(before);
      const isHome = former !== undefined && isSameAddress(former, address);
      if (isHome || !trust.hasSecrets(before)) return;
    } else if (!stays) {
      // The device answers at its former address, so it is there, whatever answers at its current one.
      const known = answering.filter((one) => isSameAddress(before, one) || !isSameAddress(address, one));
      await this.#saveLocation(before, answer, { ...location, place: trust.placeOf(before, null, known) });
    }
    throw trust.elsewhereError(registry.get(before.id) ?? before, address, answering);
  }

  #probe(host: string, port: number | null, platform: string | null, hint: string): Promise<FoundDevice> {
    const { discovery, log } = this.#deps;
    return discovery()
      .probe(host, port, platform)
      .catch((error: unknown) => {
        if (!isPredicate(error)) throw error;
        const { message } = redacted(error, log, [host]);
        // A platform that recognized its device may give a better hint.
        const subject = { name: host, host, port: port ?? 0, canWake: false };
        const own = error.code === "device_error" ? fillHint(error.hint, subject) : undefined;
        throw error.reworded(`${host} ${message}`, { hint: own ?? hint, namesDevice: true });
      });
  }
}

/** Host and port of an address given by the user; the port may be given separately. */
function addressIn(text: string, port?: number): { host: string; port: number | null } {
  const given = splitHost(text);
  if (given.port !== null && port !== undefined && given.port !== port)
    throw invalidHost(text, "it gives two different ports");
  return { host: given.host, port: port ?? given.port };
}
