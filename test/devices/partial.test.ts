/** What reaches a part of a device: where it belongs, what it is called, and when its word counts. */
import { describe, expect, test } from "bun:test";
import { dirname } from "node:path";
import fc from "fast-check";
import { ZapdError } from "../../src/api/errors.ts";
import { mergeStates } from "../../src/devices/compose.ts";
import { pressKey } from "../../src/devices/press.ts";
import type { Discovered } from "../../src/devices/record.ts";
import type { Registry } from "../../src/devices/registry.ts";
import type { Capability, Composition, Facts } from "../../src/platforms/platform.ts";
import { FakeSet, fakePlatform, idle, sightingOf } from "../support/fake-platform.ts";
import { runs } from "../support/whole.ts";
import { openDevices, withRegistryOf } from "./harness.ts";

const composition: Composition = { pairs: [], partial: ["part"], leading: ["alpha", "beta", "part"], preferred: {} };
const box = "192.0.2.1";

const withRegistry = <T>(run: (registry: Registry, path: string) => Promise<T>) => withRegistryOf(composition, run);

let ports = 1_000;
function seen(platform: string, name: string, facts: Partial<Facts> = {}, host = box): Discovered {
  const sighting = sightingOf(`${platform} ${name}`, { serial: null, name, ...facts });
  return { platform, sighting, address: { host, port: ports++ } };
}

/** The devices by their names, each with what reaches it. */
function house(registry: Registry): string[] {
  return registry.devices
    .map(
      ({ id, name }) =>
        `${name}: ${registry
          .recordsOf(id)
          .map((record) => record.identity)
          .toSorted()
          .join(" + ")}`,
    )
    .toSorted();
}

async function after(...sightings: readonly Discovered[]): Promise<string[]> {
  return withRegistry(async (registry) => {
    for (const one of sightings) await registry.merge(one);
    return house(registry);
  });
}

