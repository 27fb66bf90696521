/**
 * The devices zapd knows, kept in `devices.json`: an entry for each protocol over which a device is reached, and which of
 * them are one device. Merged by the hardware's identity; nothing is removed but by the user.
 */
import { z } from "zod";
import { ZapdError } from "../api/errors.ts";
import type { BodyOf } from "../api/operations.ts";
import type { Address, Composition, Facts, Sighting } from "../platforms/platform.ts";
import { readRegularFile } from "../system/files.ts";
import { isObject } from "../system/json.ts";
import { uuid } from "../system/schemas.ts";
import type { Availability } from "./endpoint.ts";
import {
  type Discovered,
  type Entry,
  entrySchema,
  idOf,
  isEvictable,
  isSameEntry,
  isUsed,
  type Learned,
  maxDevices,
  maxEntries,
  maxIds,
  newEntry,
  withLearned,
} from "./entry.ts";
import {
  type ChosenDefault,
  type Content,
  firstOf,
  groupsIn,
  joinDevices,
  othersThan,
  partsIn,
  regroup,
  regroupWithLeader,
  splitDevice,
} from "./groups.ts";
import { checkName, type Named, removedError, resolveName } from "./names.ts";
import { firstMet, type Place, type Standing } from "./standing.ts";
import { type Change, Store } from "./store.ts";

const maxBytes = 8 * 1024 * 1024;
/** Characters of a hardware id. */
const maxId = 128;

const chosenSchema: z.ZodType<ChosenDefault> = z.object({ wanted: z.string().min(1).max(4_096), id: uuid });

/** What a change of the registry came to. */
export interface MergeResult {
  readonly entry: Entry;
  readonly isNew: boolean;
  /** Devices that gave way to it. */
  readonly evicted: readonly Entry[];
}

export interface RegistryOptions {
  readonly path: string;
  /** Which platforms go together; without it, only what has a hardware id in common does. */
  readonly composition?: Composition | undefined;
  damaged(problem: string): void;
}

/** What a user changes of a device. */
export type EntryChange = BodyOf<"changeDevice">;

export class Registry {
  readonly #store: Store<Content>;
  /** Which platforms go together, and which comes first. */
  readonly composition: Composition;
  #index: Index | undefined;
  /** What the config calls the default device; `undefined` before it was read. */
  #wanted: string | undefined;
  /** The default device, and what it was found from. */
  #default:
    | { readonly of: Content; readonly wanted: string | undefined; readonly entry: Entry | undefined }
    | undefined;
  /** When a search last met each device, as a count: who was met longest ago gives way first. */
  readonly #met = new Map<string, number>();
  #meetings = 0;

  readonly #listeners = new Set<() => void>();
  #told: { readonly of: Content; readonly wanted: string | undefined } | undefined;

  private constructor(store: Store<Content>, composition: Composition) {
    this.#store = store;
    this.composition = composition;
  }

  /** Tells of every change, once it is on disk, and of another default device. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Opens the file. An entry in it that is damaged is set aside and told of; the others live. */
  static async open(options: RegistryOptions): Promise<Registry> {
    const { path, damaged, composition = alone } = options;
    let bad: readonly unknown[] = [];
    let found: readonly Entry[] = [];
    const parse = (content: unknown): Content => {
      const read = readContent(content);
      bad = read.bad;
      found = bad.length > 0 ? spareFor(path, read) : [];
      return regroup({ ...read.content, devices: [...read.content.devices, ...found] }, composition);
    };
    const store = await Store.open<Content>({
      path,
      damaged,
      parse,
      backup: true,
      maxBytes,
      empty: { devices: [] },
    });
    if (bad.length > 0) {
      const aside = await store.keepAside().catch(() => null);
      damaged(damageOf(path, bad, found.length === bad.length, aside));
    }
    return new Registry(store, composition);
  }

  /** Every entry, in the order of adding: a device over one protocol. */
  get entries(): readonly Entry[] {
    return this.#store.value.devices;
  }

