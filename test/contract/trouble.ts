/** Sets that sleep, hang up, fall silent, or are not the one that is meant. */
import { describe, expect, test } from "bun:test";
import { until } from "../support/http-device.ts";
import { turnOn } from "../support/platform-host.ts";
import { type Bench, failure, has, never } from "./bench.ts";

export function troubleContract(bench: Bench): void {
  const { platform, app, line, direct, start, can } = bench;
  const [first, second] = bench.anyKeys;

  describe.concurrent(`platform ${platform.name}: power`, () => {
    test("a set in standby says so, and is turned on", async () => {
      if (bench.noStandby || !can("power_on")) return;
      const { set, connection, target } = await line(1_500, "standby");
      await set.sleep("standby");
      expect((await has(connection.state).read(never)).power).toBe("standby");
      await turnOn(connection, target, never);
      expect(set.awake).toBe(true);
      expect((await has(connection.state).read(never)).power).toBe("on");
    }, 60_000);

    test("a set that is on stays on", async () => {
      if (!can("power_on")) return;
      const { set, connection, target } = await line();
      await turnOn(connection, target, never);
      expect(set.awake).toBe(true);
    });

    test("a set in deep sleep does not answer, and is woken where that can be", async () => {
      const { set, connection, target } = await direct();
      await has(connection.state).read(never);
      await set.sleep("deep");
      // What it said as it went may be on its way still: that fails otherwise.
      const told = () =>
        has(connection.state)
          .read(never)
          .then(
            () => "answered",
            ({ code }) => code,
          );
      await until("nothing answers", async () => (await told()) === "device_unreachable");
      if (!can("power_on")) return;
      await turnOn(connection, target, never);
      expect(set.awake).toBe(true);
      await has(connection.keys).press("home", never);
      await until("the key has come", () => set.pressed.length > 0);
    }, 60_000);

    test("a caller who hangs up while a set is woken ends that", async () => {
      if (!can("power_on")) return;
      const { set, connection, target } = await direct();
      await set.stop();
      const caller = new AbortController();
      const waking = turnOn(connection, target, caller.signal).then(
        () => "woken",
        () => "ended",
      );
      await Bun.sleep(300);
      const start = performance.now();
      caller.abort("gone");
      expect(await waking).toBe("ended");
      // Waking takes thirty seconds, and five where the host answers.
      expect(performance.now() - start).toBeLessThan(4_000);
    });
  });

  describe.concurrent(`platform ${platform.name}: another set at the address`, () => {
    test("is never driven, and nothing that it says is taken for ours", async () => {
      const { set, relay, connection, target, told } = await line();
      await has(connection.keys).press(first, never);
      const other = await start("Two");
      expect(other.identity).not.toBe(set.identity);
      relay.to(other.port);
      await relay.cut();
      for (const all of [told.learned, told.remembered, told.states]) all.length = 0;
      const driving = [
        () => has(connection.apps?.launch)(app.platformId, {}, never),
        () => has(connection.apps?.stop)(never),
      ];
      const attempts = [
        () => has(connection.keys).press(second, never),
        ...(can("text") ? [() => has(connection.text).type("abc", never)] : []),
        ...(can("launch") ? driving : []),
        () => has(connection.state).read(never),
        ...(can("power_on") ? [() => turnOn(connection, target, never)] : []),
      ];
      for (const attempt of attempts) expect((await failure(attempt())).code).toBe("device_unreachable");
      expect([other.pressed, other.typed, other.inFront]).toEqual([[], "", null]);
      expect([told.learned, told.remembered, told.states]).toEqual([[], [], []]);
      connection.close();
      await until("nothing is left open", () => relay.open === 0);
    }, 60_000);

    test("that comes in the midst of things is not driven either: each new connection is proven first", async () => {
      const { relay, connection } = await line();
      const other = await start("Two");
      for (let round = 0; round < 5; round++) await has(connection.keys).press(first, never);
      relay.to(other.port);
      await relay.cut();
      for (let round = 0; round < 3; round++) await failure(has(connection.keys).press(second, never));
      expect(other.pressed).toEqual([]);
    });
  });

  describe.concurrent(`platform ${platform.name}: bad lines`, () => {
    test("a set that hung up while nobody asked is asked again, and a key comes through once", async () => {
      const { set, relay, connection } = await line();
      for (let round = 1; round <= 3; round++) {
        await has(connection.state).read(never);
        await has(connection.keys).press(first, never);
        await until("the key has come", () => set.pressed.length >= round);
        expect(set.pressed.length).toBe(round);
        await relay.cut();
      }
    });

    test("a set that hangs up on everyone fails at once, and not twice for a command", async () => {
      const { set, relay, connection } = await line(20_000);
      relay.mode = "close";
      const begun = performance.now();
      const asked = [
        has(connection.state).read(never),
        has(connection.keys).press(first, never),
        ...(can("launch") ? [has(connection.apps?.launch)(app.platformId, {}, never)] : []),
      ];
      for (const { code } of await Promise.all(asked.map(failure)))
        expect(["device_error", "device_unreachable"]).toContain(code);
      expect(performance.now() - begun).toBeLessThan(10_000);
      relay.mode = "pass";
      await has(connection.keys).press(second, never);
      await until("the key has come", () => set.pressed.length > 0);
      expect(set.pressed.length).toBe(1);
    });

    test("a set that falls silent fails at the deadline, and leaves nothing open", async () => {
      const { set, relay, connection } = await line(400);
      relay.mode = "hang";
      const begun = performance.now();
      const asked = [has(connection.state).read(never), has(connection.keys).press(first, never)];
      for (const { code } of await Promise.all(asked.map(failure)))
        expect(["device_timeout", "device_unreachable"]).toContain(code);
      // A tenth of the usual deadline, and time for a busy machine.
      expect(performance.now() - begun).toBeLessThan(4_000);
      connection.close();
      await until("nothing is left open", () => relay.open === 0);
      expect(set.pressed).toEqual([]);
    });

    test("a set that is gone is device_unreachable, whatever is asked of it", async () => {
      const { set, connection } = await direct();
      await has(connection.state).read(never);
      await set.stop();
      // What it pushed is told for as long as its end has not been heard.
      await until("its end is heard", () => !has(connection.state).pushes?.size);
      await Bun.sleep(20);
      const asked = [
        has(connection.state).read(never),
        ...(can("apps") ? [has(connection.apps?.list)(never)] : []),
        ...(can("launch") ? [has(connection.apps?.stop)(never)] : []),
        has(connection.keys).press(first, never),
      ];
      for (const { code } of await Promise.all(asked.map(failure))) expect(code).toBe("device_unreachable");
    });

    test("a caller who hangs up ends what it asked, at once", async () => {
      const { relay, connection } = await line(20_000);
      relay.mode = "hang";
      for (const ask of [
        (signal: AbortSignal) => has(connection.state).read(signal),
        (signal: AbortSignal) => has(connection.keys).press(first, signal),
      ]) {
        const caller = new AbortController();
        const asking = ask(caller.signal).then(
          () => "answered",
          () => "ended",
        );
        await Bun.sleep(50);
        const start = performance.now();
        caller.abort(new Error("gone"));
        expect(await asking).toBe("ended");
        expect(performance.now() - start).toBeLessThan(10_000);
      }
    });
  });
}
