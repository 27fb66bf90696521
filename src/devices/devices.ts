/** All devices: finds the one that is meant, takes in those that are found or added, and removes them. */
import { textOf, ZapdError } from "../api/errors.ts";
import type { BodyOf } from "../api/operations.ts";
import { allWord, labelPrefix } from "../api/routes.ts";
import type { State, Device as View } from "../api/schemas.ts";
import type { Discovery } from "../discovery/discover.ts";
import { invalidHost, splitHost } from "../discovery/hosts.ts";
import type { FoundDevice, Seats } from "../discovery/probe-queue.ts";
import type { Address, Ports, Sighting } from "../platforms/platform.ts";
import { redacted } from "../system/log.ts";
import { addressText } from "../system/text.ts";
import { Device, type DeviceDependencies } from "./device.ts";
import { Endpoint } from "./endpoint.ts";
import { fillHint, isPredicate } from "./failures.ts";
import { Feed } from "./feed.ts";
import { Journal } from "./journal.ts";
import { checkName, noDevicesHint } from "./names.ts";
import type { DeviceRecord, Discovered } from "./record.ts";
import type { MergeResult, RecordChange } from "./registry.ts";
import { isSameAddress } from "./standing.ts";
import { type Location, provesToBe, sightingOf } from "./trust.ts";

/** The dependencies of a device that `Devices` itself provides. */
type Provided = "onRemoved" | "endpointOf" | "deviceOf" | "onChange" | "onHint" | "onPairing" | "feed";

export interface DevicesDependencies extends Omit<DeviceDependencies, Provided> {
  discovery(): Pick<Discovery<DeviceRecord>, "scan" | "probe">;
  /** Saves the new name of the default device in the config. */
  nameDefault(name: string): Promise<unknown>;
}

/** A found device with the time at which it answered (`performance.now()`), which may be a while before it is taken in. */
interface Answer extends FoundDevice {
  readonly at: number;
}

/** How long a device may take to answer at its old address. */
const oldAddressMs = 2_000;
const pairHint = "Check the address in the network settings of the device, and that it is on";
const addHint = `${pairHint}: a device that is off cannot be added`;

/** Path segments for which the device is cached. */
const maxCachedSegments = 1_000;

