/** All devices: which one is meant, which is the default one, and which are no longer known. */
import { ZapdError } from "../api/errors.ts";
import type { Device as View } from "../api/schemas.ts";
import { Device, type DeviceDependencies } from "./device.ts";
import type { Entry } from "./entry.ts";
import { noneKnown } from "./names.ts";
import { Reach } from "./reach.ts";

export class Devices {
  readonly #deps: DeviceDependencies;
  readonly #devices = new Map<string, Device>();
  /** The entries of the registry, live: what is joined or split keeps its connections. */
  readonly #reaches = new Map<string, Reach>();
  #over: ZapdError | undefined;

  constructor(deps: Omit<DeviceDependencies, "gone" | "reachOf">) {
    const gone = (device: Device) => {
      this.#devices.delete(device.id);
      for (const { id } of device.reaches) if (!deps.registry.get(id)) this.#reaches.delete(id);
    };
    this.#deps = { ...deps, gone, reachOf: (entry) => this.reachOf(entry) };
  }

  /** The device that a path segment means; `device_not_found`, `default_device_missing` and their like. */
  find(segment: string): Device {
    return this.of(this.#deps.registry.resolve(segment) ?? this.#default());
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
    const defaultId = registry.defaultEntry?.id;
    return registry.devices.map((entry) => this.of(entry).describe(entry.id === defaultId));
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

  /** Keeps when each device was last seen, and its last word on its power. */
  keepContacts(): Promise<void> {
    return this.#deps.registry.keepContacts((id) => this.#reaches.get(id)?.contact);
  }

  /** Ends what is under way at every device, and begins nothing any more. */
  close(): void {
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
