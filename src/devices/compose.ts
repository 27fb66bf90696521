/**
 * Several endpoints, one device: which records are one device, in which order they are tried, and how their states
 * are merged. Pure: depends only on the records as they are now, so the order in which they were found does not matter.
 */
import type { Composition, PlatformState } from "../platforms/platform.ts";
import { isPowerOff } from "./presence.ts";
import type { DeviceRecord } from "./record.ts";

/** The state from one endpoint of a device, and the parts that the endpoint pushes. */
export interface StateSource<State extends object = Partial<PlatformState>> {
  readonly state: State;
  readonly pushed: ReadonlySet<string>;
  /** It reaches only a part of the device: its state counts where no other endpoint has one. */
  readonly isPartial?: boolean;
  /** The parts of the state for which that is so, though it reaches the whole device. */
  readonly behind?: readonly string[];
}

/** The records that each record is linked with, in both directions. */
type Edges = Map<DeviceRecord, Set<DeviceRecord>>;

/** Characters; shorter serial numbers do not identify hardware. */
const shortestSerial = 6;

/**
 * The groups of records that are one device each, the oldest record first. Records of different platforms belong together where
 * the user joined them; or where they have the same host, and a common hardware id, or the same name or model and platforms
 * that one box often speaks. Where two candidates fit, none is linked; nor are records that the user split.
 */
export function groupsOf(
  records: readonly DeviceRecord[],
  composition: Composition,
): readonly (readonly DeviceRecord[])[] {
  const joined = joinedByUser(records);
  const inferred = linksByEvidence(atSharedHosts(records), composition);
  dropContested(inferred, joined);
  const groups = withoutConflicts(records, joined, inferred);
  linkParts(groups, composition, inferred);
  return connected(records, [joined, inferred]);
}

/** The groups, after removing links that would join two records of one platform, or records that the user split. */
function withoutConflicts(
  records: readonly DeviceRecord[],
  joined: Edges,
  inferred: Edges,
): readonly (readonly DeviceRecord[])[] {
  for (;;) {
    const groups = connected(records, [joined, inferred]);
    const contested = groups.flatMap((group) =>
      group.length < 2 ? [] : group.filter((one) => group.some((other) => conflict(one, other))),
    );
    const company = contested.flatMap((one) => connectedTo(one, [joined]));
    const cut = company.filter((one) => (inferred.get(one)?.size ?? 0) > 0);
    if (cut.length === 0) return groups;
    for (const one of cut) for (const other of [...(inferred.get(one) ?? [])]) unlink(inferred, one, other);
  }
}

/**
 * Links a record that reaches a part of a device with the only device at its host, where it is the only such record there and
 * the device has none yet.
 */
function linkParts(groups: readonly (readonly DeviceRecord[])[], { partial = [] }: Composition, inferred: Edges): void {
  const isPart = ({ platform }: DeviceRecord) => partial.includes(platform);
  const hosts = new Map<string, { readonly devices: Set<readonly DeviceRecord[]>; readonly parts: DeviceRecord[] }>();
  const at = (host: string) => {
    const one = hosts.get(host) ?? { devices: new Set(), parts: [] };
    hosts.set(host, one);
    return one;
  };
  for (const group of groups) {
    const [only] = group;
    // An `alone` device, such as a group of speakers, has no parts, and is none.
    if (only && group.length === 1 && isPart(only) && !only.alone) at(only.host).parts.push(only);
    else if (!group.every((one) => isPart(one) || one.alone)) for (const { host } of group) at(host).devices.add(group);
  }
  for (const { devices, parts } of hosts.values()) {
    const [device = []] = devices;
    const [anchor] = device;
    if (!anchor || devices.size > 1) continue;
    for (const part of parts) {
      const rivals = parts.filter(({ platform }) => platform === part.platform);
      if (rivals.length > 1 || device.some((one) => conflict(one, part) || isOtherHardware(one, part))) continue;
      link(inferred, anchor, part);
    }
  }
}

function areApart(one: DeviceRecord, other: DeviceRecord): boolean {
  return one.apart?.includes(other.id) === true || other.apart?.includes(one.id) === true;
}

function conflict(one: DeviceRecord, other: DeviceRecord): boolean {
  return one !== other && (one.platform === other.platform || areApart(one, other));
}

/** The links that the user made. Where a file wrongly joins two records of one platform, the later link is ignored. */
function joinedByUser(records: readonly DeviceRecord[]): Edges {
  const edges: Edges = new Map();
  const byId = new Map(records.map((record) => [record.id, record]));
  for (const one of records) {
    for (const id of one.joined ?? []) {
      const other = byId.get(id);
      if (!other) continue;
      const both = [...connectedTo(one, [edges]), ...connectedTo(other, [edges])];
      if (!both.some((record, at) => both.some((next, after) => after > at && conflict(record, next))))
        link(edges, one, other);
    }
  }
  return edges;
}

