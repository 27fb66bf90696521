import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { ZapdError } from "../../src/api/errors.ts";
import type { DeviceRecord } from "../../src/devices/record.ts";
import { initialStanding, standingWithStrangeMac } from "../../src/devices/standing.ts";
import type { InstallResult, PlatformApp } from "../../src/platforms/platform.ts";
import { codeOf, failureOf } from "../support/failure.ts";
import { until } from "../support/http-device.ts";
import { type House, neverAborted, openHouse } from "./harness.ts";

let house: House;
let tv: DeviceRecord;
let listed: PlatformApp[];
const app = (platformId: string, name: string): PlatformApp => ({ platformId, name, type: "app", version: null });
beforeEach(async () => {
  listed = [app("12", "Netflix"), app("60", "Kids"), app("61", "KIDS!")];
  house = await openHouse((set) => {
    const { apps, ...connection } = set.connection();
    return { ...connection, apps: { ...apps, list: (signal) => set.do("apps", signal, listed) } };
  });
  tv = await house.add("1", { name: "TV" });
});
afterEach(() => house.remove());

describe("apps", () => {
  const launch = (wanted: string, params = {}) => house.actions.launch(tv, wanted, params, { signal: neverAborted });

  test("come from the cache; an empty one is filled first, once for all callers", async () => {
    house.set.takes = 10;
    const lists = await Promise.all([1, 2, 3].map(() => house.actions.apps(tv, neverAborted)));
    expect(lists.map(({ apps }) => apps.length)).toEqual([3, 3, 3]);
    await house.actions.apps(tv, neverAborted);
    expect(house.set.done).toEqual(["apps"]);
  });

  test("are launched by the platform's own id with their parameters, and reported as the catalog has them", async () => {
    const launching = launch("netflix", { content_id: "a b" });
    // No later command comes between the list of apps and the launch.
    await house.actions.key(tv, "home", { signal: neverAborted });
    const { app: launched, confirmed } = await launching;
    expect(launched).toMatchObject({ id: "netflix", platform_id: "12", installed: true });
    expect(confirmed).toBe(true);
    expect(house.set.done).toEqual(["apps", 'launch 12 {"content_id":"a b"}', "home"]);
  });

  test("are launched, once their turn has come, before a lease that somebody asks for meanwhile begins", async () => {
    house.set.takes = 20;
    const launching = launch("netflix");
    await until("their list is read", () => house.set.running === 1);
    const leased = house.leases.take(tv.id, { owner: "ada", ttl_s: 60, wait_s: 5 }, undefined, neverAborted);
    expect((await launching).confirmed).toBe(true);
    expect((await leased).token).not.toBe("");
  });

  test("that the cache lacks are searched for once in a fresh list from the device", async () => {
    await house.actions.apps(tv, neverAborted);
    listed = [...listed, app("70", "Brand New")];
    expect((await launch("brand new")).app.platform_id).toBe("70");
    expect(house.set.done.filter((one) => one === "apps").length).toBe(2);
  });

  test("that the set has listed are told and launched where the disk keeps no list; a refresh fails, since it is kept", async () => {
    mkdirSync(join(house.folder, "apps.json"));
    house.set.takes = 10;
    const lists = Promise.all([1, 2].map(() => house.actions.apps(tv, neverAborted)));
    const refreshed = codeOf(house.actions.refresh(tv, false, neverAborted));
    expect((await lists).map(({ apps }) => apps.length)).toEqual([3, 3]);
    expect(await refreshed).toBe("storage_error");
    expect((await launch("netflix")).app.platform_id).toBe("12");
    expect(house.set.done).toEqual(["apps", "apps", "launch 12 {}"]);
    expect(house.catalog.apps(tv.id)).toBe(null);
  });

  test("of a device without a list are launched by its own ids and by well-known names, without listing any", async () => {
    const bare = await openHouse((set) => {
      const { apps, ...connection } = set.connection();
      return { ...connection, apps: { launch: apps?.launch ?? (async () => null) } };
    });
    try {
      const box = await bare.add("2", { name: "Box" });
      const start = (wanted: string) => bare.actions.launch(box, wanted, {}, { signal: neverAborted });
      expect((await start("netflix")).app).toMatchObject({ id: "netflix", name: "Netflix", platform_id: "99" });
      expect((await start("Netflix")).app).toMatchObject({ id: "netflix", name: "Netflix", platform_id: "99" });
      // A service that has two ids is one app by its name, and each of them by its own.
      expect((await start("Disney+")).app).toMatchObject({ id: "disney-plus", name: "Disney+", platform_id: "70" });
      expect((await start("71")).app.platform_id).toBe("71");
      expect((await start("4242")).app.platform_id).toBe("4242");
      expect(await failureOf(start("netflux"))).toStartWith("app_not_found: Box does not list its apps");
      const launched = ["99", "99", "70", "71", "4242"];
      expect(bare.set.done).toEqual(launched.map((id) => `launch ${id} {}`));
    } finally {
      await bare.remove();
    }
  });
});

