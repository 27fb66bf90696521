/** Which records are one device: whatever came first, was lost, came late or twice. */
import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { failureText } from "../../src/cli/explain.ts";
import { groupsOf } from "../../src/devices/compose.ts";
import { type Discovered, idOf } from "../../src/devices/record.ts";
import { Registry } from "../../src/devices/registry.ts";
import type { Composition, Facts, HardwareId } from "../../src/platforms/platform.ts";
import { codeOf } from "../support/failure.ts";
import { sightingOf } from "../support/fake-platform.ts";
import { damaged, withRegistryOf } from "./harness.ts";

const composition: Composition = {
  pairs: [
    ["alpha", "beta"],
    ["alpha", "gamma"],
  ],
  leading: ["alpha", "beta", "gamma"],
  preferred: {},
};

const withRegistry = <T>(run: (registry: Registry, path: string) => Promise<T>) => withRegistryOf(composition, run);
const open = (path: string) => Registry.open({ path, composition, damaged });

const box = { host: "192.0.2.1", port: 80 };
const elsewhere = { host: "192.0.2.2", port: 80 };
const mac = "02:00:00:00:00:aa";
const otherMac = "02:00:00:00:00:bb";

function seen(
  platform: string,
  identity: string,
  { host = box.host, ids, ...facts }: Partial<Facts> & { host?: string; ids?: readonly HardwareId[] } = {},
  more: Partial<Discovered> = {},
): Discovered {
  const sighting = sightingOf(identity, { serial: null, ...facts }, { ...(ids && { ids }) });
  return { platform, sighting, address: { host, port: 80 }, ...more };
}

/** The groups, by platform and identity. */
function groups(registry: Registry): string[] {
  const words = registry.devices.map((device) => {
    const parts = registry.recordsOf(device.id).map((record) => `${record.platform} ${record.identity}`);
    return parts.toSorted().join(" + ");
  });
  return words.toSorted();
}

async function after(...sightings: readonly Discovered[]): Promise<string[]> {
  return withRegistry(async (registry) => {
    // One after the other, and all in one write.
    await Promise.all(sightings.map((sighting) => registry.merge(sighting)));
    return groups(registry);
  });
}

const together = ["alpha a + beta b"];
const apart = ["alpha a", "beta b"];