/**
 * Links records at one host by what they have in common, unless the user or their hardware tells them apart, or two records of
 * one platform fit. The work grows with the number of records at a host, not with its square.
 */
function linksByEvidence(records: readonly DeviceRecord[], { pairs, partial = [] }: Composition): Edges {
  const edges: Edges = new Map();
  const contested = new Map<DeviceRecord, Set<string>>();
  const match = (
    keysOf: (record: DeviceRecord) => readonly string[],
    fits: (one: DeviceRecord, other: DeviceRecord) => boolean,
  ) => {
    for (const byPlatform of byCommonKey(records, keysOf).values()) {
      if (byPlatform.size < 2) continue;
      for (const one of [...byPlatform.values()].flat()) {
        for (const [platform, others] of byPlatform) {
          if (platform === one.platform) continue;
          const candidates = firstTwo(
            others,
            (other) => fits(one, other) && !areApart(one, other) && !isOtherHardware(one, other),
          );
          for (const other of candidates) link(edges, one, other);
          if (candidates.length > 1) contested.set(one, (contested.get(one) ?? new Set()).add(platform));
        }
      }
    }
  };
  const arePair = (one: DeviceRecord, other: DeviceRecord) =>
    pairs.some((pair) => pair.includes(one.platform) && pair.includes(other.platform));
  match(hardwareIds, () => true);
  const owners = pageOwners(records, partial);
  const isPartOf = (one: DeviceRecord, other: DeviceRecord) =>
    [one, other].some(({ platform }) => partial.includes(platform));
  match(
    (record) => normalized(record.name_on_device, "name"),
    (one, other) => arePair(one, other) || (isPartOf(one, other) && !owners.has(one) && !owners.has(other)),
  );
  match((record) => normalized(record.model, "model"), arePair);
  for (const [one, platforms] of contested)
    for (const other of [...(edges.get(one) ?? [])]) if (platforms.has(other.platform)) unlink(edges, one, other);
  for (const [one, other] of owners) link(edges, one, other);
  return edges;
}

/**
 * Pairs each record that reaches a part of a device with the record whose port is in the web address that the part gives for its
 * device, which tells two players of one name on one host apart. A page that two records give is ignored.
 */
function pageOwners(
  records: readonly DeviceRecord[],
  partial: readonly string[],
): ReadonlyMap<DeviceRecord, DeviceRecord> {
  const isPart = ({ platform }: DeviceRecord) => partial.includes(platform);
  const pages = byCommonKey(records, (record) =>
    isPart(record) ? (record.hardware_ids ?? []).filter((id) => id.startsWith("page:")) : [`page:${record.port}`],
  );
  const owners = new Map<DeviceRecord, DeviceRecord>();
  for (const byPlatform of pages.values()) {
    const all = [...byPlatform.values()].flat();
    const part = all.find(isPart);
    const whole = all.find((record) => !isPart(record));
    if (!part || !whole || all.length > 2 || areApart(part, whole) || isOtherHardware(part, whole)) continue;
    owners.set(part, whole).set(whole, part);
  }
  return owners;
}

/** The records at hosts that several platforms share, without `alone` ones: no others can belong together. */
function atSharedHosts(all: readonly DeviceRecord[]): readonly DeviceRecord[] {
  const records = all.filter(({ alone }) => alone !== true);
  const platforms = new Map<string, string | null>();
  for (const { host, platform } of records) {
    const known = platforms.get(host);
    platforms.set(host, known === undefined || known === platform ? platform : null);
  }
  return records.filter(({ host }) => platforms.get(host) === null);
}

/** The records by host and common key, and within those by platform. */
function byCommonKey(
  records: readonly DeviceRecord[],
  keysOf: (record: DeviceRecord) => readonly string[],
): ReadonlyMap<string, ReadonlyMap<string, readonly DeviceRecord[]>> {
  const all = new Map<string, Map<string, DeviceRecord[]>>();
  for (const record of records) {
    for (const key of keysOf(record)) {
      const at = `${record.host} ${key}`;
      const byPlatform = all.get(at) ?? new Map<string, DeviceRecord[]>();
      const own = byPlatform.get(record.platform) ?? [];
      own.push(record);
      all.set(at, byPlatform.set(record.platform, own));
    }
  }
  return all;
}

function firstTwo(records: readonly DeviceRecord[], fits: (record: DeviceRecord) => boolean): readonly DeviceRecord[] {
  const first = records.findIndex(fits);
  const second = records.findIndex((record, at) => at > first && fits(record));
  return [first, second].flatMap((at) => records[at] ?? []);
}

/** Whether the neighbour table has shown different hardware for two records: then they are two devices, whatever they report. */
function isOtherHardware(one: DeviceRecord, other: DeviceRecord): boolean {
  const [seen = [], seenToo = []] = [one.standing?.macs, other.standing?.macs];
  return seen.length > 0 && seenToo.length > 0 && !seen.some((mac) => seenToo.includes(mac));
}

