/** All devices: which one is meant, which is the default one, those that are found or added, and those that are removed. */
import { textOf, ZapdError } from "../api/errors.ts";
import type { BodyOf } from "../api/operations.ts";
import { allWord, labelPrefix } from "../api/routes.ts";
import type { State, Device as View } from "../api/schemas.ts";
import type { Discovery } from "../discovery/discover.ts";
import { invalidHost, splitHost } from "../discovery/hosts.ts";
import type { FoundDevice, Seats } from "../discovery/probe-queue.ts";
import type { Address, Ports, Sighting } from "../platforms/platform.ts";
import { redacted } from "../system/log.ts";
import { addressText } from "../system/text.ts";
import { Device, type DeviceDependencies } from "./device.ts";
import { Endpoint } from "./endpoint.ts";
import type { Discovered, Entry } from "./entry.ts";
import { fillHint, isPredicate } from "./failures.ts";
import { Feed } from "./feed.ts";
import { Journal } from "./journal.ts";
import { checkName, noDevicesHint } from "./names.ts";
import type { EntryChange, MergeResult } from "./registry.ts";
import { isSameAddress } from "./standing.ts";
import { type Location, provesToBe, sightingOf } from "./trust.ts";

/** What each device gets from `Devices` itself. */
type Own = "onRemoved" | "endpointOf" | "deviceOf" | "onChange" | "onHint" | "pairing" | "feed";

export interface DevicesDependencies extends Omit<DeviceDependencies, Own> {
  discovery(): Pick<Discovery<Entry>, "scan" | "probe">;
  /** Writes down in the config what the default device is called now. */
  nameDefault(name: string): Promise<unknown>;
}

/** What was found, and when it answered (`performance.now()`), which may be a while before its turn comes. */
interface Answer extends FoundDevice {
  readonly at: number;
}

/** Milliseconds that a device may take to show that it is still at its old address. */
const oldAddressMs = 2_000;
const pairHint = "Check the address in the network settings of the device, and that it is on";
const addHint = `${pairHint}: a device that is off cannot be added`;

/** So many words for devices are remembered. */
const mostMeant = 1_000;