describe("records of two platforms are one device", () => {
  test("with a hardware id in common at one host, whatever they are called", async () => {
    const own = [
      [{ macs: [mac] }, { macs: [mac] }],
      [{ serial: "X0123456" }, { serial: "x0123456" }],
      [{ ids: ["upnp:1234"] }, { ids: ["upnp:1234"] }],
    ] satisfies (readonly [Parameters<typeof seen>[2], Parameters<typeof seen>[2]])[];
    for (const [one, other] of own)
      expect(await after(seen("alpha", "a", one), seen("delta", "d", other))).toEqual(["alpha a + delta d"]);
  });

  test("of a known pair at one host, with a name or a model that agrees", async () => {
    const pair = (one: Partial<Facts>, other: Partial<Facts>) =>
      after(seen("alpha", "a", one), seen("beta", "b", other));
    expect(await pair({ name: "Living Room" }, { name: "living-room" })).toEqual(together);
    expect(await pair({ name: "Den" }, { name: "[TV] Den" })).toEqual(together);
    expect(await pair({ name: "One", model: "TV 9" }, { name: "Two", model: "TV9" })).toEqual(together);
    expect(await pair({ name: "One" }, { name: "Two" })).toEqual(apart);
    expect(await pair({ name: null }, { name: null })).toEqual(apart);
  });

  test("but one that is alone is nothing else that lives at its host, whatever they agree in", async () => {
    const whole = seen("alpha", "a", { name: "Den", macs: [mac] });
    const group = seen("beta", "b", { name: "Den", macs: [mac] });
    const alone = { ...group, sighting: { ...group.sighting, alone: true as const } };
    expect(await after(whole, group)).toEqual(together);
    expect(await after(whole, alone)).toEqual(apart);
    // What it says last is what counts.
    expect(await after(whole, alone, group)).toEqual(together);
    expect(await after(whole, group, alone)).toEqual(apart);
  });

  test("and not otherwise: another host, no known pair, different hardware in the neighbour table, common names", async () => {
    const same = { name: "Den", macs: [mac] };
    expect(await after(seen("alpha", "a", same), seen("beta", "b", { ...same, host: elsewhere.host }))).toEqual(apart);
    expect(await after(seen("beta", "b", { name: "Den" }), seen("gamma", "g", { name: "Den" }))).toEqual([
      "beta b",
      "gamma g",
    ]);
    const shown = [{ mac }, { mac: otherMac }] as const;
    expect(await after(seen("alpha", "a", same, shown[0]), seen("beta", "b", same, shown[1]))).toEqual(apart);
    const noMacs = ["00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff"].map((one) => ({ macs: [one] }));
    for (const weak of [{ serial: "12345" }, { serial: "00000000" }, ...noMacs])
      expect(
        await after(seen("alpha", "a", { ...weak, name: "A" }), seen("beta", "b", { ...weak, name: "B" })),
      ).toEqual(apart);
  });

  test("where two candidates fit, none is joined; two of one platform are never one device", async () => {
    const den = { name: "Den" };
    expect(await after(seen("alpha", "a1", den), seen("alpha", "a2", den), seen("beta", "b", den))).toEqual([
      "alpha a1",
      "alpha a2",
      "beta b",
    ]);
    expect(await after(seen("alpha", "a1", { macs: [mac] }), seen("alpha", "a2", { macs: [mac] }))).toEqual([
      "alpha a1",
      "alpha a2",
    ]);
    // The one that is contested stays out; the others are one.
    expect(
      await after(
        seen("beta", "b1", { ...den, macs: [mac] }),
        seen("beta", "b2", { ...den, macs: [mac] }),
        seen("alpha", "a", den),
        seen("gamma", "g", den),
      ),
    ).toEqual(["alpha a + gamma g", "beta b1", "beta b2"]);
    // Nor does it keep its rivals from what fits only one of them.
    const [first, third] = ["02:00:00:00:00:01", "02:00:00:00:00:03"];
    expect(
      await after(
        seen("alpha", "a", { name: "A", macs: [mac, first] }),
        seen("gamma", "g1", { name: "B", macs: [first] }),
        seen("gamma", "g2", { name: "C", macs: [first, third] }),
        seen("alpha", "own", { name: "D", macs: [third] }),
      ),
    ).toEqual(["alpha a", "alpha own + gamma g2", "gamma g1"]);
    // Nor does it part what agrees otherwise.
    expect(
      await after(
        seen("alpha", "a", { ...den, macs: [mac] }),
        seen("beta", "b1", { name: "Box", macs: [mac, otherMac] }),
        seen("beta", "b2", den),
        seen("delta", "d", { name: "D", macs: [otherMac] }),
      ),
    ).toEqual(["alpha a", "beta b1 + delta d", "beta b2"]);
  });

  test("as soon as it is known: a name that is learned later, and no longer when it has moved away", () =>
    withRegistry(async (registry) => {
      await registry.merge(seen("alpha", "a", { name: "Den" }));
      const { record } = await registry.merge(seen("beta", "b", { name: null }));
      expect(groups(registry)).toEqual(apart);
      await registry.learn(record.id, { facts: { name: "Den" } });
      expect(groups(registry)).toEqual(together);
      await registry.merge(seen("beta", "b", { name: "Den", host: elsewhere.host }));
      expect(groups(registry)).toEqual(apart);
      await registry.merge(seen("alpha", "a", { name: "Den", host: elsewhere.host }));
      expect(groups(registry)).toEqual(together);
    }));

  test("in whatever order they come, some late, some twice", async () => {
    const all = [
      seen("alpha", "a", { name: "Den", macs: [mac] }),
      seen("beta", "b", { name: "den" }),
      seen("gamma", "g", { name: "Den" }),
      seen("delta", "d", { name: "D", macs: [mac] }),
      seen("beta", "b2", { name: "Other", host: elsewhere.host }),
      seen("alpha", "a2", { name: "Other", host: elsewhere.host }),
      seen("alpha", "a3", { name: "Twin", host: "192.0.2.3" }),
      seen("alpha", "a4", { name: "Twin", host: "192.0.2.3" }),
      seen("beta", "b3", { name: "Twin", host: "192.0.2.3" }),
      seen("gamma", "g2", { name: "Other", host: elsewhere.host, macs: ["02:00:00:00:00:01"] }),
    ];
    const expected = await after(...all);
    expect(expected).toEqual([
      "alpha a + beta b + delta d + gamma g",
      "alpha a2 + beta b2 + gamma g2",
      "alpha a3",
      "alpha a4",
      "beta b3",
    ]);
    const orders = fc.shuffledSubarray([...all, ...all.slice(3)], { minLength: all.length + 3 });
    await fc.assert(
      fc.asyncProperty(orders, async (order) => {
        const late = all.filter((one) => !order.includes(one));
        expect(await after(...order, ...late)).toEqual(expected);
      }),
      { numRuns: 25 },
    );
  });
});