export class Devices {
  readonly #deps: DeviceDependencies & DevicesDependencies;
  readonly #devices = new Map<string, Device>();
  /** By the record's id: records keep their connections when devices are joined or split. */
  readonly #endpoints = new Map<string, Endpoint>();
  /** What happens to the devices, for subscribers. */
  readonly journal = new Journal({ devices: () => this.#shown() });
  readonly #feed = new Feed(this.journal);
  /** What was last published of the registry. */
  #published: {
    readonly records: readonly DeviceRecord[];
    readonly ids: readonly string[];
    readonly defaultId: string | undefined;
  };
  /** The subscribers to every device, and their subscriptions. */
  #subscribers = 0;
  readonly #subscriptions = new Map<string, () => void>();
  #closedReason: ZapdError | undefined;
  readonly #stopping = new AbortController();
  /** The devices that path segments mean, until the registry changes. */
  readonly #bySegment = new Map<string, Device>();
  /** What is being decided of each identity: a device found twice is taken in once, then again. */
  readonly #deciding = new Map<string, Promise<unknown>>();

  constructor(deps: DevicesDependencies) {
    const onRemoved = (device: Device) => {
      this.#devices.delete(device.id);
      for (const { id } of device.endpoints) if (!deps.registry.get(id)) this.#endpoints.delete(id);
    };
    this.#deps = {
      ...deps,
      onRemoved,
      feed: this.#feed,
      endpointOf: (record) => this.endpointOf(record),
      deviceOf: (record) => this.deviceOf(record),
      onChange: (id) => this.#changed(id),
      onHint: (id) => this.#hinted(id),
      onPairing: (recordId, progress) => {
        const device_id = deps.registry.deviceOf(recordId)?.id ?? recordId;
        this.journal.publish({ type: "pairing.changed", device_id, ...progress });
        const record = progress.status === "paired" ? deps.registry.deviceOf(recordId) : undefined;
        if (record) this.deviceOf(record).reappeared();
      },
    };
    deps.leases?.connect({
      nameOf: (id) => deps.registry.get(id)?.name ?? id,
      whenIdle: async (id, turn) => this.find(id).whenIdle(turn),
      releaseKey: (id, reason) => this.#devices.get(id)?.releaseKey(reason),
      closeConsole: (id) => this.#devices.get(id)?.closeConsole(),
      changed: (device_id, lease, why, owner) => {
        this.journal.publish({ type: "lease.changed", device_id, lease, why, owner });
        this.#changed(device_id);
      },
    });
    this.#published = this.#publishable();
    this.#feed.seed(this.describeAll());
    deps.registry.onChange(() => this.#registryChanged());
  }

  /** Polls devices for a subscriber (`null`: all of them), until the function that is returned is called. */
  watchDevices(ids: ReadonlySet<string> | null): () => void {
    if (ids !== null) {
      const wanted = this.#deps.registry.devices.filter(({ id }) => ids.has(id));
      const subscriptions = wanted.map((record) => this.deviceOf(record).watch.subscribe());
      return () => {
        for (const unsubscribe of subscriptions) unsubscribe();
      };
    }
    this.#subscribers++;
    this.#subscribeAll();
    return () => {
      if (--this.#subscribers > 0) return;
      for (const unsubscribe of this.#subscriptions.values()) unsubscribe();
      this.#subscriptions.clear();
    };
  }

  #subscribeAll(): void {
    if (this.#subscribers === 0) return;
    for (const record of this.#deps.registry.devices)
      if (!this.#subscriptions.has(record.id))
        this.#subscriptions.set(record.id, this.deviceOf(record).watch.subscribe());
  }

  #shown(): { id: string; show(): { device: View; state: State | null } }[] {
    const { devices } = this.#deps.registry;
    return devices.map((record) => {
      const show = () => {
        const device = this.deviceOf(record);
        return { device: device.describe(), state: device.lastState };
      };
      return { id: record.id, show };
    });
  }

  #publishable() {
    const { records, devices, defaultRecord } = this.#deps.registry;
    return { records, ids: devices.map(({ id }) => id), defaultId: defaultRecord?.id };
  }

  #hinted(recordId: string): void {
    const record = this.#deps.registry.deviceOf(recordId);
    if (record) this.deviceOf(record).hinted();
  }

  /** An endpoint of a device has changed what the API shows. */
  #changed(recordId: string): void {
    const record = this.#deps.registry.deviceOf(recordId);
    if (record) this.#feed.publishDevice(this.deviceOf(record).describe());
  }

  #registryChanged(): void {
    const { registry } = this.#deps;
    this.#bySegment.clear();
    for (const [id, endpoint] of this.#endpoints) endpoint.update(registry.get(id));
    for (const device of this.#devices.values()) device.update();
    const before = this.#published;
    const now = this.#publishable();
    this.#published = now;
    const known = new Set(before.records);
    const changed = now.records.filter((record) => !known.has(record)).map(({ id }) => id);
    if (before.defaultId !== now.defaultId)
      for (const id of [before.defaultId, now.defaultId]) if (id !== undefined) changed.push(id);
    const ids = new Set(now.ids);
    for (const id of before.ids) {
      if (ids.has(id)) continue;
      this.#subscriptions.get(id)?.();
      this.#subscriptions.delete(id);
      this.#deps.leases?.drop(id);
      this.#feed.publishRemoval(id);
      if (this.#deps.registry.get(id)) this.#devices.get(id)?.mergedIntoOther();
    }
    for (const id of new Set(changed)) this.#changed(id);
    this.#subscribeAll();
  }

  /** The device that a path segment means; fails with `device_not_found`, `ambiguous_device` or `default_device_missing`. */
  find(segment: string): Device {
    const cached = this.#bySegment.get(segment);
    if (cached) return cached;
    const device = this.deviceOf(this.#deps.registry.resolve(segment) ?? this.#default());
    if (this.#bySegment.size >= maxCachedSegments) this.#bySegment.clear();
    this.#bySegment.set(segment, device);
    return device;
  }

  /** The devices that a group means: all, or those with a label. Fails with `group_not_found` where there are none. */
  group(word: string): Device[] {
    const all = this.#deps.registry.devices.map((record) => this.deviceOf(record));
    const label = word.startsWith(labelPrefix) ? word.slice(labelPrefix.length) : word;
    const meant = word === allWord ? all : all.filter(({ labels }) => labels.includes(label));
    if (meant.length > 0) return meant;
    const labels = [...new Set(all.flatMap((device) => device.labels))].toSorted();
    const known =
      labels.length === 0 ? "Label a device: zapd label NAME add LABEL" : `The labels are: ${labels.join(", ")}`;
    const none =
      word === allWord ? "There are no devices" : `No device has the label ${JSON.stringify(label.slice(0, 64))}`;
    throw new ZapdError("group_not_found", none, {
      hint: all.length === 0 ? noDevicesHint : known,
    });
  }

  /** The same; `null` where there is none. */
  findOrNull(segment: string): Device | null {
    try {
      return this.find(segment);
    } catch {
      return null;
    }
  }

  /** The live device that a record belongs to. */
  deviceOf(record: DeviceRecord): Device {
    const { registry } = this.#deps;
    return this.#device([registry.deviceOf(record.id) ?? record]);
  }

  #device(parts: readonly [DeviceRecord, ...DeviceRecord[]]): Device {
    const [{ id }] = parts;
    const device = this.#devices.get(id) ?? new Device(this.#deps, parts);
    this.#devices.set(id, device);
    return device;
  }

  /** The live endpoint of a record. */
  endpointOf(record: DeviceRecord): Endpoint {
    const known = this.#endpoints.get(record.id);
    if (known) return known;
    const endpoint = new Endpoint(this.#deps, record, (...observed) => this.deviceOf(record).observe(...observed));
    if (this.#closedReason) endpoint.close(this.#closedReason);
    this.#endpoints.set(record.id, endpoint);
    return endpoint;
  }

  /** Every device as the API shows it, in the order of adding. */
  describeAll(): View[] {
    const { registry } = this.#deps;
    return registry.devices.map((record) => this.deviceOf(record).describe());
  }

  /** Scans for devices; gives those found. */
  async discover(): Promise<Device[]> {
    const found = await this.#deps.discovery().scan();
    // Some may have been evicted by the end of the scan.
    const known = found.flatMap((record) => this.#deps.registry.get(record.id) ?? []);
    return [...new Set(known.map((record) => this.deviceOf(record)))];
  }

  /** The device that is known at an address, is off, and would be turned on by a probe. */
  sleepingAt(platform: string, address: Address): DeviceRecord | null {
    const record = this.#deps.registry.records.find((one) => one.platform === platform && isSameAddress(one, address));
    const endpoint = record && this.endpointOf(record);
    return endpoint?.presence.isOff && endpoint.connection.power?.wakesByConnecting ? endpoint.record : null;
  }

  /**
   * Takes in a device that a scan found; a new one needs a seat. A known one gets its new address, unless it still answers at
   * the old one.
   */
  addFound(finding: FoundDevice, seats?: Seats): Promise<DeviceRecord> {
    return this.#inTurn(finding, async (answer) => {
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
      const seat = seats?.take(address.host);
      if (seat === null) throw new ZapdError("device_busy", "was not added: one scan found too many new devices");
      const mac = trust.macOf(address.host);
      const merged = await registry.merge({
        ...answer,
        by: "scan",
        mac,
        evicts: seat?.instead,
        scanStartedAt: seats?.since,
      });
      // An endpoint of a known device is no new device.
      if (registry.partsOf(merged.record.id).length > 1) seats?.giveBack(address.host);
      else seats?.took(address.host, merged.record.id);
      const record = await this.#added(merged, answer);
      log.info(`found  ${record.name}  ${record.model ?? record.platform}  ${record.host}`);
      return record;
    });
  }

  /**
   * Probes an address and adds the device there. A known device is not moved there while it answers at its own address, or has
   * secrets: `device_elsewhere`. Only the holder of its lease renames it or sets its ports: `device_leased`.
   */
  async add(addition: BodyOf<"addDevice">, lease?: string): Promise<Device> {
    const { host, port } = addressIn(addition.host, addition.port);
    // An invalid name is refused before the probe; a name that is taken, once the device is known.
    if (addition.name !== undefined) checkName(addition.name, []);
    const found = await this.#probe(host, port, addition.platform ?? null, addHint);
    this.#checkPorts(found.platform, addition.ports);
    const given = { ports: addition.ports, name: addition.name, by: "user" } as const;
    const record = await this.#inTurn(found, async (answer) => {
      const { registry, trust, config } = this.#deps;
      const { platform, sighting, address } = answer;
      const before = registry.find(platform, sighting, address);
      if (!before) {
        const mac = trust.macOf(address.host);
        return this.#added(await registry.merge({ ...answer, ...given, mac }), answer);
      }
      if (addition.name !== undefined || addition.ports !== undefined) this.deviceOf(before).checkLease(lease);
      const impostor = trust.impostorReason(before, answer);
      if (impostor)
        throw new ZapdError("device_elsewhere", `${before.name} ${impostor}`, {
          hint: `zapd keeps using ${addressText(before)}; if the device was replaced, or has a new certificate: ${trust.startOverHint(before, address)}`,
        });
      const timeoutMs = Math.max(oldAddressMs, config().devices.request_timeout_ms);
      const location = await trust.locate(before, answer, timeoutMs);
      await this.#checkElsewhere(before, answer, location);
      const after = await this.#saveLocation(before, answer, location, given);
      await this.#followDefault(before, after);
      return after;
    });
    return this.deviceOf(record);
  }

  /** Probes an address for a known device, to pair it again there. Fails where there is no device, or another. */
  async identifyAt(record: DeviceRecord, text: string): Promise<FoundDevice> {
    const { platforms, registry } = this.#deps;
    const { host, port } = addressIn(text);
    const usual = platforms.find((one) => one.name === record.platform)?.ports.control ?? record.port;
    const finding = await this.#probe(host, port ?? record.port, record.platform, pairHint).catch((error: unknown) => {
      if (port !== null || record.port === usual) throw error;
      return this.#probe(host, usual, record.platform, pairHint);
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
    await this.deleteKept(evicted).catch((error: unknown) => this.#deps.log.recurring(textOf(error)));
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
      ...given,
      place: { from: before, to: place },
    });
    this.#answered(record, at, sighting ?? {});
    if (!isSameAddress(before, record))
      log.info(`moved  ${record.name}  from ${addressText(before)} to ${addressText(record)}`);
    const doubt = record.standing?.probation;
    if (doubt && !before.standing?.probation) log.warn(`${record.name} ${trust.doubt(record)?.message ?? ""}`);
    this.endpointOf(record).recovery.foundAgain();
    this.deviceOf(record).reappeared();
    return record;
  }

  /** Notes that a device answered a probe, with its power where it reported that. */
  #answered(record: DeviceRecord, at: number, { power = "unknown" }: Pick<Sighting, "power">): void {
    this.endpointOf(record).presence.noteAnswer(power === "unknown" ? undefined : power, at);
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

  /** Sets a device's name, ports or labels; the default device stays the default under its new name. */
  async change({ record }: Device, change: RecordChange): Promise<void> {
    const { registry } = this.#deps;
    const words = Object.keys(change.ports ?? {});
    const parts = [record, ...registry.partsOf(record.id)];
    const part = parts.find(({ platform }) => words.every((word) => this.#portsOf(platform).includes(word))) ?? record;
    this.#checkPorts(part.platform, change.ports);
    await this.#followDefault(record, await registry.change(part.id, change));
  }

  #checkPorts(platform: string, ports: Ports | undefined): void {
    const known = this.#portsOf(platform);
    const unknown = Object.keys(ports ?? {}).find((word) => !known.includes(word));
    if (unknown === undefined) return;
    throw new ZapdError(
      "invalid_payload",
      `ports: ${JSON.stringify(unknown.slice(0, 64))} is not a port of this platform`,
      { hint: `Its ports are: ${known.join(", ")}` },
    );
  }

  #portsOf(platform: string): readonly string[] {
    const ports = this.#deps.platforms.find((one) => one.name === platform)?.ports ?? {};
    return Object.keys(ports).filter((word) => word !== "control");
  }

  /** Joins two devices at the user's word; where one of them is the default device, the config gets the joined name. */
  async join(one: Device, other: Device): Promise<Device> {
    const { registry } = this.#deps;
    const before = registry.defaultRecord;
    const joined = await registry.join(one.record.id, other.record.id);
    if (before) await this.#followDefault(before, joined);
    return this.deviceOf(joined);
  }

  async #followDefault(before: DeviceRecord, after: DeviceRecord): Promise<void> {
    const { registry, config, nameDefault } = this.#deps;
    const wanted = config().daemon.default_device;
    const byName = wanted !== "" && !registry.get(wanted.toLowerCase());
    const isDefault = byName && registry.defaultRecord?.id === registry.deviceOf(after.id)?.id;
    if (after.name !== before.name && isDefault) await nameDefault(after.name);
  }

  /** Removes a device and all that is kept of it; gives what it was. */
  async remove(device: Device): Promise<View> {
    const view = device.describe();
    await this.deleteKept(await this.#deps.registry.remove(device.id));
    return view;
  }

  /** Removes every device that a scan found and nobody has used. */
  async removeUnused(): Promise<View[]> {
    return this.deleteKept(await this.#deps.registry.removeUnused());
  }

  /** Deletes what is kept of removed devices, by their records; gives what they were. */
  async deleteKept(records: readonly DeviceRecord[]): Promise<View[]> {
    const views: View[] = [];
    for (const record of records) {
      if (record.part_of !== undefined) continue;
      const parts = [record, ...records.filter((one) => one.part_of === record.id)] as const;
      const device = this.#device(parts);
      views.push(device.describe());
      await device.remove(parts);
    }
    return views;
  }

  /** For tests: how much is kept in memory. */
  get sizes(): Readonly<Record<"devices" | "endpoints" | "words" | "views", number>> {
    const [devices, endpoints] = [this.#devices.size, this.#endpoints.size];
    return { devices, endpoints, words: this.#bySegment.size, views: this.#feed.size };
  }

  /** Saves when each device was last seen, and its last reported power. */
  saveAvailability(): Promise<void> {
    return this.#deps.registry.saveAvailability((id) => this.#endpoints.get(id)?.presence.availability);
  }

  /** Aborts when the daemon stops: waits and scenes end. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Lets go of every key that is held, and ends waits and scenes. */
  releaseKeys(): void {
    this.#stopping.abort(new ZapdError("internal_error", "zapd is stopping"));
    for (const device of this.#devices.values()) device.releaseKey();
  }

  /** Ends running attempts at every device, and refuses new ones. */
  close(): void {
    this.#feed.close();
    for (const device of this.#devices.values()) device.stop();
    this.#closedReason = new ZapdError("internal_error", "zapd is stopping");
    for (const endpoint of this.#endpoints.values()) endpoint.close(this.#closedReason);
  }

  #default(): DeviceRecord {
    const { registry, config } = this.#deps;
    const record = registry.defaultRecord;
    if (record) return record;
    const wanted = config().daemon.default_device;
    throw new ZapdError(
      "default_device_missing",
      wanted === "" ? "No default device is set" : `The default device, ${JSON.stringify(wanted)}, is not known`,
      { hint: registry.records.length === 0 ? noDevicesHint : "Choose one: zapd default NAME" },
    );
  }
}

/** Host and port of an address given by the user; the port may be given separately. */
function addressIn(text: string, port?: number): { host: string; port: number | null } {
  const given = splitHost(text);
  if (given.port !== null && port !== undefined && given.port !== port)
    throw invalidHost(text, "it gives two different ports");
  return { host: given.host, port: port ?? given.port };
}
