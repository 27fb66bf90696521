/** One device as the registry keeps it: its shape on disk, its id, and how what it says is merged into what is known. */
import { createHash } from "node:crypto";
import { z } from "zod";
import { ZapdError } from "../api/errors.ts";
import { Labels } from "../api/schemas.ts";
import {
  type Address,
  accessModes,
  type Capability,
  type Description,
  type Facts,
  kinds,
  type Platform,
  type Ports,
  powers,
  type Sighting,
} from "../platforms/platform.ts";
import { isObject } from "../system/json.ts";
import { instant, port, uuid } from "../system/schemas.ts";
import { type Named, uniqueName } from "./names.ts";
import { firstMet, type Place, standingSchema } from "./standing.ts";

export const maxDevices = 1_000;
/** Entries of all devices together: a device may be reached over several protocols. */
export const maxEntries = 4 * maxDevices;
const maxText = 512;
/** Ids that are kept with one entry, of each kind. */
export const maxIds = 64;

const fact = z.string().max(maxText).nullable();
const some = z.string().min(1).max(maxText);

/** A device as the registry keeps it, over one protocol: entries that are one device say so with `part_of`. */
const shape = z.object({
  id: uuid,
  platform: z.string().min(1).max(64),
  identity: some,
  name: some,
  /** A name that the user gave is never overwritten. */
  named_by: z.enum(["user", "device"]),
  /** What the device calls itself. */
  name_on_device: fact,
  kind: z.enum(kinds),
  manufacturer: fact,
  model: fact,
  serial: fact,
  macs: z.array(z.string().max(32)).readonly(),
  software_version: fact,
  access: z.enum(accessModes).nullable(),
  /** What the first edition remembered for its platform: read where there is no `memory` yet. */
  traits: z.record(z.string(), z.string().max(maxText)),
  /** What its platform remembers of it; read by the platform's own schema. */
  memory: z.record(z.string(), z.unknown()).optional(),
  host: z.string().min(1).max(253),
  port,
  ports: z.record(z.string(), port),
  added_at: instant,
  last_seen: instant.nullable(),
  /** What it last said of its power: a silent device whose last word was that it goes off is off. */
  last_power: z.enum(powers).nullish(),
  /** The identity stands for the hardware's own, which is not known yet. */
  provisional: z.boolean().optional(),
  /** Whether anybody ever drove it; what was written before this was kept counts as used. */
  used: z.boolean().optional(),
  /** Whether a scan found it, or the user added it. */
  added_by: z.enum(["user", "scan"]).optional(),
  /** How far what answers at its address is believed to be it; without one it is where it was first met. */
  standing: standingSchema.optional(),
  /** Further names that the hardware has for itself, comparable between platforms. */
  hardware_ids: z.array(some).max(maxIds).readonly().optional().catch(undefined),
  /** It is a device of its own, whatever else lives at its host; its user may still join it. */
  alone: z.boolean().optional().catch(undefined),
  // Damage in these loses no device: they are judged anew.
  /** The device that it is a part of, by the id of that device's oldest entry; without it, it is the oldest itself. */
  part_of: uuid.optional().catch(undefined),
  /** Words that its user gave it, by which groups of devices are meant. */
  labels: Labels.readonly().optional().catch(undefined),
  /** Entries with which its user has joined it, and those from which it was split, for good. */
  joined: z.array(uuid).max(maxIds).readonly().optional().catch(undefined),
  apart: z.array(uuid).max(maxIds).readonly().optional().catch(undefined),
});

export type Entry = Readonly<z.infer<typeof shape>>;

/** An entry as zapd writes it. Other keys are kept, so that an older zapd loses nothing of what a newer one wrote. */
export const entrySchema: z.ZodType<Entry> = shape.loose();

/** What is known of a device when it is found or added. */
export interface Discovered {
  readonly platform: string;
  readonly sighting: Sighting;
  readonly address: Address;
  readonly ports?: Ports | undefined;
  /** A name that the user gives with it. */
  readonly name?: string | undefined;
  /** Who brings it: what the user adds never gives way. */
  readonly by?: Entry["added_by"];
  /** The hardware's address that the neighbour table shows for a new device. */
  readonly mac?: string | null | undefined;
  /** When the scan began that found it: among what that scan found, the leading entry of a device counts as its oldest. */
  readonly scanStartedAt?: string | undefined;
  /** A device that gives way to it, if nobody has used it. */
  readonly evicts?: string | null | undefined;
  /** Where a known device is now, and the entry from which that was decided; ignored where its place has changed since. */
  readonly place?: { readonly from: Entry; readonly to: Place } | undefined;
}

/** Whether anybody ever drove a device. */
export function isUsed({ used }: Entry): boolean {
  return used !== false;
}

/** Whether a device may give way to a new one: found by a scan, and used by nobody. */
export function isEvictable(entry: Entry): boolean {
  return entry.added_by === "scan" && !isUsed(entry);
}