test("a host that announces itself a thousand times is joined with nothing, and takes time in proportion to its records", () =>
  withRegistry(async (registry) => {
    const { record } = await registry.merge(seen("alpha", "a", { name: "Den", macs: [mac] }));
    const flood = (length: number) =>
      Array.from({ length }, (_, at) => {
        const platform = at % 2 === 0 ? "alpha" : "beta";
        return { ...record, platform, id: idOf(platform, `${at}`), name_on_device: `Den ${at % 7}` };
      });
    const quickest = (length: number) => {
      const records = flood(length);
      // Of the processor alone: others run beside this.
      const times = Array.from({ length: 40 }, () => {
        const start = process.cpuUsage();
        expect(groupsOf(records, composition).length).toBe(length);
        const { user, system } = process.cpuUsage(start);
        return user + system;
      });
      return Math.min(...times);
    };
    // Pair by pair it would be 64 times as long.
    expect(quickest(2_000) / quickest(250)).toBeLessThan(32);
  }));

describe("a device of several records", () => {
  const two = async (registry: Registry) => {
    const older = (await registry.merge(seen("beta", "b", { name: "Box" }))).record;
    const younger = (await registry.merge(seen("alpha", "a", { name: "Den" }))).record;
    return { older, younger };
  };

  test("has the id of the older, the name of the user's over one of the set, and both ids mean it", () =>
    withRegistry(async (registry, path) => {
      const { older, younger } = await two(registry);
      await registry.change(younger.id, { name: "Mine" });
      await registry.learn(younger.id, { facts: { name: "Box" } });
      const [device] = registry.devices;
      expect(registry.devices.length).toBe(1);
      expect(device).toMatchObject({ id: older.id, name: "Mine", named_by: "user" });
      for (const word of ["Mine", "mine", older.id, younger.id]) expect(registry.resolve(word)?.id).toBe(older.id);
      expect(() => registry.resolve("Box")).toThrow();
      const again = await open(path);
      expect(again.records).toEqual(registry.records);
      expect(again.records.map((record) => record.part_of)).toEqual([undefined, older.id]);
      // Its name is taken once, and that which nobody has any more is free.
      expect((await again.merge(seen("delta", "d", { name: "Box", host: elsewhere.host }))).record.name).toBe("Box");
      expect(await codeOf(again.change(idOf("delta", "d"), { name: "mine" }))).toBe("device_name_taken");
      expect((await again.change(younger.id, { name: "MINE" })).name).toBe("MINE");
      expect(again.devices[0]?.name).toBe("MINE");
    }));

  test("that are renamed one after the other have the new name, and no number for each other", () =>
    withRegistry(async (registry) => {
      const { older, younger } = await two(registry);
      for (const name of ["Loft", "Attic"]) {
        for (const { id } of [younger, older]) await registry.learn(id, { facts: { name } });
        expect(registry.devices.map((device) => device.name)).toEqual([name]);
      }
    }));

  test("is removed whole, and used whole", () =>
    withRegistry(async (registry) => {
      const scan = { by: "scan" } as const;
      await registry.merge(seen("alpha", "a", { name: "Den" }, scan));
      const { record } = await registry.merge(seen("beta", "b", { name: "Den" }, scan));
      await registry.markUsed(record.id);
      expect(await registry.removeUnused()).toEqual([]);
      expect((await registry.remove(record.id)).length).toBe(2);
      expect(registry.records).toEqual([]);
      await registry.merge(seen("alpha", "a", { name: "Den" }, scan));
      await registry.merge(seen("beta", "b", { name: "Den" }, scan));
      expect((await registry.removeUnused()).length).toBe(2);
    }));

  test("is used whole: a part of it that is left behind at its old address is not unused", () =>
    withRegistry(async (registry) => {
      const scan = { by: "scan" } as const;
      const { record } = await registry.merge(seen("alpha", "a", { name: "Den" }, scan));
      await registry.merge(seen("beta", "b", { name: "Den" }, scan));
      await registry.markUsed(record.id);
      await registry.merge(seen("alpha", "a", { name: "Den", host: elsewhere.host }, scan));
      expect(groups(registry)).toEqual(apart);
      expect(await registry.removeUnused()).toEqual([]);
    }));

  test("stays the default one, whichever of its names or ids the config has", () =>
    withRegistry(async (registry) => {
      const { older, younger } = await two(registry);
      await registry.setDefaultName("Den");
      await registry.join(older.id, younger.id);
      expect(registry.defaultRecord?.id).toBe(older.id);
      await registry.setDefaultName(younger.id);
      expect(registry.defaultRecord?.id).toBe(older.id);
      await registry.setDefaultName("");
      expect(registry.defaultRecord?.id).toBe(older.id);
    }));

  test("counts as one of the thousand", () =>
    withRegistry(async (registry) => {
      const host = (at: number) => `192.0.${2 + (at >> 8)}.${at & 255}`;
      await Promise.all(
        Array.from({ length: 1_000 }, (_, at) =>
          registry.merge(seen("alpha", `a${at}`, { host: host(at), name: `N${at}` })),
        ),
      );
      await registry.merge(seen("beta", "b", { host: host(7), name: "N7" }));
      expect([registry.devices.length, registry.records.length]).toEqual([1_000, 1_001]);
      expect(await codeOf(registry.merge(seen("beta", "b2", { host: host(7), name: "Another" })))).toBe(
        "storage_error",
      );
      const again = await registry.merge(seen("alpha", "a1", { host: host(1), name: "N1", model: "still known" }));
      expect(again.record.model).toBe("still known");
    }));
});