/** Ids of the hardware that can be compared between platforms. */
function hardwareIds({ macs, serial, hardware_ids = [] }: DeviceRecord): readonly string[] {
  const own = macs.filter((mac) => !/^(00:?)+$|^(ff:?)+$/.test(mac)).map((mac) => `mac:${mac}`);
  const isSerial = serial !== null && serial.length >= shortestSerial && new Set(serial).size > 2;
  return [...own, ...(isSerial ? [`serial:${serial.toLowerCase()}`] : []), ...hardware_ids];
}

/** A text for comparison: without case, spaces, punctuation and a prefix in brackets ("[TV] Den"). */
function normalized(text: string | null, what: string): readonly string[] {
  const bare = (text ?? "")
    .replace(/^\s*\[[^\]]*\]/, "")
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, "");
  return bare === "" ? [] : [`${what}:${bare}`];
}

/** Removes links to candidates that exclude one another. */
function dropContested(inferred: Edges, joined: Edges): void {
  const contested: (readonly [DeviceRecord, DeviceRecord])[] = [];
  for (const [one, candidates] of inferred) {
    const own = connectedTo(one, [joined]);
    for (const candidate of candidates) {
      const company = connectedTo(candidate, [joined]);
      const isOneOfMany = [...candidates].some((other) => conflict(candidate, other));
      const isExcluded = company.some((member) => own.some((other) => conflict(member, other)));
      if (isOneOfMany || isExcluded) contested.push([one, candidate]);
    }
  }
  for (const [one, other] of contested) unlink(inferred, one, other);
}

function link(edges: Edges, one: DeviceRecord, other: DeviceRecord): void {
  edges.set(one, (edges.get(one) ?? new Set()).add(other));
  edges.set(other, (edges.get(other) ?? new Set()).add(one));
}

function unlink(edges: Edges, one: DeviceRecord, other: DeviceRecord): void {
  edges.get(one)?.delete(other);
  edges.get(other)?.delete(one);
}

/** A record and all records linked with it, directly or not. */
function connectedTo(one: DeviceRecord, edges: readonly Edges[]): readonly DeviceRecord[] {
  const reached = new Set([one]);
  for (const record of reached)
    for (const kind of edges) for (const other of kind.get(record) ?? []) reached.add(other);
  return [...reached];
}

/** The groups of linked records, each in the order of the registry. */
function connected(records: readonly DeviceRecord[], edges: readonly Edges[]): readonly (readonly DeviceRecord[])[] {
  const at = new Map(records.map((record, index) => [record, index]));
  const grouped = new Set<DeviceRecord>();
  return records.flatMap((record) => {
    if (grouped.has(record)) return [];
    const group = connectedTo(record, edges);
    for (const one of group) grouped.add(one);
    return [group.toSorted((one, other) => (at.get(one) ?? 0) - (at.get(other) ?? 0))];
  });
}

/** Sorts by a list of platforms; those of other platforms come last, in their order. */
export function sortByPlatform<T>(
  all: readonly T[],
  platforms: readonly string[],
  platformOf: (one: T) => string,
): readonly T[] {
  if (all.length < 2) return all;
  const rank = (one: T) => {
    const at = platforms.indexOf(platformOf(one));
    return at === -1 ? platforms.length : at;
  };
  return all.toSorted((one, other) => rank(one) - rank(other));
}

/**
 * Merges a device's state part by part. Of the sources that have a part, those that reach the whole device come first, then
 * those that push the part, then the order given; of several that push playback, one that plays. Once the device is off, a part
 * of it plays nothing.
 */
export function mergeStates<State extends object>(
  first: StateSource<State>,
  ...others: readonly StateSource<State>[]
): State {
  if (others.length === 0) return first.state;
  const sources = [first, ...others];
  const parts = [...new Set(sources.flatMap(({ state }) => Object.keys(state)))] as (keyof State & string)[];
  const hasPart = ({ state }: StateSource<State>, part: keyof State) => (state[part] ?? "unknown") !== "unknown";
  const merged = { ...first.state };
  for (const part of parts) {
    const all = sources.filter((one) => hasPart(one, part));
    const whole = all.filter(({ isPartial, behind }) => !isPartial && !behind?.includes(part));
    const candidates = whole.length > 0 ? whole : all;
    const isPlaying = ({ state }: StateSource<State>) =>
      part === "playback" && (state as Partial<PlatformState>).playback?.status === "playing";
    const pushing = candidates.filter(({ pushed }) => pushed.has(part));
    const chosen = pushing.find(isPlaying) ?? pushing[0] ?? candidates[0];
    if (chosen) merged[part] = chosen.state[part];
  }
  const { power, playback }: Partial<PlatformState> = merged;
  const isOfPart = sources.some(
    ({ state, isPartial }) => isPartial && "playback" in state && state.playback === playback,
  );
  return playback && isOfPart && isPowerOff(power ?? null) ? { ...merged, playback: null } : merged;
}
