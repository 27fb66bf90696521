/** All devices: finds the one that is meant, tells subscribers what happens to them, and removes them. */
import { textOf, ZapdError } from "../api/errors.ts";
import { allWord, labelPrefix } from "../api/routes.ts";
import type { Device as View } from "../api/schemas.ts";
import type { Discovery } from "../discovery/discover.ts";
import type { Address, Ports } from "../platforms/platform.ts";
import { Adding } from "./adding.ts";
import { refreshApps } from "./commands.ts";
import { Device, type DeviceDependencies } from "./device.ts";
import { Endpoint } from "./endpoint.ts";
import { Feed } from "./feed.ts";
import { Journal, type SnapshotSource } from "./journal.ts";
import { noDevicesHint, removedError } from "./names.ts";
import type { DeviceRecord } from "./record.ts";
import type { RecordChange } from "./registry.ts";
import { isSameAddress } from "./standing.ts";

/** The dependencies of a device that `Devices` itself provides. */
type Provided = "onRemoved" | "endpointOf" | "deviceOf" | "onChange" | "onHint" | "onPairing" | "feed";

export interface DevicesDependencies extends Omit<DeviceDependencies, Provided> {
  discovery(): Pick<Discovery<DeviceRecord>, "scan" | "probe">;
  /** Saves the new name of the default device in the config. */
  nameDefault(name: string): Promise<unknown>;
}

/** A reader of events for which devices are polled. */
interface Subscriber {
  /** The ids of its devices; `null` for all. A device that one of them becomes a part of is added. */
  readonly ids: Set<string> | null;
  /** Ends each subscription, by the device's id. */
  readonly subscriptions: Map<string, () => void>;
}

/** Path segments for which the device is cached. */
const maxCachedSegments = 1_000;

export class Devices {
  readonly #deps: DeviceDependencies & DevicesDependencies;
  readonly #devices = new Map<string, Device>();
  /** By the record's id: records keep their connections when devices are joined or split. */
  readonly #endpoints = new Map<string, Endpoint>();
  readonly adding: Adding;
  /** What happens to the devices, for subscribers. */
  readonly journal = new Journal({ devices: () => this.#shown() });
  readonly #feed = new Feed(this.journal);
  /** What was last published of the registry. */
  #published: {
    readonly records: readonly DeviceRecord[];
    readonly ids: readonly string[];
    readonly defaultId: string | undefined;
  };
  readonly #subscribers = new Set<Subscriber>();
  #closedReason: ZapdError | undefined;
  readonly #stopping = new AbortController();
  /** The devices that path segments mean, until the registry changes. */
  readonly #bySegment = new Map<string, Device>();

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
        const record = deps.registry.deviceOf(recordId);
        this.journal.publish({ type: "pairing.changed", device_id: record?.id ?? recordId, ...progress });
        if (!record || progress.status !== "paired") return;
        // Where only its secret was lost, its record has not changed.
        this.#changed(recordId);
        const device = this.deviceOf(record);
        device.reappeared();
        // Paired, it may list more apps than before. A list that was never read is read once it is asked for.
        if (device.catalog.apps(device.preferredEndpoint("apps").id))
          refreshApps(device, false, this.#stopping.signal, false).catch(() => {});
      },
    };
    deps.leases.connect({
      // Of the live device: the registry no longer knows the name of one that was removed.
      nameOf: (id) => this.#devices.get(id)?.record.name ?? id,
      whenIdle: async (id, turn) => {
        await this.find(id).whenIdle(turn);
        // Meanwhile it may have become a part of another, which is leased by its own id.
        if (deps.registry.deviceOf(id)?.id !== id) throw removedError();
      },
      releaseKey: (id, reason) => this.#devices.get(id)?.heldKey.stop(reason),
      closeConsole: (id) => this.#devices.get(id)?.closeConsole(),
      changed: (device_id, lease, why, owner) => {
        this.journal.publish({ type: "lease.changed", device_id, lease, why, owner });
        this.#changed(device_id);
      },
    });
    this.adding = new Adding(deps, this);
    this.#published = this.#publishable();
    this.#feed.seed(this.describeAll());
    deps.registry.onChange(() => this.#registryChanged());
  }

