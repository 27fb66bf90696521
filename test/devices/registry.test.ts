import { beforeEach, describe, expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Discovered, idOf } from "../../src/devices/record.ts";
import { Registry } from "../../src/devices/registry.ts";
import { initialStanding } from "../../src/devices/standing.ts";
import type { Facts } from "../../src/platforms/platform.ts";
import { codeOf } from "../support/failure.ts";
import { factsOf, sightingOf } from "../support/fake-platform.ts";
import { folderForEach } from "../support/folder.ts";
import { damaged } from "./harness.ts";

const folderOf = folderForEach();
let path: string;
let registry: Registry;
const open = () => Registry.open({ path, damaged });

beforeEach(async () => {
  path = join(folderOf(), "devices.json");
  registry = await open();
});

const at = (host: string, port = 8060) => ({ host, port });
const found = (identity: string, facts: Partial<Facts> = {}, more: Partial<Discovered> = {}): Discovered => ({
  platform: "fake",
  sighting: sightingOf(identity, facts),
  address: at("192.0.2.1"),
  ...more,
});
const merge = async (...args: Parameters<typeof found>) => (await registry.merge(found(...args))).record;

describe("the id of a device", () => {
  test("is UUID v5 of its platform and identity in zapd's namespace, today and tomorrow", () => {
    const uuid = Bun.randomUUIDv5("roku:X02000EM0025", "8c0d4f4e-5b0a-4b0f-9d3c-7a1f2e6b9c55");
    expect(idOf("roku", "X02000EM0025")).toBe(uuid);
    expect(idOf("roku", "X02000EM0025")).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    expect(idOf("other", "X02000EM0025")).not.toBe(uuid);
  });
});

