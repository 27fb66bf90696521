/**
 * Several endpoints, one device: which registry entries are one device, in which order they are tried, and how their states
 * are merged. Pure: depends only on the entries as they are now, so the order in which they were found does not matter.
 */
import type { Composition, PlatformState } from "../platforms/platform.ts";
import type { Entry } from "./entry.ts";

/** The state from one endpoint of a device, and the parts that the endpoint pushes. */
export interface StateSource<State extends object = Partial<PlatformState>> {
  readonly state: State;
  readonly pushed: ReadonlySet<string>;
  /** It reaches only a part of the device: its state counts where no other endpoint has one. */
  readonly isPartial?: boolean;
  /** The parts of the state for which that is so, though it reaches the whole device. */
  readonly behind?: readonly string[];
}

/** The entries that each entry is linked with, in both directions. */
type Edges = Map<Entry, Set<Entry>>;

/** Characters; shorter serial numbers do not identify hardware. */
const shortestSerial = 6;

/**
 * The groups of entries that are one device each, the oldest entry first. Entries of different platforms belong together where
 * the user joined them; or where they have the same host, and a common hardware id, or the same name or model and platforms
 * that one box often speaks. Where two candidates fit, none is linked; nor are entries that the user split.
 */
export function groupsOf(entries: readonly Entry[], composition: Composition): readonly (readonly Entry[])[] {
  const joined = joinedByUser(entries);
  const soft = linksByEvidence(atSharedHosts(entries), composition);
  dropContested(soft, joined);
  const groups = withoutConflicts(entries, joined, soft);
  return linkParts(groups, composition, soft) ? connected(entries, [joined, soft]) : groups;
}

/** The groups, after removing links that would join two entries of one platform, or entries that the user split. */
function withoutConflicts(entries: readonly Entry[], joined: Edges, soft: Edges): readonly (readonly Entry[])[] {
  for (;;) {
    const groups = connected(entries, [joined, soft]);
    const contested = groups.flatMap((group) =>
      group.length < 2 ? [] : group.filter((one) => group.some((other) => conflict(one, other))),
    );
    const company = contested.flatMap((one) => connectedTo(one, [joined]));
    const cut = company.filter((one) => (soft.get(one)?.size ?? 0) > 0);
    if (cut.length === 0) return groups;
    for (const one of cut) for (const other of [...(soft.get(one) ?? [])]) unlink(soft, one, other);
  }
}

/**
 * Links an entry that reaches a part of a device with the only device at its host, where it is the only such entry there and
 * the device has none yet. Whether any was linked.
 */
function linkParts(groups: readonly (readonly Entry[])[], { partial = [] }: Composition, soft: Edges): boolean {
  if (partial.length === 0) return false;
  const isPart = ({ platform }: Entry) => partial.includes(platform);
  const hosts = new Map<string, { readonly devices: Set<readonly Entry[]>; readonly parts: Entry[] }>();
  const at = (host: string) => {
    const one = hosts.get(host) ?? { devices: new Set(), parts: [] };
    hosts.set(host, one);
    return one;
  };
  for (const group of groups) {
    const [only] = group;
    if (only?.alone && group.length === 1) continue;
    if (only && group.length === 1 && isPart(only)) at(only.host).parts.push(only);
    // An `alone` device, such as a group of speakers, has no parts.
    else if (!group.every((one) => isPart(one) || one.alone)) for (const { host } of group) at(host).devices.add(group);
  }
  let linked = false;
  for (const { devices, parts } of hosts.values()) {
    const [device] = devices;
    const anchor = device?.find((entry) => !isPart(entry) && !entry.alone);
    if (!device || !anchor || devices.size > 1) continue;
    for (const part of parts) {
      const rivals = parts.filter(({ platform }) => platform === part.platform);
      if (rivals.length > 1 || device.some((one) => conflict(one, part) || isOtherHardware(one, part))) continue;
      link(soft, anchor, part);
      linked = true;
    }
  }
  return linked;
}

/** Whether the user split two entries. */
export function areApart(one: Entry, other: Entry): boolean {
  return one.apart?.includes(other.id) === true || other.apart?.includes(one.id) === true;
}

function conflict(one: Entry, other: Entry): boolean {
  return one !== other && (one.platform === other.platform || areApart(one, other));
}

/** The links that the user made. Where a file wrongly joins two entries of one platform, the later link is ignored. */
function joinedByUser(entries: readonly Entry[]): Edges {
  const edges: Edges = new Map();
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  for (const one of entries) {
    for (const id of one.joined ?? []) {
      const other = byId.get(id);
      if (!other || other === one || edges.get(one)?.has(other)) continue;
      const both = [...connectedTo(one, [edges]), ...connectedTo(other, [edges])];
      if (!both.some((entry, at) => both.some((next, after) => after > at && conflict(entry, next))))
        link(edges, one, other);
    }
  }
  return edges;
}

/**
 * Links entries at one host by what they have in common, unless the user or their hardware tells them apart, or two entries of
 * one platform fit. The work grows with the number of entries at a host, not with its square.
 */
