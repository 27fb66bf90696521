/**
 * The known devices, kept in `devices.json`: one record for each protocol over which a device is reached, and which records are
 * one device. Found devices are merged by the identity of their hardware; only the user removes one.
 */
import type { BodyOf } from "../api/operations.ts";
import type { Address, Composition, Sighting } from "../platforms/platform.ts";
import { tryOr } from "../system/try-or.ts";
import { type DevicesFileOptions, openDevicesFile } from "./devices-file.ts";
import {
  type Content,
  firstOf,
  groupsIn,
  joinDevices,
  othersThan,
  recordIn,
  recordsOf,
  regroup,
  replaceRecord,
  splitDevice,
  takenNames,
} from "./groups.ts";
import { findIn, type MergeResult, mergeInto } from "./merge.ts";
import { checkName, resolveName } from "./names.ts";
import type { Availability } from "./presence.ts";
import {
  type DeviceRecord,
  type Discovered,
  isEvictable,
  type Learned,
  maxRecords,
  withLearned,
  withPlace,
} from "./record.ts";
import type { Place, Standing } from "./standing.ts";
import type { Change, Store } from "./store.ts";

/** What a user changes of a device. */
export type RecordChange = BodyOf<"changeDevice">;

export class Registry {
  readonly #store: Store<Content>;
  readonly composition: Composition;
  #index: Index | undefined;
  /** The name of the default device in the config; `undefined` before the config was read. */
  #wanted: string | undefined;
  /** The default device, and the content and name from which it follows. */
  #default:
    | { readonly content: Content; readonly wanted: string | undefined; readonly record: DeviceRecord | undefined }
    | undefined;
  /** The order in which scans last found each device: the one found longest ago is evicted first. */
  readonly #lastFound = new Map<string, number>();
  #findings = 0;
  /** When devices were removed (`performance.now()`), by platform and identity: the latest of them. */
  readonly #removedAt = new Map<string, number>();

  readonly #listeners = new Set<() => void>();
  /** What the listeners know. */
  #notified: { readonly content: Content; readonly wanted: string | undefined } | undefined;

  private constructor(store: Store<Content>, composition: Composition) {
    this.#store = store;
    this.composition = composition;
  }

  /** Calls `listener` after every change, once it is on disk, and when another device becomes the default. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  static async open({ composition = noComposition, ...file }: DevicesFileOptions): Promise<Registry> {
    return new Registry(await openDevicesFile(file, composition), composition);
  }

  /** Every record, in the order of adding. */
  get records(): readonly DeviceRecord[] {
    return this.#store.value.devices;
  }

  /** Every device, in the order of adding, by its oldest record. */
  get devices(): readonly DeviceRecord[] {
    return this.#indexed.devices;
  }

  get(id: string): DeviceRecord | undefined {
    return this.#indexed.byId.get(id);
  }

  /** The oldest record of the device that a record belongs to. */
  deviceOf(id: string): DeviceRecord | undefined {
    return this.get(this.get(id)?.part_of ?? id);
  }

  /** The records of a device, the oldest first; none where it is not known. */
  recordsOf(id: string): readonly DeviceRecord[] {
    return this.#indexed.recordsOf.get(this.deviceOf(id)?.id ?? id) ?? [];
  }

  /** The device that a path segment means; `null` means the default device. Fails with `device_not_found` and its like. */
  resolve(segment: string): DeviceRecord | null {
    return resolveName(segment, this.devices, (id) => this.deviceOf(id));
  }

  get #indexed(): Index {
    const { records } = this;
    if (this.#index?.records !== records) this.#index = indexOf(records);
    return this.#index;
  }

  /** The record of a sighting: by its identity, or by its address where one of the two identities is provisional. */
  find(platform: string, sighting: Sighting, address: Address): DeviceRecord | undefined {
    return findIn(this.records, platform, sighting, address);
  }

  /** Adds a device, or updates the one that is known; on disk when it returns. */
  async merge(found: Discovered): Promise<MergeResult> {
    const lastFound = (id: string) => this.#lastFound.get(id) ?? 0;
    const result = await this.#update((content) => mergeInto(content, found, lastFound, this.composition));
    for (const { id } of result.evicted) this.#lastFound.delete(id);
    this.markFound(result.record.id);
    // The update may have given it another name, or made it a part of another device.
    return { ...result, record: this.get(result.record.id) ?? result.record };
  }

  /** A scan has found a known device: that scan's new devices do not evict it. */
  markFound(id: string): void {
    this.#lastFound.set(id, ++this.#findings);
  }

