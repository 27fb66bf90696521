import { describe, expect, test } from "bun:test";
import { ZapdError } from "../../src/api/errors.ts";
import type { Address } from "../../src/platforms/platform.ts";
import { sleep } from "../../src/system/sleep.ts";
import { fakePlatform, sightingOf } from "../support/fake-platform.ts";
import { until } from "../support/http-device.ts";
import { look, platformFor } from "./harness.ts";

describe("configured hosts", () => {
  test("are asked directly: whose their own port is, or every platform at its usual one, beside any search", async () => {
    const asked: string[] = [];
    const who = (name: string) => async (address: Address) => {
      asked.push(`${name} ${address.host}:${address.port}`);
      return sightingOf(`${name}-${address.port}`);
    };
    const platforms = [platformFor("", who("one"), "one"), platformFor("", who("other"), "other")];
    const { discovery, warnings } = look(platforms, { interfaces: ["none"], hosts: ["127.0.0.1:81", "127.0.0.2"] });
    expect((await discovery.scan()).sort()).toEqual(["one-4321", "one-81", "other-4321"]);
    expect(asked.sort()).toEqual([...["one 127.0.0.1:81", "one 127.0.0.2:4321", "other 127.0.0.2:4321"]]);
    expect(warnings).toEqual([]);
  });

  test("are asked for one platform after the other on a port of their own, and none waits for one that is slow", async () => {
    const slow = platformFor("", (_, signal) => sleep(5_000, signal).then(() => sightingOf("late")), "slow");
    const platforms = [slow, platformFor("", undefined, "other")];
    const { discovery } = look(platforms, { interfaces: ["none"], hosts: ["127.0.0.1:81"] });
    expect(await discovery.scan()).toEqual(["id-81"]);
  });

  test("that cannot be are warned of, and the others are asked all the same", async () => {
    const hosts = ["0.0.0.0", "255.255.255.255", "[]", "127.0.0.1:81"];
    const { discovery, warnings } = look([platformFor("")], { interfaces: ["none"], hosts });
    expect(await discovery.scan()).toEqual(["id-81"]);
    expect(warnings.length).toBe(3);
    for (const warning of warnings) expect(warning).toStartWith("discovery.hosts: ");
  });
});

describe("one address", () => {
  const failure = (work: Promise<unknown>) =>
    work.then(
      () => "none",
      (error: ZapdError) => error.code,
    );

  test("is asked on the port given or the usual one, of the platform named or of all", async () => {
    const { discovery } = look([
      platformFor("", () => Promise.reject(new ZapdError("device_error", "is nobody")), "one"),
      platformFor("", undefined, "other"),
    ]);
    expect(await discovery.probe("127.0.0.1", 81, null)).toMatchObject({
      platform: "other",
      address: { host: "127.0.0.1", port: 81 },
    });
    expect((await discovery.probe("127.0.0.1", null, "other")).address.port).toBe(4_321);
    expect(await failure(discovery.probe("127.0.0.1", null, "one"))).toBe("device_error");
    expect(await failure(discovery.probe("127.0.0.1", null, "third"))).toBe("invalid_payload");
    expect(await failure(discovery.probe("224.0.0.1", null, null))).toBe("invalid_host");
  });

  test("that is zapd itself is refused, however it is written", async () => {
    const own = (address: Address) => address.port === 7_272 && ["127.0.0.1", "::1"].includes(address.host);
    const { discovery } = look([platformFor("")], {}, own);
    for (const host of ["127.0.0.1", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1", "0:0:0:0:0:0:0:1"])
      expect([host, await failure(discovery.probe(host, 7_272, null))]).toEqual([host, "invalid_host"]);
  });
});

describe.concurrent("the course of things", () => {
  test("a scan at the start, if it is wanted, and one each interval", async () => {
    let scans = 0;
    const platform = fakePlatform({ port: 1, identify: async () => sightingOf(String(++scans)) });
    const { discovery } = look([platform], {
      on_start: true,
      interval_s: 1,
      timeout_ms: 100,
      interfaces: ["none"],
      hosts: ["127.0.0.1"],
    });
    await discovery.start();
    expect(scans).toBe(1);
    await until("the interval has come round", () => scans >= 2);
    await discovery.stop();
    const quiet = look([platform], { timeout_ms: 100, interfaces: ["none"], hosts: ["127.0.0.1"] });
    scans = 0;
    await quiet.discovery.start();
    expect(scans).toBe(0);
  });

  test("a device that is missed starts a scan, and a second one soon after does not", async () => {
    let scans = 0;
    const platform = fakePlatform({ port: 1, identify: async () => sightingOf(String(++scans)) });
    const { discovery } = look([platform], { timeout_ms: 100, interfaces: ["none"], hosts: ["127.0.0.1"] });
    for (let round = 0; round < 3; round++) {
      discovery.lookAgain();
      await Bun.sleep(150);
    }
    expect(scans).toBe(1);
  });

  test("stopping ends a scan at once, and what it was asking", async () => {
    let ended = false;
    const platform = fakePlatform({
      port: 1,
      identify: (_address, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            ended = true;
            reject(new ZapdError("device_timeout", "gone"));
          });
        }),
    });
    const { discovery } = look([platform], { timeout_ms: 10_000, interfaces: ["127.0.0.1"], hosts: ["127.0.0.1"] });
    const scanning = discovery.scan();
    await Bun.sleep(50);
    const start = performance.now();
    await discovery.stop();
    await scanning;
    expect(performance.now() - start).toBeLessThan(1_000);
    expect(ended).toBe(true);
  });
});
