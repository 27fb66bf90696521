/** The registry's records grouped into devices: their ids and names, and joining and splitting them. Pure. */
import { ZapdError } from "../api/errors.ts";
import { maxLabels } from "../api/limits.ts";
import type { Composition } from "../platforms/platform.ts";
import { shellQuote } from "../system/text.ts";
import { groupsOf, sortByPlatform } from "./compose.ts";
import { type NamedDevice, removedError, uniqueName } from "./names.ts";
import { type DeviceRecord, isEvictable, maxIds } from "./record.ts";
import type { Change } from "./store.ts";

/** The device that a name in the config means. */
export interface ChosenDefault {
  /** The name, or the id, as the config has it. */
  readonly wanted: string;
  readonly id: string;
}

export interface Content {
  readonly devices: readonly DeviceRecord[];
  /** The default device, once its name was found: another device may get that name later. */
  readonly default?: ChosenDefault | undefined;
}

/** The records of each device, the oldest first. */
export function groupsIn({ devices }: Content): readonly (readonly [DeviceRecord, ...DeviceRecord[]])[] {
  const groups = new Map<string, [DeviceRecord, ...DeviceRecord[]]>();
  for (const record of devices) if (record.part_of === undefined) groups.set(record.id, [record]);
  for (const record of devices) if (record.part_of !== undefined) groups.get(record.part_of)?.push(record);
  return [...groups.values()];
}

export function recordsOf({ devices }: Content, { id, part_of }: DeviceRecord): readonly DeviceRecord[] {
  const device = part_of ?? id;
  return devices.filter((record) => record.id === device || record.part_of === device);
}

export function firstOf(records: readonly DeviceRecord[]): DeviceRecord {
  const [first] = records;
  if (!first) throw removedError();
  return first;
}

function platformsIn(records: readonly DeviceRecord[]): string {
  return records.map((record) => record.platform).join(" and ");
}

/** The message does not begin with the name, since the command line writes the first letter small. */
function cannotJoin({ name }: DeviceRecord, why: string): ZapdError {
  return new ZapdError("invalid_payload", `Cannot be joined: ${name} ${why}`, {
    hint: "List the devices and their platforms: zapd devices",
    namesDevice: true,
  });
}

/** Adds a user's decision about a record and others, in place of earlier decisions about the same. */
function withDecision(
  record: DeviceRecord,
  what: "joined" | "apart",
  ids: readonly string[],
): Pick<DeviceRecord, "joined" | "apart"> {
  const without = (all: readonly string[] = []) => all.filter((id) => !ids.includes(id));
  const after = (word: typeof what) => [...without(record[word]), ...(word === what ? ids : [])].slice(-maxIds);
  const kept = (word: typeof what) => (after(word).length > 0 ? after(word) : undefined);
  return { joined: kept("joined"), apart: kept("apart") };
}

/**
 * Groups the records into devices again; the same content where nothing has changed. All records of a device have its name:
 * that of the oldest, or one that the user gave. A record that was a part of a device before gets a name of its own.
 */