describe("what the user decides", () => {
  test("holds whatever is found later: joined across hosts, split though all agrees, and back again", () =>
    withRegistry(async (registry, path) => {
      const far = seen("beta", "b", { name: "Box", host: elsewhere.host });
      const one = (await registry.merge(seen("alpha", "a", { name: "Den" }))).record;
      const other = (await registry.merge(far)).record;
      expect((await registry.join(other.id, one.id)).id).toBe(one.id);
      await registry.merge(far);
      expect(groups(await open(path))).toEqual(together);
      const left = await registry.split(one.id, "beta");
      expect(left.name).toBe("Box");
      expect(registry.get(other.id)?.name).toBe("Box 2");
      const near = seen("beta", "b", { name: "Den" });
      await registry.merge(near);
      expect(groups(registry)).toEqual(apart);
      expect(groups(await open(path))).toEqual(apart);
      await registry.join(one.id, other.id);
      expect(groups(registry)).toEqual(together);
    }));

  test("holds when each of two that were split is joined with another", () =>
    withRegistry(async (registry) => {
      const [a, b] = [seen("alpha", "a", { name: "Den" }), seen("beta", "b", { name: "Den" })];
      await registry.setDefaultName("Den");
      for (const one of [a, b]) await registry.merge(one);
      await registry.change(idOf("alpha", "a"), { name: "Loft" });
      await registry.split(idOf("alpha", "a"), "beta");
      // The name in the config still means the other.
      expect(registry.devices.map(({ name }) => name)).toEqual(["Loft", "Den 2"]);
      for (const [one, platform] of [a, b].map((one, at) => [one, ["gamma", "delta"][at] ?? ""] as const)) {
        const far = await registry.merge(seen(platform, platform, { name: platform, host: elsewhere.host }));
        await registry.join(idOf(one.platform, one.sighting.identity), far.record.id);
      }
      expect(groups(registry)).toEqual(["alpha a + gamma gamma", "beta b + delta delta"]);
    }));

  test("is not undone by what agrees with a part of it alone", () =>
    withRegistry(async (registry) => {
      const joinedWith = async (one: Discovered, identity: string) => {
        const far = seen("beta", identity, { name: identity, host: elsewhere.host });
        const [here, there] = [await registry.merge(one), await registry.merge(far)];
        await registry.join(here.record.id, there.record.id);
      };
      const gamma = (host?: string) => seen("gamma", "g", { name: "Den", ...(host && { host }) });
      await joinedWith(seen("alpha", "a", { name: "Den", macs: [mac, otherMac] }), "b2");
      await registry.merge(seen("delta", "d", { name: "D", macs: [otherMac] }));
      await registry.merge(seen("beta", "b1", { name: "One", macs: [mac] }));
      expect(groups(registry)).toEqual(["alpha a + beta b2 + delta d", "beta b1"]);
      await joinedWith(gamma("192.0.2.3"), "b3");
      await registry.merge(gamma());
      expect(groups(registry)).toEqual(["alpha a + beta b2 + delta d", "beta b1", "beta b3 + gamma g"]);
    }));

  test("leaves out what agrees with it and with another alike", () =>
    withRegistry(async (registry) => {
      const { record } = await registry.merge(seen("alpha", "a", { name: "Den" }));
      const far = await registry.merge(seen("beta", "b2", { name: "Far", host: elsewhere.host }));
      await registry.join(record.id, far.record.id);
      await registry.merge(seen("beta", "b1", { name: "One", macs: [mac] }));
      await registry.merge(seen("gamma", "g", { name: "Den", macs: [mac] }));
      expect(groups(registry)).toEqual(["alpha a + beta b2", "beta b1", "gamma g"]);
    }));

  test("settles what was contested", () =>
    withRegistry(async (registry) => {
      const den = { name: "Den" };
      for (const identity of ["b1", "b2"]) await registry.merge(seen("beta", identity, den));
      const { record } = await registry.merge(seen("alpha", "a", den));
      await registry.join(record.id, idOf("beta", "b2"));
      expect(groups(registry)).toEqual(["alpha a + beta b2", "beta b1"]);
      await registry.merge(seen("gamma", "g", den));
      expect(groups(registry)).toEqual(["alpha a + beta b2 + gamma g", "beta b1"]);
    }));

  test("when the oldest is split off, its id goes with it; the rest keeps name and labels, and is the default device", () =>
    withRegistry(async (registry) => {
      const den = { name: "Den" };
      const oldest = (await registry.merge(seen("alpha", "a", den))).record;
      await registry.merge(seen("beta", "b", den));
      await registry.merge(seen("gamma", "g", { ...den, macs: [mac] }));
      await registry.learn(idOf("beta", "b"), { facts: { macs: [mac] } });
      await registry.setDefaultName("Den");
      await registry.change(oldest.id, { labels: ["upstairs"] });
      await registry.split(oldest.id, "alpha");
      expect(groups(registry)).toEqual(["alpha a", "beta b + gamma g"]);
      expect(registry.devices.map(({ name }) => name)).toEqual(["Den 2", "Den"]);
      expect(registry.defaultRecord?.platform).toBe("beta");
      expect(registry.records.map(({ labels }) => labels)).toEqual([undefined, ["upstairs"], undefined]);
    }));

  test("is refused where it cannot be: two of one platform, itself, nothing to split", () =>
    withRegistry(async (registry) => {
      const one = (await registry.merge(seen("alpha", "a1", { name: "One" }))).record;
      const other = (await registry.merge(seen("alpha", "a2", { name: "Two" }))).record;
      expect(await codeOf(registry.join(one.id, other.id))).toBe("invalid_payload");
      expect(await codeOf(registry.join(one.id, one.id))).toBe("invalid_payload");
      // On the command line, too, names are as they are.
      for (const second of [one, other])
        expect(failureText(await registry.join(one.id, second.id).catch((error) => error))).toMatch(
          /\bOne (is|and Two)/,
        );
      expect(await codeOf(registry.split(one.id, "alpha"))).toBe("invalid_payload");
      expect(await codeOf(registry.split(one.id, "beta"))).toBe("invalid_payload");
      expect(await codeOf(registry.join(one.id, idOf("alpha", "none")))).toBe("device_not_found");
      expect(groups(registry)).toEqual(["alpha a1", "alpha a2"]);
    }));
});