describe("development", () => {
  const result: InstallResult = {
    package: { name: "Mine", version: "1.0.0", bytes: 9, files: 1 },
    messages: ["Install Success."],
  };
  const workbench = (fails: boolean) =>
    openHouse((set) => ({
      ...set.connection(),
      apps: {
        list: (signal) =>
          fails ? Promise.reject(new ZapdError("device_refused", "refused")) : set.do("apps", signal, []),
      },
      dev: {
        install: ({ path }, password, signal, { isOwn } = {}) =>
          set.do(`install ${path} ${password} ${isOwn}`, signal, result),
        reload: (signal) => set.do("reload", signal, { ...app("dev", "Mine"), id: "dev", type: "dev" }),
        console: {
          read: (cursor, signal) => set.do(`read ${cursor}`, signal, { lines: ["x"], cursor: "2" }),
          close: () => {},
        },
      },
    }));

  test("a package goes to the device, and the catalog is brought up to date, whether the set lists its apps or not", async () => {
    for (const fails of [false, true]) {
      const bench = await workbench(fails);
      const record = await bench.add("1");
      expect(
        await bench.actions.install(
          record,
          { path: "/x.zip", bytes: 9 },
          { password: "secret" },
          { signal: neverAborted },
        ),
      ).toBe(result);
      expect(bench.set.done).toEqual(fails ? ["install /x.zip secret true"] : ["install /x.zip secret true", "apps"]);
      expect(await bench.actions.reload(record, { signal: neverAborted })).toMatchObject({
        id: "dev",
        type: "dev",
        name: "Mine",
      });
      await bench.remove();
    }
  });

  test("a package that is installed is said to be, also where its password cannot be kept", async () => {
    const bench = await workbench(false);
    const record = await bench.add("1");
    mkdirSync(join(bench.folder, "credentials.json"));
    const given = { password: "secret" };
    const installed = bench.actions.install(record, { path: "/x.zip", bytes: 9 }, given, { signal: neverAborted });
    const { message, hint } = await installed.then(
      () => expect.unreachable(),
      (error: ZapdError) => error,
    );
    expect(message).toStartWith("The package is installed, but its password is not kept: ");
    expect(hint).not.toContain("Nothing was changed");
    await bench.remove();
  });

  test("a package without a password is refused at once, and with one it is not sent to a device that is on probation by its turn", async () => {
    const bench = await workbench(false);
    const { id } = await bench.add("1");
    const device = bench.devices.find(id);
    const install = (given: { readonly password?: string }) =>
      codeOf(bench.actions.install(device.record, { path: "/x.zip", bytes: 9 }, given, { signal: neverAborted }));
    const busy = Promise.withResolvers<void>();
    const task = { activity: "being busy", needs: "keys", timeoutMs: 60_000, work: () => busy.promise } as const;
    const running = device.command({ signal: neverAborted }, task);
    const waiting = install({ password: "secret" });
    expect(await install({})).toBe("dev_password_missing");
    await bench.registry.setStanding(id, () =>
      standingWithStrangeMac(initialStanding, "02:00:00:00:00:99", Date.now()),
    );
    busy.resolve();
    await running;
    expect([await waiting, bench.set.done]).toEqual(["device_unproven", []]);
    await bench.remove();
  });

  test("T31 a password that the set refuses is not in the answer, and is not redacted for others, who may use the word", async () => {
    const bench = await workbench(false);
    const record = await bench.add("1");
    bench.set.failure = new ZapdError("dev_auth_failed", "does not know Roku", { hint: "Roku or roku?" });
    const given = { password: "Roku" };
    const refused = bench.actions.install(record, { path: "/x.zip", bytes: 9 }, given, { signal: neverAborted });
    const { message, hint } = await refused.then(
      () => expect.unreachable(),
      (error: ZapdError) => error,
    );
    expect([message, hint]).toEqual(["Set 1 does not know …", "… or roku?"]);
    expect(bench.hidden).toEqual([]);
    await bench.remove();
  });

  test("the console is read once for all callers with the same cursor", async () => {
    const bench = await workbench(false);
    const record = await bench.add("1");
    bench.set.takes = 10;
    const read = (cursor: string | null) => bench.actions.logs(record, cursor, neverAborted);
    await Promise.all([read(null), read(null), read("1"), read("1")]);
    expect(bench.set.done.sort()).toEqual(["read 1", "read null"]);
    await bench.remove();
  });
});
