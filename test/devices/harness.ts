/** A registry, a catalog, the control path and the actions over a fake platform, in a folder of their own. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Config, configOf } from "../../src/config/schema.ts";
import { Actions } from "../../src/devices/actions.ts";
import { Catalog } from "../../src/devices/catalog.ts";
import { Control } from "../../src/devices/control.ts";
import { Credentials } from "../../src/devices/credentials.ts";
import type { Entry } from "../../src/devices/entry.ts";
import { Registry } from "../../src/devices/registry.ts";
import { Trust } from "../../src/devices/trust.ts";
import type {
  Capability,
  Connection,
  DeviceSurroundings,
  Facts,
  Platform,
  Target,
} from "../../src/platforms/platform.ts";
import { createLog } from "../../src/system/log.ts";
import { descriptionOf, FakeSet, factsOf, fakePlatform } from "../support/fake-platform.ts";
import { surroundingsOf } from "../support/surroundings.ts";

export const never = new AbortController().signal;

export interface House {
  readonly folder: string;
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly credentials: Credentials;
  /** Secrets that logs and answers were told to keep out. */
  readonly hidden: readonly string[];
  readonly control: Control;
  readonly actions: Actions;
  readonly set: FakeSet;
  readonly platform: Platform;
  /** Devices that did not answer, by name. */
  readonly lost: string[];
  /** Connections made so far. */
  readonly connected: { readonly target: Target; readonly surroundings: DeviceSurroundings }[];
  config: Config;
  add(identity: string, more?: Partial<Facts>): Promise<Entry>;
  remove(): void;
}

export function defaultConfig(): Config {
  return configOf();
}

export async function openHouse(
  connect: (set: FakeSet, target: Target) => Connection = (set) => set.connection(),
  withheld: readonly Capability[] = [],
): Promise<House> {
  const folder = mkdtempSync(join(tmpdir(), "zapd-house-"));
  const damaged = (problem: string) => {
    throw new Error(problem);
  };
  const registry = await Registry.open({ path: join(folder, "devices.json"), damaged });
  const catalog = await Catalog.open({ path: join(folder, "apps.json"), damaged });
  const hidden: string[] = [];
  const hide = (secret: string) => void hidden.push(secret);
  const credentials = await Credentials.open({ path: join(folder, "credentials.json"), damaged, hide });
  const set = new FakeSet();
  const connected: House["connected"] = [];
  const platform = fakePlatform({
    describe: (target) => descriptionOf(connect(set, target), withheld),
    connect: (target, surroundings) => {
      connected.push({ target, surroundings });
      return connect(set, target);
    },
  });
  const lost: string[] = [];
  const log = createLog({ level: "error", format: "text", colour: false, write: () => {} });
  const trust = new Trust({
    registry,
    platforms: [platform],
    credentials,
    log,
    neighbours: { macOf: () => null },
    now: Date.now,
  });
  const control = new Control({
    ...{ registry, catalog, credentials, trust, platforms: [platform], surroundings: surroundingsOf(), log },
    config: () => house.config,
    lost: (entry) => lost.push(entry.name),
    seek: async () => false,
  });
  let config = defaultConfig();
  const house: House = {
    ...{ folder, registry, catalog, credentials, hidden, control, set, platform, lost, connected },
    actions: new Actions(control, catalog),
    get config() {
      return config;
    },
    set config(given) {
      config = given;
      void registry.wantDefault(given.daemon.default_device);
    },
    async add(identity, more) {
      const facts = factsOf(identity, more);
      return (await registry.merge({ platform: "fake", facts, address: { host: "192.0.2.1", port: 9 } })).entry;
    },
    remove() {
      control.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return house;
}
