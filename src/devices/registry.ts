/** The devices zapd knows, kept in `devices.json`. Merged by the hardware's identity; nothing is removed but by the user. */
import { ZapdError } from "../errors.ts";
import type { Facts, Ports } from "../platforms/platform.ts";
import { listOf, object } from "../shape.ts";
import { type Entry, idOf, isEntry, newEntry, type Sighting, same, withFacts } from "./entry.ts";
import { checkName } from "./names.ts";
import { type Change, Store } from "./store.ts";

const isContent = object<Content>({ devices: listOf(isEntry) });

/** What contact with a device has shown since the start. */
export interface Contact {
  readonly status: "online" | "offline" | "unknown";
  readonly last_seen: string | null;
}

interface Content {
  readonly devices: readonly Entry[];
}

export interface RegistryOptions {
  readonly path: string;
  damaged(problem: string): void;
}

export class Registry {
  readonly #store: Store<Content>;
  readonly #contacts = new Map<string, Contact>();
  #contactsNoted = 0;
  /** The devices by their ids, and which devices those are. */
  #index: { readonly of: readonly Entry[]; readonly byId: ReadonlyMap<string, Entry> } | undefined;

  private constructor(store: Store<Content>) {
    this.#store = store;
  }

  static async open(options: RegistryOptions): Promise<Registry> {
    const parse = (content: unknown): Content => {
      if (!isContent(content)) throw new Error("it does not hold devices as zapd writes them");
      return { devices: content.devices };
    };
    return new Registry(
      await Store.open<Content>({ ...options, parse, maxBytes: 8 * 1024 * 1024, empty: { devices: [] } }),
    );
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

  /** How often contact was noted: while it and `entries` stay the same, nothing that a list shows has changed. */
  get contacts(): number {
    return this.#contactsNoted;
  }

  /** The same object until contact is noted anew. */
  contact(id: string): Contact {
    const noted = this.#contacts.get(id);
    if (noted) return noted;
    const entry = this.get(id);
    const contact: Contact = { status: "unknown", last_seen: entry?.last_seen ?? null };
    if (entry) this.#contacts.set(id, contact);
    return contact;
  }

  /** Notes in memory that a device answered, or did not. */
  noteContact(id: string, answered: boolean): void {
    const { last_seen } = this.contact(id);
    this.#contactsNoted++;
    this.#contacts.set(
      id,
      answered ? { status: "online", last_seen: new Date().toISOString() } : { status: "offline", last_seen },
    );
  }

  /** Adds a device, or brings what is known of it up to date; on disk when it returns. */
  async merge(sighting: Sighting): Promise<{ entry: Entry; added: boolean }> {
    const id = idOf(sighting.platform, sighting.facts.identity);
    const result = await this.#store.update((content) => mergeInto(content, id, sighting));
    this.noteContact(id, true);
    return result;
  }

  /** Brings facts up to date that a device told on the way; the address stays. */
  async learn(id: string, facts: Facts): Promise<void> {
    await this.#store.update((content) => {
      const entry = content.devices.find((device) => device.id === id);
      return {
        next: entry ? replace(content, entry, withFacts(entry, facts, content.devices)) : content,
        result: undefined,
      };
    });
  }

  /** Renames a device or sets its ports. */
  change(id: string, change: { name?: string | undefined; ports?: Ports | undefined }): Promise<Entry> {
    return this.#store.update((content) => {
      const entry = known(content, id);
      const name =
        change.name === undefined
          ? entry.name
          : checkName(
              change.name,
              content.devices.filter((other) => other.id !== id),
            );
      const named_by = change.name === undefined ? entry.named_by : "user";
      const result: Entry = { ...entry, name, named_by, ports: { ...entry.ports, ...change.ports } };
      return { next: replace(content, entry, result), result };
    });
  }

  async remove(id: string): Promise<Entry> {
    const removed = await this.#store.update((content) => {
      const result = known(content, id);
      return { next: { devices: content.devices.filter((entry) => entry.id !== id) }, result };
    });
    this.#contacts.delete(id);
    return removed;
  }

  /** Writes when each device was last seen. */
  async close(): Promise<void> {
    await this.#store.update((content) => {
      const devices = content.devices.map((entry) => {
        const { last_seen } = this.contact(entry.id);
        return last_seen === entry.last_seen ? entry : { ...entry, last_seen };
      });
      return {
        next: devices.every((entry, at) => entry === content.devices[at]) ? content : { devices },
        result: undefined,
      };
    });
  }
}

function known(content: Content, id: string): Entry {
  const entry = content.devices.find((device) => device.id === id);
  if (!entry) throw new ZapdError("device_not_found", "The device is no longer known");
  return entry;
}

function replace(content: Content, entry: Entry, next: Entry): Content {
  if (same(entry, next)) return content;
  return { devices: content.devices.map((device) => (device === entry ? next : device)) };
}

function mergeInto(
  content: Content,
  id: string,
  sighting: Sighting,
): Change<Content, { entry: Entry; added: boolean }> {
  const before = content.devices.find((device) => device.id === id);
  const others = content.devices.filter((device) => device.id !== id);
  const given = sighting.name === undefined ? null : checkName(sighting.name, others);
  const base = before ?? newEntry(content.devices, id, sighting);
  const learned = withFacts(base, sighting.facts, content.devices);
  const ports = { ...learned.ports, ...sighting.ports };
  const named = given === null ? learned : { ...learned, name: given, named_by: "user" as const };
  const entry: Entry = { ...named, host: sighting.address.host, port: sighting.address.port, ports };
  const next = before ? replace(content, before, entry) : { devices: [...content.devices, entry] };
  return { next, result: { entry, added: before === undefined } };
}
