/** All devices: which one is meant, which is the default one, and which are no longer known. */
import { ZapdError } from "../api/errors.ts";
import type { Device as View } from "../api/schemas.ts";
import { Device, type DeviceDependencies } from "./device.ts";
import type { Entry } from "./entry.ts";
import { noneKnown, resolveName } from "./names.ts";

export class Devices {
  readonly #deps: DeviceDependencies;
  readonly #devices = new Map<string, Device>();
  #over: ZapdError | undefined;

  constructor(deps: Omit<DeviceDependencies, "gone">) {
    this.#deps = { ...deps, gone: ({ id }) => this.#devices.delete(id) };
  }

  /** The device that a path segment means; `device_not_found`, `default_device_missing` and their like. */
  find(segment: string): Device {
    return this.of(resolveName(segment, this.#deps.registry.entries) ?? this.#default());
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