  /** Every device, in the order of adding, by its oldest entry. */
  get devices(): readonly Entry[] {
    return this.#indexed.devices;
  }

  get(id: string): Entry | undefined {
    return this.#indexed.byId.get(id);
  }

  /** The device that an entry is a part of, by its oldest entry: the id of each of its entries means it. */
  deviceOf(id: string): Entry | undefined {
    const entry = this.get(id);
    return entry?.part_of === undefined ? entry : (this.get(entry.part_of) ?? entry);
  }

  /** The entries of a device, the oldest first; none where it is not known. */
  partsOf(id: string): readonly Entry[] {
    const device = this.deviceOf(id);
    return device ? (this.#indexed.parts.get(device.id) ?? [device]) : [];
  }

  /** The device that a path segment means; `null` means the default device. Fails with `device_not_found` and its like. */
  resolve(segment: string): Entry | null {
    return resolveName(segment, this.devices, (id) => this.deviceOf(id));
  }

  get #indexed(): Index {
    const { entries } = this;
    if (this.#index?.of !== entries) this.#index = indexOf(entries);
    return this.#index;
  }

  /**
   * The device that a sighting is of: by its identity; or, where one of the two identities only stands for the
   * hardware's own, by its address.
   */
  find(platform: string, sighting: Sighting, address: Address): Entry | undefined {
    return findIn(this.entries, platform, sighting, address);
  }

  /** Adds a device, or brings what is known of it up to date; on disk when it returns. */
  async merge(found: Discovered): Promise<MergeResult> {
    const metAt = (id: string) => this.#met.get(id) ?? 0;
    const result = await this.#update((content) => mergeInto(content, found, metAt, this.composition));
    for (const { id } of result.evicted) this.#met.delete(id);
    this.markFound(result.entry.id);
    // Under the name, and as the part, that it was found to have.
    return { ...result, entry: this.get(result.entry.id) ?? result.entry };
  }

  /** A search has met a device that is known: it does not give way to others that the same one brings. */
  markFound(id: string): void {
    this.#met.set(id, ++this.#meetings);
  }

  /** Brings up to date what was learned of a device on the way; the address stays. */
  async learn(id: string, learned: Learned): Promise<void> {
    await this.#changeEntry(id, (entry, content) => withLearned(entry, learned, namesIn(content, entry)));
  }

  /** Renames the device of an entry, or sets the entry's ports. */
  async change(id: string, change: EntryChange): Promise<Entry> {
    const changed = await this.#update((content) => {
      const entry = known(content, id);
      const ports = { ...entry.ports, ...change.ports };
      const used: Entry = { ...entry, used: true, ports };
      const next = labelled(replace(content, entry, used), used, change.labels);
      if (change.name === undefined) return { next, result: used };
      const device = known(next, entry.part_of ?? id);
      const named: Entry = { ...device, name: checkName(change.name, othersThan(device.id, next)), named_by: "user" };
      return { next: replace(next, device, named), result: named };
    });
    return this.get(id) ?? changed;
  }

  /**
   * The user says that two devices are one: it keeps the older one's id, and the name that the user gave the first, or else the
   * second, or else the name of the first. Fails with `invalid_payload` where both are reached over one platform already.
   */
  async join(id: string, withId: string): Promise<Entry> {
    const older = await this.#update((content) => joinDevices(content, known(content, id), known(content, withId)));
    return this.deviceOf(older.id) ?? older;
  }

  /**
   * The user says that what reaches a device over a platform is a device of its own; the rest keeps the name. Fails with
   * `invalid_payload` where there is nothing to split.
   */
  async split(id: string, platform: string): Promise<{ device: Entry; apart: Entry }> {
    const { device, apart } = await this.#update((content) => splitDevice(content, known(content, id), platform));
    return { device: this.deviceOf(device.id) ?? device, apart: this.get(apart.id) ?? apart };
  }

  /** Says anew how a device stands; with a place, also where it is. Fails with `device_not_found` when it is gone. */
  setStanding(id: string, change: (entry: Entry) => Standing | Place): Promise<Entry> {
    return this.#update((content) => {
      const entry = known(content, id);
      const made = change(entry);
      const place = "standing" in made ? made : { host: entry.host, port: entry.port, standing: made };
      const result = placed(entry, place);
      return { next: replace(content, entry, result), result };
    });
  }

  /** Somebody drives a device: it never gives way any more. Written once. */
  async markUsed(id: string): Promise<void> {
    const entry = this.get(id);
    if (!entry || isUsed(entry)) return;
    await this.#changeEntry(id, (now) => ({ ...now, used: true }));
  }

  /** The name that the config has for the default device. The device that it means stays the default, even under another name, until this changes. */
  async setDefaultName(wanted: string): Promise<void> {
    if (this.#wanted === wanted) return;
    this.#wanted = wanted;
    this.#tell();
    await this.#update((content) => ({ next: content, result: undefined }));
  }

  /** The user has said what the default device is called: the name is looked up anew, though it be the same. */
  async resetDefault(): Promise<void> {
    await this.#update(({ devices }) => ({ next: { devices }, result: undefined }));
  }

  /** The device that the config's name stands for; the only one there is, when it names none. */
  get defaultEntry(): Entry | undefined {
    const content = this.#store.value;
    const wanted = this.#wanted;
    if (this.#default?.of === content && this.#default.wanted === wanted) return this.#default.entry;
    const { devices } = this;
    const chosen = content.default;
    const meant = () =>
      chosen && chosen.wanted === wanted ? this.deviceOf(chosen.id) : meantBy(wanted ?? "", content);
    const entry = wanted ? meant() : devices.length === 1 ? devices[0] : undefined;
    this.#default = { of: content, wanted, entry };
    return entry;
  }

  /** Waits for what is being written. */
  settled(): Promise<void> {
    return this.#store.settled();
  }

  /** Removes a device with all its entries; answers with them. */
  remove(id: string): Promise<readonly Entry[]> {
    return this.#removeAll((content) => partsIn(content, known(content, id)));
  }

  /** Removes every device that a scan found and nobody has used. */
  removeUnused(): Promise<readonly Entry[]> {
    return this.#removeAll((content) => groupsIn(content).filter(allGiveWay).flat());
  }

  async #removeAll(which: (content: Content) => readonly Entry[]): Promise<readonly Entry[]> {
    const removed = await this.#update((content) => {
      const result = which(content);
      const devices = content.devices.filter((entry) => !result.includes(entry));
      return { next: result.length === 0 ? content : { ...content, devices }, result };
    });
    for (const { id } of removed) this.#met.delete(id);
    return removed;
  }

  /** Writes when each device was last seen, and what it said of its power, as far as that is known. */
  async saveAvailability(
    contactOf: (id: string) => Pick<Availability, "last_seen" | "power"> | undefined,
  ): Promise<void> {
    await this.#update((content) => {
      const devices = content.devices.map((entry) => {
        const availability = contactOf(entry.id);
        if (!availability) return entry;
        const { last_seen, power: last_power } = availability;
        const same = last_seen === entry.last_seen && last_power === (entry.last_power ?? null);
        return same ? entry : { ...entry, last_seen, last_power };
      });
      return {
        next: devices.every((entry, at) => entry === content.devices[at]) ? content : { ...content, devices },
        result: undefined,
      };
    });
  }

  /** Changes an entry, where it is still known. */
  async #changeEntry(id: string, change: (entry: Entry, content: Content) => Entry): Promise<void> {
    await this.#update((content) => {
      const entry = content.devices.find((device) => device.id === id);
      return { next: entry ? replace(content, entry, change(entry, content)) : content, result: undefined };
    });
  }

  /**
   * A change, after which it is judged which entries are one device now, and the name of the default device is looked up where
   * that has not been done.
   */
  async #update<R>(change: (content: Content) => Change<Content, R>): Promise<R> {
    const result = await this.#store.update((content) => {
      const before = withDefault(content, this.#wanted);
      const { next, result } = change(before);
      const judged = next.devices === before.devices ? next : regroup(next, this.composition);
      return { next: withDefault(judged, this.#wanted), result };
    });
    this.#tell();
    return result;
  }

  /** Tells the listeners, where anything has changed since they were told last. */
  #tell(): void {
    const of = this.#store.value;
    const wanted = this.#wanted;
    if (this.#told?.of === of && this.#told.wanted === wanted) return;
    this.#told = { of, wanted };
    for (const listener of this.#listeners) listener();
  }
}

