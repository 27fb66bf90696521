/** The registry's entries grouped into devices: their ids and names, and joining and splitting them. Pure. */
import { ZapdError } from "../api/errors.ts";
import type { Composition } from "../platforms/platform.ts";
import { groupsOf, sortByPlatform } from "./compose.ts";
import { type Entry, isEvictable, maxIds } from "./entry.ts";
import { asShellWord, type NamedDevice, removedError, uniqueName } from "./names.ts";
import type { Change } from "./store.ts";

/** The device that a name in the config means. */
export interface ChosenDefault {
  /** The name, or the id, as the config has it. */
  readonly wanted: string;
  readonly id: string;
}

export interface Content {
  readonly devices: readonly Entry[];
  /** The default device, once its name was found: another device may get that name later. */
  readonly default?: ChosenDefault | undefined;
}

/** The entries of each device, the oldest first. */
export function groupsIn({ devices }: Content): readonly (readonly [Entry, ...Entry[]])[] {
  const groups = new Map<string, [Entry, ...Entry[]]>();
  for (const entry of devices) if (entry.part_of === undefined) groups.set(entry.id, [entry]);
  for (const entry of devices) if (entry.part_of !== undefined) groups.get(entry.part_of)?.push(entry);
  return [...groups.values()];
}

export function partsIn({ devices }: Content, { id, part_of }: Entry): readonly Entry[] {
  const device = part_of ?? id;
  return devices.filter((entry) => entry.id === device || entry.part_of === device);
}

export function firstOf(entries: readonly Entry[]): Entry {
  const [first] = entries;
  if (!first) throw removedError();
  return first;
}

function platformsIn(entries: readonly Entry[]): string {
  return entries.map((entry) => entry.platform).join(" and ");
}

/** The message does not begin with the name, since the command line writes the first letter small. */
function cannotJoin({ name }: Entry, why: string): ZapdError {
  return new ZapdError("invalid_payload", `Cannot be joined: ${name} ${why}`, {
    hint: "See what is known, and over which platforms: zapd devices",
    namesDevice: true,
  });
}

/** Adds a user's decision about an entry and others, in place of earlier decisions about the same. */
function withDecision(entry: Entry, what: "joined" | "apart", ids: readonly string[]): Pick<Entry, "joined" | "apart"> {
  const without = (all: readonly string[] = []) => all.filter((id) => !ids.includes(id));
  const after = (word: typeof what) => [...without(entry[word]), ...(word === what ? ids : [])].slice(-maxIds);
  const kept = (word: typeof what) => (after(word).length > 0 ? after(word) : undefined);
  return { joined: kept("joined"), apart: kept("apart") };
}

/**
 * Groups the entries into devices again; the same content where nothing has changed. All entries of a device have its name:
 * that of the oldest, or one that the user gave. An entry that was a part of a device before gets a name of its own.
 */
export function regroup(content: Content, composition: Composition): Content {
  if (grouped.has(content.devices)) return content;
  const changed = new Map<Entry, Entry>();
  const names = new Map<readonly Entry[], Pick<Entry, "name" | "named_by">>();
  const groups = groupsOf(content.devices, composition);
  const isPart = ({ platform }: Entry) => composition.partial?.includes(platform) === true;
  /** Devices that need another name, with the entry that gives it. */
  const misnamed = new Map<readonly Entry[], Entry>();
  for (const group of groups) {
    // An entry that was a part of a device has no name of its own.
    const own = group.filter((entry) => entry.part_of === undefined);
    const [oldest] = own;
    // The name that the oldest would have, had another of the entries not taken it first.
    const isPlain = ({ name }: Entry) => oldest !== undefined && own.length > 1 && name === nameOf(oldest, []).name;
    const named = own.find((entry) => entry.named_by === "user") ?? own.find(isPlain) ?? oldest;
    const by = named && isPart(named) ? otherNameOf(named, group, isPart) : null;
    if (by) misnamed.set(group, by);
    else if (named) names.set(group, named);
  }
  const chosen = content.default;
  for (const group of groups) {
    const device = firstOf(group);
    const isDefault = group.some((entry) => entry.id === chosen?.id);
    const taken = () => [...names.values(), ...(chosen && !isDefault ? [{ name: chosen.wanted }] : [])];
    const by = misnamed.get(group);
    const { name, named_by } = names.get(group) ?? (by ? nameOf(by, taken()) : ownName(device, taken()));
    names.set(group, { name, named_by });
    for (const entry of group) {
      const { part_of: was, ...rest } = entry;
      const part_of = entry === device ? undefined : device.id;
      if (was !== part_of || entry.name !== name || entry.named_by !== named_by)
        changed.set(entry, { ...rest, name, named_by, ...(part_of !== undefined && { part_of }) });
    }
  }
  const devices = changed.size === 0 ? content.devices : content.devices.map((entry) => changed.get(entry) ?? entry);
  grouped.add(devices);
  return changed.size === 0 ? content : { ...content, devices };
}

/**
 * Regroups with a newly added entry. Where one scan has found all entries of its device, the leading one counts as the oldest,
 * so that the device's id and name do not depend on which endpoint answered first.
 */
