import { beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import { App } from "../../src/api/schemas.ts";
import {
  appNotFound,
  Catalog,
  describeApp,
  findApp,
  findService,
  isApp,
  mergeApps,
} from "../../src/devices/catalog.ts";
import type { PlatformApp } from "../../src/platforms/platform.ts";
import { outcomeOf } from "../support/failure.ts";
import { folderForEach } from "../support/folder.ts";
import { damaged } from "./harness.ts";

let count = 0;
const app = (name: string, more: Partial<PlatformApp> = {}): PlatformApp => ({
  platformId: String(++count),
  name,
  type: "app",
  version: null,
  ...more,
});
const idsOf = (listed: readonly PlatformApp[], before: readonly App[] = []) =>
  Object.fromEntries(mergeApps(before, listed).map((one) => [one.platform_id, one.id]));

describe("the id of an app", () => {
  const names = {
    Netflix: "netflix",
    "Prime Video": "prime-video",
    "discovery+": "discovery-plus",
    "A&E": "a-and-e",
    "Kids' Corner® <3": "kids-corner-3",
    "Sling TV - Live Sports, News": "sling-tv-live-sports-news",
    "  Café™ Société  ": "cafe-societe",
    "HBO Max": "hbo-max",
    "Ciné Écran Œuvres": "cine-ecran-oeuvres",
    "3sat": "3sat",
    İstanbul: "istanbul",
  };
  test.each(Object.entries(names))("of %j is %s", (name, id) => {
    expect(mergeApps([], [app(name)])[0]?.id).toBe(id);
  });

  test("of a name without letters is made of the platform's", () => {
    expect(idsOf([app("日本放送", { platformId: "77" }), app("•••", { platformId: "31012_ab" })])).toEqual({
      "77": "app-77",
      "31012_ab": "app-31012-ab",
    });
  });

  test("is the platform's own where it is sure, whatever another app is called", () => {
    const own = app("Mine", { platformId: "dev", id: "dev", type: "dev" });
    const input = app("Netflix", { platformId: "tvinput.hdmi1", id: "hdmi1", type: "input" });
    const named = [
      app("Dev", { platformId: "99" }),
      own,
      input,
      app("HDMI1", { platformId: "98" }),
      app("Netflix", { platformId: "12" }),
    ];
    expect(idsOf(named)).toEqual({
      "99": "dev-99",
      dev: "dev",
      "tvinput.hdmi1": "hdmi1",
      "98": "hdmi1-98",
      "12": "netflix",
    });
  });

  test("is given to neither of two new apps that would share it, so that it stays ambiguous", () => {
    const two = [app("News", { platformId: "1" }), app("NEWS!", { platformId: "2" })];
    expect(idsOf(two)).toEqual({ "1": "news-1", "2": "news-2" });
    // Nor to a third that comes later.
    expect(idsOf([...two, app("News", { platformId: "3" })], mergeApps([], two))).toMatchObject({ "3": "news-3" });
  });

  test("stays with its app, whatever apps come later and whatever it is called then", () => {
    const before = mergeApps([], [app("News", { platformId: "1" })]);
    expect(idsOf([app("News", { platformId: "2" }), app("News & More", { platformId: "1" })], before)).toEqual({
      "1": "news",
      "2": "news-2",
    });
  });

  test("of an unlisted app is not given to another, and is its own again when it is listed again", () => {
    const first = mergeApps([], [app("News", { platformId: "1" })]);
    const second = mergeApps(first, [app("News", { platformId: "2" })]);
    expect(second.map(({ platform_id, id, installed }) => [platform_id, id, installed])).toEqual([
      ["2", "news-2", true],
      ["1", "news", false],
    ]);
    expect(idsOf([app("News", { platformId: "1" })], second)).toEqual({ "1": "news", "2": "news-2" });
  });

  test("is one of a kind in any catalog, of plain characters, and the same at each refresh", () => {
    const name = fc.oneof(
      fc.constantFrom("News", "news", "NEWS!", "News 2", "dev", "•", "hdmi1", "a".repeat(300)),
      fc.string({ unit: "grapheme", maxLength: 12 }),
    );
    const listed = fc.uniqueArray(
      fc.record({ name, platformId: fc.constantFrom(..."123456789", "dev", "news", "news-2", "tvinput.hdmi1") }),
      { selector: (one) => one.platformId, maxLength: 10 },
    );
    const sure: Record<string, string> = { dev: "dev", "tvinput.hdmi1": "hdmi1" };
    const given = (one: { name: string; platformId: string }) =>
      app(one.name, { ...one, ...(sure[one.platformId] && { id: sure[one.platformId] ?? "" }) });
    fc.assert(
      fc.property(fc.array(listed, { minLength: 1, maxLength: 4 }), (rounds) => {
        let apps: App[] = [];
        for (const round of rounds) {
          const before = new Map(apps.map((one) => [one.platform_id, one.id]));
          apps = mergeApps(apps, round.map(given));
          expect(new Set(apps.map((one) => one.id)).size).toBe(apps.length);
          for (const one of apps) {
            expect(App.parse(one)).toEqual(one);
            expect(one.id).toMatch(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/);
            expect(one.installed).toBe(round.some(({ platformId }) => platformId === one.platform_id));
            if (before.has(one.platform_id)) expect(one.id).toBe(before.get(one.platform_id) ?? "");
          }
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("the app that is meant", () => {
  const platform = { isAppId: (text: string) => /^\d+$/.test(text) };
  const apps = mergeApps(mergeApps([], [app("Old News", { platformId: "50" }), app("Gone", { platformId: "51" })]), [
    app("Netflix", { platformId: "12" }),
    app("Prime Video", { platformId: "13" }),
    app("YouTube", { platformId: "837" }),
    app("837", { platformId: "900" }),
    app("Roku", { platformId: "tvinput.hdmi2", id: "hdmi2", type: "input" }),
    app("Old News", { platformId: "70" }),
    app("old-news-70", { platformId: "71" }),
    app("Tom & Jérôme+", { platformId: "55" }),
    app("Tubi", { platformId: "60" }),
    app("TUBI", { platformId: "61" }),
  ]);
  const find = (wanted: string) => outcomeOf(() => findApp(wanted, apps, platform)?.platform_id ?? null);

  test("is the app that a well-known service is now, where its id is still that of one that is gone", () => {
    const services = new Map([
      ["com.hbo.hbomax", "max"],
      ["com.wbd.stream", "max"],
    ] as const);
    const former = app("HBO Max", { platformId: "com.hbo.hbomax", id: "max" });
    const all = mergeApps(mergeApps([], [former]), [app("Max", { platformId: "com.wbd.stream", id: "max" })]);
    const meant = (wanted: string) => findApp(wanted, all, { ...platform, services })?.platform_id;
    expect(["max", "MAX", "HBO Max"].map(meant)).toEqual(Array(3).fill("com.wbd.stream"));
    expect(meant("com.hbo.hbomax")).toBe("com.hbo.hbomax");
  });

  test("is found by platform id, id, exact name, and a name without case and punctuation, in this order", () => {
    expect(["12", "netflix", "Netflix", "NETFLIX", "net-flix!", " netflix "].map(find)).toEqual(Array(6).fill("12"));
    expect(["prime-video", "Prime Video", "primevideo", "PRIME VIDEO"].map(find)).toEqual(Array(4).fill("13"));
    expect(find("837")).toBe("837");
    expect(find("hdmi2")).toBe("tvinput.hdmi2");
    expect(find("HDMI2")).toBe("tvinput.hdmi2");
    expect(find("Roku")).toBe("tvinput.hdmi2");
    expect(find("old-news-70")).toBe("70");
    expect(["Tubi", "TUBI", "tubi"].map(find)).toEqual(["60", "61", "ambiguous_app"]);
    expect(["tom and jerome plus", "tom and jérôme+", "Tom, Jérôme"].map(find)).toEqual(Array(3).fill("55"));
  });

  test("is the one that is shown, by every text that launches it, unless that may mean another app", () => {
    const amc = app("AMC+", { platformId: "55" });
    const shown = describeApp(amc, mergeApps([], [amc]));
    const meant = ["55", "amc-plus", "AMC-PLUS", "AMC+", " amc+ ", "amcplus", "ＡＭＣ＋"];
    expect(meant.filter((text) => isApp(shown, text))).toEqual(meant);
    expect(["AMC", "none", "", "+"].filter((text) => isApp(shown, text))).toEqual([]);
  });

  test("is the installed one of two with one name, and an uninstalled one only when there is no other", () => {
    expect(find("Old News")).toBe("70");
    expect(find("old-news")).toBe("50");
    expect(find("Gone")).toBe("51");
  });

  test("that the catalog lacks is found by the platform's own id, and by nothing else", () => {
    expect(find("4242")).toBe("4242");
    expect(findApp("4242", apps, platform)).toMatchObject({ platform_id: "4242", installed: false });
    for (const wanted of ["hulu", "42a", "", "•"]) expect(find(wanted)).toBeNull();
  });

  test("is a well-known service by its id, or by a name that it had, where the device lists no apps", () => {
    const listsNone = { ...platform, services: new Map([["C5B95AD4", "max"]] as const) };
    for (const wanted of ["max", "Max", "HBO Max", "hbo-max"])
      expect(findService(wanted, listsNone)).toMatchObject({ id: "max", platform_id: "C5B95AD4" });
  });

  test("that is unknown fails with the nearest name", () => {
    expect(appNotFound("netflx", apps).hint).toBe("Did you mean Netflix?");
    expect(appNotFound("xyzzyx", apps).hint).toContain("zapd apps");
    expect(appNotFound("x".repeat(5_000), apps).message.length).toBeLessThan(300);
  });

  test("as the device reports it has its id in the catalog, or the one it would get", () => {
    expect(describeApp(app("YouTube TV", { platformId: "837" }), apps)).toMatchObject({
      id: "youtube",
      name: "YouTube TV",
    });
    expect(describeApp(app("Brand New"), null)).toMatchObject({ id: "brand-new", installed: true });
  });
});

describe("the cache", () => {
  const folder = folderForEach();
  let catalog: Catalog;
  const open = () => Catalog.open({ path: join(folder(), "apps.json"), damaged });
  beforeEach(async () => {
    catalog = await open();
  });
  const [a, b, c] = [
    app("A", { platformId: "1" }),
    app("B", { platformId: "2" }),
    app("C", { platformId: "3" }),
  ] as const;

  test("is empty at first, then reports added and removed apps, and survives a restart", async () => {
    expect(catalog.apps("tv")).toBeNull();
    expect(await catalog.refresh("tv", "fake", [a, b])).toMatchObject({
      added: ["a", "b"],
      removed: [],
      changes: null,
    });
    const second = await catalog.refresh("tv", "fake", [b, c]);
    expect(second).toMatchObject({ added: ["c"], removed: ["a"] });
    expect(await catalog.refresh("tv", "fake", [a, b])).toMatchObject({ added: ["a"], removed: ["c"] });
    expect(await catalog.refresh("tv", "fake", [a, b])).toMatchObject({ added: [], removed: [] });
    expect((await open()).apps("tv")).toEqual(catalog.apps("tv"));
  });

  test("cleared, forgets what is kept of the platform, on every device of it, and of no other", async () => {
    await catalog.refresh("tv", "fake", [a, b]);
    await catalog.refresh("other", "fake", [a]);
    await catalog.refresh("box", "another", [a]);
    const cleared = await catalog.refresh("tv", "fake", [b], true);
    expect(cleared.apps.map((one) => one.platform_id)).toEqual(["2"]);
    // On the device itself only one has gone.
    expect(cleared).toMatchObject({ added: ["b"], removed: [], changes: { added: [], removed: ["a"] } });
    expect(catalog.apps("other")).toBeNull();
    expect(catalog.apps("box")?.length).toBe(1);
  });

  test("of a removed device is empty again; names of Object.prototype are no devices", async () => {
    await catalog.refresh("tv", "fake", [a]);
    await catalog.forget("tv");
    await catalog.forget("nobody");
    for (const id of ["tv", "constructor", "__proto__"]) expect(catalog.apps(id)).toBeNull();
  });

  test("holds thousands of apps of a device, each of them once, and refuses more than any device has", async () => {
    const many = (length: number) => Array.from({ length }, (_, at) => app(`App ${at}`, { platformId: `p${at}` }));
    expect((await catalog.refresh("tv", "fake", many(1_500))).apps.length).toBe(1_500);
    await expect(catalog.refresh("tv", "fake", many(5_001))).rejects.toThrow("lists 5001 apps");
    expect(catalog.apps("tv")?.length).toBe(1_500);
    expect((await catalog.refresh("box", "fake", [a, { ...a, name: "again" }])).apps.length).toBe(1);
  });
});
