/** Merging a found device into the registry: which record it is, what is taken over, and which device a new one evicts. Pure. */
import { ZapdError } from "../api/errors.ts";
import type { Address, Composition, Facts, Sighting } from "../platforms/platform.ts";
import { type Content, groupsIn, othersThan, regroupWithLeader, replaceRecord, takenNames } from "./groups.ts";
import { checkName, removedError } from "./names.ts";
import {
  type DeviceRecord,
  type Discovered,
  idOf,
  isEvictable,
  maxDevices,
  maxIds,
  maxRecords,
  newRecord,
  withLearned,
  withPlace,
} from "./record.ts";
import type { Change } from "./store.ts";

const maxIdCharacters = 128;

/** What became of a merged device. */
export interface MergeResult {
  readonly record: DeviceRecord;
  /** Whether the record is a device of its own that was not known: no endpoint of a known one. */
  readonly isNewDevice: boolean;
  /** Records of devices that were evicted for it. */
  readonly evicted: readonly DeviceRecord[];
}

/** Adds a found device, or updates the record that is known. */
export function mergeInto(
  content: Content,
  found: Discovered,
  lastFound: (id: string) => number,
  composition: Composition,
): Change<Content, MergeResult> {
  const { platform, sighting, place } = found;
  const before =
    content.devices.find((device) => device.id === place?.from.id) ??
    findIn(content.devices, platform, sighting, found.address);
  // A scan does not add again what the user has removed since it was found.
  if (place && !before && found.by === "scan") throw removedError();
  const id = before?.id ?? freeIdOf(content, platform, sighting.identity);
  const given = found.name === undefined ? null : checkName(found.name, othersThan(before?.part_of ?? id, content));
  const names = takenNames(content, before ?? { id });
  // A decision about its place no longer holds where the place was changed meanwhile.
  const moved = before && place && isSamePlace(before, place.from) ? withPlace(before, place.to) : before;
  const base = moved ?? newRecord(names, id, found);
  const learned = withHardwareIds(withIdentity(withLearned(base, sighting, names), sighting), sighting);
  const ports = { ...learned.ports, ...found.ports };
  const named = given === null ? learned : { ...learned, name: given, named_by: "user" as const };
  const by = found.by === "user" ? { ...named, added_by: found.by } : named;
  const { host, port } = place ? base : found.address;
  const record: DeviceRecord = { ...by, host, port, ports };
  if (!before) return withNewRecord(content, record, found, lastFound, composition);
  const next = replaceRecord(content, before, record);
  // A name that the user gives belongs to the whole device.
  const device = next.devices.find((one) => one.id === before.part_of);
  const renamed =
    device && given !== null ? replaceRecord(next, device, { ...device, name: given, named_by: "user" }) : next;
  return { next: renamed, result: { record, isNewDevice: false, evicted: [] } };
}

/** The record of a sighting: by its identity, or by its address where one of the two identities is provisional. */
export function findIn(
  devices: readonly DeviceRecord[],
  platform: string,
  sighting: Sighting,
  { host, port }: Address,
): DeviceRecord | undefined {
  const own = devices.filter((device) => device.platform === platform);
  const mayBe = (device: DeviceRecord) =>
    (sighting.provisional || device.provisional) && !contradicts(device, sighting.facts);
  return (
    own.find((device) => device.identity === sighting.identity) ??
    own.find((device) => mayBe(device) && device.host === host && device.port === port)
  );
}

/** The id of a new device. That of its identity is taken where another device was first known by the same provisional one. */
function freeIdOf({ devices }: Content, platform: string, identity: string): string {
  const taken = new Set(devices.map(({ id }) => id));
  let id = idOf(platform, identity);
  for (let number = 2; taken.has(id); number++) id = idOf(platform, `${identity} ${number}`);
  return id;
}

/** Whether facts show other hardware than a record's. */
function contradicts(record: DeviceRecord, { serial, macs }: Facts): boolean {
  if (serial !== null && record.serial !== null && serial !== record.serial) return true;
  return macs.length > 0 && record.macs.length > 0 && !macs.some((mac) => record.macs.includes(mac));
}

/** The hardware's own identity replaces a provisional one, never the other way round. */
function withIdentity(record: DeviceRecord, { identity, provisional }: Sighting): DeviceRecord {
  if (provisional) return record.identity === identity ? { ...record, provisional } : record;
  return { ...record, identity, provisional: undefined };
}

/** Takes over the hardware ids by which records are joined; on probation the old ones stay. */
function withHardwareIds(record: DeviceRecord, { ids = [], alone }: Sighting): DeviceRecord {
  if (record.standing?.probation) return record;
  if (ids.length === 0) return { ...record, alone };
  return { ...record, alone, hardware_ids: ids.filter((id) => id.length <= maxIdCharacters).slice(0, maxIds) };
}

function isSamePlace(one: DeviceRecord, other: DeviceRecord): boolean {
  const shown = ({ host, port, standing }: DeviceRecord) => JSON.stringify([host, port, standing ?? null]);
  return shown(one) === shown(other);
}

/**
 * Adds a new record. Where the registry is full, it evicts an unused device: the one that `evicts` names, or the one found
 * longest ago. A record that joins a known device needs no room among the devices.
 */
function withNewRecord(
  content: Content,
  record: DeviceRecord,
  { evicts, scanStartedAt }: Pick<Discovered, "evicts" | "scanStartedAt">,
  lastFound: (id: string) => number,
  composition: Composition,
): Change<Content, MergeResult> {
  const next = regroupWithLeader(
    { ...content, devices: [...content.devices, record] },
    record,
    scanStartedAt,
    composition,
  );
  const groups = groupsIn(next);
  const isOwn = (group: readonly DeviceRecord[]) => group.some(({ id }) => id === record.id);
  const evictable = groups.filter((group) => !isOwn(group) && group.every(isEvictable));
  const foundAt = (group: readonly DeviceRecord[]) => Math.max(...group.map(({ id }) => lastFound(id)));
  const isFull = groups.length > maxDevices || next.devices.length > maxRecords;
  const named = evictable.find((group) => group.some(({ id }) => id === evicts));
  const oldest = isFull ? evictable.toSorted((one, other) => foundAt(one) - foundAt(other))[0] : undefined;
  const evicted = named ?? oldest;
  if (isFull && !evicted)
    throw new ZapdError("storage_error", `The registry is full: it holds ${maxDevices} devices`, {
      hint: "Remove devices that you do not use: zapd forget NAME",
    });
  const devices = evicted ? next.devices.filter((one) => !evicted.includes(one)) : next.devices;
  const isNewDevice = groups.some((group) => isOwn(group) && group.length === 1);
  return { next: { ...next, devices }, result: { record, isNewDevice, evicted: evicted ?? [] } };
}