export function regroupWithLeader(
  content: Content,
  { id, name }: Entry,
  since: string | undefined,
  composition: Composition,
): Content {
  const next = regroup(content, composition);
  const entry = next.devices.find((one) => one.id === id);
  const group = entry ? partsIn(next, entry) : [];
  const isNew = (one: Entry) => since !== undefined && one.added_at >= since && isEvictable(one);
  const ordered = sortByPlatform(group, composition.leading, ({ platform }) => platform);
  const [leader] = ordered;
  if (!leader || leader === group[0] || !group.every(isNew)) return next;
  const others = next.devices.filter((one) => one.part_of === undefined && !group.includes(one));
  const taken = [...others, ...(next.default ? [{ name: next.default.wanted }] : [])];
  const called = nameOf({ ...leader, name: leader.id === id ? name : leader.name }, taken);
  const places = new Map(group.map((one, at) => [one, ordered[at]]));
  const devices = next.devices.map((one) => {
    const { part_of: _before, ...moved } = places.get(one) ?? one;
    return places.has(one) ? { ...moved, ...called } : one;
  });
  return regroup({ ...next, devices }, composition);
}

/** Lists of entries that are grouped already. */
const grouped = new WeakSet<readonly Entry[]>();

/**
 * The entry that gives the name of a device whose oldest entry reaches only a part of it: one that reaches the whole, or the
 * oldest, where it still has the name of a device to which it no longer belongs. `null` where the name is right.
 */
function otherNameOf(named: Entry, group: readonly Entry[], isPart: (entry: Entry) => boolean): Entry | null {
  if (named.named_by === "user") return null;
  const whole = group.find((one) => !isPart(one));
  if (whole) return whole.name === named.name ? null : whole;
  return named.name.startsWith(named.name_on_device ?? "") ? null : named;
}

/** The name of an entry that was a part of a device and is one of its own now. */
function ownName(entry: Entry, taken: readonly Pick<NamedDevice, "name">[]): Pick<Entry, "name" | "named_by"> {
  const { name, named_by, name_on_device, model } = entry;
  if (uniqueName(name, taken) === name) return { name, named_by };
  return nameOf({ name, name_on_device, model }, taken);
}

/** A unique name from what a device calls itself. */
function nameOf(
  { name, name_on_device, model }: Pick<Entry, "name" | "name_on_device" | "model">,
  taken: readonly Pick<NamedDevice, "name">[],
): Pick<Entry, "name" | "named_by"> {
  return { name: uniqueName(name_on_device ?? model ?? name, taken), named_by: "device" };
}

/** The other devices, whose names are taken. */
export function othersThan(id: string, { devices }: Content): readonly Entry[] {
  return devices.filter((entry) => entry.part_of === undefined && entry.id !== id);
}

/** Joins the devices of two entries; gives the oldest entry. */
export function joinDevices(content: Content, first: Entry, second: Entry): Change<Content, Entry> {
  const [one, other] = [partsIn(content, first), partsIn(content, second)];
  const device = firstOf(one);
  if (device === firstOf(other)) throw cannotJoin(device, `is that device already: ${platformsIn(one)}`);
  const both = one.find((entry) => other.some(({ platform }) => platform === entry.platform));
  if (both) {
    const why = `and ${firstOf(other).name} are both ${both.platform} devices, and a device is reached over a platform once`;
    throw cannotJoin(device, why);
  }
  const { name, named_by } = [...one, ...other].find((entry) => entry.named_by === "user") ?? device;
  const all = content.devices.filter((entry) => one.includes(entry) || other.includes(entry));
  const next = content.devices.map((entry) => {
    if (!all.includes(entry)) return entry;
    const company = (one.includes(entry) ? other : one).map((each) => each.id);
    return { ...entry, name, named_by, used: true, ...withDecision(entry, "joined", company) };
  });
  return { next: { ...content, devices: next }, result: firstOf(all) };
}

/** Splits the entry over a platform from the device of an entry. */
export function splitDevice(
  content: Content,
  of: Entry,
  platform: string,
): Change<Content, { device: Entry; apart: Entry }> {
  const parts = partsIn(content, of);
  const device = firstOf(parts);
  const split = parts.find((entry) => entry.platform === platform);
  if (!split || parts.length < 2) {
    const over = split ? `"${platform}" is all that ${device.name} is reached over` : undefined;
    const message = over ?? `Nothing of ${device.name} is reached over "${platform}"`;
    throw new ZapdError("invalid_payload", message, {
      hint: `It is reached over ${platformsIn(parts)}; see its protocols with zapd device ${asShellWord(device.name)}`,
      namesDevice: true,
    });
  }
  const rest = parts.filter((entry) => entry !== split);
  const remaining = firstOf(rest);
  const others = rest.map((entry) => entry.id);
  const devices = content.devices.map((entry) => {
    if (!parts.includes(entry)) return entry;
    const { part_of: _before, ...own } = entry;
    const decision = withDecision(entry, "apart", entry === split ? others : [split.id]);
    // The rest keeps the name, even where its oldest entry is split off.
    return { ...own, used: true, ...decision, ...(entry !== remaining && { part_of: remaining.id }) };
  });
  const chosen = content.default;
  const isDefault = chosen?.id === split.id && chosen.wanted !== split.id;
  const next = { ...content, devices, ...(isDefault && { default: { ...chosen, id: remaining.id } }) };
  return { next, result: { device: remaining, apart: split } };
}