export function regroup(content: Content, composition: Composition): Content {
  if (grouped.has(content.devices)) return content;
  const changed = new Map<DeviceRecord, DeviceRecord>();
  const names = new Map<readonly DeviceRecord[], Pick<DeviceRecord, "name" | "named_by">>();
  const groups = groupsOf(content.devices, composition);
  const isPart = ({ platform }: DeviceRecord) => composition.partial?.includes(platform) === true;
  /** Devices that need another name, with the record that gives it. */
  const misnamed = new Map<readonly DeviceRecord[], DeviceRecord>();
  for (const group of groups) {
    // A record that was a part of a device has no name of its own.
    const own = group.filter((record) => record.part_of === undefined);
    const [oldest] = own;
    // The name that the oldest would have, had another of the records not taken it first.
    const isPlain = ({ name }: DeviceRecord) =>
      oldest !== undefined && own.length > 1 && name === nameOf(oldest, []).name;
    const named = own.find((record) => record.named_by === "user") ?? own.find(isPlain) ?? oldest;
    const by = named && isPart(named) ? otherNameOf(named, group, isPart) : null;
    if (by) misnamed.set(group, by);
    else if (named) names.set(group, named);
  }
  const chosen = content.default;
  for (const group of groups) {
    const device = firstOf(group);
    const isDefault = group.some((record) => record.id === chosen?.id);
    const taken = () => [...names.values(), ...(chosen && !isDefault ? [{ name: chosen.wanted }] : [])];
    const by = misnamed.get(group);
    const { name, named_by } = names.get(group) ?? (by ? nameOf(by, taken()) : ownName(device, taken()));
    names.set(group, { name, named_by });
    for (const record of group) {
      const part_of = record === device ? undefined : device.id;
      if (record.part_of !== part_of || record.name !== name || record.named_by !== named_by)
        changed.set(record, { ...record, name, named_by, part_of });
    }
  }
  const devices = changed.size === 0 ? content.devices : content.devices.map((record) => changed.get(record) ?? record);
  grouped.add(devices);
  return changed.size === 0 ? content : { ...content, devices };
}

/**
 * Regroups with a newly added record. Where one scan has found all records of its device, the leading one counts as the oldest,
 * so that the device's id and name do not depend on which endpoint answered first.
 */
export function regroupWithLeader(
  content: Content,
  { id, name }: DeviceRecord,
  since: string | undefined,
  composition: Composition,
): Content {
  const next = regroup(content, composition);
  const record = next.devices.find((one) => one.id === id);
  const group = record ? recordsOf(next, record) : [];
  const isNew = (one: DeviceRecord) => since !== undefined && one.added_at >= since && isEvictable(one);
  const ordered = sortByPlatform(group, composition.leading, ({ platform }) => platform);
  const [leader] = ordered;
  if (!leader || leader === group[0] || !group.every(isNew)) return next;
  const others = next.devices.filter((one) => one.part_of === undefined && !group.includes(one));
  const taken = [...others, ...(next.default ? [{ name: next.default.wanted }] : [])];
  const called = nameOf({ ...leader, name: leader.id === id ? name : leader.name }, taken);
  const places = new Map(group.map((one, at) => [one, ordered[at]]));
  const devices = next.devices.map((one) => {
    const moved = places.get(one);
    return moved ? { ...moved, ...called, part_of: undefined } : one;
  });
  return regroup({ ...next, devices }, composition);
}

/** Lists of records that are grouped already. */
const grouped = new WeakSet<readonly DeviceRecord[]>();

/**
 * The record that gives the name of a device whose oldest record reaches only a part of it: one that reaches the whole, or the
 * oldest, where it still has the name of a device to which it no longer belongs. `null` where the name is right.
 */
function otherNameOf(
  named: DeviceRecord,
  group: readonly DeviceRecord[],
  isPart: (record: DeviceRecord) => boolean,
): DeviceRecord | null {
  if (named.named_by === "user") return null;
  const whole = group.find((one) => !isPart(one));
  if (whole) return whole.name === named.name ? null : whole;
  return named.name.startsWith(named.name_on_device ?? "") ? null : named;
}

/** The name of a record that was a part of a device and is one of its own now. */
function ownName(
  record: DeviceRecord,
  taken: readonly Pick<NamedDevice, "name">[],
): Pick<DeviceRecord, "name" | "named_by"> {
  const { name, named_by, name_on_device, model } = record;
  if (uniqueName(name, taken) === name) return { name, named_by };
  return nameOf({ name, name_on_device, model }, taken);
}

/** A unique name from what a device calls itself. */
function nameOf(
  { name, name_on_device, model }: Pick<DeviceRecord, "name" | "name_on_device" | "model">,
  taken: readonly Pick<NamedDevice, "name">[],
): Pick<DeviceRecord, "name" | "named_by"> {
  return { name: uniqueName(name_on_device ?? model ?? name, taken), named_by: "device" };
}

/** The other devices, whose names are taken. */
export function othersThan(id: string, { devices }: Content): readonly DeviceRecord[] {
  return devices.filter((record) => record.part_of === undefined && record.id !== id);
}

