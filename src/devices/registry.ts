/** The devices zapd knows, kept in `devices.json`. Merged by the hardware's identity; nothing is removed but by the user. */
import { createHash } from "node:crypto";
import { z } from "zod";
import { ZapdError } from "../errors.ts";
import {
  type Access,
  type Address,
  accessModes,
  type Facts,
  kinds,
  type Ports,
  type Target,
} from "../platforms/platform.ts";
import { checkName, inventName } from "./names.ts";
import { type Change, Store } from "./store.ts";

const maxDevices = 1_000;
const short = z.string().max(512);

const Entry = z.object({
  id: z.uuid(),
  platform: z.string(),
  identity: short.min(1),
  name: z.string().min(1),
  /** What the device called itself when it was named; a name that the user gave is never overwritten. */
  named_by: z.enum(["user", "device"]),
  name_on_device: short.nullable(),
  kind: z.enum(kinds),
  manufacturer: short.nullable(),
  model: short.nullable(),
  serial: short.nullable(),
  macs: z.array(z.string()),
  software_version: short.nullable(),
  access: z.enum(accessModes).nullable(),
  traits: z.record(z.string(), z.string()),
  host: z.string(),
  port: z.int(),
  ports: z.record(z.string(), z.int()),
  added_at: z.iso.datetime(),
  last_seen: z.iso.datetime().nullable(),
});

/** A device as the registry keeps it. */
export type Entry = z.infer<typeof Entry>;

/** What contact with a device has shown since the start. */
export interface Contact {
  status: "online" | "offline" | "unknown";
  last_seen: string | null;
}

interface Content {
  readonly devices: readonly Entry[];
}

/** What is known of a device when it is found or added. */
export interface Sighting {
  readonly platform: string;
  readonly facts: Facts;
  readonly address: Address;
  readonly ports?: Ports | undefined;
  /** A name that the user gives with it. */
  readonly name?: string | undefined;
}

export interface RegistryOptions {
  readonly path: string;
  damaged(problem: string): void;
}

export class Registry {
  readonly #store: Store<Content>;
  readonly #contacts = new Map<string, Contact>();

  private constructor(store: Store<Content>) {
    this.#store = store;
  }

  static async open(options: RegistryOptions): Promise<Registry> {
    const parse = (content: unknown): Content => ({
      devices: z.object({ devices: z.array(Entry) }).parse(content).devices,
    });
    return new Registry(
      await Store.open<Content>({ ...options, parse, maxBytes: 8 * 1024 * 1024, empty: { devices: [] } }),
    );
  }

  /** Every device, in the order of adding. */
  get entries(): readonly Entry[] {
    return this.#store.value.devices;
  }

  get(id: string): Entry | undefined {
    return this.entries.find((entry) => entry.id === id);
  }

  contact(id: string): Contact {
    return this.#contacts.get(id) ?? { status: "unknown", last_seen: this.get(id)?.last_seen ?? null };
  }

  /** Notes in memory that a device answered, or did not. */
  noteContact(id: string, answered: boolean): void {
    const { last_seen } = this.contact(id);
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

/** The device as its platform sees it. */
export function targetOf(entry: Entry): Target {
  const { identity, kind, manufacturer, model, serial, macs, access, traits, host, port, ports } = entry;
  return {
    identity,
    name: entry.name_on_device,
    kind,
    manufacturer,
    model,
    serial,
    macs,
    softwareVersion: entry.software_version,
    access,
    traits,
    host,
    port,
    ports,
  };
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

function same(one: Entry, other: Entry): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function mergeInto(
  content: Content,
  id: string,
  sighting: Sighting,
): Change<Content, { entry: Entry; added: boolean }> {
  const before = content.devices.find((device) => device.id === id);
  const others = content.devices.filter((device) => device.id !== id);
  const given = sighting.name === undefined ? null : checkName(sighting.name, others);
  const base = before ?? newEntry(content, id, sighting);
  const learned = withFacts(base, sighting.facts, content.devices);
  const ports = { ...learned.ports, ...sighting.ports };
  const named = given === null ? learned : { ...learned, name: given, named_by: "user" as const };
  const entry: Entry = { ...named, host: sighting.address.host, port: sighting.address.port, ports };
  const next = before ? replace(content, before, entry) : { devices: [...content.devices, entry] };
  return { next, result: { entry, added: before === undefined } };
}

function newEntry(content: Content, id: string, { platform, facts, address }: Sighting): Entry {
  if (content.devices.length >= maxDevices) {
    throw new ZapdError("storage_error", `The registry is full: it holds ${maxDevices} devices`, {
      hint: "Remove devices with DELETE /v1/devices/{id}",
    });
  }
  const now = new Date().toISOString();
  const wanted = facts.name ?? facts.model ?? platform;
  return {
    ...{
      id,
      platform,
      identity: facts.identity,
      name: inventName(wanted, content.devices),
      named_by: "device",
      name_on_device: cut(facts.name),
    },
    ...{
      kind: facts.kind,
      manufacturer: null,
      model: null,
      serial: null,
      macs: [],
      software_version: null,
      access: null,
      traits: {},
    },
    ...{ host: address.host, port: address.port, ports: {}, added_at: now, last_seen: now },
  };
}

/** What a device says now over what was known; what it does not say stays. */
function withFacts(entry: Entry, facts: Facts, devices: readonly Entry[]): Entry {
  const others = devices.filter((device) => device.id !== entry.id);
  const renamed = entry.named_by === "device" && facts.name !== null && cut(facts.name) !== entry.name_on_device;
  return {
    ...entry,
    name: renamed && facts.name !== null ? inventName(facts.name, others) : entry.name,
    name_on_device: cut(facts.name) ?? entry.name_on_device,
    kind: facts.kind === "unknown" ? entry.kind : facts.kind,
    manufacturer: cut(facts.manufacturer) ?? entry.manufacturer,
    model: cut(facts.model) ?? entry.model,
    serial: cut(facts.serial) ?? entry.serial,
    macs: facts.macs.length > 0 ? [...facts.macs] : entry.macs,
    software_version: cut(facts.softwareVersion) ?? entry.software_version,
    access: (facts.access ?? entry.access) satisfies Access | null,
    traits: Object.keys(facts.traits).length > 0 ? { ...facts.traits } : entry.traits,
  };
}

function cut(text: string | null): string | null {
  return text === null
    ? null
    : text
        .replace(/\p{Cc}/gu, " ")
        .trim()
        .slice(0, 256) || null;
}

/** zapd's own namespace for UUID v5. */
const namespace = Buffer.from("8c0d4f4e5b0a4b0f9d3c7a1f2e6b9c55", "hex");

/** The id of a device: UUID v5 of its platform and its hardware's identity, the same on every machine and after every loss. */
export function idOf(platform: string, identity: string): string {
  const hash = createHash("sha1").update(namespace).update(`${platform}:${identity}`).digest().subarray(0, 16);
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x50, 6);
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = hash.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
