/** Discovery over platforms of a test: devices say in LOCATION where they are, and are who they are by that port. */
import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DeviceError, protocolError, ZapdError } from "../../src/api/errors.ts";
import type { Config } from "../../src/config/config.ts";
import { Discovery, mostInformative } from "../../src/discovery/discover.ts";
import { type Interface, wantedInterfaces } from "../../src/discovery/interfaces.ts";
import type { FoundDevice } from "../../src/discovery/probe-queue.ts";
import type { Address, DiscoveryQuery, Platform, Sighting, SsdpAnswer } from "../../src/platforms/platform.ts";
import { sleep } from "../../src/system/sleep.ts";
import { createZapd } from "../../src/zapd.ts";
import { codeOf } from "../support/failure.ts";
import { fakePlatform, sightingOf } from "../support/fake-platform.ts";
import { testFolder } from "../support/folder.ts";
import { until } from "../support/http-device.ts";
import { announce } from "../support/mdns-service.ts";
import { platformHostOf } from "../support/platform-host.ts";
import { found, type Responder, startResponder, whyNoSearches } from "../support/ssdp-responder.ts";

const folder = testFolder();
const cleanups: (() => unknown)[] = [];
afterAll(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

/** A platform whose devices say in LOCATION on which port they are, and are who they are by that port. */
function platformFor(
  target: string,
  identify?: (address: Address, signal: AbortSignal) => Promise<Sighting>,
  name = "fake",
): Platform {
  const read = ({ headers, source }: SsdpAnswer): Address | null => {
    const port = /^http:\/\/127\.0\.0\.1:(\d+)\//.exec(headers.get("location") ?? "")?.[1];
    return headers.get("st") === target && port ? { host: source, port: Number(port) } : null;
  };
  const queries: DiscoveryQuery[] = target === "" ? [] : [{ over: "ssdp", target, read }];
  const usual = async (address: Address) => sightingOf(`id-${address.port}`);
  return fakePlatform({ name, queries, port: 4_321, identify: identify ?? usual });
}

interface Looking {
  readonly discovery: Discovery<string>;
  readonly findings: (FoundDevice & { readonly at: number })[];
  readonly warnings: string[];
}

function look(
  platforms: readonly Platform[],
  config: Partial<Config["discovery"]> = {},
  isOwnListener = (_address: Address) => false,
  interfaces?: () => Interface[],
): Looking {
  const findings: Looking["findings"] = [];
  const warnings: string[] = [];
  const start = performance.now();
  const discovery = new Discovery<string>({
    platforms,
    platformHost: { ...platformHostOf(), isOwnListener },
    config: () => ({
      on_start: false,
      interval_s: 0,
      timeout_ms: 1_000,
      interfaces: ["127.0.0.1"],
      hosts: [],
      ...config,
    }),
    addFound: async (finding) => {
      findings.push({ ...finding, at: performance.now() - start });
      return finding.sighting.identity;
    },
    warn: (message) => warnings.push(message),
    ...(interfaces && { interfaces }),
  });
  cleanups.push(() => discovery.stop());
  return { discovery, findings, warnings };
}

async function respond(reply: Parameters<typeof startResponder>[0]): Promise<Responder> {
  const responder = await startResponder(reply);
  cleanups.push(() => responder.stop());
  return responder;
}

const at =
  (...ports: number[]) =>
  (_number: number, target: string) =>
    ports.map((port) => found(target, `http://127.0.0.1:${port}/`));

const noSearches = await whyNoSearches();
if (noSearches !== null) process.stderr.write(`skipped: discovery over SSDP: ${noSearches}\n`);

test("when a probe has ended, so has what its platform began beside it", async () => {
  const begun: AbortSignal[] = [];
  const identify = async ({ port }: Address, signal: AbortSignal) => {
    begun.push(signal);
    if (port === 4_322) throw protocolError("is another device");
    return sightingOf("one");
  };
  const { discovery } = look([platformFor("", identify)], { hosts: ["127.0.0.1:4321", "127.0.0.1:4322"] });
  await discovery.probe("127.0.0.1", 4_321, null);
  expect(await codeOf(discovery.probe("127.0.0.1", 4_322, null))).toBe("device_error");
  await discovery.scan();
  expect(begun.map(({ aborted }) => aborted)).toEqual(Array(4).fill(true));
});

describe.skipIf(noSearches !== null).concurrent("a scan", () => {
  test("that is joined late still hears of a device that was off before", async () => {
    let on = false;
    const { target, searches } = await respond((_number, target) => (on ? [found(target, "http://127.0.0.1:1/")] : []));
    const { discovery } = look([platformFor(target)], { timeout_ms: 1_500 });
    const first = discovery.scan();
    await until("it has searched as often as one scan does", () => searches.length >= 4);
    on = true;
    expect(await discovery.scan()).toEqual(["id-1"]);
    expect(await first).toEqual(["id-1"]);
  });

  test("that is joined probes known addresses again: another device may be there by now", async () => {
    const { target } = await respond(at(1));
    let who = "before";
    const identify = async ({ port }: Address) => sightingOf(`${who}-${port}`);
    const config = { timeout_ms: 4_000, hosts: ["127.0.0.2:81"] };
    const { discovery, findings } = look([platformFor(target, identify)], config);
    const first = discovery.scan();
    await until("both are found", () => findings.length > 1);
    who = "after";
    await Bun.sleep(600);
    expect(discovery.scan()).toBe(first);
    expect((await first).sort()).toEqual(["after-1", "after-81", "before-1", "before-81"]);
  });

  test("for a missing device is the one that has just begun, or asks again", async () => {
    const { target, searches } = await respond(() => []);
    const { discovery } = look([platformFor(target)]);
    const first = discovery.scan();
    expect(discovery.scanForMissing()).toBe(first);
    await first;
    expect(searches.length).toBeLessThan(5);
    const second = discovery.scan();
    await Bun.sleep(400);
    expect(discovery.scanForMissing()).toBe(second);
    const before = searches.length;
    await second;
    expect(searches.length - before).toBeGreaterThan(2);
  });

  test("that waits for its last answers is waited for when the daemon stops, though another has begun", async () => {
    const { target } = await respond((number, target) => (number === 1 ? [found(target, "http://127.0.0.1:1/")] : []));
    const said = Promise.withResolvers<Sighting>();
    let asked = 0;
    const identify = () => {
      asked++;
      return said.promise;
    };
    const { discovery, findings } = look([platformFor(target, identify)], { timeout_ms: 800 });
    const first = discovery.scan();
    await until("it has asked", () => asked === 1);
    await Bun.sleep(900);
    const second = discovery.scan();
    expect([asked, second === first]).toEqual([1, false]);
    let stopped = false;
    const stopping = discovery.stop().then(() => {
      stopped = true;
    });
    expect(await second).toEqual([]);
    await Bun.sleep(100);
    expect([stopped, findings]).toEqual([false, []]);
    said.resolve(sightingOf("late"));
    await stopping;
    expect(await first).toEqual(["late"]);
  });

  test("that was extended already is not joined: the next call gets the whole time", async () => {
    let on = false;
    const { target } = await respond((_number, target) => (on ? [found(target, "http://127.0.0.1:1/")] : []));
    const { discovery } = look([platformFor(target)], { timeout_ms: 2_000 });
    const first = discovery.scan();
    await Bun.sleep(500);
    expect(discovery.scan()).toBe(first);
    await Bun.sleep(1_700);
    const late = discovery.scan();
    // The first ends after twice its time at most, and the late one still listens and is joined.
    expect(await first).toEqual([]);
    on = true;
    expect(discovery.scan()).toBe(late);
    expect(await late).toEqual(["id-1"]);
  });

  test("asks every platform's own search, and merges one device that answers twice", async () => {
    const one = await respond(at(1, 2));
    const other = await respond(at(1));
    const same = async () => sightingOf("same");
    const { discovery, findings } = look([
      platformFor(one.target, same, "one"),
      platformFor(other.target, same, "other"),
    ]);
    expect(await discovery.scan()).toEqual(["same", "same"]);
    expect(new Set(findings.map(({ platform }) => platform))).toEqual(new Set(["one", "other"]));
  });
});

test("a service announced over mDNS is found by its platform's query, and identified", async () => {
  const service = announce("zapd-test", { id: "set-7" });
  try {
    const platform = fakePlatform({
      queries: [
        {
          over: "mdns",
          type: "_zapd-test._tcp",
          read: (one) => (one.name === service.name ? { host: "127.0.0.1", port: one.port } : null),
        },
        { over: "mdns", type: "_zapd-other._tcp", read: () => ({ host: "127.0.0.1", port: 1 }) },
      ],
      identify: async (address) => sightingOf(`set on ${address.port}`),
    });
    const { discovery, findings } = look([platform], { timeout_ms: 3_000 });
    expect(await discovery.scan()).toEqual([`set on ${service.port}`]);
    expect(findings[0]?.at).toBeLessThan(2_950);
  } finally {
    await service.stop();
  }
});

describe("configured hosts", () => {
  test("are probed directly: at their own port, or at every platform's usual one, beside the searches", async () => {
    const asked: string[] = [];
    const who = (name: string) => async (address: Address) => {
      asked.push(`${name} ${address.host}:${address.port}`);
      return sightingOf(`${name}-${address.port}`);
    };
    const platforms = [platformFor("", who("one"), "one"), platformFor("", who("other"), "other")];
    const { discovery, warnings } = look(platforms, { interfaces: ["none"], hosts: ["127.0.0.1:81", "127.0.0.2"] });
    expect((await discovery.scan()).sort()).toEqual(["one-4321", "one-81", "other-4321"]);
    expect(asked.sort()).toEqual(["one 127.0.0.1:81", "one 127.0.0.2:4321", "other 127.0.0.2:4321"]);
    expect(warnings).toEqual([]);
  });

  test("with a port are probed for one platform after the other, and none waits for a slow one", async () => {
    const slow = platformFor("", (_, signal) => sleep(5_000, signal).then(() => sightingOf("late")), "slow");
    const platforms = [slow, platformFor("", undefined, "other")];
    const { discovery } = look(platforms, { interfaces: ["none"], hosts: ["127.0.0.1:81"] });
    expect(await discovery.scan()).toEqual(["id-81"]);
  });

  test("that are invalid give a warning, and the others are probed all the same", async () => {
    const hosts = ["0.0.0.0", "255.255.255.255", "[]", "127.0.0.1:81"];
    const { discovery, warnings } = look([platformFor("")], { interfaces: ["none"], hosts });
    expect(await discovery.scan()).toEqual(["id-81"]);
    expect(warnings.length).toBe(3);
    for (const warning of warnings) expect(warning).toStartWith("discovery.hosts: ");
  });
});

describe("one address", () => {
  test("is probed at the given port or the usual one, for the given platform or all", async () => {
    const { discovery } = look([
      platformFor("", () => Promise.reject(new ZapdError("device_error", "is nobody")), "one"),
      platformFor("", undefined, "other"),
    ]);
    expect(await discovery.probe("127.0.0.1", 81, null)).toMatchObject({
      platform: "other",
      address: { host: "127.0.0.1", port: 81 },
    });
    expect((await discovery.probe("127.0.0.1", null, "other")).address.port).toBe(4_321);
    expect(await codeOf(discovery.probe("127.0.0.1", null, "one"))).toBe("device_error");
    expect(await codeOf(discovery.probe("127.0.0.1", null, "third"))).toBe("invalid_payload");
    expect(await codeOf(discovery.probe("224.0.0.1", null, null))).toBe("invalid_host");
  });

  test("is not probed where zapd itself listens, nor by the others once one has recognized its device", async () => {
    let ended = false;
    const slow = platformFor(
      "",
      (_, signal) =>
        sleep(20_000, signal)
          .finally(() => (ended = true))
          .then(() => sightingOf("late")),
      "slow",
    );
    const { discovery } = look([slow, platformFor("")], {}, ({ port }) => port === 7_272);
    expect(await codeOf(discovery.probe("127.0.0.1", 7_272, null))).toBe("invalid_host");
    await discovery.probe("127.0.0.1", 81, null);
    await until("the slow one is ended", () => ended);
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

  test("another scan soon after the start, where the network has come up since", async () => {
    let scans = 0;
    const platform = fakePlatform({ port: 1, identify: async () => sightingOf(String(++scans)) });
    const config = { interval_s: 86_400, timeout_ms: 100, interfaces: ["none"], hosts: ["127.0.0.1"] };
    const { discovery } = look([platform], config);
    await discovery.scan();
    await discovery.start();
    expect(scans).toBe(1);
    config.interfaces = ["127.0.0.1"];
    await until("the network is searched", () => scans === 2);
    await Bun.sleep(1_200);
    expect(scans).toBe(2);
  });

  test("another scan, too, where one more network has come up: the first may be that of containers", async () => {
    let scans = 0;
    const platform = fakePlatform({ port: 1, identify: async () => sightingOf(String(++scans)) });
    const [loopback] = wantedInterfaces(["127.0.0.1"]);
    if (!loopback) throw new Error("there is no loopback interface");
    const there = [loopback];
    const config = { interval_s: 86_400, timeout_ms: 100, interfaces: ["lo", "wlan"], hosts: ["127.0.0.1"] };
    const { discovery } = look([platform], config, undefined, () =>
      there.map((one, at) => ({ ...one, name: ["lo", "wlan"][at] ?? "" })),
    );
    await discovery.scan();
    await discovery.start();
    await Bun.sleep(1_200);
    expect(scans).toBe(1);
    there.push({ ...loopback, address: "127.0.0.2" });
    await until("the network is searched", () => scans === 2);
    await Bun.sleep(1_200);
    expect(scans).toBe(2);
  });

  test("a device that is missed starts a scan, and a second one soon after does not", async () => {
    let scans = 0;
    const platform = fakePlatform({ port: 1, identify: async () => sightingOf(String(++scans)) });
    const { discovery } = look([platform], { timeout_ms: 100, interfaces: ["none"], hosts: ["127.0.0.1"] });
    for (let round = 0; round < 3; round++) {
      discovery.scanInBackground();
      await Bun.sleep(150);
    }
    expect(scans).toBe(1);
  });

  test("stopping ends a scan at once, and what it was asking", async () => {
    let ended = false;
    const asked = Promise.withResolvers<void>();
    const platform = fakePlatform({
      port: 1,
      identify: (_address, signal) =>
        new Promise((_resolve, reject) => {
          asked.resolve();
          signal.addEventListener("abort", () => {
            ended = true;
            reject(new ZapdError("device_timeout", "gone"));
          });
        }),
    });
    const { discovery } = look([platform], { timeout_ms: 10_000, interfaces: ["127.0.0.1"], hosts: ["127.0.0.1"] });
    const scanning = discovery.scan();
    await asked.promise;
    const start = performance.now();
    await discovery.stop();
    await scanning;
    expect(performance.now() - start).toBeLessThan(5_000);
    expect(ended).toBe(true);
  });
});

test("of two overlapping scans, one reports a device as new", async () => {
  const answers = Promise.withResolvers<void>();
  let asked = 0;
  const platform = fakePlatform({
    identify: async () => {
      asked++;
      await answers.promise;
      return sightingOf("1");
    },
  });
  const config = join(folder, "config.toml");
  writeFileSync(config, '[discovery]\ninterfaces = ["none"]\nhosts = ["127.0.0.1"]\ntimeout_ms = 100\n');
  const zapd = await createZapd({ config, state: join(folder, "state"), platforms: [platform] });
  try {
    const scan = () => zapd.request("/v1/devices/discover", { method: "POST" });
    const first = scan();
    // It asks nobody any more, and waits for its answer: who comes now has one of his own.
    await until("the first has asked", () => asked === 1);
    await Bun.sleep(200);
    const second = scan();
    await until("both have asked", () => asked === 2);
    answers.resolve();
    await Promise.all([first, second]);
    zapd.windDown();
    const accept = "application/x-ndjson";
    const told = await (await zapd.request("/v1/events?since=oldest", { headers: { accept } })).text();
    const finished = told.split("\n").filter((line) => line.includes('"discovery.finished"'));
    const counts = finished.map((line) => JSON.parse(line)).map(({ found, added }) => [found, added]);
    expect(counts).toEqual([
      [1, 1],
      [1, 0],
    ]);
  } finally {
    await zapd.stop();
  }
});

test("of all errors at an address, one with a hint comes first, then one from something that answered, then unreachable", () => {
  const failed = (hint?: string) =>
    new DeviceError("device_error", "is of 2014", { phase: "answered", reason: "protocol", hint });
  const silent = new ZapdError("device_unreachable", "did not answer", { hint: "It may be asleep" });
  const knowing = failed("Drive one of 2016");
  expect(mostInformative([silent, protocolError("is no lamp"), knowing])).toBe(knowing);
  const lamp = protocolError("is no lamp");
  expect(mostInformative([silent, lamp, silent])).toBe(lamp);
  expect(mostInformative([lamp, protocolError("is no radio")])).toMatchObject({
    message: "does not answer like a device that zapd knows",
  });
  expect(mostInformative([silent, silent])).toBe(silent);
});