function linksByEvidence(entries: readonly Entry[], { pairs, partial = [] }: Composition): Edges {
  const edges: Edges = new Map();
  const contested = new Map<Entry, Set<string>>();
  const match = (keysOf: (entry: Entry) => readonly string[], fits: (one: Entry, other: Entry) => boolean) => {
    for (const byPlatform of byCommonKey(entries, keysOf).values()) {
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
  const arePair = (one: Entry, other: Entry) =>
    pairs.some((pair) => pair.includes(one.platform) && pair.includes(other.platform));
  match(hardwareIds, () => true);
  const owners = pageOwners(entries, partial);
  const isPartOf = (one: Entry, other: Entry) => [one, other].some(({ platform }) => partial.includes(platform));
  match(
    (entry) => normalized(entry.name_on_device, "name"),
    (one, other) => arePair(one, other) || (isPartOf(one, other) && !owners.has(one) && !owners.has(other)),
  );
  match((entry) => normalized(entry.model, "model"), arePair);
  for (const [one, platforms] of contested)
    for (const other of [...(edges.get(one) ?? [])]) if (platforms.has(other.platform)) unlink(edges, one, other);
  for (const [one, other] of owners) link(edges, one, other);
  return edges;
}

/**
 * Pairs each entry that reaches a part of a device with the entry whose port is in the web address that the part gives for its
 * device, which tells two players of one name on one host apart. A page that two entries give is ignored.
 */
function pageOwners(entries: readonly Entry[], partial: readonly string[]): ReadonlyMap<Entry, Entry> {
  const isPart = ({ platform }: Entry) => partial.includes(platform);
  const pages = byCommonKey(entries, (entry) =>
    isPart(entry) ? (entry.hardware_ids ?? []).filter((id) => id.startsWith("page:")) : [`page:${entry.port}`],
  );
  const owners = new Map<Entry, Entry>();
  for (const byPlatform of pages.values()) {
    const all = [...byPlatform.values()].flat();
    const part = all.find(isPart);
    const whole = all.find((entry) => !isPart(entry));
    if (!part || !whole || all.length > 2 || areApart(part, whole) || isOtherHardware(part, whole)) continue;
    owners.set(part, whole).set(whole, part);
  }
  return owners;
}

/** The entries at hosts that several platforms share, without `alone` ones: no others can belong together. */
function atSharedHosts(all: readonly Entry[]): readonly Entry[] {
  const entries = all.filter(({ alone }) => alone !== true);
  const platforms = new Map<string, string | null>();
  for (const { host, platform } of entries) {
    const known = platforms.get(host);
    platforms.set(host, known === undefined || known === platform ? platform : null);
  }
  return entries.filter(({ host }) => platforms.get(host) === null);
}

/** The entries by host and common key, and within those by platform. */
function byCommonKey(
  entries: readonly Entry[],
  keysOf: (entry: Entry) => readonly string[],
): ReadonlyMap<string, ReadonlyMap<string, readonly Entry[]>> {
  const all = new Map<string, Map<string, Entry[]>>();
  for (const entry of entries) {
    for (const key of keysOf(entry)) {
      const at = `${entry.host} ${key}`;
      const byPlatform = all.get(at) ?? new Map<string, Entry[]>();
      const own = byPlatform.get(entry.platform) ?? [];
      own.push(entry);
      all.set(at, byPlatform.set(entry.platform, own));
    }
  }
  return all;
}

function firstTwo(entries: readonly Entry[], fits: (entry: Entry) => boolean): readonly Entry[] {
  const first = entries.findIndex(fits);
  const second = entries.findIndex((entry, at) => at > first && fits(entry));
  return [first, second].flatMap((at) => entries[at] ?? []);
}

/** Whether the neighbour table has shown different hardware for two entries: then they are two devices, whatever they report. */
function isOtherHardware(one: Entry, other: Entry): boolean {
  const [seen = [], seenToo = []] = [one.standing?.macs, other.standing?.macs];
  return seen.length > 0 && seenToo.length > 0 && !seen.some((mac) => seenToo.includes(mac));
}

/** Ids of the hardware that can be compared between platforms. */
function hardwareIds({ macs, serial, hardware_ids = [] }: Entry): readonly string[] {
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
function dropContested(soft: Edges, joined: Edges): void {
  const contested: (readonly [Entry, Entry])[] = [];
  for (const [one, candidates] of soft) {
    const own = connectedTo(one, [joined]);
    for (const candidate of candidates) {
      const company = connectedTo(candidate, [joined]);
      const isOneOfMany = [...own, ...candidates].some((other) => conflict(candidate, other));
      const isExcluded = company.some((member) => own.some((other) => conflict(member, other)));
      if (isOneOfMany || isExcluded) contested.push([one, candidate]);
    }
  }
  for (const [one, other] of contested) unlink(soft, one, other);
}

function link(edges: Edges, one: Entry, other: Entry): void {
  edges.set(one, (edges.get(one) ?? new Set()).add(other));
  edges.set(other, (edges.get(other) ?? new Set()).add(one));
}

function unlink(edges: Edges, one: Entry, other: Entry): void {
  edges.get(one)?.delete(other);
  edges.get(other)?.delete(one);
}

/** An entry and all entries linked with it, directly or not. */
function connectedTo(one: Entry, edges: readonly Edges[]): readonly Entry[] {
  const reached = new Set([one]);
  for (const entry of reached) for (const kind of edges) for (const other of kind.get(entry) ?? []) reached.add(other);
  return [...reached];
}

/** The groups of linked entries, each in the order of the registry. */
function connected(entries: readonly Entry[], edges: readonly Edges[]): readonly (readonly Entry[])[] {
  const at = new Map(entries.map((entry, index) => [entry, index]));
  const grouped = new Set<Entry>();
  return entries.flatMap((entry) => {
    if (grouped.has(entry)) return [];
    const isAlone = edges.every((kind) => (kind.get(entry)?.size ?? 0) === 0);
    const group = isAlone ? [entry] : connectedTo(entry, edges);
    for (const one of group) grouped.add(one);
    return [isAlone ? group : group.toSorted((one, other) => (at.get(one) ?? 0) - (at.get(other) ?? 0))];
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
 * those that push the part, then the order given.
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
    const chosen = candidates.find(({ pushed }) => pushed.has(part)) ?? candidates[0];
    if (chosen) merged[part] = chosen.state[part];
  }
  return merged;
}