/** What the entries are found by. */
interface Index {
  readonly of: readonly Entry[];
  readonly byId: ReadonlyMap<string, Entry>;
  readonly devices: readonly Entry[];
  /** The entries of devices that have more than one, by the device's id. */
  readonly parts: ReadonlyMap<string, readonly Entry[]>;
}

function indexOf(entries: readonly Entry[]): Index {
  const byId = new Map(entries.map((one) => [one.id, one]));
  const groups = groupsIn({ devices: entries });
  const parts = new Map(groups.filter((group) => group.length > 1).map((group) => [firstOf(group).id, group]));
  return { of: entries, byId, devices: groups.map(firstOf), parts };
}

/** Where no platforms are told to go together. */
const alone: Composition = { pairs: [], leading: [], preferred: {} };

/** What a file holds: its sound entries, each id once, and the damaged ones. Throws when it holds no devices at all. */
function readContent(content: unknown): { content: Content; bad: unknown[] } {
  const devices = isObject(content) ? content["devices"] : null;
  if (!isObject(content) || !Array.isArray(devices)) throw new Error("it does not hold devices as zapd writes them");
  const ids = new Set<string>();
  const bad: unknown[] = [];
  const sound = devices.flatMap((one) => {
    const { data: entry } = entrySchema.safeParse(one);
    if (!entry || ids.has(entry.id)) {
      bad.push(one);
      return [];
    }
    ids.add(entry.id);
    return [entry];
  });
  // Nothing of it can be read: what was there before its last change is worth more.
  if (bad.length > 0 && sound.length === 0) throw new Error("it does not hold devices as zapd writes them");
  const { data: chosen } = chosenSchema.safeParse(content["default"]);
  return { content: chosen ? { devices: sound, default: chosen } : { devices: sound }, bad };
}

