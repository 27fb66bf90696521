/** The devices zapd knows, kept in `devices.json`. Merged by the hardware's identity; nothing is removed but by the user. */
import { z } from "zod";
import { ZapdError } from "../api/errors.ts";
import type { Address, Facts, Ports, Sighting } from "../platforms/platform.ts";
import { readRegular } from "../system/files.ts";
import { isObject } from "../system/json.ts";
import { uuid } from "../system/schemas.ts";
import {
  type Discovered,
  type Entry,
  entrySchema,
  givesWay,
  idOf,
  isUsed,
  maxDevices,
  newEntry,
  same,
  type Told,
  withTold,
} from "./entry.ts";
import { checkName, type Named, resolveName } from "./names.ts";
import type { Contact } from "./reach.ts";
import { firstMet, type Place, type Standing } from "./standing.ts";
import { type Change, Store } from "./store.ts";

const maxBytes = 8 * 1024 * 1024;

/** The device that a name in the config was found to mean. */
interface Chosen {
  /** The name, or the id, as the config has it. */
  readonly wanted: string;
  readonly id: string;
}

interface Content {
  readonly devices: readonly Entry[];
  /** The default device, once its name has been found to mean one: a name may pass to another. */
  readonly default?: Chosen | undefined;
}

const chosenSchema: z.ZodType<Chosen> = z.object({ wanted: z.string().min(1).max(4_096), id: uuid });

/** What a change of the registry came to. */
export interface Merged {
  readonly entry: Entry;
  readonly added: boolean;
  /** Devices that gave way to it. */
  readonly gone: readonly Entry[];
}

export interface RegistryOptions {
  readonly path: string;
  damaged(problem: string): void;
}

export class Registry {
  readonly #store: Store<Content>;
  /** The devices by their ids, and which devices those are. */
  #index: { readonly of: readonly Entry[]; readonly byId: ReadonlyMap<string, Entry> } | undefined;
  /** What the config calls the default device; `undefined` before it was read. */
  #wanted: string | undefined;
  /** The default device, and what it was found from. */
  #default:
    | { readonly of: Content; readonly wanted: string | undefined; readonly entry: Entry | undefined }
    | undefined;
  /** When a search last met each device, as a count: who was met longest ago gives way first. */
  readonly #met = new Map<string, number>();
  #meetings = 0;
  /** Devices whose use is being written down. */
  readonly #using = new Set<string>();

  private constructor(store: Store<Content>) {
    this.#store = store;
  }

  /** Opens the file. An entry in it that is damaged is set aside and told of; the others live. */
  static async open(options: RegistryOptions): Promise<Registry> {
    const { path, damaged } = options;
    let bad: readonly unknown[] = [];
    let found: readonly Entry[] = [];
    const parse = (content: unknown): Content => {
      const read = readContent(content);
      bad = read.bad;
      found = bad.length > 0 ? spareFor(path, read) : [];
      return found.length > 0 ? { ...read.content, devices: [...read.content.devices, ...found] } : read.content;
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
    return new Registry(store);
  }

  /** Every device, in the order of adding. */
  get entries(): readonly Entry[] {
    return this.#store.value.devices;
  }

  get(id: string): Entry | undefined {
    const { entries } = this;
    if (this.#index?.of !== entries) this.#index = { of: entries, byId: new Map(entries.map((one) => [one.id, one])) };
    return this.#index.byId.get(id);
  }

  /**
   * The device that a sighting is of: by its identity; or, where one of the two identities only stands for the
   * hardware's own, by its address.
   */
  find(platform: string, sighting: Sighting, address: Address): Entry | undefined {
    return findIn(this.entries, platform, sighting, address);
  }

  /** Adds a device, or brings what is known of it up to date; on disk when it returns. */
  async merge(found: Discovered): Promise<Merged> {
    const result = await this.#update((content) => mergeInto(content, found, (id) => this.#met.get(id) ?? 0));
    for (const { id } of result.gone) this.#met.delete(id);
    this.meet(result.entry.id);
    return result;
  }

  /** A search has met a device that is known: it does not give way to others that the same one brings. */
  meet(id: string): void {
    this.#met.set(id, ++this.#meetings);
  }

  /** Brings up to date what was learned of a device on the way; the address stays. */
  async learn(id: string, told: Told): Promise<void> {
    await this.#update((content) => {
      const entry = content.devices.find((device) => device.id === id);
      return {
        next: entry ? replace(content, entry, withTold(entry, told, namesIn(content))) : content,
        result: undefined,
      };
    });
  }