export class Devices {
  readonly #deps: DeviceDependencies & DevicesDependencies;
  readonly #devices = new Map<string, Device>();
  /** The entries of the registry, live: what is joined or split keeps its connections. */
  readonly #endpoints = new Map<string, Endpoint>();
  /** What happens to them, for those who follow. */
  readonly journal = new Journal({ devices: () => this.#shown() });
  readonly #feed = new Feed(this.journal);
  /** The entries, and the default device, as those who follow know them. */
  #told: {
    readonly entries: readonly Entry[];
    readonly ids: readonly string[];
    readonly defaultId: string | undefined;
  };
  /** How many are interested in every device, and what is held for them. */
  #interested = 0;
  readonly #held = new Map<string, () => void>();
  #over: ZapdError | undefined;
  readonly #ending = new AbortController();
  /** The devices that path segments were found to mean, until the registry changes. */
  readonly #meant = new Map<string, Device>();
  /** What is being decided of each device, by its identity: two findings of one are judged one after the other. */
  readonly #deciding = new Map<string, Promise<unknown>>();

  constructor(deps: DevicesDependencies) {
    const onRemoved = (device: Device) => {
      this.#devices.delete(device.id);
      for (const { id } of device.endpoints) if (!deps.registry.get(id)) this.#endpoints.delete(id);
    };
    this.#deps = {
      ...deps,
      onRemoved,
      feed: this.#feed,
      endpointOf: (entry) => this.endpointOf(entry),
      deviceOf: (entry) => this.deviceOf(entry),
      onChange: (id) => this.#changed(id),
      onHint: (id) => this.#hinted(id),
      pairing: (entryId, news) => {
        const device_id = deps.registry.deviceOf(entryId)?.id ?? entryId;
        this.journal.publish({ type: "pairing.changed", device_id, ...news });
        const entry = news.status === "paired" ? deps.registry.deviceOf(entryId) : undefined;
        if (entry) this.deviceOf(entry).reappeared();
      },
    };
    deps.leases?.connect({
      nameOf: (id) => deps.registry.get(id)?.name ?? id,
      whenIdle: async (id, turn) => this.find(id).whenIdle(turn),
      releaseKey: (id, reason) => this.#devices.get(id)?.releaseKey(reason),
      closeConsole: (id) => this.#devices.get(id)?.closeConsole(),
      changed: (device_id, lease, why, owner) => {
        this.journal.publish({ type: "lease.changed", device_id, lease, why, owner });
        this.#changed(device_id);
      },
    });
    this.#told = this.#tellable();
    this.#feed.seed(this.describeAll());
    deps.registry.onChange(() => this.#registryChanged());
  }

  /** Somebody is interested in what devices do (`null`: in all of them), until they let go. */
  watchDevices(ids: ReadonlySet<string> | null): () => void {
    if (ids !== null) {
      const wanted = this.#deps.registry.devices.filter(({ id }) => ids.has(id));
      const held = wanted.map((entry) => this.deviceOf(entry).watch.subscribe());
      return () => {
        for (const release of held) release();
      };
    }
    this.#interested++;
    this.#holdAll();
    return () => {
      if (--this.#interested > 0) return;
      for (const release of this.#held.values()) release();
      this.#held.clear();
    };
  }

  #holdAll(): void {
    if (this.#interested === 0) return;
    for (const entry of this.#deps.registry.devices)
      if (!this.#held.has(entry.id)) this.#held.set(entry.id, this.deviceOf(entry).watch.subscribe());
  }

  #shown(): { id: string; show(): { device: View; state: State | null } }[] {
    const { devices } = this.#deps.registry;
    return devices.map((entry) => {
      const show = () => {
        const device = this.deviceOf(entry);
        return { device: device.describe(), state: device.lastState };
      };
      return { id: entry.id, show };
    });
  }

  #tellable() {
    const { entries, devices, defaultEntry } = this.#deps.registry;
    return { entries, ids: devices.map(({ id }) => id), defaultId: defaultEntry?.id };
  }

  #hinted(entryId: string): void {
    const entry = this.#deps.registry.deviceOf(entryId);
    if (entry) this.deviceOf(entry).hinted();
  }

  /** A device is shown otherwise than before, over any of its protocols. */
  #changed(entryId: string): void {
    const entry = this.#deps.registry.deviceOf(entryId);
    if (entry) this.#feed.publishDevice(this.deviceOf(entry).describe());
  }

  #registryChanged(): void {
    const { registry } = this.#deps;
    this.#meant.clear();
    for (const [id, endpoint] of this.#endpoints) endpoint.update(registry.get(id));
    for (const device of this.#devices.values()) device.update();
    const before = this.#told;
    const now = this.#tellable();
    this.#told = now;
    const known = new Set(before.entries);
    const changed = now.entries.filter((entry) => !known.has(entry)).map(({ id }) => id);
    if (before.defaultId !== now.defaultId)
      for (const id of [before.defaultId, now.defaultId]) if (id !== undefined) changed.push(id);
    const ids = new Set(now.ids);
    for (const id of before.ids) {
      if (ids.has(id)) continue;
      this.#held.get(id)?.();
      this.#held.delete(id);
      this.#deps.leases?.drop(id);
      this.#feed.publishRemoval(id);
      if (this.#deps.registry.get(id)) this.#devices.get(id)?.mergedIntoOther();
    }
    for (const id of new Set(changed)) this.#changed(id);
    this.#holdAll();
  }

  /** The device that a path segment means; `device_not_found`, `default_device_missing` and their like. */
  find(segment: string): Device {
    const known = this.#meant.get(segment);
    if (known) return known;
    const device = this.deviceOf(this.#deps.registry.resolve(segment) ?? this.#default());
    if (this.#meant.size >= mostMeant) this.#meant.clear();
    this.#meant.set(segment, device);
    return device;
  }

  /** The devices that a group means: all, or those with a label. Fails with `group_not_found` where there are none. */
  group(word: string): Device[] {
    const all = this.#deps.registry.devices.map((entry) => this.deviceOf(entry));
    const label = word.startsWith(labelPrefix) ? word.slice(labelPrefix.length) : word;
    const meant = word === allWord ? all : all.filter(({ labels }) => labels.includes(label));
    if (meant.length > 0) return meant;
    const labels = [...new Set(all.flatMap((device) => device.labels))].toSorted();
    const known =
      labels.length === 0 ? "Give a device one: zapd label NAME add LABEL" : `The labels are: ${labels.join(", ")}`;
    const none =
      word === allWord ? "There is no device" : `No device has the label ${JSON.stringify(label.slice(0, 64))}`;
    throw new ZapdError("group_not_found", none, {
      hint: all.length === 0 ? noDevicesHint : known,
    });
  }

  /** The same, where it is known. */
  findOrNull(segment: string): Device | null {
    try {
      return this.find(segment);
    } catch {
      return null;
    }
  }

  /** The live device that an entry of the registry is, or is a part of. */
  deviceOf(entry: Entry): Device {
    const { registry } = this.#deps;
    return this.#device([registry.deviceOf(entry.id) ?? entry]);
  }

  #device(parts: readonly [Entry, ...Entry[]]): Device {
    const [{ id }] = parts;
    const device = this.#devices.get(id) ?? new Device(this.#deps, parts);
    this.#devices.set(id, device);
    return device;
  }

  /** An entry of the registry, live. */
  endpointOf(entry: Entry): Endpoint {
    const known = this.#endpoints.get(entry.id);
    if (known) return known;
    const endpoint = new Endpoint(this.#deps, entry, (...seen) => this.deviceOf(entry).observe(...seen));
    if (this.#over) endpoint.close(this.#over);
    this.#endpoints.set(entry.id, endpoint);
    return endpoint;
  }

  /** Every device as the API shows it, in the order of adding. */
  describeAll(): View[] {
    const { registry } = this.#deps;
    return registry.devices.map((entry) => this.deviceOf(entry).describe());
  }

  /** Looks for devices now; answers with those found. */
  async discover(): Promise<Device[]> {
    const found = await this.#deps.discovery().scan();
    // Some may have given way to others by its end.
    const known = found.flatMap((entry) => this.#deps.registry.get(entry.id) ?? []);
    return [...new Set(known.map((entry) => this.deviceOf(entry)))];
  }

  /** The device that is known at an address, said that it goes off, and would be turned on by being asked who it is. */
  sleepingAt(platform: string, address: Address): Entry | null {
    const entry = this.#deps.registry.entries.find((one) => one.platform === platform && isSameAddress(one, address));
    const endpoint = entry && this.endpointOf(entry);
    return endpoint?.isOff && endpoint.connection.power?.wakesByConnecting ? endpoint.record : null;
  }

  /**
   * Takes in a device that a scan found; a new one needs a seat. A changed address is followed, unless the device still
   * answers at the old one.
   */
  addFound(finding: FoundDevice, seats?: Seats): Promise<Entry> {
    return this.#inTurn(finding, async (answer) => {
      const { registry, trust, log } = this.#deps;
      const { platform, sighting, address } = answer;
      const before = registry.find(platform, sighting, address);
      const stranger = before && trust.impostorReason(before, answer);
      if (stranger) {
        log.recurring(`${before.name} ${stranger}: it is not taken for it`);
        throw new ZapdError("device_error", stranger);
      }
      if (before) {
        registry.markFound(before.id);
        return this.#follow(before, answer, await trust.locate(before, answer, oldAddressMs));
      }
      const seat = seats?.take(address.host);
      if (seat === null) throw new ZapdError("device_busy", "is one of too many new devices in one scan");
      const mac = trust.macOf(address.host);
      const merged = await registry.merge({
        ...answer,
        by: "scan",
        mac,
        evicts: seat?.instead,
        scanStartedAt: seats?.since,
      });
      // A part of a device that is known is no new one.
      if (registry.partsOf(merged.entry.id).length > 1) seats?.giveBack(address.host);
      else seats?.took(address.host, merged.entry.id);
      const entry = await this.#added(merged, answer);
      log.info(`found  ${entry.name}  ${entry.model ?? entry.platform}  ${entry.host}`);
      return entry;
    });
  }

  /**
   * Asks an address which device lives there, and adds it. One that is known, and that answers where it is, or has secrets
   * that only the set itself may get, is not moved there: `device_elsewhere`. One that is leased is renamed, or given ports, by
   * its holder alone: `device_leased`.
   */
  async add(addition: BodyOf<"addDevice">, lease?: string): Promise<Device> {
    const { host, port } = addressIn(addition.host, addition.port);
    // A name that cannot be is refused before the network is asked; whether it is taken, when the device is known.
    if (addition.name !== undefined) checkName(addition.name, []);
    const found = await this.#probe(host, port, addition.platform ?? null, addHint);
    this.#checkPorts(found.platform, addition.ports);
    const given = { ports: addition.ports, name: addition.name, by: "user" } as const;
    const entry = await this.#inTurn(found, async (answer) => {
      const { registry, trust, config } = this.#deps;
      const { platform, sighting, address } = answer;
      const before = registry.find(platform, sighting, address);
      if (!before) {
        const mac = trust.macOf(address.host);
        return this.#added(await registry.merge({ ...answer, ...given, mac }), answer);
      }
      if (addition.name !== undefined || addition.ports !== undefined) this.deviceOf(before).checkLease(lease);
      const stranger = trust.impostorReason(before, answer);
      if (stranger)
        throw new ZapdError("device_elsewhere", `${before.name} ${stranger}`, {
          hint: `It is driven where it is known, at ${addressText(before)}; if it was really replaced, or shows another since: ${trust.startOverHint(before, address)}`,
        });
      const patienceMs = Math.max(oldAddressMs, config().devices.request_timeout_ms);
      const whereabouts = await trust.locate(before, answer, patienceMs);
      await this.#checkElsewhere(before, answer, whereabouts);
      const after = await this.#follow(before, answer, whereabouts, given);
      await this.#followDefault(before, after);
      return after;
    });
    return this.deviceOf(entry);
  }

  /** Asks an address whether a known device is there, to pair with it anew. Fails when nobody is, or another. */
  async recognize(entry: Entry, text: string): Promise<FoundDevice> {
    const { platforms, registry } = this.#deps;
    const { host, port } = addressIn(text);
    const usual = platforms.find((one) => one.name === entry.platform)?.ports.control ?? entry.port;
    const finding = await this.#probe(host, port ?? entry.port, entry.platform, pairHint).catch((error: unknown) => {
      if (port !== null || entry.port === usual) throw error;
      return this.#probe(host, usual, entry.platform, pairHint);
    });
    const { platform, sighting, address } = finding;
    if (provesToBe(sighting, entry)) return finding;
    const at = addressText(address);
    const other = registry.find(platform, sighting, address);
    // A record without an identity of its own has nothing that could be compared: the user says who it is.
    if (entry.provisional && (!other || other.id === entry.id)) return finding;
    if (sighting.provisional)
      throw new ZapdError(
        "device_error",
        `${entry.name} could not be recognized: what answers at ${at} does not say who it is`,
        { hint: "Check that the device is on and has finished starting, then try again" },
      );
    const who = other?.name ?? sighting.facts.name ?? sighting.facts.model ?? sighting.identity;
    throw new ZapdError(
      "device_elsewhere",
      `${entry.name} is not at ${at}: another device answers there, ${JSON.stringify(who)}`,
      { hint: `Check the address in the network settings of ${entry.name}; to add the other one: zapd add ${at}` },
    );
  }

  /** One decision about one device at a time. */
  #inTurn<T>(finding: FoundDevice, decide: (answer: Answer) => Promise<T>): Promise<T> {
    const key = `${finding.platform} ${finding.sighting.identity}`;
    const answer = { ...finding, at: performance.now() };
    const take = () => decide(answer);
    const turn = (this.#deciding.get(key) ?? Promise.resolve()).then(take, take);
    this.#deciding.set(key, turn);
    const done = () => {
      if (this.#deciding.get(key) === turn) this.#deciding.delete(key);
    };
    turn.then(done, done);
    return turn;
  }

  /** Drops what has given way to a new device, and notes that this one answered. */
  async #added({ entry, evicted }: MergeResult, { at, sighting }: Answer): Promise<Entry> {
    await this.forget(evicted).catch((error: unknown) => this.#deps.log.recurring(textOf(error)));
    this.#answered(entry, at, sighting);
    return entry;
  }

  /** Writes down where a known device is, and what it says there. */
  async #follow(
    before: Entry,
    { platform, at }: Answer,
    { place, sighting }: Location,
    given: Pick<Discovered, "name" | "ports" | "by"> = {},
  ): Promise<Entry> {
    const { registry, trust, log } = this.#deps;
    const { entry } = await registry.merge({
      platform,
      sighting: sighting ?? sightingOf(before),
      address: place,
      ...given,
      place: { from: before, to: place },
    });
    this.#answered(entry, at, sighting ?? {});
    if (!isSameAddress(before, entry))
      log.info(`moved  ${entry.name}  from ${addressText(before)} to ${addressText(entry)}`);
    const doubt = entry.standing?.probation;
    if (doubt && !before.standing?.probation) log.warn(`${entry.name} ${trust.doubt(entry)?.message ?? ""}`);
    this.endpointOf(entry).foundAgain();
    this.deviceOf(entry).reappeared();
    return entry;
  }

  /** It has said who it is, and perhaps what its power is. */
  #answered(entry: Entry, at: number, { power = "unknown" }: Pick<Sighting, "power">): void {
    this.endpointOf(entry).answered(power === "unknown" ? undefined : power, at);
  }