/** Joins the devices of two records; gives the oldest record. */
export function joinDevices(
  content: Content,
  first: DeviceRecord,
  second: DeviceRecord,
): Change<Content, DeviceRecord> {
  const [one, other] = [recordsOf(content, first), recordsOf(content, second)];
  const device = firstOf(one);
  if (device === firstOf(other)) throw cannotJoin(device, `is already that device, over ${platformsIn(one)}`);
  const both = one.find((record) => other.some(({ platform }) => platform === record.platform));
  if (both) {
    const why = `and ${firstOf(other).name} are both ${both.platform} devices, and one device has each platform only once`;
    throw cannotJoin(device, why);
  }
  const { name, named_by } = [...one, ...other].find((record) => record.named_by === "user") ?? device;
  const all = content.devices.filter((record) => one.includes(record) || other.includes(record));
  const next = content.devices.map((record) => {
    if (!all.includes(record)) return record;
    const company = (one.includes(record) ? other : one).map((each) => each.id);
    return { ...record, name, named_by, used: true, ...withDecision(record, "joined", company) };
  });
  return { next: { ...content, devices: next }, result: firstOf(all) };
}

/** Splits the record over a platform from the device of a record; gives the oldest record of the rest. */
export function splitDevice(content: Content, of: DeviceRecord, platform: string): Change<Content, DeviceRecord> {
  const records = recordsOf(content, of);
  const device = firstOf(records);
  const split = records.find((record) => record.platform === platform);
  if (!split || records.length < 2) {
    const over = split ? `The only platform of ${device.name} is "${platform}"` : undefined;
    const message = over ?? `There is no connection to ${device.name} over "${platform}"`;
    throw new ZapdError("invalid_payload", message, {
      hint: `It is reached over ${platformsIn(records)}; see its protocols with zapd device ${shellQuote(device.name)}`,
      namesDevice: true,
    });
  }
  const rest = records.filter((record) => record !== split);
  const remaining = firstOf(rest);
  const others = rest.map((record) => record.id);
  const all = [...new Set(records.flatMap(({ labels = [] }) => labels))].toSorted().slice(0, maxLabels);
  const devices = content.devices.map((record) => {
    if (!records.includes(record)) return record;
    const decision = withDecision(record, "apart", record === split ? others : [split.id]);
    const labels = record === remaining && all.length > 0 ? all : undefined;
    // The rest keeps the name and the labels, even where its oldest record, which has them, is split off.
    const changed = { ...record, used: true, ...decision, ...(split === device && { labels }) };
    return { ...changed, part_of: record === remaining ? undefined : remaining.id };
  });
  const chosen = content.default;
  const isDefault = chosen?.id === split.id && chosen.wanted !== split.id;
  const next = { ...content, devices, ...(isDefault && { default: { ...chosen, id: remaining.id } }) };
  return { next, result: remaining };
}

/** The record with an id; fails with `device_not_found`. */
export function recordIn(content: Content, id: string): DeviceRecord {
  const record = content.devices.find((device) => device.id === id);
  if (!record) throw removedError();
  return record;
}

/** Puts a changed record in the place of another; the same content where they are equal. */
export function replaceRecord(content: Content, record: DeviceRecord, next: DeviceRecord): Content {
  if (JSON.stringify(record) === JSON.stringify(next)) return content;
  return { ...content, devices: content.devices.map((device) => (device === record ? next : device)) };
}

/** The names that a record may not take: those of other devices, and the name in the config unless its device is the default. */
export function takenNames(
  content: Content,
  { id, part_of }: Pick<DeviceRecord, "id" | "part_of">,
): readonly NamedDevice[] {
  const own = part_of ?? id;
  const others = othersThan(own, content);
  const chosen = content.default;
  if (!chosen) return others;
  const defaultId = content.devices.find((record) => record.id === chosen.id)?.part_of ?? chosen.id;
  return defaultId === own ? others : [...others, { id: chosen.id, name: chosen.wanted }];
}
