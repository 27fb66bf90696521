/** What a device says must never make a file that zapd cannot read again: one set could take all others with it. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import { Catalog } from "../../src/devices/catalog.ts";
import { Registry } from "../../src/devices/registry.ts";
import {
  accessModes,
  appTypes,
  type Facts,
  kinds,
  type PlatformApp,
  type Sighting,
} from "../../src/platforms/platform.ts";
import { testFolder } from "../support/folder.ts";
import { damaged } from "./harness.ts";

const folder = testFolder();

const long = fc.constantFrom(10, 64, 65, 128, 129, 256, 257, 512, 513, 5_000);
const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 20 }),
  fc
    .tuple(fc.constantFrom("x", "é", "📺", "•", " ", "\0", "-", "\ud83d", "名"), long)
    .map(([one, count]) => one.repeat(count)),
  fc.constantFrom("constructor", "__proto__", "dev", "News", "NEWS!"),
);
const maybe = fc.option(text, { nil: null });

test("of a device", async () => {
  const facts: fc.Arbitrary<Facts> = fc.record({
    name: maybe,
    manufacturer: maybe,
    model: maybe,
    serial: maybe,
    softwareVersion: maybe,
    kind: fc.constantFrom(...kinds),
    macs: fc.array(fc.constant("02:00:00:00:00:01"), { maxLength: 3 }),
    access: fc.constantFrom(...accessModes, null),
  });
  const sighting: fc.Arbitrary<Sighting> = fc.record({
    identity: text,
    facts,
    memory: fc.dictionary(
      fc.constantFrom("volume", "power", "constructor"),
      fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value))),
      { noNullPrototype: true },
    ),
    pairing: fc.constantFrom("none", "required"),
  });
  const sightings = fc.array(sighting, { minLength: 1, maxLength: 20 });
  let round = 0;
  await fc.assert(
    fc.asyncProperty(sightings, async (all) => {
      const path = join(folder, `devices-${++round}.json`);
      const registry = await Registry.open({ path, damaged });
      const address = { host: "192.0.2.1", port: 1 };
      // One that no file could hold is refused, and takes nothing with it.
      await Promise.allSettled(all.map((one) => registry.merge({ platform: "fake", sighting: one, address })));
      expect((await Registry.open({ path, damaged })).records).toEqual(registry.records);
    }),
    { numRuns: 25 },
  );
}, 60_000);

test("of its apps", async () => {
  const app: fc.Arbitrary<PlatformApp> = fc.record({
    platformId: text,
    name: text,
    type: fc.constantFrom(...appTypes),
    version: maybe,
  });
  let round = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(app, { minLength: 1, maxLength: 6 }), async (listed) => {
      const path = join(folder, `apps-${++round}.json`);
      const catalog = await Catalog.open({ path, damaged });
      await catalog.refresh("tv", "fake", listed).catch(() => {});
      expect((await Catalog.open({ path, damaged })).apps("tv")).toEqual(catalog.apps("tv"));
    }),
    { numRuns: 100 },
  );
}, 60_000);
