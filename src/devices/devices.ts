/** All devices: which one is meant, which is the default one, and which are no longer known. */
import { ZapdError } from "../api/errors.ts";
import type { State, Device as View } from "../api/schemas.ts";
import { Device, type DeviceDependencies } from "./device.ts";
import type { Entry } from "./entry.ts";
import { Feed } from "./feed.ts";
import { Journal } from "./journal.ts";
import { everyWord, labelWord, noneKnown } from "./names.ts";
import { Reach } from "./reach.ts";

/** So many words for devices are remembered. */
const mostFound = 1_000;

export class Devices {
  readonly #deps: DeviceDependencies;
  readonly #devices = new Map<string, Device>();
  /** The entries of the registry, live: what is joined or split keeps its connections. */
  readonly #reaches = new Map<string, Reach>();
  /** What happens to them, for those who follow. */
  readonly journal = new Journal({ shown: () => this.#shown() });
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
  readonly #found = new Map<string, Device>();

  constructor(deps: Omit<DeviceDependencies, "gone" | "reachOf" | "changed" | "hinted" | "pairing" | "feed">) {
    const gone = (device: Device) => {
      this.#devices.delete(device.id);
      for (const { id } of device.reaches) if (!deps.registry.get(id)) this.#reaches.delete(id);
    };
    this.#deps = {
      ...deps,
      gone,
      feed: this.#feed,
      reachOf: (entry) => this.reachOf(entry),
      changed: (id) => this.#changed(id),
      hinted: (id) => this.#hinted(id),
      pairing: (entryId, news) => {
        const device_id = deps.registry.deviceOf(entryId)?.id ?? entryId;
        this.journal.publish({ type: "pairing.changed", device_id, ...news });
        const entry = news.status === "paired" ? deps.registry.deviceOf(entryId) : undefined;
        if (entry) this.of(entry).appeared();
      },
    };
    deps.leases?.attend({
      nameOf: (id) => deps.registry.get(id)?.name ?? id,
      settled: async (id, turn) => this.find(id).settled(turn),
      letGo: (id, reason) => this.#devices.get(id)?.letGo(reason),
      detach: (id) => this.#devices.get(id)?.detach(),
      changed: (device_id, lease, why, owner) => {
        this.journal.publish({ type: "lease.changed", device_id, lease, why, owner });
        this.#changed(device_id);
      },
    });
    this.#told = this.#tellable();
    this.#feed.known(this.describeAll());
    deps.registry.onChange(() => this.#registryChanged());
  }

  /** Somebody is interested in what devices do (`null`: in all of them), until they let go. */
  watch(ids: ReadonlySet<string> | null): () => void {
    if (ids !== null) {
      const wanted = this.#deps.registry.devices.filter(({ id }) => ids.has(id));
      const held = wanted.map((entry) => this.of(entry).watch.hold());
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
      if (!this.#held.has(entry.id)) this.#held.set(entry.id, this.of(entry).watch.hold());
  }

  #shown(): { id: string; show(): { device: View; state: State | null } }[] {
    const { devices } = this.#deps.registry;
    return devices.map((entry) => {
      const show = () => {
        const device = this.of(entry);
        return { device: device.describe(), state: device.shownState };
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
    if (entry) this.of(entry).hinted();
  }

  /** A device is shown otherwise than before, over any of its protocols. */
  #changed(entryId: string): void {
    const entry = this.#deps.registry.deviceOf(entryId);
    if (entry) this.#feed.device(this.of(entry).describe());
  }

  #registryChanged(): void {
    const { registry } = this.#deps;
    this.#found.clear();
    for (const [id, reach] of this.#reaches) reach.update(registry.get(id));
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
      this.#feed.removed(id);
      if (this.#deps.registry.get(id)) this.#devices.get(id)?.absorbed();
    }
    for (const id of new Set(changed)) this.#changed(id);
    this.#holdAll();
  }

  /** The device that a path segment means; `device_not_found`, `default_device_missing` and their like. */
  find(segment: string): Device {
    const known = this.#found.get(segment);
    if (known) return known;
    const device = this.of(this.#deps.registry.resolve(segment) ?? this.#default());
    if (this.#found.size >= mostFound) this.#found.clear();
    this.#found.set(segment, device);
    return device;
  }

  /** The devices that a group means: all, or those with a label. Fails with `group_not_found` where there are none. */
  group(word: string): Device[] {
    const all = this.#deps.registry.devices.map((entry) => this.of(entry));
    const label = word.startsWith(labelWord) ? word.slice(labelWord.length) : word;
    const meant = word === everyWord ? all : all.filter(({ labels }) => labels.includes(label));
    if (meant.length > 0) return meant;
    const labels = [...new Set(all.flatMap((device) => device.labels))].toSorted();
    const known =
      labels.length === 0 ? "Give a device one: zapd label NAME add LABEL" : `The labels are: ${labels.join(", ")}`;
    throw new ZapdError("group_not_found", `No device has the label ${JSON.stringify(label.slice(0, 64))}`, {
      hint: all.length === 0 ? noneKnown : known,
    });
  }

  /** The same, where it is known. */
  known(segment: string): Device | null {
    try {
      return this.find(segment);
    } catch {
      return null;
    }
  }

  /** The live device that an entry of the registry is, or is a part of. */
  of(entry: Entry): Device {
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
  reachOf(entry: Entry): Reach {
    const known = this.#reaches.get(entry.id);
    if (known) return known;
    const reach = new Reach(this.#deps, entry, (...seen) => this.of(entry).observe(...seen));
    if (this.#over) reach.close(this.#over);
    this.#reaches.set(entry.id, reach);
    return reach;
  }

  /** Every device as the API shows it, in the order of adding. */
  describeAll(): View[] {
    const { registry } = this.#deps;
    return registry.devices.map((entry) => this.of(entry).describe());
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
  get held(): { readonly devices: number; readonly reaches: number; readonly words: number; readonly views: number } {
    const [devices, reaches] = [this.#devices.size, this.#reaches.size];
    return { devices, reaches, words: this.#found.size, views: this.#feed.size };
  }

  /** Keeps when each device was last seen, and its last word on its power. */
  keepContacts(): Promise<void> {
    return this.#deps.registry.keepContacts((id) => this.#reaches.get(id)?.contact);
  }

  /** Ends when the daemon stops: whatever goes on for longer than a command goes on no more. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  /** Lets go of every key that is held, and ends what goes on for longer than a command. */
  letGo(): void {
    this.#ending.abort(new ZapdError("internal_error", "zapd is stopping"));
    for (const device of this.#devices.values()) device.letGo();
  }

  /** Ends what is under way at every device, and begins nothing any more. */
  close(): void {
    this.#feed.close();
    for (const device of this.#devices.values()) device.end();
    this.#over = new ZapdError("internal_error", "zapd is stopping");
    for (const reach of this.#reaches.values()) reach.close(this.#over);
  }

  #default(): Entry {
    const { registry, config } = this.#deps;
    const entry = registry.defaultEntry;
    if (entry) return entry;
    const wanted = config().daemon.default_device;
    throw new ZapdError(
      "default_device_missing",
      wanted === "" ? "No default device is set" : `The default device, ${JSON.stringify(wanted)}, is not known`,
      { hint: registry.entries.length === 0 ? noneKnown : "Choose one: zapd default NAME" },
    );
  }
}