  /** Polls devices for a subscriber (`null`: all of them), until the function that is returned is called. */
  watchDevices(ids: Set<string> | null): () => void {
    const subscriber: Subscriber = { ids, subscriptions: new Map() };
    this.#subscribers.add(subscriber);
    this.#subscribe(subscriber);
    return () => {
      this.#subscribers.delete(subscriber);
      for (const unsubscribe of subscriber.subscriptions.values()) unsubscribe();
    };
  }

  /** Subscribes to those of its devices that are known now: one that was removed may be added again. */
  #subscribe({ ids, subscriptions }: Subscriber): void {
    for (const record of this.#deps.registry.devices)
      if (ids?.has(record.id) !== false && !subscriptions.has(record.id))
        subscriptions.set(record.id, this.deviceOf(record).watch.subscribe());
  }

  #shown(): SnapshotSource[] {
    const { registry } = this.#deps;
    return registry.devices.map((record) => {
      const { id } = record;
      const show = () => {
        // A long snapshot is made in parts, and meanwhile this one may have been removed, or become a part of another.
        if (registry.deviceOf(id)?.id !== id) return null;
        const device = this.deviceOf(record);
        return { device: device.describe(), state: device.lastState.view };
      };
      return { id, show };
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
    if (!record) return;
    const device = this.deviceOf(record);
    this.#feed.publishDevice(device.describe());
    device.lastState.presenceChanged();
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
    const partOf = new Map(before.records.map(({ id, part_of }) => [id, part_of]));
    const changed = now.records.flatMap((record) => {
      const { id, part_of } = record;
      if (known.has(record)) return [];
      const former = partOf.get(id);
      // What remains of a device that it has left is another, too.
      return former === undefined || former === part_of ? [id] : [id, former];
    });
    if (before.defaultId !== now.defaultId)
      for (const id of [before.defaultId, now.defaultId]) if (id !== undefined) changed.push(id);
    const ids = new Set(now.ids);
    for (const id of before.ids) {
      if (ids.has(id)) continue;
      const whole = registry.deviceOf(id)?.id;
      for (const { ids: followed, subscriptions } of this.#subscribers) {
        subscriptions.get(id)?.();
        subscriptions.delete(id);
        if (whole !== undefined && followed?.has(id)) followed.add(whole);
      }
      this.#deps.leases.drop(id);
      this.#feed.publishRemoval(id, whole);
      if (whole !== undefined) this.#devices.get(id)?.mergedIntoOther();
    }
    for (const id of new Set(changed)) this.#changed(id);
    for (const subscriber of this.#subscribers) this.#subscribe(subscriber);
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

  /** The same; `null` where it means no device, or not one alone. */
  findOrNull(segment: string): Device | null {
    try {
      return this.find(segment);
    } catch {
      return null;
    }
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

  /** The live device that a record belongs to. */
  deviceOf(record: DeviceRecord): Device {
    const { registry } = this.#deps;
    return this.#device([registry.deviceOf(record.id) ?? record]);
  }

  #device(records: readonly [DeviceRecord, ...DeviceRecord[]]): Device {
    const [{ id }] = records;
    const device = this.#devices.get(id) ?? new Device(this.#deps, records);
    this.#devices.set(id, device);
    return device;
  }

  /** The live endpoint of a record. */
  endpointOf(record: DeviceRecord): Endpoint {
    const known = this.#endpoints.get(record.id);
    if (known) return known;
    const endpoint = new Endpoint(this.#deps, record, (...observed) =>
      this.deviceOf(record).lastState.observe(...observed),
    );
    if (this.#closedReason) endpoint.close(this.#closedReason);
    this.#endpoints.set(record.id, endpoint);
    return endpoint;
  }

  /** Every device as the API shows it, in the order of adding. */
  describeAll(): View[] {
    const { registry } = this.#deps;
    return registry.devices.map((record) => this.deviceOf(record).describe());
  }

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

  /** Sets a device's name, ports or labels; the default device stays the default under its new name. */
  async change({ record }: Device, change: RecordChange): Promise<void> {
    const { registry } = this.#deps;
    const names = Object.keys(change.ports ?? {});
    const records = [record, ...registry.recordsOf(record.id)];
    const meant =
      records.find(({ platform }) => names.every((name) => this.#portsOf(platform).includes(name))) ?? record;
    this.checkPorts(meant.platform, change.ports);
    await this.followDefault(record, await registry.change(meant.id, change));
  }

  /** Fails with `invalid_payload` where a platform has no port of a name. */
  checkPorts(platform: string, ports: Ports | undefined): void {
    const known = this.#portsOf(platform);
    const unknown = Object.keys(ports ?? {}).find((name) => !known.includes(name));
    if (unknown === undefined) return;
    throw new ZapdError(
      "invalid_payload",
      `ports: ${JSON.stringify(unknown.slice(0, 64))} is not a port of this platform`,
      { hint: `Its ports are: ${known.join(", ")}` },
    );
  }

  #portsOf(platform: string): readonly string[] {
    const ports = this.#deps.platforms.find((one) => one.name === platform)?.ports ?? {};
    return Object.keys(ports).filter((name) => name !== "control");
  }

  /** Joins two devices at the user's word; where one of them is the default device, the config gets the joined name. */
  async join(one: Device, other: Device): Promise<Device> {
    const { registry } = this.#deps;
    const before = registry.defaultRecord;
    const joined = await registry.join(one.record.id, other.record.id);
    if (before) await this.followDefault(before, joined);
    return this.deviceOf(joined);
  }

  /** Splits a device's record over a platform from it, at the user's word; gives the device that keeps the name. */
  async split({ id }: Device, platform: string): Promise<Device> {
    const { registry, leases } = this.#deps;
    const device = await registry.split(id, platform);
    // Its id has gone with the oldest record, and with it the lease, of whose end the holder must learn.
    if (device.id !== id) leases.drop(id);
    return this.deviceOf(device);
  }

  /**
   * A default device that was renamed stays the default: the config gets its new name. Where that cannot be written, the
   * registry keeps the default by its id, and the rename has been done.
   */
  async followDefault(before: DeviceRecord, after: DeviceRecord): Promise<void> {
    const { registry, config, nameDefault, log } = this.#deps;
    const wanted = config().daemon.default_device;
    const byName = wanted !== "" && !registry.get(wanted.toLowerCase());
    const isDefault = byName && registry.defaultRecord?.id === registry.deviceOf(after.id)?.id;
    if (after.name === before.name || !isDefault) return;
    await nameDefault(after.name).catch((error: unknown) =>
      log.recurring(`Could not save the new name of the default device in the config: ${textOf(error)}`),
    );
  }

  /** Removes a device and all that is kept of it; gives what it was. */
  async remove(device: Device): Promise<View> {
    const { registry, credentials } = this.#deps;
    const view = device.describe();
    // First, so that a failure leaves no secret of a device that is gone.
    const undo = await credentials.forget(device.endpoints.map(({ id }) => id));
    const removed = await registry.remove(device.id).catch(async (error: unknown) => {
      // The caller gets the failure of the removal.
      await undo().catch(() => {});
      throw error;
    });
    await this.deleteKept(removed);
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
      const own = [record, ...records.filter((one) => one.part_of === record.id)] as const;
      const device = this.#device(own);
      views.push(device.describe());
      await device.remove(own);
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
    for (const device of this.#devices.values()) device.heldKey.stop();
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
      { hint: registry.records.length === 0 ? noDevicesHint : "Name a device, or choose a default: zapd default NAME" },
    );
  }
}
