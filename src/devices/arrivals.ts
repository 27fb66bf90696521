/** Devices that come into the registry: found by a scan, or added by the user. */
import type { ConfigFile } from "../config/config.ts";
import type { Discovery } from "../discovery/discover.ts";
import { invalidHost, splitHost } from "../discovery/hosts.ts";
import type { Finding } from "../discovery/intake.ts";
import { ZapdError } from "../errors.ts";
import { type Log, redacted } from "../log.ts";
import type { Platform, Ports, Surroundings } from "../platforms/platform.ts";
import type { Entry } from "./entry.ts";
import { checkName } from "./names.ts";
import type { Registry } from "./registry.ts";

export interface ArrivalsDependencies {
  readonly registry: Registry;
  readonly platforms: readonly Platform[];
  readonly surroundings: Surroundings;
  readonly config: ConfigFile;
  readonly log: Log;
  discovery(): Discovery<Entry>;
}

/** What the user gives to add a device. */
export interface Addition {
  readonly host: string;
  readonly port?: number | undefined;
  readonly platform?: string | undefined;
  readonly name?: string | undefined;
  readonly ports?: Ports | undefined;
}

/** How long a device may take to show that it is still at its old address. */
const oldAddressMs = 2_000;

export class Arrivals {
  readonly #deps: ArrivalsDependencies;

  constructor(deps: ArrivalsDependencies) {
    this.#deps = deps;
  }

  /** Looks for devices now; answers with those found. */
  discover(): Promise<Entry[]> {
    return this.#deps.discovery().scan();
  }

  /** Takes in a device that a scan found. A changed address is followed, unless the device still answers at the old one. */
  async found(finding: Finding): Promise<Entry> {
    const { registry, log } = this.#deps;
    const before = registry.find(finding.platform, finding.facts, finding.address);
    const moved =
      before !== undefined && (before.host !== finding.address.host || before.port !== finding.address.port);
    const address =
      moved && (await this.#stillThere(before)) ? { host: before.host, port: before.port } : finding.address;
    const { entry, added } = await registry.merge({ ...finding, address });
    if (added) log.info(`found  ${entry.name}  ${entry.model ?? entry.platform}  ${entry.host}`);
    else if (before && before.host !== entry.host)
      log.info(`moved  ${entry.name}  from ${before.host} to ${entry.host}`);
    return entry;
  }

  /** Asks an address which device lives there, and adds it. */
  async add(addition: Addition): Promise<Entry> {
    const { registry, log } = this.#deps;
    const { host, port } = splitHost(addition.host);
    if (port !== null && addition.port !== undefined && port !== addition.port)
      throw invalidHost(addition.host, "two ports are given");
    // A name that cannot be is refused before the network is asked; whether it is taken, when the device is known.
    if (addition.name !== undefined) checkName(addition.name, []);
    const finding = await this.#deps
      .discovery()
      .probe(host, addition.port ?? port, addition.platform ?? null)
      .catch((error: unknown) => {
        throw error instanceof ZapdError && /^[a-z]/.test(error.message)
          ? new ZapdError(error.code, `${host} ${redacted(error, log, [addition.host, host]).message}`, {
              hint: addHint,
              cause: error,
            })
          : error;
      });
    this.#checkPorts(finding.platform, addition.ports);
    const before = registry.find(finding.platform, finding.facts, finding.address);
    const { entry } = await registry.merge({ ...finding, ports: addition.ports, name: addition.name });
    if (before) await this.#followDefault(before.name, entry.name);
    return entry;
  }

  /** Renames a device or sets its ports; the default device stays the default under its new name. */
  async change(entry: Entry, change: { name?: string | undefined; ports?: Ports | undefined }): Promise<Entry> {
    this.#checkPorts(entry.platform, change.ports);
    const changed = await this.#deps.registry.change(entry.id, change);
    await this.#followDefault(entry.name, changed.name);
    return changed;
  }

  async #followDefault(before: string, after: string): Promise<void> {
    const { config } = this.#deps;
    const isDefault = config.running.daemon.default_device.toLowerCase() === before.toLowerCase();
    if (after !== before && isDefault) await config.patch({ "daemon.default_device": after });
  }

  #checkPorts(platform: string, ports: Ports | undefined): void {
    const known = Object.keys(this.#deps.platforms.find((one) => one.name === platform)?.ports ?? {});
    const unknown = Object.keys(ports ?? {}).find((word) => !known.includes(word));
    if (unknown === undefined) return;
    throw new ZapdError(
      "invalid_payload",
      `ports: ${JSON.stringify(unknown.slice(0, 64))} is not a port of this platform`,
      { hint: `It has: ${known.join(", ")}` },
    );
  }

  async #stillThere(before: Entry): Promise<boolean> {
    const platform = this.#deps.platforms.find((one) => one.name === before.platform);
    const { surroundings } = this.#deps;
    const facts = await platform?.identify(before, surroundings, AbortSignal.timeout(oldAddressMs)).catch(() => null);
    // One that cannot say who it is, and is of the same platform, is taken to be who it was.
    return facts?.identity === before.identity || facts?.provisional === true;
  }
}

const addHint =
  "Check the address in the network settings of the device, and that it is on: a device that is off cannot be added";