  /** Renames a device or sets its ports. */
  change(id: string, change: { name?: string | undefined; ports?: Ports | undefined }): Promise<Entry> {
    return this.#update((content) => {
      const entry = known(content, id);
      const name =
        change.name === undefined
          ? entry.name
          : checkName(
              change.name,
              content.devices.filter((other) => other.id !== id),
            );
      const named_by = change.name === undefined ? entry.named_by : "user";
      const result: Entry = { ...entry, name, named_by, used: true, ports: { ...entry.ports, ...change.ports } };
      return { next: replace(content, entry, result), result };
    });
  }

  /** Says anew how a device stands; with a place, also where it is. Fails with `device_not_found` when it is gone. */
  stand(id: string, change: (entry: Entry) => Standing | Place): Promise<Entry> {
    return this.#update((content) => {
      const entry = known(content, id);
      const made = change(entry);
      const place = "standing" in made ? made : { host: entry.host, port: entry.port, standing: made };
      const result = placed(entry, place);
      return { next: replace(content, entry, result), result };
    });
  }

  /** Whether anybody ever drove a device, be it just now. */
  isUsed(entry: Entry): boolean {
    return isUsed(entry) || this.#using.has(entry.id);
  }

  /** Somebody drives a device: it never gives way any more. Written once. */
  async use(id: string): Promise<void> {
    const entry = this.get(id);
    if (!entry || isUsed(entry) || this.#using.has(id)) return;
    this.#using.add(id);
    try {
      await this.#update((content) => {
        const now = content.devices.find((device) => device.id === id);
        return { next: now ? replace(content, now, { ...now, used: true }) : content, result: undefined };
      });
    } finally {
      this.#using.delete(id);
    }
  }

  /** What the config calls the default device now. What that means stays the default, by whatever name, until this changes. */
  async wantDefault(wanted: string): Promise<void> {
    if (this.#wanted === wanted) return;
    this.#wanted = wanted;
    await this.#update((content) => ({ next: content, result: undefined }));
  }

  /** The user has said what the default device is called: the name is looked up anew, though it be the same. */
  async chooseDefault(): Promise<void> {
    await this.#update(({ devices }) => ({ next: { devices }, result: undefined }));
  }

  /** The device that the config's name stands for; the only one there is, when it names none. */
  get defaultEntry(): Entry | undefined {
    const content = this.#store.value;
    const wanted = this.#wanted;
    if (this.#default?.of === content && this.#default.wanted === wanted) return this.#default.entry;
    const { devices } = content;
    const chosen = content.default;
    const meant = () => (chosen && chosen.wanted === wanted ? this.get(chosen.id) : meantBy(wanted ?? "", devices));
    const entry = wanted ? meant() : devices.length === 1 ? devices[0] : undefined;
    this.#default = { of: content, wanted, entry };
    return entry;
  }

  /** Waits for what is being written. */
  settled(): Promise<void> {
    return this.#store.settled();
  }

  async remove(id: string): Promise<Entry> {
    const removed = await this.#update((content) => {
      const result = known(content, id);
      return { next: { ...content, devices: content.devices.filter((entry) => entry.id !== id) }, result };
    });
    this.#met.delete(id);
    return removed;
  }

  /** Removes every device that a scan found and nobody has used. */
  async removeUnused(): Promise<Entry[]> {
    const removed = await this.#update((content) => {
      const result = content.devices.filter(givesWay);
      if (result.length === 0) return { next: content, result };
      return { next: { ...content, devices: content.devices.filter((entry) => !givesWay(entry)) }, result };
    });
    for (const { id } of removed) this.#met.delete(id);
    return removed;
  }

  /** Writes when each device was last seen, and what it said of its power, as far as that is known. */
  async keepContacts(contactOf: (id: string) => Pick<Contact, "last_seen" | "power"> | undefined): Promise<void> {
    await this.#update((content) => {
      const devices = content.devices.map((entry) => {
        const contact = contactOf(entry.id);
        if (!contact) return entry;
        const { last_seen, power: last_power } = contact;
        const same = last_seen === entry.last_seen && last_power === (entry.last_power ?? null);
        return same ? entry : { ...entry, last_seen, last_power };
      });
      return {
        next: devices.every((entry, at) => entry === content.devices[at]) ? content : { ...content, devices },
        result: undefined,
      };
    });
  }

  /** A change, after which the name of the default device is looked up where that has not been done. */
  #update<R>(change: (content: Content) => Change<Content, R>): Promise<R> {
    return this.#store.update((content) => {
      const { next, result } = change(withDefault(content, this.#wanted));
      return { next: withDefault(next, this.#wanted), result };
    });
  }
}

/** What a file holds: its sound entries, each id once, and what is none. Throws when it holds no devices at all. */
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
    spare = readContent(JSON.parse(readRegular(`${path}.bak`, maxBytes) ?? "")).content.devices;
  } catch {
    return [];
  }
  const isMissing = ({ id }: Entry) => content.devices.every((one) => one.id !== id);
  const found = bad.flatMap((one) => spare.find((entry) => isMissing(entry) && isOf(one, entry)) ?? []);
  return [...new Set(found)];
}