describe("a file", () => {
  test("whose parts dangle, go in a circle, or are damaged opens with every device, under names of their own", () =>
    withRegistry(async (registry, path) => {
      for (const at of [1, 2, 3, 4]) await registry.merge(seen("alpha", `a${at}`, { name: `Set ${at}` }));
      const kept = JSON.parse(readFileSync(path, "utf8"));
      const [one, two, three, four] = kept.devices;
      one.part_of = idOf("alpha", "nobody");
      two.part_of = three.id;
      three.part_of = two.id;
      four.part_of = 7;
      four.apart = ["x"];
      writeFileSync(path, JSON.stringify(kept));
      const again = await open(path);
      expect(again.devices.map(({ name }) => name)).toEqual(["Set 1", "Set 2", "Set 3", "Set 4"]);
      expect(again.records.every((record) => record.part_of === undefined)).toBe(true);
    }));

  test("with a damaged record has it in its place again, from the backup: the device is the same one, and so is the order", () =>
    withRegistry(async (registry, path) => {
      await registry.merge(seen("alpha", "a", { name: "Den" }));
      await registry.merge(seen("beta", "b", { name: "Den" }));
      await registry.merge(seen("alpha", "c", { name: "Attic", host: elsewhere.host }));
      const before = registry.devices.map(({ id, name }) => ({ id, name }));
      const text = readFileSync(path, "utf8");
      writeFileSync(`${path}.bak`, text);
      const kept = JSON.parse(text);
      kept.devices[0].port = 70_000;
      writeFileSync(path, JSON.stringify(kept));
      const again = await Registry.open({ path, composition, damaged: () => {} });
      expect(groups(again)).toEqual(["alpha a + beta b", "alpha c"]);
      expect(again.devices.map(({ id, name }) => ({ id, name }))).toEqual(before);
    }));
});