/** What the backup of a file knows of the entries that are damaged in it. */
function spareFor(path: string, { content, bad }: ReturnType<typeof readContent>): readonly Entry[] {
  let spare: readonly Entry[];
  try {
    spare = readContent(JSON.parse(readRegularFile(`${path}.bak`, maxBytes) ?? "")).content.devices;
  } catch {
    return [];
  }
  const isMissing = ({ id }: Entry) => content.devices.every((one) => one.id !== id);
  const found = bad.flatMap((one) => spare.find((entry) => isMissing(entry) && isOf(one, entry)) ?? []);
  return [...new Set(found)];
}

/** Whether a damaged entry is of a device: something that tells the device from others is intact in it. */
function isOf(damaged: unknown, entry: Entry): boolean {
  if (!isObject(damaged)) return false;
  const isSame = (...keys: readonly (keyof Entry)[]) => keys.every((key) => damaged[key] === entry[key]);
  return isSame("id") || isSame("platform", "identity") || isSame("name", "added_at");
}

/** What was damaged, where it is kept, and what zapd goes on with, in words. */
function damageOf(path: string, bad: readonly unknown[], isMended: boolean, aside: string | null): string {
  const named = (one: unknown) =>
    isObject(one) && typeof one["name"] === "string" ? one["name"].slice(0, 128) : "one without a name";
  const what = bad.length === 1 ? "a device that is damaged" : `${bad.length} devices that are damaged`;
  const kept = aside ? `The file is kept as ${aside}` : "The file could not be kept aside";
  const instead = isMended ? "with what it knew of them before" : "with the others";
  return `${path} holds ${what}: ${bad.slice(0, 8).map(named).join(", ")}. ${kept}; zapd goes on ${instead}`;
}