describe("a device that is seen", () => {
  test("for the first time is added, on disk when that is said, 0600, and there after a restart", async () => {
    const { record } = await registry.merge(found("1", { name: "Living Room", macs: ["02:00:00:00:00:01"] }));
    expect(registry.records).toEqual([record]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const kept = JSON.parse(readFileSync(path, "utf8"));
    expect(kept).toEqual({ version: 1, devices: [record] });
    expect(readFileSync(path, "utf8")).toEndWith("}\n");
    expect((await open()).records).toEqual([record]);
  });

  test("again is the same device, with its new address and what it says now over what it said", async () => {
    const before = await merge("1", { manufacturer: "TCL", model: "A", softwareVersion: "1" });
    const facts = { manufacturer: null, model: "B", softwareVersion: "2" };
    const after = (await registry.merge(found("1", facts, { address: at("192.0.2.7", 80) }))).record;
    expect(after).toEqual({ ...before, model: "B", software_version: "2", host: "192.0.2.7", port: 80 });
    expect(registry.records).toEqual([after]);
  });

  test("that says less than before loses nothing", async () => {
    const full = await merge("1", { macs: ["02:00:00:00:00:01"], access: "full", kind: "tv" });
    const less = await merge("1", { macs: [], access: null, kind: "unknown", name: null, serial: null });
    expect(less).toEqual(full);
  });

  test("is where it was put while it was decided where it is", async () => {
    const from = await merge("1");
    const place = (host: string) => ({ ...at(host), standing: initialStanding });
    await registry.setStanding(from.id, () => place("192.0.2.7"));
    await merge("1", { model: "B" }, { address: at("192.0.2.8"), place: { from, to: place("192.0.2.8") } });
    expect(registry.records).toEqual([{ ...from, model: "B", host: "192.0.2.7" }]);
  });

  test("unchanged writes nothing", async () => {
    await merge("1");
    const { mtimeMs, ino } = statSync(path);
    await merge("1");
    expect(statSync(path)).toMatchObject({ mtimeMs, ino });
  });

  test("of two platforms with one identity is two devices", async () => {
    await merge("1");
    await merge("1", {}, { platform: "other" });
    expect(new Set(registry.records.map((record) => record.id)).size).toBe(2);
  });

  test("where another was, under the provisional identity of that one, is another device", async () => {
    const provisional = found("192.0.2.1:8060", { serial: null });
    const unnamed: Discovered = { ...provisional, sighting: { ...provisional.sighting, provisional: true } };
    const { record } = await registry.merge(unnamed);
    expect((await merge("1")).id).toBe(record.id);
    await merge("1", {}, { address: at("192.0.2.2") });
    const other = (await registry.merge(unnamed)).record;
    expect(registry.get(record.id)).toMatchObject({ identity: "1", host: "192.0.2.2" });
    expect(registry.devices.map(({ id }) => id)).toEqual([record.id, other.id]);
    expect((await registry.merge(unnamed)).record).toEqual(other);
  });

  test("T24 where another was, without an identity, is that one only with its MAC address, if both tell one", async () => {
    const known = await merge("1", { serial: null, macs: ["02:00:00:00:00:01"] });
    const unnamed = (macs: string[]) => {
      const one = found("192.0.2.1:8060", { serial: null, macs });
      return { ...one, sighting: { ...one.sighting, provisional: true as const } };
    };
    expect((await registry.merge(unnamed(["02:00:00:00:00:01"]))).record.id).toBe(known.id);
    expect((await registry.merge(unnamed(["02:00:00:00:00:02"]))).record.id).not.toBe(known.id);
    const another = unnamed([]);
    const sighting = { ...another.sighting, identity: "192.0.2.1:8061" };
    const there = await registry.merge({ ...another, sighting, address: at("192.0.2.1", 8061) });
    expect(there.record.id).not.toBe(known.id);
  });

  test("T29 on probation keeps its name, its MAC addresses, and the hardware ids by which it is joined with others", async () => {
    const withId = (id: `uuid:${string}`, facts: Partial<Facts>) =>
      registry.merge({ ...found("1"), sighting: { ...sightingOf("1", facts), ids: [id] } });
    const { record } = await withId("uuid:before", { name: "TV", macs: ["02:00:00:00:00:01"] });
    const probation = { reason: "moved", since: "2026-01-01T00:00:00.000Z" } as const;
    await registry.setStanding(record.id, () => ({ ...initialStanding, probation }));
    const doubted = (await withId("uuid:now", { name: "Other", macs: ["02:00:00:00:00:02"] })).record;
    const { name, name_on_device, macs, hardware_ids } = record;
    expect(doubted).toMatchObject({ name, name_on_device, macs, hardware_ids });
  });

  test("with texts of any length and any characters is kept within bounds", async () => {
    const wild = `x\n\0\u202e\u2066${"y".repeat(5_000)}`;
    const record = await merge("1", { name: wild, manufacturer: wild, model: "\0\n", softwareVersion: wild });
    expect(record.name.length).toBeLessThanOrEqual(128);
    expect(record.manufacturer?.length).toBeLessThanOrEqual(256);
    expect(record.model).toBeNull();
    expect(JSON.stringify(record)).not.toMatch(/\\n|\\u0000|\p{Bidi_Control}/u);
    expect((await open()).records).toEqual([record]);
  });

  test("with an identity that no file of ours could hold is refused, and the others stay", async () => {
    const other = await merge("1");
    for (const identity of ["", "x".repeat(5_000)])
      expect(await codeOf(registry.merge(found(identity)))).toBe("device_error");
    expect((await open()).records).toEqual([other]);
  });
});

describe("the name", () => {
  test("is the one on the set, follows it, and is another's no more", async () => {
    expect((await merge("1", { name: "TV" })).name).toBe("TV");
    expect((await merge("2", { name: "tv" })).name).toBe("tv 2");
    expect((await merge("1", { name: "Salon" })).name).toBe("Salon");
    expect((await merge("1", { name: null })).name).toBe("Salon");
  });

  test("is made of the model, or the platform, where the set has none", async () => {
    expect((await merge("1", { name: null, model: "4850X" })).name).toBe("4850X");
    expect((await merge("3", { name: " \u202e", model: "43UF" })).name).toBe("43UF");
    expect((await merge("4", { name: "", model: "\n", manufacturer: "TCL", kind: "tv" })).name).toBe("TCL TV");
    expect((await merge("2", { name: null })).name).toBe("fake");
  });

  test("that the user gave is never overwritten by a set, on a scan, by learning, or after a restart", async () => {
    const { id } = await merge("1", { name: "TV" });
    await registry.change(id, { name: "Mine" });
    await merge("1", { name: "Other" });
    await registry.learn(id, { facts: factsOf("1", { name: "Third" }) });
    registry = await open();
    expect((await merge("1", { name: "Fourth" })).name).toBe("Mine");
    expect(registry.get(id)?.name_on_device).toBe("Fourth");
  });

  test("of a set that takes the name of another set gets a number", async () => {
    await merge("1", { name: "A" });
    const two = await merge("2", { name: "B" });
    expect((await merge("2", { name: "A" })).name).toBe("A 2");
    expect(registry.get(two.id)?.name_on_device).toBe("A");
  });
});

describe("the default device", () => {
  test("is known by its name at once; whoever has the name when it is set, or set again, is it, and is used", async () => {
    const [{ id }, other] = [await merge("1", { name: "Den" }), await merge("2", { name: "Attic" })];
    const isDefault = () => registry.defaultRecord?.id;
    expect(isDefault()).toBeUndefined();
    let told = 0;
    registry.onChange(() => told++);
    const saved = registry.setDefaultName("Den");
    expect([told, isDefault()]).toEqual([1, id]);
    await saved;
    expect(registry.get(id)?.used).toBe(true);
    await registry.setDefaultName("");
    await registry.change(id, { name: "Salon" });
    await registry.change(other.id, { name: "Den" });
    await registry.setDefaultName("Den");
    expect(isDefault()).toBe(other.id);
    await registry.remove(other.id);
    await registry.change(id, { name: "Den" });
    expect(isDefault()).toBe(id);
  });

  test("that says another name and later its first one again has that, though it is the name in the config; another set gets a number", async () => {
    const { id } = await merge("1", { name: "Den" });
    await registry.setDefaultName("Den");
    expect((await merge("1", { name: "Attic" })).name).toBe("Attic");
    expect([(await merge("2", { name: "Den" })).name, registry.defaultRecord?.id]).toEqual(["Den 2", id]);
    expect((await merge("1", { name: "Den" })).name).toBe("Den");
  });
});

describe("ports, contact and removal", () => {
  test("what a scan found and nobody used goes with all such, unless the user adds it", async () => {
    const [one] = [await merge("1", {}, { by: "scan" }), await merge("2", {}, { by: "scan" })];
    await merge("1", {}, { by: "user" });
    await registry.removeUnused();
    expect(registry.records).toEqual([{ ...one, added_by: "user" }]);
  });

  test("ports are added to those that are known, by the user and by a sighting", async () => {
    const { id } = await merge("1", {}, { ports: { console: 8085 } });
    expect((await registry.change(id, { ports: { installer: 8080 } })).ports).toEqual({
      console: 8085,
      installer: 8080,
    });
    expect((await merge("1", {}, { ports: { console: 1 } })).ports).toEqual({ console: 1, installer: 8080 });
  });

  test("when a device was last seen is written at the end, and only where that is news", async () => {
    const { id } = await merge("1");
    const seen = { last_seen: "2026-11-22T01:02:03.000Z", power: "standby" as const };
    await registry.saveAvailability(() => seen);
    const { ino } = statSync(path);
    registry = await open();
    expect(registry.get(id)).toMatchObject({ last_seen: seen.last_seen, last_power: "standby" });
    await registry.saveAvailability(() => seen);
    await registry.saveAvailability(() => undefined);
    expect(statSync(path).ino).toBe(ino);
  });

  test("learning of a device that was removed meanwhile brings nothing back", async () => {
    const { id } = await merge("1");
    await registry.remove(id);
    await registry.learn(id, { facts: factsOf("1") });
    expect(registry.records).toEqual([]);
  });
});