/** What a device has said of itself. */
export function factsOf(entry: Entry): Facts {
  const { kind, manufacturer, model, serial, macs, software_version, access } = entry;
  const name = entry.name_on_device;
  return { name, kind, manufacturer, model, serial, macs, softwareVersion: software_version, access };
}

/** What its platform remembers of a device; what cannot be read is forgotten. */
export function memoryOf(entry: Entry, { memory }: Pick<Platform, "memory">): unknown {
  const read = memory.safeParse(entry.memory ?? entry.traits);
  return read.success ? read.data : memory.parse({});
}

/** What a device can do. */
export function descriptionOf(entry: Entry, platform: Platform, paired: boolean): Description {
  return withHolding(platform.describe(factsOf(entry), memoryOf(entry, platform), paired));
}

/** Whatever has keys can hold them: zapd repeats them. */
export function withHolding(own: Description): Description {
  const withHold = (some: ReadonlySet<Capability>) => (some.has("keys") ? new Set(some).add("hold") : some);
  return { ...own, has: withHold(own.has), withheld: withHold(own.withheld) };
}

/** Whether two states of a device are the same. */
export function isSameEntry(one: Entry, other: Entry): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** A device that was not known before; `named` are those whose names are taken. */
export function newEntry(named: readonly Named[], id: string, discovered: Discovered): Entry {
  const { platform, address } = discovered;
  const { identity, facts, pairing } = discovered.sighting;
  if (identity === "" || identity.length > maxText)
    throw new ZapdError("device_error", "said no serial number that could be one");
  const now = new Date().toISOString();
  const wanted = facts.name ?? facts.model ?? (facts.manufacturer ? madeBy(facts.manufacturer, facts.kind) : platform);
  return {
    id,
    platform,
    identity,
    name: uniqueName(
      wanted,
      named.filter((other) => other.id !== id),
    ),
    named_by: "device",
    name_on_device: cut(facts.name),
    kind: facts.kind,
    manufacturer: null,
    model: null,
    serial: null,
    macs: [],
    software_version: null,
    access: pairing === "required" ? "unpaired" : null,
    traits: {},
    host: address.host,
    port: address.port,
    ports: {},
    added_at: now,
    last_seen: now,
    used: false,
    added_by: discovered.by ?? "user",
    ...(discovered.mac && { standing: { ...firstMet, macs: [discovered.mac] } }),
  };
}

/** The name of a device that tells none: `LG TV`, `Kodi`. */
function madeBy(manufacturer: string, kind: Facts["kind"]): string {
  return kind === "tv" ? `${manufacturer} TV` : manufacturer;
}

/** What was learned of a device. */
export interface Learned {
  readonly facts?: Partial<Facts>;
  readonly memory?: unknown;
}

/** Both of what was learned; the later word counts. */
export function mergeLearned(one: Learned, next: Learned): Learned {
  const [before, after] = [one.memory, next.memory].map((memory) => (isObject(memory) ? memory : {}));
  return { facts: { ...one.facts, ...next.facts }, memory: { ...before, ...after } };
}

/** What a device says now over what was known; what it does not say stays. `devices` are those whose names are taken. */
export function withLearned(entry: Entry, { facts = {}, memory }: Learned, devices: readonly Named[]): Entry {
  const { name = null, kind = "unknown", macs = [] } = facts;
  const others = devices.filter((device) => device.id !== entry.id);
  // On probation it may be another device: the name that its user knows, and the hardware that it is judged by, stay.
  const isDoubted = entry.standing?.probation !== undefined;
  const said = isDoubted ? null : cut(name);
  const renamed = entry.named_by === "device" && said !== null && said !== entry.name_on_device;
  return {
    ...entry,
    name: renamed ? uniqueName(said, others) : entry.name,
    name_on_device: said ?? entry.name_on_device,
    kind: kind === "unknown" ? entry.kind : kind,
    manufacturer: cut(facts.manufacturer) ?? entry.manufacturer,
    model: cut(facts.model) ?? entry.model,
    serial: cut(facts.serial) ?? entry.serial,
    macs: macs.length > 0 && !isDoubted ? [...macs] : entry.macs,
    software_version: cut(facts.softwareVersion) ?? entry.software_version,
    access: facts.access ?? entry.access,
    ...(isObject(memory) && { memory: { ...(entry.memory ?? entry.traits), ...memory } }),
  };
}

function cut(text: string | null | undefined): string | null {
  return (
    text
      ?.replace(/\p{Cc}/gu, " ")
      .trim()
      .slice(0, 256) || null
  );
}

/** zapd's own namespace for UUID v5. */
const namespace = "8c0d4f4e5b0a4b0f9d3c7a1f2e6b9c55";

/** The id of a device: UUID v5 of its platform and its hardware's identity, the same on every machine and after every loss. */
export function idOf(platform: string, identity: string): string {
  const hash = createHash("sha1").update(namespace, "hex").update(`${platform}:${identity}`).digest().subarray(0, 16);
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x50, 6);
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = hash.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
