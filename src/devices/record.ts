/** One record of the registry: its shape on disk, its id, and how reported facts are merged into it. */
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
import { type NamedDevice, uniqueName } from "./names.ts";
import { initialStanding, type Place, standingSchema } from "./standing.ts";

export const maxDevices = 1_000;
/** Records of all devices together. */
export const maxRecords = 4 * maxDevices;
const maxText = 512;
/** Ids of each kind that are kept with one record. */
export const maxIds = 64;

const fact = z.string().max(maxText).nullable();
const nonEmptyText = z.string().min(1).max(maxText);

/** A device over one protocol; records that are one device have the same `part_of`. */
const shape = z.object({
  id: uuid,
  platform: z.string().min(1).max(64),
  identity: nonEmptyText,
  name: nonEmptyText,
  /** A name given by the user is never overwritten. */
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
  /** What older versions kept for the platform: read where there is no `memory` yet. */
  traits: z.record(z.string(), z.string().max(maxText)),
  /** What the platform remembers of it, read by the platform's schema. */
  memory: z.record(z.string(), z.unknown()).optional(),
  host: z.string().min(1).max(253),
  port,
  ports: z.record(z.string(), port),
  added_at: instant,
  last_seen: instant.nullable(),
  /** Its last reported power: a device that does not answer, and last reported off, is off. */
  last_power: z.enum(powers).nullish(),
  /** The hardware's own identity is not known yet. */
  provisional: z.boolean().optional(),
  /** Whether it was ever used; missing in old files, where it counts as used. */
  used: z.boolean().optional(),
  /** Whether a scan found it, or the user added it. */
  added_by: z.enum(["user", "scan"]).optional(),
  /** How far what answers at its address is trusted; missing where it was first found there. */
  standing: standingSchema.optional(),
  /** Further ids of the hardware, comparable between platforms. */
  hardware_ids: z.array(nonEmptyText).max(maxIds).readonly().optional().catch(undefined),
  /** It is a device of its own, whatever else is at its host; the user may still join it. */
  alone: z.boolean().optional().catch(undefined),
  // Damage in these does not lose the device: they are computed again.
  /** The id of its device's oldest record; missing in that record itself. */
  part_of: uuid.optional().catch(undefined),
  /** The user's labels, by which groups of devices are named. */
  labels: Labels.readonly().optional().catch(undefined),
  /** The records with which the user joined it, and those from which the user split it. */
  joined: z.array(uuid).max(maxIds).readonly().optional().catch(undefined),
  apart: z.array(uuid).max(maxIds).readonly().optional().catch(undefined),
});

export type DeviceRecord = Readonly<z.infer<typeof shape>>;

/** Unknown keys are kept, so that an older zapd does not lose what a newer one wrote. */
export const recordSchema: z.ZodType<DeviceRecord> = shape.loose();

/** A device that was found or added. */
export interface Discovered {
  readonly platform: string;
  readonly sighting: Sighting;
  readonly address: Address;
  readonly ports?: Ports | undefined;
  /** A name given by the user. */
  readonly name?: string | undefined;
  /** What the user adds is never evicted. */
  readonly by?: DeviceRecord["added_by"];
  /** The hardware address that the neighbour table shows for a new device. */
  readonly mac?: string | null | undefined;
  /** When the scan began that found it: of the records found since, a device's leading one counts as its oldest. */
  readonly scanStartedAt?: string | undefined;
  /** The id of a device that is evicted for it, if nobody has used that. */
  readonly evicts?: string | null | undefined;
  /** The new place of a known device, and the record from which that was decided; ignored where its place has changed since. */
  readonly place?: { readonly from: DeviceRecord; readonly to: Place } | undefined;
}

/** Whether a device may be evicted for a new one: a scan found it, and nobody used it. */
export function isEvictable({ added_by, used }: DeviceRecord): boolean {
  return added_by === "scan" && used === false;
}

export function factsOf(record: DeviceRecord): Facts {
  const { kind, manufacturer, model, serial, macs, software_version, access } = record;
  const name = record.name_on_device;
  return { name, kind, manufacturer, model, serial, macs, softwareVersion: software_version, access };
}

/** What its platform remembers of a device; nothing where that cannot be read. */
export function memoryOf(record: DeviceRecord, { memory }: Pick<Platform, "memory">): unknown {
  const read = memory.safeParse(record.memory ?? record.traits);
  return read.success ? read.data : memory.parse({});
}

export function descriptionOf(record: DeviceRecord, platform: Platform, paired: boolean): Description {
  return withImplied(platform.describe(factsOf(record), memoryOf(record, platform), paired));
}

