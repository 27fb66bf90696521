/** A connection does what it is told, and tells what it sees, in the words of the contract. */
import { describe, expect, test } from "bun:test";
import { appTypes, type Key, keys, powers } from "../../src/platforms/platform.ts";
import { serviceNames } from "../../src/platforms/services.ts";
import { until } from "../support/http-device.ts";
import { type Bench, failure, has, never } from "./bench.ts";

export function drivingContract(bench: Bench): void {
  const { platform, app, unknownApp, line, anyKeys, can } = bench;

  describe.concurrent(`platform ${platform.name}: a connection`, () => {
    test("is made without any traffic, and closing it releases every socket", async () => {
      const { relay, connection } = await line();
      await Bun.sleep(20);
      expect(relay.taken).toBe(0);
      await has(connection.state).read(never);
      await has(connection.keys).press(anyKeys[0], never);
      expect(relay.open).toBeGreaterThan(0);
      connection.close();
      await until("all are closed", () => relay.open === 0);
      connection.close();
    });

    test("tells its state in the words of the contract", async () => {
      const { connection } = await line();
      const state = await has(connection.state).read(never);
      expect(powers).toContain(state.power);
      expect(state.power).toBe(bench.tellsNoPower ? "unknown" : "on");
      expect(state.app).toBeNull();
      expect(Object.keys(state).sort()).toEqual(["app", "input", "playback", "power", "screensaver", "volume"]);
    });

    test("lists its apps, each once, of a type that there is", async () => {
      if (!can("apps")) return;
      const { connection } = await line();
      const apps = await has(connection.apps?.list)(never);
      expect(apps).toContainEqual(expect.objectContaining({ ...app, type: "app" }));
      expect(new Set(apps.map((one) => one.platformId)).size).toBe(apps.length);
      for (const one of apps) {
        expect(appTypes).toContain(one.type);
        expect(platform.isAppId(one.platformId)).toBe(true);
        if (one.type === "app" && one.id !== undefined) expect(Object.keys(serviceNames)).toContain(one.id);
      }
    });

    test("launches an app, sees it, and leaves it; with nothing to leave, that succeeds too", async () => {
      if (!can("launch")) return;
      const { set, connection } = await line();
      const link = bench.takesNoLinks ? {} : { content_id: "a b&c=d", media_type: "movie" };
      expect(await has(connection.apps?.launch)(app.platformId, link, never)).toBe(true);
      expect(set.inFront).toBe(app.platformId);
      expect((await has(connection.state).read(never)).app).toMatchObject(app);
      expect(await has(connection.apps?.launch)(app.platformId, {}, never)).toBe(true);
      expect(await has(connection.apps?.stop)(never)).toMatchObject(app);
      expect(set.inFront).toBeNull();
      expect(await has(connection.apps?.stop)(never)).toBeNull();
      expect((await has(connection.state).read(never)).app).toBeNull();
    });

    test("does not launch what is not there", async () => {
      if (!can("launch") || bench.hidesMissingApps) return;
      const { set, connection } = await line();
      expect((await failure(has(connection.apps?.launch)(unknownApp, {}, never))).code).toBe("app_not_found");
      expect(set.inFront).toBeNull();
    });

    test("presses every key that it says it has, each once and in order", async () => {
      const { set, connection, target } = await line();
      const { press } = has(connection.keys);
      const { keys: names } = platform.describe(target.facts, target.memory, true);
      expect([...names].filter((name) => !keys.includes(name))).toEqual([]);
      // What turns it on and off is a story of its own.
      const last: readonly Key[] = ["power-off", "power", "power-on"];
      const order = keys.filter((key) => !last.includes(key) && names.has(key));
      for (const [at, key] of order.entries()) {
        await set.readyForKey?.(key);
        await press(key, never);
        // Some protocols answer no key: it is on its way.
        await until(`${key} has come`, () => set.pressed.length > at);
        expect([key, set.pressed.length]).toEqual([key, at + 1]);
      }
      expect(set.awake).toBe(true);
    }, 60_000);

    test("is turned off, and nothing else, by power-off", async () => {
      const { set, connection, target } = await line();
      const { press } = has(connection.keys);
      if (!platform.describe(target.facts, target.memory, true).keys.has("power-off")) return;
      await (connection.power?.off?.(never) ?? press("power-off", never));
      await until("it is off", () => !set.awake);
    });

    test("types text by code point, whatever it holds", async () => {
      if (!can("text")) return;
      const { set, connection } = await line();
      const text = "héllo wörld/%+?#& 📺";
      await set.readyForText?.();
      await has(connection.text).type(text, never);
      await until("all of it has come", () => set.typed.length >= text.length);
      expect(set.typed).toBe(text);
    }, 60_000);

    test("stops typing when its caller hangs up", async () => {
      if (bench.typesAtOnce || !can("text")) return;
      const { set, connection } = await line();
      const caller = new AbortController();
      const typing = has(connection.text)
        .type("abcdefghij", caller.signal)
        .then(
          () => "typed",
          () => "ended",
        );
      await until("it has begun", () => set.typed.length >= 2);
      caller.abort("gone");
      expect(await typing).toBe("ended");
      const typed = set.typed;
      await Bun.sleep(300);
      expect(set.typed.length).toBeLessThanOrEqual(typed.length + 1);
      expect(set.typed.length).toBeLessThan(10);
    });
  });
}
