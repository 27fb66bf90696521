import { beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ZapdError } from "../../src/api/errors.ts";
import { ConfigFile } from "../../src/config/config.ts";
import type { Devices } from "../../src/devices/devices.ts";
import type { DeviceRecord } from "../../src/devices/record.ts";
import type { Registry } from "../../src/devices/registry.ts";
import { Discovery } from "../../src/discovery/discover.ts";
import { Seats } from "../../src/discovery/probe-queue.ts";
import type { Address } from "../../src/platforms/platform.ts";
import { createLog } from "../../src/system/log.ts";
import { codeOf } from "../support/failure.ts";
import { fakePlatform, sightingOf } from "../support/fake-platform.ts";
import { folderForEach } from "../support/folder.ts";
import { platformHostOf } from "../support/platform-host.ts";
import { openDevices } from "./harness.ts";

const folderOf = folderForEach();
let registry: Registry;
let config: ConfigFile;
let devices: Devices;
let lines: string[];
/** Who lives where: `host:port` and an identity. */
let homes: Map<string, string>;
/** Where one that is asked there has its control port. */
let leads: Map<string, number>;

beforeEach(async () => {
  const folder = folderOf();
  homes = new Map();
  leads = new Map();
  lines = [];
  config = await ConfigFile.open(join(folder, "config.toml"));
  const log = createLog({ level: "info", format: "text", colour: false, write: (line) => lines.push(line) });
  const platform = fakePlatform({
    identify: async ({ host, port }) => {
      const identity = homes.get(`${host}:${port}`);
      if (identity === undefined) throw new ZapdError("device_unreachable", "did not answer");
      const control = leads.get(`${host}:${port}`);
      const sighting = sightingOf(identity, { name: `Set ${identity}`, manufacturer: "Acme" });
      return control === undefined ? sighting : { ...sighting, port: control };
    },
  });
  const platformHost = { ...platformHostOf(), isOwnListener: ({ port }: Address) => port === 7_272 };
  const discovery = new Discovery<DeviceRecord>({
    platforms: [platform],
    platformHost,
    config: () => config.running.discovery,
    addFound: (finding, seats) => devices.adding.addFound(finding, seats),
    warn: () => {},
  });
  ({ registry, devices } = await openDevices(folder, [platform], {
    platformHost,
    log,
    config: () => config.running,
    discovery: () => discovery,
    nameDefault: (name) => config.patch({ "daemon.default_device": name }),
  }));
  config.subscribe(({ daemon }) => void registry.setDefaultName(daemon.default_device).catch(() => {}));
});

const found = (identity: string, host: string, port = 9, seats = new Seats()) => {
  homes.set(`${host}:${port}`, identity);
  return devices.adding.addFound({ platform: "fake", sighting: sightingOf(identity), address: { host, port } }, seats);
};

describe("a device that a scan finds", () => {
  test("and that cannot be saved, as on a full disk, is told in the log, once", async () => {
    mkdirSync(join(folderOf(), "devices.json"));
    expect(await codeOf(found("1", "192.0.2.1"))).toBe("storage_error");
    expect(await codeOf(found("2", "192.0.2.2"))).toBe("storage_error");
    expect(lines.filter((line) => line.includes("devices.json could not be written"))).toHaveLength(1);
  });

  test("has a control port now, where it had another of its ports alone: it is driven there", async () => {
    await found("1", "192.0.2.1", 90);
    leads.set("192.0.2.1:90", 9);
    await found("1", "192.0.2.1");
    expect(registry.records).toMatchObject([{ host: "192.0.2.1", port: 9 }]);
  });

  test("is added and logged once", async () => {
    await found("1", "192.0.2.1");
    await found("1", "192.0.2.1");
    expect(registry.records.length).toBe(1);
    expect(lines.filter((line) => line.startsWith("found  Set 1"))).toHaveLength(1);
  });

  test("and that the user removes meanwhile, stays removed, until it is looked for again", async () => {
    const seats = new Seats();
    const { id } = await found("1", "192.0.2.1");
    const again = found("1", "192.0.2.1", 9, seats);
    await registry.remove(id);
    expect(await codeOf(again)).toBe("device_not_found");
    expect(await codeOf(found("1", "192.0.2.1", 9, seats))).toBe("device_not_found");
    expect(registry.records).toEqual([]);
    seats.wantedAt = performance.now();
    await found("1", "192.0.2.1", 9, seats);
    expect(registry.get(id)).toMatchObject({ added_by: "scan", used: false });
  });

  test("at another address has moved, when it is no longer at the old one", async () => {
    const { id } = await found("1", "192.0.2.1");
    homes.delete("192.0.2.1:9");
    await found("1", "192.0.2.2");
    expect(registry.get(id)).toMatchObject({ host: "192.0.2.2" });
    expect(lines.at(-1)).toContain("moved  Set 1  from 192.0.2.1:9 to 192.0.2.2:9");
  });

  test("is not said to be at the address that it left, once another device has moved there", async () => {
    await found("1", "192.0.2.1");
    await found("2", "192.0.2.2");
    homes.set("192.0.2.1:9", "2").set("192.0.2.2:9", "1");
    await found("1", "192.0.2.2");
    await found("2", "192.0.2.1");
    const doubted = await found("1", "192.0.2.3");
    const hint = 'If the device at 192.0.2.2:9 is the right one: zapd trust "Set 1"; if the one at 192.0.2.3:9 is:';
    const told = expect.objectContaining({ hint: expect.stringMatching(new RegExp(`^${hint}[^;]*$`)) });
    expect(() => devices.deviceOf(doubted).checkTrusted()).toThrow(told);
  });
});