  /** When a device was last removed (`performance.now()`): a scan that saw it before then does not add it again. */
  removedAt(platform: string, identity: string): number {
    return this.#removedAt.get(`${platform} ${identity}`) ?? Number.NEGATIVE_INFINITY;
  }

  /** Saves what a connection learned of a device; the address stays. */
  async learn(id: string, learned: Learned): Promise<void> {
    await this.#changeRecord(id, (record, content) => withLearned(record, learned, takenNames(content, record)));
  }

  /** Renames the device of a record, sets its labels, or sets the record's ports. */
  async change(id: string, change: RecordChange): Promise<DeviceRecord> {
    const changed = await this.#update((content) => {
      const record = recordIn(content, id);
      const ports = { ...record.ports, ...change.ports };
      const used: DeviceRecord = { ...record, used: true, ports };
      const next = withLabels(replaceRecord(content, record, used), used, change.labels);
      if (change.name === undefined) return { next, result: used };
      const device = recordIn(next, record.part_of ?? id);
      const named: DeviceRecord = {
        ...device,
        name: checkName(change.name, othersThan(device.id, next)),
        named_by: "user",
      };
      return { next: replaceRecord(next, device, named), result: named };
    });
    return this.get(id) ?? changed;
  }

  /**
   * Joins two devices at the user's word. The device keeps the older one's id, and the name that the user gave the first, or
   * the second, or else the first one's own. Fails with `invalid_payload` where both have an endpoint over one platform.
   */
  async join(id: string, withId: string): Promise<DeviceRecord> {
    const older = await this.#update((content) =>
      joinDevices(content, recordIn(content, id), recordIn(content, withId)),
    );
    return this.deviceOf(older.id) ?? older;
  }

  /**
   * Makes a device's record over a platform a device of its own, at the user's word; the rest keeps the name. Fails with
   * `invalid_payload` where there is nothing to split.
   */
  async split(id: string, platform: string): Promise<DeviceRecord> {
    const device = await this.#update((content) => splitDevice(content, recordIn(content, id), platform));
    return this.deviceOf(device.id) ?? device;
  }

  /** Changes how far a record is trusted, and with a place also where it is. Fails with `device_not_found`. */
  setStanding(id: string, change: (record: DeviceRecord) => Standing | Place): Promise<DeviceRecord> {
    return this.#update((content) => {
      const record = recordIn(content, id);
      const changed = change(record);
      const place = "standing" in changed ? changed : { host: record.host, port: record.port, standing: changed };
      const result = withPlace(record, place);
      return { next: replaceRecord(content, record, result), result };
    });
  }

  /** Marks a device as used: no record of it is ever evicted, also where one becomes a device of its own. */
  async markUsed(id: string): Promise<void> {
    await this.#update((content) => {
      const record = content.devices.find((one) => one.id === id);
      const unused = record ? recordsOf(content, record).filter(({ used }) => used === false) : [];
      const devices = content.devices.map((one) => (unused.includes(one) ? { ...one, used: true } : one));
      return { next: unused.length === 0 ? content : { ...content, devices }, result: undefined };
    });
  }

  /** Sets the default device by its name in the config. It stays the default under another name, until this changes. */
  async setDefaultName(wanted: string): Promise<void> {
    this.#wanted = wanted;
    this.#notify();
    await this.#update((content) => ({ next: content, result: undefined }));
  }

  /** The user sets the default device again: its name is looked up again, even if it is the same. Gives what undoes this. */
  async resetDefault(): Promise<() => Promise<void>> {
    const former = this.#store.value.default;
    const set = (chosen: Content["default"]) =>
      this.#update(({ devices }) => ({ next: { devices, default: chosen }, result: undefined }));
    await set(undefined);
    return () => set(former);
  }

  /** The device that the config names; where it names none, the only device there is. */
  get defaultRecord(): DeviceRecord | undefined {
    const content = this.#store.value;
    const wanted = this.#wanted;
    if (this.#default?.content === content && this.#default.wanted === wanted) return this.#default.record;
    const { devices } = this;
    const chosen = content.default;
    let record = devices.length === 1 ? devices[0] : undefined;
    if (wanted) record = chosen?.wanted === wanted ? this.deviceOf(chosen.id) : findByName(wanted, content);
    this.#default = { content, wanted, record };
    return record;
  }

  settled(): Promise<void> {
    return this.#store.settled();
  }

  /** Removes a device; gives its records. */
  remove(id: string): Promise<readonly DeviceRecord[]> {
    return this.#removeAll((content) => recordsOf(content, recordIn(content, id)));
  }

  /** Removes every device that a scan found and nobody has used. */
  removeUnused(): Promise<readonly DeviceRecord[]> {
    return this.#removeAll((content) => groupsIn(content).flatMap((group) => (group.every(isEvictable) ? group : [])));
  }

  async #removeAll(which: (content: Content) => readonly DeviceRecord[]): Promise<readonly DeviceRecord[]> {
    const removed = await this.#update((content) => {
      const result = which(content);
      for (const { platform, identity } of result) this.#removedAt.set(`${platform} ${identity}`, performance.now());
      for (const key of [...this.#removedAt.keys()].slice(0, -maxRecords)) this.#removedAt.delete(key);
      const devices = content.devices.filter((record) => !result.includes(record));
      return { next: result.length === 0 ? content : { ...content, devices }, result };
    });
    for (const { id } of removed) this.#lastFound.delete(id);
    return removed;
  }

  /** Saves when each device was last seen, and what it said of its power, as far as that is known. */
  async saveAvailability(
    availabilityOf: (id: string) => Pick<Availability, "last_seen" | "power"> | undefined,
  ): Promise<void> {
    await this.#update((content) => {
      const devices = content.devices.map((record) => {
        const availability = availabilityOf(record.id);
        if (!availability) return record;
        const { last_seen, power: last_power } = availability;
        const same = last_seen === record.last_seen && last_power === (record.last_power ?? null);
        return same ? record : { ...record, last_seen, last_power };
      });
      return {
        next: devices.every((record, at) => record === content.devices[at]) ? content : { ...content, devices },
        result: undefined,
      };
    });
  }

  /** Changes a record that is still known. */
  async #changeRecord(id: string, change: (record: DeviceRecord, content: Content) => DeviceRecord): Promise<void> {
    await this.#update((content) => {
      const record = content.devices.find((device) => device.id === id);
      return { next: record ? replaceRecord(content, record, change(record, content)) : content, result: undefined };
    });
  }

  /** Makes a change; then regroups the records into devices, and looks up the default device where that is open. */
  async #update<R>(change: (content: Content) => Change<Content, R>): Promise<R> {
    const result = await this.#store.update((content) => {
      const { next, result } = change(withDefault(content, this.#wanted));
      return { next: withDefault(regroup(next, this.composition), this.#wanted), result };
    });
    this.#notify();
    return result;
  }

  /** Calls the listeners, where anything has changed since the last time. */
  #notify(): void {
    const content = this.#store.value;
    const wanted = this.#wanted;
    if (this.#notified?.content === content && this.#notified.wanted === wanted) return;
    this.#notified = { content, wanted };
    for (const listener of this.#listeners) listener();
  }
}

interface Index {
  readonly records: readonly DeviceRecord[];
  readonly byId: ReadonlyMap<string, DeviceRecord>;
  readonly devices: readonly DeviceRecord[];
  /** By the id of the device. */
  readonly recordsOf: ReadonlyMap<string, readonly DeviceRecord[]>;
}

function indexOf(records: readonly DeviceRecord[]): Index {
  const byId = new Map(records.map((one) => [one.id, one]));
  const groups = groupsIn({ devices: records });
  const recordsOf = new Map(groups.map((group) => [group[0].id, group]));
  return { records, byId, devices: groups.map(([device]) => device), recordsOf };
}

const noComposition: Composition = { pairs: [], leading: [], preferred: {} };

/** The device that a name or an id means, if any. */
function findByName(wanted: string, content: Content): DeviceRecord | undefined {
  const { devices } = content;
  const byId = (id: string) => devices.find((record) => record.id === id);
  return tryOr(() => resolveName(wanted, othersThan("", content), byId) ?? undefined, undefined);
}

/**
 * Looks up the default device once for each name in the config, and again after that device was removed, since another may
 * have the name. Until another has it, the removed device is the default again when it is added again.
 */
function withDefault(content: Content, wanted: string | undefined): Content {
  if (wanted === undefined) return content;
  const { devices, default: chosen } = content;
  const isSame = chosen?.wanted === wanted;
  if (isSame && devices.some(({ id }) => id === chosen.id)) return content;
  const record = wanted === "" ? undefined : findByName(wanted, content);
  if (!record) return chosen && !isSame ? { devices } : content;
  return { ...replaceRecord({ devices }, record, { ...record, used: true }), default: { wanted, id: record.id } };
}

/** Sets a device's labels, which its oldest record keeps. */
function withLabels(content: Content, of: DeviceRecord, labels: readonly string[] | undefined): Content {
  if (labels === undefined) return content;
  const records = recordsOf(content, of);
  const kept = labels.length === 0 ? undefined : [...new Set(labels)].toSorted();
  const first = firstOf(records);
  const devices = content.devices.map((record) =>
    records.includes(record) ? { ...record, labels: record === first ? kept : undefined } : record,
  );
  return { ...content, devices };
}