/** Adds what `keys` imply: `hold`, since zapd repeats a key that is held, and `power_off` where there is that key. */
export function withImplied(own: Description): Description {
  const implied: readonly Capability[] = own.keys.has("power-off") ? ["hold", "power_off"] : ["hold"];
  const withThem = (some: ReadonlySet<Capability>) => (some.has("keys") ? new Set([...some, ...implied]) : some);
  return { ...own, has: withThem(own.has), withheld: withThem(own.withheld) };
}

/** The record of a new device; `others` have the names that are taken. */
export function newRecord(others: readonly NamedDevice[], id: string, discovered: Discovered): DeviceRecord {
  const { platform, address } = discovered;
  const { identity, facts, pairing } = discovered.sighting;
  if (identity === "" || identity.length > maxText)
    throw new ZapdError("device_error", "reported no valid serial number");
  const now = new Date().toISOString();
  const name = cleanText(facts.name);
  const maker = cleanText(facts.manufacturer);
  const wanted = name ?? cleanText(facts.model) ?? (maker ? defaultName(maker, facts.kind) : platform);
  return {
    id,
    platform,
    identity,
    name: uniqueName(wanted, others),
    named_by: "device",
    name_on_device: name,
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
    ...(discovered.mac && { standing: { ...initialStanding, macs: [discovered.mac] } }),
  };
}

/** The name of a device that reports none: that of its maker, with `TV` after it where it is one. */
function defaultName(manufacturer: string, kind: Facts["kind"]): string {
  return kind === "tv" ? `${manufacturer} TV` : manufacturer;
}

export interface Learned {
  readonly facts?: Partial<Facts>;
  readonly memory?: unknown;
}

/** Merges what was learned, the later over the earlier. */
export function mergeLearned(one: Learned, next: Learned): Learned {
  const [before, after] = [one.memory, next.memory].map((memory) => (isObject(memory) ? memory : {}));
  return { facts: { ...one.facts, ...next.facts }, memory: { ...before, ...after } };
}

/** A record updated with what was learned; what is missing there stays. `others` have the names that are taken. */
export function withLearned(
  record: DeviceRecord,
  { facts = {}, memory }: Learned,
  others: readonly NamedDevice[],
): DeviceRecord {
  const { name, kind = "unknown", macs = [] } = facts;
  // On probation it may be another device: the name and the hardware addresses stay.
  const isDoubted = record.standing?.probation !== undefined;
  const reported = isDoubted ? null : cleanText(name);
  const isRenamed = record.named_by === "device" && reported !== null && reported !== record.name_on_device;
  return {
    ...record,
    name: isRenamed ? uniqueName(reported, others) : record.name,
    name_on_device: reported ?? record.name_on_device,
    kind: kind === "unknown" ? record.kind : kind,
    manufacturer: cleanText(facts.manufacturer) ?? record.manufacturer,
    model: cleanText(facts.model) ?? record.model,
    serial: cleanText(facts.serial) ?? record.serial,
    macs: macs.length > 0 && !isDoubted ? [...macs] : record.macs,
    software_version: cleanText(facts.softwareVersion) ?? record.software_version,
    access: facts.access ?? record.access,
    ...(isObject(memory) && { memory: { ...(record.memory ?? record.traits), ...memory } }),
  };
}

/** Where a record has its device, and how far that is trusted. */
export function placeIn({ host, port, standing = initialStanding }: DeviceRecord): Place {
  return { host, port, standing };
}

/** A record at a place; one that is trusted where it was first found keeps no standing. */
export function withPlace(record: DeviceRecord, { host, port, standing }: Place): DeviceRecord {
  const isPlain = JSON.stringify(standing) === JSON.stringify(initialStanding);
  return { ...record, host, port, standing: isPlain ? undefined : standing };
}

/** Without controls and direction marks, as in a name. */
function cleanText(text: string | null | undefined): string | null {
  return (
    text
      ?.replace(/[\p{Cc}\p{Bidi_Control}]/gu, " ")
      .trim()
      .slice(0, 256) || null
  );
}

/** zapd's namespace for UUID v5. */
const namespace = "8c0d4f4e5b0a4b0f9d3c7a1f2e6b9c55";

/** The id of a device: UUID v5 of its platform and identity, the same on every machine and after a loss of the file. */
export function idOf(platform: string, identity: string): string {
  const hash = createHash("sha1").update(namespace, "hex").update(`${platform}:${identity}`).digest().subarray(0, 16);
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x50, 6);
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = hash.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