describe("a device that falls silent while it is being taken in", () => {
  const statusOf = (record: DeviceRecord) => devices.endpointOf(record).presence.availability.status;

  test("that answered earlier is offline until it answers again", async () => {
    const record = await found("1", "192.0.2.1");
    expect(statusOf(record)).toBe("online");
    const again = found("1", "192.0.2.1");
    devices.endpointOf(record).presence.noteNoAnswer();
    await again;
    expect(statusOf(record)).toBe("offline");
    await found("1", "192.0.2.1");
    expect(statusOf(record)).toBe("online");
  });

  test("at its old address is where it was found", async () => {
    const record = await found("1", "192.0.2.1");
    homes.delete("192.0.2.1:9");
    const moved = found("1", "192.0.2.2");
    devices.endpointOf(record).presence.noteNoAnswer();
    expect((await moved).host).toBe("192.0.2.2");
    expect(statusOf(record)).toBe("online");
  });
});

describe("a device that the user adds", () => {
  test("is probed at the given address and port, and kept with its name and ports", async () => {
    homes.set("127.0.0.1:81", "1");
    expect(await codeOf(devices.adding.add({ host: "127.0.0.1:81", ports: { window: 1 } }))).toBe("invalid_payload");
    expect(registry.records).toEqual([]);
    const { record } = await devices.adding.add({ host: "127.0.0.1:81", name: " Den ", ports: { door: 8 } });
    expect(record).toMatchObject({ name: "Den", named_by: "user", host: "127.0.0.1", port: 81, ports: { door: 8 } });
    homes.set("127.0.0.1:82", "2");
    expect((await devices.adding.add({ host: "127.0.0.1", port: 82 })).record.port).toBe(82);
  });

  test("is asked for its port, where it does not answer at a usual one", async () => {
    const hintOf = (host: string) => devices.adding.add({ host }).catch(({ hint }: ZapdError) => hint);
    expect(await hintOf("192.0.2.1")).toEndWith("zapd add HOST:PORT");
    expect(await hintOf("192.0.2.1:9")).not.toContain("PORT");
  });

  test("again by a new name stays the default one", async () => {
    homes.set("127.0.0.1:81", "1");
    await devices.adding.add({ host: "127.0.0.1:81", name: "Den" });
    await config.patch({ "daemon.default_device": "den" });
    await devices.adding.add({ host: "127.0.0.1:81", name: "Attic" });
    expect((await config.readCurrent()).daemon.default_device).toBe("Attic");
  });

  test("is the default one where the user gives it the name of one that is forgotten", async () => {
    homes.set("127.0.0.1:81", "1").set("127.0.0.1:82", "2");
    const first = await devices.adding.add({ host: "127.0.0.1:81", name: "Den" });
    await config.patch({ "daemon.default_device": "Den" });
    await registry.remove(first.id);
    expect((await devices.adding.add({ host: "127.0.0.1:81", name: "Attic" })).id).toBe(first.id);
    expect(registry.defaultRecord?.name).toBe("Attic");
    await registry.remove(first.id);
    const second = await devices.adding.add({ host: "127.0.0.1:82", name: "den" });
    await devices.adding.add({ host: "127.0.0.1:81", name: "Attic" });
    expect(registry.defaultRecord?.id).toBe(second.id);
  });
});

describe("a device that the user changes", () => {
  test("stays the default one under its new name, in the config too", async () => {
    const record = await found("1", "192.0.2.1");
    for (const word of [record.name, "dEN"]) {
      const before = registry.get(record.id) ?? record;
      await config.patch({ "daemon.default_device": word });
      await devices.change(devices.deviceOf(before), { name: before.name === "Den" ? "Attic" : "Den" });
      expect(config.running.daemon.default_device).toBe(registry.get(record.id)?.name ?? "");
    }
    expect((await config.readCurrent()).daemon.default_device).toBe("Attic");
  });

  test("is renamed, and stays the default one, though the config cannot be written", async () => {
    const record = await found("1", "192.0.2.1");
    await found("2", "192.0.2.2");
    await config.patch({ "daemon.default_device": record.name });
    writeFileSync(config.path, "[daemon");
    await devices.change(devices.deviceOf(record), { name: "Den" });
    expect([registry.defaultRecord?.name, lines.some((line) => line.includes("default device"))]).toEqual([
      "Den",
      true,
    ]);
  });
});
