/** A registry, a catalog, the control path and the actions over a fake platform, in a folder of their own. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { configOf } from "../../src/config/schema.ts";
import { Catalog } from "../../src/devices/catalog.ts";
import * as commands from "../../src/devices/commands.ts";
import { Credentials } from "../../src/devices/credentials.ts";
import type { Device, DeviceDependencies } from "../../src/devices/device.ts";
import { Devices, type DevicesDependencies } from "../../src/devices/devices.ts";
import { Leases } from "../../src/devices/leases.ts";
import { pressKey, pressKeys } from "../../src/devices/press.ts";
import type { DeviceRecord } from "../../src/devices/record.ts";
import { Registry } from "../../src/devices/registry.ts";
import { Trust, type TrustDependencies } from "../../src/devices/trust.ts";
import type {
  Capability,
  Composition,
  Connection,
  Emit,
  Facts,
  Platform,
  PlatformHost,
  Target,
} from "../../src/platforms/platform.ts";
import { createLog } from "../../src/system/log.ts";
import { descriptionOf, FakeSet, fakePlatform, sightingOf } from "../support/fake-platform.ts";
import { platformHostOf } from "../support/platform-host.ts";

export const neverAborted = new AbortController().signal;

/** Trust, on a network whose hardware addresses nobody can tell. */
function trustOf(deps: Omit<TrustDependencies, "neighbours" | "now">): Trust {
  return new Trust({ ...deps, neighbours: { macOf: () => null, table: () => new Map() }, now: Date.now });
}

/** Told that a file is damaged, where none may be. */
export function damaged(problem: string): never {
  throw new Error(problem);
}

/** A registry in a folder of its own. */
export async function withRegistryOf<T>(
  composition: Composition,
  run: (registry: Registry, path: string) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "zapd-registry-"));
  try {
    const path = join(folder, "devices.json");
    return await run(await Registry.open({ path, composition, damaged }), path);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What a test gives in the place of what `openDevices` makes. */
type Given = Partial<DevicesDependencies> & {
  readonly composition?: Composition;
  hide?(secret: string): void;
};

/** Devices over platforms in a folder, with all that is kept of them; nothing is looked for. */
export async function openDevices(
  folder: string,
  platforms: readonly Platform[],
  { composition, hide = () => {}, ...given }: Given = {},
) {
  const path = (name: string) => join(folder, name);
  const registry =
    given.registry ??
    (await Registry.open({ path: path("devices.json"), damaged, ...(composition && { composition }) }));
  const catalog = await Catalog.open({ path: path("apps.json"), damaged });
  const credentials = await Credentials.open({ path: path("credentials.json"), damaged, hide });
  const leases = given.leases ?? (await Leases.open({ path: path("leases.json"), damaged, failed: () => {} }));
  const log = createLog({ level: "error", format: "text", colour: false, write: () => {} });
  const common = { registry, credentials, platforms, platformHost: platformHostOf(), log, ...given };
  const devices = new Devices({
    catalog,
    leases,
    trust: trustOf(common),
    config: () => configOf(),
    onUnreachable: () => {},
    scan: async () => {},
    discovery() {
      throw new Error("nothing is looked for");
    },
    nameDefault: async () => {},
    ...common,
  });
  return { registry, catalog, credentials, leases, devices };
}

export interface House {
  readonly folder: string;
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly credentials: Credentials;
  readonly leases: Leases;
  /** Secrets that logs and answers were told to keep out. */
  readonly hidden: readonly string[];
  readonly devices: Devices;
  readonly actions: ReturnType<typeof actionsOf>;
  readonly set: FakeSet;
  readonly platform: Platform;
  /** Devices that did not answer, by name. */
  readonly lost: string[];
  /** How often a device that did not answer was searched for elsewhere. */
  readonly searches: () => number;
  /** Connections made so far. */
  readonly connected: { readonly target: Target; readonly platformHost: PlatformHost; readonly emit: Emit }[];
  add(identity: string, more?: Partial<Facts>): Promise<DeviceRecord>;
  remove(): Promise<void>;
}

/** The commands, each of a device as the registry has it. */
function actionsOf(devices: Devices) {
  type Rest<F> = F extends (device: Device, ...rest: infer R) => unknown ? R : never;
  const of =
    <F extends (device: Device, ...rest: never[]) => unknown>(command: F) =>
    (record: DeviceRecord, ...rest: Rest<F>) =>
      command(devices.deviceOf(record), ...rest) as ReturnType<F>;
  return {
    apps: of(commands.listApps),
    refresh: of(commands.refreshApps),
    launch: of(commands.launchApp),
    stop: of(commands.stopApp),
    key: of(pressKey),
    sequence: of(pressKeys),
    install: of(commands.installPackage),
    reload: of(commands.reloadPackage),
    logs: of(commands.readLogs),
  };
}

export async function openHouse(
  connect: (set: FakeSet) => Connection = (set) => set.connection(),
  withheld: readonly Capability[] = [],
  wake?: DeviceDependencies["wake"],
  pair?: NonNullable<Platform["pair"]>,
): Promise<House> {
  const folder = mkdtempSync(join(tmpdir(), "zapd-house-"));
  const hidden: string[] = [];
  const set = new FakeSet();
  const connected: House["connected"] = [];
  const platform = fakePlatform({
    describe: () => {
      const { has, ...described } = descriptionOf(connect(set), withheld);
      return { ...described, has: pair ? new Set([...has, "pair" as const]) : has };
    },
    services: new Map([
      ["99", "netflix"],
      ["70", "disney-plus"],
      ["71", "disney-plus"],
    ]),
    ...(pair && { pair }),
    connect: (target, platformHost, emit) => {
      connected.push({ target, platformHost, emit });
      return connect(set);
    },
  });
  const lost: string[] = [];
  let searches = 0;
  const { registry, catalog, credentials, leases, devices } = await openDevices(folder, [platform], {
    hide: (secret) => hidden.push(secret),
    onUnreachable: (record) => lost.push(record.name),
    scan: async () => void searches++,
    ...(wake && { wake }),
  });
  return {
    folder,
    registry,
    catalog,
    credentials,
    leases,
    hidden,
    devices,
    set,
    platform,
    lost,
    searches: () => searches,
    connected,
    actions: actionsOf(devices),
    async add(identity, more) {
      const sighting = sightingOf(identity, more);
      const { record } = await registry.merge({ platform: "fake", sighting, address: { host: "192.0.2.1", port: 9 } });
      devices.deviceOf(record).leading.presence.noteAnswer();
      return record;
    },
    async remove() {
      devices.close();
      // What is being written is written, or it fails in the test that comes next.
      await Promise.all([registry, catalog, credentials, leases].map((one) => one.settled()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
