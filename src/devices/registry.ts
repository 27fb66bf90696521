/** The devices zapd knows, kept in `devices.json`. Merged by the hardware's identity; nothing is removed but by the user. */
import { ZapdError } from "../errors.ts";
import type { Address, Facts, Identified, Ports, Power } from "../platforms/platform.ts";
import { listOf, object } from "../shape.ts";
import { type Entry, idOf, isEntry, newEntry, type Sighting, same, withFacts } from "./entry.ts";
import { checkName } from "./names.ts";
import { type Change, Store } from "./store.ts";

const isContent = object<Content>({ devices: listOf(isEntry) });

/** What contact with a device has shown since the start. */
export interface Contact {
  readonly status: "online" | "offline" | "unknown";
  readonly last_seen: string | null;
  /** The last word of the device on its power. */
  readonly power: Power | null;
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
      await Store.open<Content>({
        ...{ ...options, parse, backup: true, maxBytes: 8 * 1024 * 1024, empty: { devices: [] } },
      }),
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
    const power = entry?.last_power ?? null;
    const contact: Contact = { status: "unknown", last_seen: entry?.last_seen ?? null, power };
    if (entry) this.#contacts.set(id, contact);
    return contact;
  }

  /** Notes in memory that a device answered, or did not; `said` is its word on its power, if it gave one. */
  noteContact(id: string, answered: boolean, said?: Power | null): void {
    const { last_seen, power: before } = this.contact(id);
    const power = said === undefined ? before : said;
    this.#contactsNoted++;
    this.#contacts.set(
      id,
      answered
        ? { status: "online", last_seen: new Date().toISOString(), power }
        : { status: "offline", last_seen, power },
    );
  }

  /**
   * The device that a sighting is of: by its identity; or, where one of the two identities only stands for the
   * hardware's own, by its address.
   */
  find(platform: string, facts: Identified, address: Address): Entry | undefined {
    return findIn(this.entries, platform, facts, address);
  }

  /** Adds a device, or brings what is known of it up to date; on disk when it returns. */
  async merge(sighting: Sighting): Promise<{ entry: Entry; added: boolean }> {
    const result = await this.#store.update((content) => mergeInto(content, sighting));
    this.noteContact(result.entry.id, true);
    return result;
  }

  /** Brings facts up to date that a device told on the way; the address stays. */
  async learn(id: string, facts: Partial<Facts>): Promise<void> {
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

  /** Waits for what is being written. */
  settled(): Promise<void> {
    return this.#store.settled();
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
        const { last_seen, power: last_power } = this.contact(entry.id);
        const same = last_seen === entry.last_seen && last_power === (entry.last_power ?? null);
        return same ? entry : { ...entry, last_seen, last_power };
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

/** The hardware's own identity takes the place of one that stood for it; never the other way round. */
function withIdentity(entry: Entry, { identity, provisional }: Identified): Entry {
  if (provisional) return entry.identity === identity ? { ...entry, provisional } : entry;
  if (!entry.provisional && entry.identity === identity) return entry;
  const { provisional: _stood, ...own } = entry;
  return { ...own, identity };
}

function replace(content: Content, entry: Entry, next: Entry): Content {
  if (same(entry, next)) return content;
  return { devices: content.devices.map((device) => (device === entry ? next : device)) };
}

function findIn(
  devices: readonly Entry[],
  platform: string,
  { identity, provisional }: Identified,
  { host, port }: Address,
): Entry | undefined {
  const own = devices.filter((device) => device.platform === platform);
  return (
    own.find((device) => device.identity === identity) ??
    own.find((device) => (provisional || device.provisional) && device.host === host && device.port === port)
  );
}

function mergeInto(content: Content, sighting: Sighting): Change<Content, { entry: Entry; added: boolean }> {
  const { platform, facts, address } = sighting;
  const before = findIn(content.devices, platform, facts, address);
  const id = before?.id ?? idOf(platform, facts.identity);
  const others = content.devices.filter((device) => device.id !== id);
  const given = sighting.name === undefined ? null : checkName(sighting.name, others);
  const base = before ?? newEntry(content.devices, id, sighting);
  const learned = withIdentity(withFacts(base, facts, content.devices), facts);
  const ports = { ...learned.ports, ...sighting.ports };
  const named = given === null ? learned : { ...learned, name: given, named_by: "user" as const };
  const entry: Entry = { ...named, host: sighting.address.host, port: sighting.address.port, ports };
  const next = before ? replace(content, before, entry) : { devices: [...content.devices, entry] };
  return { next, result: { entry, added: before === undefined } };
}