describe("what reaches a part of a device belongs", () => {
  test("to the one device at its host, whatever either is called; that names it, found first or last", async () => {
    const [tv, part] = [seen("alpha", "Den"), seen("part", "Renderer 7")];
    expect(await after(tv, part)).toEqual(["Den: alpha Den + part Renderer 7"]);
    expect(await after(part, tv)).toEqual(["Den: alpha Den + part Renderer 7"]);
    const alike = seen("part", "Den");
    expect(await after(alike, tv)).toEqual(["Den: alpha Den + part Den"]);
  });

  test("to the default device, which keeps its name when what reaches the whole is found last", () =>
    withRegistry(async (registry) => {
      await registry.merge(seen("part", "Den"));
      await registry.setDefaultName("Den");
      await registry.merge(seen("alpha", "Den"));
      expect(house(registry)).toEqual(["Den: alpha Den + part Den"]);
    }));

  test("to the one whose page it gives, even if two have one name; a page that two give is ignored", async () => {
    const whole = (name: string, port: number) => ({ ...seen("alpha", name), address: { host: box, port } });
    const part = (id: string, name: string, port: number) => {
      const one = seen("part", name);
      return { ...one, sighting: { ...one.sighting, identity: id, ids: [`page:${port}` as const] } };
    };
    const two = (name: string, other: string, page: number) => [
      part("p1", name, 8_080),
      whole("Left", 8_080),
      part("p2", other, page),
      whole("Right", 8_090),
    ];
    const apart = ["Left: alpha Left + p1", "Right: alpha Right + p2"];
    expect(await after(...two("Player", "Player", 8_090))).toEqual(apart);
    expect(await after(...two("Player", "Player", 8_090).toReversed())).toEqual(apart);
    // Its name is that of the other, and its page says whose it is.
    expect(await after(...two("Right", "Left", 8_090))).toEqual(apart);
    expect(await after(...two("Left", "Right", 8_080))).toEqual(apart);
    expect(await after(...two("Player", "Player", 8_080))).toHaveLength(4);
    const [page, left, right] = [part("p1", "Player", 8_080), whole("Left", 8_080), whole("Right", 8_090)];
    const mac = "02:00:00:00:00:aa";
    expect(await after({ ...page, mac: "02:00:00:00:00:bb" }, { ...left, mac }, right)).toHaveLength(3);
    await withRegistry(async (registry) => {
      await registry.merge(right);
      const { record } = await registry.merge(left);
      await registry.learn(record.id, { facts: { macs: [mac] } });
      for (const one of [seen("beta", "Left", { macs: [mac] }), page]) await registry.merge(one);
      expect(house(registry)).toEqual(["Left: alpha Left + beta Left + p1", "Right: alpha Right"]);
      await registry.split(record.id, "part");
      expect(house(registry)).toContain("Left: alpha Left + beta Left");
    });
  });

  test("and has one id, whichever a scan finds first; a later scan, or use, changes none", () =>
    withRegistry(async (registry) => {
      const since = new Date(0).toISOString();
      const come = (one: Discovered, from = since) => registry.merge({ ...one, by: "scan", scanStartedAt: from });
      const early = await come(seen("part", "Den"));
      const late = await come(seen("alpha", "Den"));
      expect(registry.devices.map(({ id, name }) => [id, name])).toEqual([[late.record.id, "Den"]]);
      expect(registry.deviceOf(early.record.id)?.id).toBe(late.record.id);
      for (const how of ["later", "used"]) {
        const host = `192.0.2.${how.length}`;
        const first = await come(seen("part", how, {}, host));
        if (how === "used") await registry.markUsed(first.record.id);
        await come(seen("alpha", how, {}, host), how === "used" ? since : new Date(Date.now() + 60_000).toISOString());
        expect(registry.recordsOf(first.record.id).map(({ id }) => id)[0]).toBe(first.record.id);
      }
    }));

  test("to no device at another host, nor where two devices or two such parts are candidates", async () => {
    expect(await after(seen("alpha", "Den"), seen("part", "Den", {}, "192.0.2.2"))).toHaveLength(2);
    expect(await after(seen("part", "One"), seen("part", "Two"))).toHaveLength(2);
    const shown = (one: Discovered, mac: string) => ({ ...one, mac: `02:00:00:00:00:${mac}` });
    expect(await after(shown(seen("alpha", "Den"), "aa"), shown(seen("part", "Two"), "bb"))).toHaveLength(2);
    const [one, other] = [seen("alpha", "One"), seen("beta", "Other")];
    expect(await after(one, other, seen("part", "Third"))).toHaveLength(3);
    expect(await after(one, seen("part", "First"), seen("part", "Second"))).toHaveLength(3);
  });

  test("to the one at its host beside which there is but what is a device of its own there, and to no such", async () => {
    const group = seen("beta", "Downstairs");
    const alone = { ...group, sighting: { ...group.sighting, alone: true as const } };
    const [tv, part] = [seen("alpha", "Den"), seen("part", "Renderer")];
    for (const order of [
      [alone, part, tv],
      [tv, alone, part],
    ])
      expect(await after(...order)).toEqual(["Den: alpha Den + part Renderer", "Downstairs: beta Downstairs"]);
    expect(await after(alone, part)).toHaveLength(2);
  });

  test("to the one of its name where there are several, whatever comes first; another at that host is a device of its own", async () => {
    const all = [
      seen("alpha", "Left"),
      seen("alpha", "Right"),
      seen("part", "Right"),
      seen("part", "Left"),
      seen("part", "Speaker"),
      seen("beta", "Elsewhere", {}, "192.0.2.9"),
    ];
    const whole = [
      "Elsewhere: beta Elsewhere",
      "Left: alpha Left + part Left",
      "Right: alpha Right + part Right",
      "Speaker: part Speaker",
    ];
    const orders = fc.shuffledSubarray([...all, ...all], { minLength: 8 });
    await fc.assert(
      fc.asyncProperty(orders, async (order) => {
        expect(await after(...order, ...all.filter((one) => !order.includes(one)))).toEqual(whole);
      }),
      { numRuns: runs(8, 40) },
    );
  });

  test("to no device from which its user split it, and keeps the name that its user gave it", () =>
    withRegistry(async (registry) => {
      const first = await registry.merge(seen("part", "Renderer"));
      await registry.change(first.record.id, { name: "Mine" });
      const tv = await registry.merge(seen("alpha", "Den"));
      expect(house(registry)).toEqual(["Mine: alpha Den + part Renderer"]);
      await registry.split(tv.record.id, "part");
      await registry.merge(seen("beta", "Far", {}, "192.0.2.7"));
      expect(house(registry)).toHaveLength(3);
    }));

  test("to a device that is renamed at the set: its new name is taken over", () =>
    withRegistry(async (registry) => {
      await registry.merge(seen("part", "Renderer"));
      const tv = seen("alpha", "Den");
      await registry.merge(tv);
      await registry.merge({ ...tv, sighting: { ...tv.sighting, facts: { ...tv.sighting.facts, name: "Attic" } } });
      expect(house(registry)).toEqual(["Attic: alpha Den + part Renderer"]);
    }));
});

test("its state counts only where no other endpoint has one, even if it is pushed", () => {
  const part = {
    state: { volume: { level: 9 }, playback: { title: "b" } },
    pushed: new Set(["volume"]),
    isPartial: true,
  };
  const whole = { state: { volume: { level: 5 }, playback: null }, pushed: new Set<string>() };
  const wanted = { volume: { level: 5 }, playback: { title: "b" } };
  expect(mergeStates<object>(whole, part)).toEqual(wanted);
  expect(mergeStates<object>(part, whole)).toEqual(wanted);
  const off = { ...whole, state: { power: "off", volume: null, playback: null } };
  const silent = { ...off.state, volume: { level: 9 } };
  expect(mergeStates<object>(off, part)).toEqual(silent);
  expect(mergeStates<object>(part, off)).toEqual(silent);
});