  /** Adding moves no device that answers where it is, and none that is silent and has secrets (SECURITY.md 2.4, T28). */
  async #checkElsewhere(before: Entry, answer: Answer, whereabouts: Location): Promise<void> {
    const { registry, trust } = this.#deps;
    const { address } = answer;
    const { place, answering } = whereabouts;
    const stays = isSameAddress(place, before);
    if (stays && (isSameAddress(before, address) || trust.isOtherPort(before, address))) return;
    if (isSameAddress(place, address)) {
      const former = trust.formerAddress(before);
      const isHome = former !== undefined && isSameAddress(former, address);
      if (isHome || !trust.hasSecrets(before)) return;
    } else if (!stays) {
      // Its former address has answered: there it is, whoever answers where it was taken to be.
      const known = answering.filter((one) => isSameAddress(before, one) || !isSameAddress(address, one));
      await this.#follow(before, answer, { ...whereabouts, place: trust.placeOf(before, null, known) });
    }
    throw trust.elsewhereError(registry.get(before.id) ?? before, address, answering);
  }

  #probe(host: string, port: number | null, platform: string | null, hint: string): Promise<FoundDevice> {
    const { discovery, log } = this.#deps;
    return discovery()
      .probe(host, port, platform)
      .catch((error: unknown) => {
        if (!isPredicate(error)) throw error;
        const { message } = redacted(error, log, [host]);
        // A platform that recognized what is there says what to do about it.
        const subject = { name: host, host, port: port ?? 0, canWake: false };
        const own = error.code === "device_error" ? fillHint(error.hint, subject) : undefined;
        throw error.reworded(`${host} ${message}`, { hint: own ?? hint, namesDevice: true });
      });
  }

  /** Renames a device or sets its ports or labels; the default device stays the default under its new name. */
  async change({ record }: Device, change: EntryChange): Promise<void> {
    const { registry } = this.#deps;
    const words = Object.keys(change.ports ?? {});
    const parts = [record, ...registry.partsOf(record.id)];
    const part = parts.find(({ platform }) => words.every((word) => this.#portsOf(platform).includes(word))) ?? record;
    this.#checkPorts(part.platform, change.ports);
    await this.#followDefault(record, await registry.change(part.id, change));
  }

  #checkPorts(platform: string, ports: Ports | undefined): void {
    const known = this.#portsOf(platform);
    const unknown = Object.keys(ports ?? {}).find((word) => !known.includes(word));
    if (unknown === undefined) return;
    throw new ZapdError(
      "invalid_payload",
      `ports: ${JSON.stringify(unknown.slice(0, 64))} is not a port of this platform`,
      { hint: `It has: ${known.join(", ")}` },
    );
  }

  #portsOf(platform: string): readonly string[] {
    const ports = this.#deps.platforms.find((one) => one.name === platform)?.ports ?? {};
    return Object.keys(ports).filter((word) => word !== "control");
  }

  /** The user says that two devices are one; where one of them is the default device, it is that by the name it has then. */
  async join(one: Device, other: Device): Promise<Device> {
    const { registry } = this.#deps;
    const before = registry.defaultEntry;
    const joined = await registry.join(one.record.id, other.record.id);
    if (before) await this.#followDefault(before, joined);
    return this.deviceOf(joined);
  }

  async #followDefault(before: Entry, after: Entry): Promise<void> {
    const { registry, config, nameDefault } = this.#deps;
    const wanted = config().daemon.default_device;
    const byName = wanted !== "" && !registry.get(wanted.toLowerCase());
    const isDefault = byName && registry.defaultEntry?.id === registry.deviceOf(after.id)?.id;
    if (after.name !== before.name && isDefault) await nameDefault(after.name);
  }

  /** Removes a device, with all that is kept of it; answers with what it was. */
  async remove(device: Device): Promise<View> {
    const view = device.describe();
    await this.forget(await this.#deps.registry.remove(device.id));
    return view;
  }

  /** Removes every device that a scan found and nobody has used. */
  async removeUnused(): Promise<View[]> {
    return this.forget(await this.#deps.registry.removeUnused());
  }

  /** Drops what is kept of devices that are no longer known, by their entries; answers with what they were. */
  async forget(entries: readonly Entry[]): Promise<View[]> {
    const views: View[] = [];
    for (const entry of entries) {
      if (entry.part_of !== undefined) continue;
      const parts = [entry, ...entries.filter((one) => one.part_of === entry.id)] as const;
      const device = this.#device(parts);
      views.push(device.describe());
      await device.remove(parts);
    }
    return views;
  }

  /** How much is held in memory, for tests: nothing of a device that is gone. */
  get sizes(): {
    readonly devices: number;
    readonly endpoints: number;
    readonly words: number;
    readonly views: number;
  } {
    const [devices, endpoints] = [this.#devices.size, this.#endpoints.size];
    return { devices, endpoints, words: this.#meant.size, views: this.#feed.size };
  }

  /** Keeps when each device was last seen, and its last word on its power. */
  saveAvailability(): Promise<void> {
    return this.#deps.registry.saveAvailability((id) => this.#endpoints.get(id)?.availability);
  }

  /** Ends when the daemon stops: whatever goes on for longer than a command goes on no more. */
  get stopping(): AbortSignal {
    return this.#ending.signal;
  }

  /** Lets go of every key that is held, and ends what goes on for longer than a command. */
  releaseKeys(): void {
    this.#ending.abort(new ZapdError("internal_error", "zapd is stopping"));
    for (const device of this.#devices.values()) device.releaseKey();
  }

  /** Ends what is under way at every device, and begins nothing any more. */
  close(): void {
    this.#feed.close();
    for (const device of this.#devices.values()) device.stop();
    this.#over = new ZapdError("internal_error", "zapd is stopping");
    for (const endpoint of this.#endpoints.values()) endpoint.close(this.#over);
  }

  #default(): Entry {
    const { registry, config } = this.#deps;
    const entry = registry.defaultEntry;
    if (entry) return entry;
    const wanted = config().daemon.default_device;
    throw new ZapdError(
      "default_device_missing",
      wanted === "" ? "No default device is set" : `The default device, ${JSON.stringify(wanted)}, is not known`,
      { hint: registry.entries.length === 0 ? noDevicesHint : "Choose one: zapd default NAME" },
    );
  }
}

/** Host and port of an address that a user gives; its port may be given apart. */
function addressIn(text: string, port?: number): { host: string; port: number | null } {
  const given = splitHost(text);
  if (given.port !== null && port !== undefined && given.port !== port) throw invalidHost(text, "two ports are given");
  return { host: given.host, port: port ?? given.port };
}