/** The device that a name or an id means, or none. */
function meantBy(wanted: string, content: Content): Entry | undefined {
  const { devices } = content;
  const byId = (id: string) => devices.find((entry) => entry.id === id);
  try {
    return resolveName(wanted, othersThan("", content), byId) ?? undefined;
  } catch {
    return undefined;
  }
}

/**
 * Which device is the default one, found once for each name in the config; and again when it has been forgotten, for the name
 * may be given to another. Until it is, one that is added anew is the default still.
 */
function withDefault(content: Content, wanted: string | undefined): Content {
  if (wanted === undefined) return content;
  const { devices, default: chosen } = content;
  const isSame = chosen?.wanted === wanted;
  if (isSame && devices.some(({ id }) => id === chosen.id)) return content;
  const meant = wanted === "" ? undefined : meantBy(wanted, content);
  if (!meant) return chosen && !isSame ? { devices } : content;
  return { ...replace({ devices }, meant, { ...meant, used: true }), default: { wanted, id: meant.id } };
}

/**
 * The names that are taken for an entry: those of other devices than its own, and the one in the config, which belongs to the
 * default device.
 */
function namesIn(content: Content, { id, part_of }: Pick<Entry, "id" | "part_of">): readonly Named[] {
  const own = part_of ?? id;
  const chosen = content.default;
  const default_ = chosen && content.devices.find((entry) => entry.id === chosen.id);
  const isOwn = default_ && (default_.part_of ?? default_.id) === own;
  const devices = othersThan(own, content);
  return chosen && !isOwn ? [...devices, { id: chosen.id, name: chosen.wanted }] : devices;
}

function placed(entry: Entry, { host, port, standing }: Place): Entry {
  const { standing: _before, ...rest } = entry;
  const isPlain = JSON.stringify(standing) === JSON.stringify(firstMet);
  return isPlain ? { ...rest, host, port } : { ...rest, host, port, standing };
}

function known(content: Content, id: string): Entry {
  const entry = content.devices.find((device) => device.id === id);
  if (!entry) throw removedError();
  return entry;
}

/** The hardware's own identity takes the place of one that stood for it; never the other way round. */
function withIdentity(entry: Entry, { identity, provisional }: Sighting): Entry {
  if (provisional) return entry.identity === identity ? { ...entry, provisional } : entry;
  if (!entry.provisional && entry.identity === identity) return entry;
  const { provisional: _stood, ...own } = entry;
  return { ...own, identity };
}

/** The ids by which it may be one device with other entries; on probation those of before stay. */
function withHardwareIds(entry: Entry, { ids = [], alone }: Sighting): Entry {
  if (entry.standing?.probation) return entry;
  const judged = alone === entry.alone ? entry : { ...entry, alone };
  return ids.length === 0
    ? judged
    : { ...judged, hardware_ids: ids.filter((id) => id.length <= maxId).slice(0, maxIds) };
}

function replace(content: Content, entry: Entry, next: Entry): Content {
  if (isSameEntry(entry, next)) return content;
  return { ...content, devices: content.devices.map((device) => (device === entry ? next : device)) };
}

function findIn(
  devices: readonly Entry[],
  platform: string,
  sighting: Sighting,
  { host, port }: Address,
): Entry | undefined {
  const own = devices.filter((device) => device.platform === platform);
  const mayBe = (device: Entry) => (sighting.provisional || device.provisional) && !contradicts(device, sighting.facts);
  return (
    own.find((device) => device.identity === sighting.identity) ??
    own.find((device) => mayBe(device) && device.host === host && device.port === port)
  );
}

/** Whether what answers cannot be a device that did not say who it is: it has other hardware. */
function contradicts(entry: Entry, { serial, macs }: Facts): boolean {
  if (serial !== null && entry.serial !== null && serial !== entry.serial) return true;
  return macs.length > 0 && entry.macs.length > 0 && !macs.some((mac) => entry.macs.includes(mac));
}