test("what one endpoint has paused does not hide what another plays", () => {
  const source = (status: string) => ({ state: { playback: { status } }, pushed: new Set(["playback"]) });
  const paused = source("paused");
  const playing = source("playing");
  expect(mergeStates<object>(paused, playing)).toEqual(playing.state);
  expect(mergeStates<object>(playing, paused)).toEqual(playing.state);
  // What was polled may be from before.
  expect(mergeStates<object>(paused, { ...playing, pushed: new Set() })).toEqual(paused.state);
  expect(mergeStates<object>(paused, { ...playing, isPartial: true })).toEqual(paused.state);
});

test("its state comes second for the parts that another endpoint knows better, and only for those", () => {
  const remote = {
    state: { power: "on", volume: { level: 9 } },
    pushed: new Set(["power", "volume"]),
    behind: ["volume"],
  };
  const other = { state: { power: "unknown", volume: { level: 5 } }, pushed: new Set<string>() };
  const wanted = { power: "on", volume: { level: 5 } };
  expect(mergeStates<object>(remote, other)).toEqual(wanted);
  expect(mergeStates<object>(other, remote)).toEqual(wanted);
  expect(mergeStates<object>(remote, { ...other, state: { volume: null } })).toEqual(remote.state);
});

test("its state does not count beside the program whose own renderer it is: that says first that it has stopped", () =>
  withRegistry(async (registry, path) => {
    const [program, renderer] = [new FakeSet(), new FakeSet()];
    const playback = { status: "playing", position_ms: 0, duration_ms: 1, live: false, title: "Heist" } as const;
    renderer.state = { ...idle, playback };
    program.failure = new ZapdError("device_error", "does not say");
    const platforms = [program, renderer].map((set, at) =>
      fakePlatform({
        name: at === 0 ? "alpha" : "part",
        describe: () => ({ has: new Set<Capability>(["state"]), withheld: new Set(), keys: new Set() }),
        connect: () => set.connection(),
      }),
    );
    const { devices } = await openDevices(dirname(path), platforms, { registry });
    try {
      const [one, other] = [seen("alpha", "Den"), seen("part", "Renderer")];
      await registry.merge(one);
      const ids = [`page:${one.address.port}`] as const;
      await registry.merge({ ...other, sighting: { ...other.sighting, ids } });
      const state = () => devices.find("Den").state(new AbortController().signal);
      const shown = async () => (await state()).playback;
      const volume = async () => (await state()).volume;
      expect(await shown()).toMatchObject({ title: "Heist" });
      program.failure = undefined;
      program.state = idle;
      expect(await shown()).toBeNull();
      // While the program does not run, its renderer tells what only that knows.
      program.state = { ...idle, power: "off", volume: null };
      expect(await volume()).toEqual(renderer.state.volume);
    } finally {
      devices.close();
    }
  }));

test("it takes what the device lacks, and no key of one that has keys of its own", () =>
  withRegistry(async (registry, path) => {
    const [tv, part] = [new FakeSet(), new FakeSet()];
    const withheld = new Set<Capability>();
    const platform = (name: string, set: FakeSet, has: readonly Capability[], keys: readonly ("home" | "stop")[]) =>
      fakePlatform({
        name,
        describe: () => ({ has: new Set(has), withheld: name === "alpha" ? withheld : new Set(), keys: new Set(keys) }),
        connect: () => ({
          ...set.connection(),
          media: { play: (item, signal) => set.do(`play ${item.url}`, signal, undefined) },
        }),
      });
    const platforms = [
      platform("alpha", tv, ["state", "keys"], ["home"]),
      platform("part", part, ["state", "keys", "media"], ["stop"]),
    ];
    const { devices } = await openDevices(dirname(path), platforms, { registry });
    try {
      for (const one of [seen("part", "Renderer"), seen("alpha", "Den")]) await registry.merge(one);
      const den = devices.find("Den");
      expect(den.describe()).toMatchObject({ platforms: ["alpha", "part"], keys: ["home"], platform: "alpha" });
      expect(den.capabilities).toContain("media");
      const now = { signal: new AbortController().signal };
      await pressKey(den, "home", now);
      await expect(pressKey(den, "stop", now)).rejects.toMatchObject({ code: "unsupported_key" });
      expect([tv.done, part.done]).toEqual([["home"], []]);
      withheld.add("keys").add("hold");
      await registry.change(den.id, { name: "Unpaired" });
      const unpaired = devices.find("Unpaired").describe();
      expect(unpaired).toMatchObject({ keys: [], capabilities: ["state", "media"], withheld: [{}, {}] });
    } finally {
      devices.close();
    }
  }));
