/** All devices: which one is meant, which is the default one, and which are no longer known. */
import { ZapdError } from "../api/errors.ts";
import type { State, Device as View } from "../api/schemas.ts";
import { Device, type DeviceDependencies } from "./device.ts";
import type { Entry } from "./entry.ts";
import { Feed } from "./feed.ts";
import { Journal } from "./journal.ts";
import { noneKnown, resolveName } from "./names.ts";

export class Devices {
  readonly #deps: DeviceDependencies;
  readonly #devices = new Map<string, Device>();
  /** What happens to them, for those who follow. */
  readonly journal = new Journal({ shown: () => this.#shown() });
  readonly #feed = new Feed(this.journal);
  /** The entries, and the default one, as those who follow know them. */
  #told: { readonly entries: readonly Entry[]; readonly defaultId: string | undefined };
  /** Those who are interested in every device, and what is held for them. */
  #interested = 0;
  readonly #held = new Map<string, () => void>();
  #over: ZapdError | undefined;

  constructor(deps: Omit<DeviceDependencies, "gone" | "changed" | "feed">) {
    this.#deps = {
      ...deps,
      feed: this.#feed,
      gone: ({ id }) => this.#devices.delete(id),
      changed: (id) => this.#changed(id),
    };
    const { registry } = deps;
    this.#told = { entries: registry.entries, defaultId: registry.defaultEntry?.id };
    this.#feed.known(this.describeAll());
    registry.onChange(() => this.#registryChanged());
  }

  /** Somebody is interested in what devices do (`null`: in all of them), until they let go. */
  watch(ids: ReadonlySet<string> | null): () => void {
    const { registry } = this.#deps;
    if (ids !== null) {
      const held = registry.entries.filter(({ id }) => ids.has(id)).map((entry) => this.of(entry).watch.hold());
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
    for (const entry of this.#deps.registry.entries)
      if (!this.#held.has(entry.id)) this.#held.set(entry.id, this.of(entry).watch.hold());
  }

  #shown(): { id: string; show(): { device: View; state: State | null } }[] {
    const { registry } = this.#deps;
    const defaultId = registry.defaultEntry?.id;
    return registry.entries.map((entry) => {
      const device = this.of(entry);
      return {
        id: entry.id,
        show: () => ({ device: device.describe(entry.id === defaultId), state: device.shownState }),
      };
    });
  }

  /** A device is shown otherwise than before. */
  #changed(id: string): void {
    const entry = this.#deps.registry.get(id);
    if (entry) this.#feed.device(this.of(entry).describe());
  }

  #registryChanged(): void {
    const { entries, defaultEntry } = this.#deps.registry;
    const before = this.#told;
    this.#told = { entries, defaultId: defaultEntry?.id };
    const isOther = before.defaultId !== defaultEntry?.id;
    const known = new Set(before.entries);
    for (const entry of entries) {
      const becameOther = isOther && (entry.id === before.defaultId || entry.id === defaultEntry?.id);
      if (becameOther || !known.has(entry)) this.#changed(entry.id);
    }
    const ids = new Set(entries.map(({ id }) => id));
    for (const { id } of before.entries) {
      if (ids.has(id)) continue;
      this.#held.delete(id);
      this.#feed.removed(id);
    }
    this.#holdAll();
  }

  /** The device that a path segment means; `device_not_found`, `default_device_missing` and their like. */
  find(segment: string): Device {
    return this.of(resolveName(segment, this.#deps.registry.entries) ?? this.#default());
  }

  /** The same, where it is known. */
  known(segment: string): Device | null {
    try {
      return this.find(segment);
    } catch {
      return null;
    }
  }

  /** The live device of an entry of the registry. */
  of(entry: Entry): Device {
    const known = this.#devices.get(entry.id);
    if (known) return known;
    const device = new Device(this.#deps, entry);
    if (this.#over) device.close(this.#over);
    this.#devices.set(entry.id, device);
    return device;
  }

  /** Every device as the API shows it, in the order of adding. */
  describeAll(): View[] {
    const { registry } = this.#deps;
    const defaultId = registry.defaultEntry?.id;
    return registry.entries.map((entry) => this.of(entry).describe(entry.id === defaultId));
  }

  /** Removes a device, with all that is kept of it; answers with what it was. */
  async remove(device: Device): Promise<View> {
    const view = device.describe();
    await this.#deps.registry.remove(device.id);
    await device.remove();
    return view;
  }

  /** Removes every device that a scan found and nobody has used. */
  async removeUnused(): Promise<View[]> {
    const removed = (await this.#deps.registry.removeUnused()).map((entry) => this.of(entry));
    const views = removed.map((device) => device.describe());
    for (const device of removed) await device.remove();
    return views;
  }

  /** Drops what is kept of a device that has given way to another. */
  forget(entry: Entry): Promise<void> {
    return this.of(entry).remove();
  }

  /** Keeps when each device was last seen, and its last word on its power. */
  keepContacts(): Promise<void> {
    return this.#deps.registry.keepContacts((id) => this.#devices.get(id)?.reach.contact);
  }

  /** Ends what is under way at every device, and begins nothing any more. */
  close(): void {
    this.#feed.close();
    this.#over = new ZapdError("internal_error", "zapd is stopping");
    for (const device of this.#devices.values()) device.close(this.#over);
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