function mergeInto(
  content: Content,
  found: Discovered,
  metAt: (id: string) => number,
  composition: Composition,
): Change<Content, MergeResult> {
  const { platform, sighting, place } = found;
  const before =
    content.devices.find((device) => device.id === place?.from.id) ??
    findIn(content.devices, platform, sighting, found.address);
  const id = before?.id ?? idOf(platform, sighting.identity);
  const given = found.name === undefined ? null : checkName(found.name, othersThan(before?.part_of ?? id, content));
  const names = namesIn(content, before ?? { id });
  // What was decided of its place holds only where nothing else has been decided meanwhile.
  const to = before && place && isSamePlace(before, place.from) ? place.to : undefined;
  const isStale = place !== undefined && to === undefined;
  const base = before ? (to ? placed(before, to) : before) : newEntry(names, id, found);
  const learned = withHardwareIds(withIdentity(withLearned(base, sighting, names), sighting), sighting);
  const ports = { ...learned.ports, ...found.ports };
  const named = given === null ? learned : { ...learned, name: given, named_by: "user" as const };
  const by = found.by === "user" ? { ...named, added_by: found.by } : named;
  const { host, port } = before && (to || isStale) ? base : found.address;
  const entry: Entry = { ...by, host, port, ports };
  if (!before) return seated(content, entry, found, metAt, composition);
  const next = replace(content, before, entry);
  // A name that the user gives with a part is its device's.
  const device = given === null ? undefined : next.devices.find((one) => one.id === before.part_of);
  const renamed = device && given !== null ? replace(next, device, { ...device, name: given, named_by: "user" }) : next;
  return { next: renamed, result: { entry, isNew: false, evicted: [] } };
}

/** A device with other labels, which its oldest entry keeps for all of it. */
function labelled(content: Content, of: Entry, labels: readonly string[] | undefined): Content {
  if (labels === undefined) return content;
  const parts = partsIn(content, of);
  const kept = labels.length === 0 ? undefined : [...new Set(labels)].toSorted();
  const first = firstOf(parts);
  const devices = content.devices.map((entry) =>
    parts.includes(entry) ? { ...entry, labels: entry === first ? kept : undefined } : entry,
  );
  return { ...content, devices };
}

function isSamePlace(one: Entry, other: Entry): boolean {
  const shown = ({ host, port, standing }: Entry) => JSON.stringify([host, port, standing ?? null]);
  return shown(one) === shown(other);
}

/**
 * A new entry, with room for it: a device that a scan found and nobody has used gives way, the one met longest ago, or the
 * one that is named. What joins a device that is known needs no room of its own among the devices.
 */
function seated(
  content: Content,
  entry: Entry,
  { evicts, scanStartedAt }: Pick<Discovered, "evicts" | "scanStartedAt">,
  metAt: (id: string) => number,
  composition: Composition,
): Change<Content, MergeResult> {
  const next = regroupWithLeader(
    { ...content, devices: [...content.devices, entry] },
    entry,
    scanStartedAt,
    composition,
  );
  const groups = groupsIn(next);
  const isOwn = (group: readonly Entry[]) => group.some(({ id }) => id === entry.id);
  const mayGo = groups.filter((group) => !isOwn(group) && allGiveWay(group));
  const lastMet = (group: readonly Entry[]) => Math.max(...group.map(({ id }) => metAt(id)));
  const isFull = groups.length > maxDevices || next.devices.length > maxEntries;
  const named = mayGo.find((group) => group.some(({ id }) => id === evicts));
  const gone =
    named ??
    (isFull
      ? mayGo.reduce<readonly Entry[] | undefined>(
          (first, one) => (first && lastMet(first) <= lastMet(one) ? first : one),
          undefined,
        )
      : undefined);
  if (isFull && !gone)
    throw new ZapdError("storage_error", `The registry is full: it holds ${maxDevices} devices`, {
      hint: "Remove devices that you do not use: zapd forget NAME",
    });
  const devices = gone ? next.devices.filter((one) => !gone.includes(one)) : next.devices;
  return { next: { ...next, devices }, result: { entry, isNew: true, evicted: gone ?? [] } };
}

/** Whether a device may give way to a new one: each of its entries may. */
function allGiveWay(group: readonly Entry[]): boolean {
  return group.every(isEvictable);
}