/** Whether what is damaged is of the device: one of the words that tell it from others is whole. */
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
function meantBy(wanted: string, devices: readonly Entry[]): Entry | undefined {
  try {
    return resolveName(wanted, devices) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Which device is the default one, found once for each name in the config. */
function withDefault(content: Content, wanted: string | undefined): Content {
  if (wanted === undefined || content.default?.wanted === wanted) return content;
  const { devices } = content;
  const meant = wanted === "" ? undefined : meantBy(wanted, devices);
  if (!meant) return content.default ? { devices } : content;
  return { ...replace({ devices }, meant, { ...meant, used: true }), default: { wanted, id: meant.id } };
}

/** The names that are taken: those of the devices, and the one in the config, which belongs to the default device. */
function namesIn({ devices, default: chosen }: Content): readonly Named[] {
  return chosen ? [...devices, { id: chosen.id, name: chosen.wanted }] : devices;
}

function placed(entry: Entry, { host, port, standing }: Place): Entry {
  const { standing: _before, ...rest } = entry;
  const isPlain = JSON.stringify(standing) === JSON.stringify(firstMet);
  return isPlain ? { ...rest, host, port } : { ...rest, host, port, standing };
}

function known(content: Content, id: string): Entry {
  const entry = content.devices.find((device) => device.id === id);
  if (!entry) throw new ZapdError("device_not_found", "The device is no longer known", { named: true });
  return entry;
}

/** The hardware's own identity takes the place of one that stood for it; never the other way round. */
function withIdentity(entry: Entry, { identity, provisional }: Sighting): Entry {
  if (provisional) return entry.identity === identity ? { ...entry, provisional } : entry;
  if (!entry.provisional && entry.identity === identity) return entry;
  const { provisional: _stood, ...own } = entry;
  return { ...own, identity };
}

function replace(content: Content, entry: Entry, next: Entry): Content {
  if (same(entry, next)) return content;
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

function mergeInto(content: Content, found: Discovered, metAt: (id: string) => number): Change<Content, Merged> {
  const { platform, sighting, place } = found;
  const before =
    content.devices.find((device) => device.id === place?.from.id) ??
    findIn(content.devices, platform, sighting, found.address);
  const id = before?.id ?? idOf(platform, sighting.identity);
  const others = content.devices.filter((device) => device.id !== id);
  const given = found.name === undefined ? null : checkName(found.name, others);
  const { rest, gone } = before ? { rest: content.devices, gone: [] } : seated(content.devices, found.instead, metAt);
  const names = namesIn({ ...content, devices: rest });
  // What was decided of its place holds only where nothing else has been decided meanwhile.
  const to = before && place && isSamePlace(before, place.from) ? place.to : undefined;
  const isStale = place !== undefined && to === undefined;
  const base = before ? (to ? placed(before, to) : before) : newEntry(names, id, found);
  const learned = withIdentity(withTold(base, sighting, names), sighting);
  const ports = { ...learned.ports, ...found.ports };
  const named = given === null ? learned : { ...learned, name: given, named_by: "user" as const };
  const by = found.by === "user" ? { ...named, added_by: found.by } : named;
  const { host, port } = before && (to || isStale) ? base : found.address;
  const entry: Entry = { ...by, host, port, ports };
  const next = before ? replace(content, before, entry) : { ...content, devices: [...rest, entry] };
  return { next, result: { entry, added: before === undefined, gone } };
}

function isSamePlace(one: Entry, other: Entry): boolean {
  const shown = ({ host, port, standing }: Entry) => JSON.stringify([host, port, standing ?? null]);
  return shown(one) === shown(other);
}

/** Room for one more device: a scan's find that nobody has used gives way, the one met longest ago, or the one that is named. */
function seated(
  devices: readonly Entry[],
  instead: string | null | undefined,
  metAt: (id: string) => number,
): { rest: readonly Entry[]; gone: readonly Entry[] } {
  const named = devices.find((entry) => entry.id === instead && givesWay(entry));
  const isFull = devices.length >= maxDevices;
  const oldest = isFull
    ? devices
        .filter(givesWay)
        .reduce<Entry | undefined>((first, one) => (first && metAt(first.id) <= metAt(one.id) ? first : one), undefined)
    : undefined;
  const gone = named ?? oldest;
  if (gone) return { rest: devices.filter((entry) => entry !== gone), gone: [gone] };
  if (!isFull) return { rest: devices, gone: [] };
  throw new ZapdError("storage_error", `The registry is full: it holds ${maxDevices} devices`, {
    hint: "Remove devices that you do not use: zapd forget NAME",
  });
}
