/** One device over two protocols: who is asked what, and what a stranger cannot gain by being one of the two. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { inStandby, ZapdError } from "../../src/api/errors.ts";
import { launchApp, listApps, refreshApps, stopApp } from "../../src/devices/commands.ts";
import { readCondition } from "../../src/devices/conditions.ts";
import { controlPlayback } from "../../src/devices/controls.ts";
import type { Credentials } from "../../src/devices/credentials.ts";
import type { Devices } from "../../src/devices/devices.ts";
import { Leases } from "../../src/devices/leases.ts";
import { artwork } from "../../src/devices/pictures.ts";
import { pressKey, pressKeys } from "../../src/devices/press.ts";
import type { Registry } from "../../src/devices/registry.ts";
import { initialStanding, standingWithStrangeMac } from "../../src/devices/standing.ts";
import { waitFor } from "../../src/devices/wait.ts";
import { Seats } from "../../src/discovery/probe-queue.ts";
import type { Capability, Composition, Emit, Key, PlatformApp, StatePart } from "../../src/platforms/platform.ts";
import { stateParts } from "../../src/platforms/platform.ts";
import { runPlan } from "../../src/scenes/run.ts";
import { Scenes } from "../../src/scenes/scenes.ts";
import { createLog } from "../../src/system/log.ts";
import { codeOf, failureOf } from "../support/failure.ts";
import { asleep, FakeSet, fakePlatform, neverOff, sightingOf } from "../support/fake-platform.ts";
import { folderForEach } from "../support/folder.ts";
import { until } from "../support/http-device.ts";
import { passTime, wakeUp } from "../support/test-clock.ts";
import { damaged, neverAborted, openDevices } from "./harness.ts";

const now = { signal: neverAborted };
const host = "192.0.2.1";
const abilities: readonly Capability[] = ["state", "apps", "launch", "stop", "keys", "text", "playback", "artwork"];
const playing = { status: "playing", position_ms: 0, duration_ms: 1, live: false, title: "Heist" } as const;
const app: PlatformApp = { platformId: "7", name: "News", type: "app", version: null };
/** The first and the last bytes of a JPEG. */
const picture = Uint8Array.of(0xff, 0xd8, 0xff, 0xff, 0xd9);
const failed = (code: "device_unreachable" | "device_timeout" | "device_error") =>
  new ZapdError(code, "did not answer");

/** A platform of one set, and how it reaches the daemon. */
class Half {
  readonly set = new FakeSet();
  readonly name: string;
  readonly keys: readonly Key[];
  withheld: ReadonlySet<Capability> = new Set();
  isTurnedOn = false;
  apps = [app];
  readonly does = new Set<"pause" | "stop">(["pause"]);
  pushes: ReadonlySet<StatePart> = new Set();
  emit: Emit = () => {};

  constructor(name: string, keys: readonly Key[]) {
    this.name = name;
    this.keys = keys;
  }

  platform() {
    return fakePlatform({
      name: this.name,
      services: new Map([["12", "netflix"]]),
      pair: async () => ({
        step: "confirm",
        expiresMs: 60_000,
        done: Promise.withResolvers<never>().promise,
        cancel() {},
      }),
      describe: () => {
        const has = new Set([...abilities, ...(this.isTurnedOn ? (["power_on"] as const) : [])]);
        return { has, withheld: this.withheld, keys: new Set(this.keys) };
      },
      connect: (_target, _surroundings, emit) => {
        this.emit = emit;
        const { set, pushes } = this;
        const { state, apps, ...rest } = set.connection();
        const list = (signal: AbortSignal) => set.do("apps", signal, this.apps);
        const artwork = (signal: AbortSignal) => set.do("artwork", signal, picture);
        const pause = (what: string, signal: AbortSignal) => {
          set.state = { ...set.state, playback: what === "stop" ? null : { ...playing, status: "paused" } };
          return set.do(what, signal, undefined);
        };
        const playback = { does: this.does, do: pause };
        const power = this.isTurnedOn && { power: neverOff };
        return {
          ...rest,
          ...power,
          artwork,
          playback,
          apps: { ...apps, list },
          ...(state && { state: { ...state, pushes } }),
        };
      },
    });
  }
}

const folder = folderForEach();
let alpha: Half;
let beta: Half;
let registry: Registry;
let credentials: Credentials;
let leases: Leases;
let devices: Devices;
let lines: string[];
let scan: () => Promise<void>;

beforeEach(async () => {
  [alpha, beta] = [new Half("alpha", ["home", "up"]), new Half("beta", ["home", "mute"])];
  const composition: Composition = {
    pairs: [["alpha", "beta"]],
    leading: ["alpha", "beta"],
    preferred: { stop: ["beta"] },
  };
  leases = await Leases.open({ path: join(folder(), "leases.json"), damaged, failed: () => {} });
  const platforms = [alpha.platform(), beta.platform()];
  lines = [];
  const log = createLog({ level: "info", format: "text", colour: false, write: (line) => lines.push(line) });
  scan = async () => {};
  ({ registry, credentials, devices } = await openDevices(folder(), platforms, {
    composition,
    leases,
    log,
    scan: () => scan(),
    wake: () => Promise.reject(failed("device_unreachable")),
  }));
  // The younger one leads: its platform stands first.
  for (const platform of ["beta", "alpha"])
    await registry.merge({ platform, sighting: sightingOf(platform, { name: "Den" }), address: { host, port: 80 } });
});
afterEach(() => devices.close());

const den = () => devices.find("Den");
const recordOf = (platform: string) => {
  const record = registry.records.find((one) => one.platform === platform);
  if (!record) throw new Error(`no record of ${platform}`);
  return record;
};

test("it is said once that it was found, by whichever protocol", async () => {
  await devices.remove(den());
  const seats = new Seats();
  // At once, so that one write adds both.
  const found = ["beta", "alpha"].map((platform) => {
    const sighting = sightingOf(platform, { name: "Den" });
    return devices.adding.addFound({ platform, sighting, address: { host, port: 80 } }, seats);
  });
  await Promise.all(found);
  expect(den().describe().platforms).toEqual(["alpha", "beta"]);
  expect(lines.filter((line) => line.startsWith("found "))).toHaveLength(1);
});

describe("which endpoint takes a command", () => {
  test("the first that has the capability, in the order of the table; each key goes to an endpoint that has it", async () => {
    expect(den().describe()).toMatchObject({
      id: recordOf("beta").id,
      platform: "alpha",
      platforms: ["alpha", "beta"],
    });
    await pressKey(den(), "home", now);
    await pressKey(den(), "mute", now);
    await stopApp(den(), now);
    await pressKeys(den(), ["up", "mute", "home"], 0, now);
    expect(alpha.set.done).toEqual(["home", "up", "home"]);
    expect(beta.set.done).toEqual(["mute", "stop", "mute"]);
    expect(await codeOf(pressKey(den(), "search", now))).toBe("unsupported_key");
  });

  test("the next only where nothing has reached the first: what may have been done is not done again", async () => {
    alpha.set.failure = failed("device_unreachable");
    await pressKey(den(), "home", now);
    await pressKeys(den(), ["home"], 0, now);
    expect(beta.set.done).toEqual(["home", "home"]);
    const { last_seen } = den().endpoints[1]?.presence.availability ?? {};
    expect(den().describe()).toMatchObject({ status: "online", last_seen });
    for (const word of ["device_timeout", "device_error"] as const) {
      alpha.set.failure = failed(word);
      expect(await codeOf(pressKey(den(), "home", now))).toBe(word);
    }
    beta.set.failure = new ZapdError("device_unreachable", "is away");
    alpha.set.failure = failed("device_unreachable");
    expect(await failureOf(pressKey(den(), "home", now))).toBe(
      "device_unreachable: Den did not answer while pressing home",
    );
    expect(den().describe().status).toBe("offline");
    // The second may have taken it, so the first is not searched for to be told again.
    beta.set.failure = failed("device_timeout");
    expect(await codeOf(pressKey(den(), "home", now))).toBe("device_timeout");
    // A device that says that it is asleep is asleep as a whole.
    [alpha.set.failure, beta.set.failure] = [inStandby(), undefined];
    expect(await codeOf(pressKey(den(), "home", now))).toBe("device_unreachable");
    expect(await codeOf(launchApp(den(), "news", {}, now))).toBe("device_unreachable");
    expect(beta.set.done).toEqual(["home", "home"]);
  });

  test("of an app one protocol as a whole, with its own list; the next where the first is not there", async () => {
    await launchApp(den(), "news", {}, now);
    expect(alpha.set.done).toEqual(["apps", "launch 7 {}"]);
    alpha.set.failure = failed("device_unreachable");
    await launchApp(den(), "news", {}, now);
    expect(beta.set.done).toEqual(["apps", "launch 7 {}"]);
    expect((await listApps(den(), neverAborted)).apps.map(({ id }) => id)).toEqual(["news"]);
  });

  test("of the apps the next where the first is not there: they are told with its platform", async () => {
    alpha.set.failure = failed("device_unreachable");
    const lists = [await listApps(den(), neverAborted), await refreshApps(den(), false, neverAborted)];
    expect(lists.map(({ platform, apps }) => [platform, apps.length])).toEqual([
      ["beta", 1],
      ["beta", 1],
    ]);
    alpha.set.failure = undefined;
    expect([await refreshApps(den(), false, neverAborted), await listApps(den(), neverAborted)]).toMatchObject([
      { platform: "alpha" },
      { platform: "alpha" },
    ]);
  });

  test("of an app the one that has it, by its name or by the id in its list", async () => {
    beta.apps = [{ ...app, platformId: "9", name: "Sport" }];
    await launchApp(den(), "sport", {}, now);
    // The first would take any number for an id.
    await launchApp(den(), "9", {}, now);
    expect([alpha.set.done, beta.set.done]).toEqual([["apps"], ["apps", "launch 9 {}", "launch 9 {}"]]);
    expect(await codeOf(launchApp(den(), "weather", {}, now))).toBe("app_not_found");
    beta.set.failure = failed("device_unreachable");
    expect(await codeOf(launchApp(den(), "weather", {}, now))).toBe("app_not_found");
    // The preferred one may have it: it is woken for it.
    [alpha.set.failure, beta.set.failure] = [beta.set.failure, undefined];
    expect(await codeOf(launchApp(den(), "weather", {}, now))).toBe("device_unreachable");
  });

  test("of an app that the first lacks no other that has no list: there a service of that name would be started", async () => {
    beta.withheld = new Set(["apps"]);
    await registry.learn(recordOf("beta").id, { facts: { model: "without a list" } });
    expect(den().describe().model).toBe("without a list");
    expect(await codeOf(launchApp(den(), "netflix", {}, now))).toBe("app_not_found");
    expect([alpha.set.done, beta.set.done]).toEqual([["apps"], []]);
  });

  test("in a sequence a key that cannot be sent ends it, whosever it is, and says how many were", async () => {
    beta.set.failure = failed("device_unreachable");
    const sequence = pressKeys(den(), ["up", "mute", "up"], 0, now);
    expect(await sequence.catch((error: ZapdError) => error.message)).toContain("; 1 of 3 keys were sent");
    expect(alpha.set.done).toEqual(["up"]);
    expect(den().endpoints.map(({ presence: { availability } }) => availability.status)).toEqual([
      "unknown",
      "offline",
    ]);
  });
});

test("the first command finds a device that has moved, though its protocols are found one after the other", async () => {
  alpha.isTurnedOn = true;
  alpha.withheld = new Set(["playback"]);
  for (const endpoint of den().endpoints) endpoint.disconnect();
  for (const half of [alpha, beta]) half.set.failure = failed("device_unreachable");
  const find = async () => {
    for (const half of [alpha, beta]) {
      const [sighting, address] = [sightingOf(half.name, { name: "Den" }), { host: "192.0.2.9", port: 80 }];
      const { record } = await registry.merge({ platform: half.name, sighting, address });
      half.set.failure = undefined;
      devices.endpointOf(record).recovery.foundAgain();
      await Bun.sleep(200);
    }
  };
  let finding: Promise<void> | undefined;
  scan = () => (finding ??= find());
  await controlPlayback(den(), "pause", 0, now);
  expect(beta.set.done).toContain("pause");
  await finding;
});

describe("its state", () => {
  test("is merged part by part: pushed first, then the leading endpoint; one that fails is left out", async () => {
    alpha.set.state = { ...asleep, power: "on", volume: { level: 10, muted: false } };
    beta.set.state = { ...asleep, power: "unknown", volume: { level: 20, muted: false }, playback: playing };
    expect(await den().state(neverAborted)).toMatchObject({
      power: "on",
      volume: { level: 10 },
      playback: { title: "Heist" },
    });
    beta.pushes = new Set(["volume"]);
    for (const endpoint of den().endpoints) endpoint.disconnect();
    expect(await den().state(neverAborted)).toMatchObject({ volume: { level: 20 } });
    beta.emit({ type: "state", patch: { volume: { level: 30, muted: true } } });
    expect(den().lastState.parts).toMatchObject({ power: "on", volume: { level: 30 }, playback: { title: "Heist" } });
    beta.set.failure = failed("device_unreachable");
    expect(await den().state(neverAborted)).toMatchObject({ power: "on", volume: { level: 10 }, playback: null });
    expect(den().lastState.parts).toMatchObject({ volume: { level: 10 }, playback: null });
    alpha.set.failure = failed("device_timeout");
    expect(await codeOf(den().state(neverAborted))).toBe("device_timeout");
  });

  test("has the playback position with the time when it was reported, whatever another endpoint reports meanwhile", async () => {
    await den().state(neverAborted);
    beta.emit({ type: "state", patch: { playback: playing } });
    const at = den().lastState.view?.playback?.position_at;
    await Bun.sleep(5);
    alpha.emit({ type: "state", patch: { playback: null } });
    expect(den().lastState.view?.playback).toMatchObject({ position_ms: 0, position_at: at });
  });

  test("is read from an unpaired endpoint too: it may have been paired meanwhile", async () => {
    beta.set.state = { ...asleep, power: "unknown", playback: playing };
    alpha.withheld = new Set(["state"]);
    for (const endpoint of den().endpoints) endpoint.disconnect();
    alpha.set.failure = new ZapdError("pairing_required", "lets nobody in");
    expect(await den().state(neverAborted)).toMatchObject({ power: "unknown", playback: { title: "Heist" } });
    alpha.set.failure = undefined;
    alpha.set.state = { ...asleep, power: "on", app };
    expect(await den().state(neverAborted)).toMatchObject({ power: "on", app: { platform_id: "7" } });
  });

  test("does not wait long for one that hangs", async () => {
    beta.set.takes = 60_000;
    const start = performance.now();
    expect(await den().state(neverAborted)).toMatchObject({ power: "standby" });
    expect(performance.now() - start).toBeLessThan(20_000);
  });

  test("is that of the one that leads, though it takes longer than the others", async () => {
    alpha.set.state = { ...asleep, power: "on", app };
    alpha.set.takes = 1_050;
    expect(await den().state(neverAborted)).toMatchObject({ power: "on", app: { platform_id: "7" } });
  });

  test("does not wait long for that either, once it could not be read", async () => {
    alpha.set.failure = failed("device_timeout");
    beta.set.state = { ...asleep, power: "unknown", playback: playing };
    await den().state(neverAborted);
    alpha.set.takes = 60_000;
    expect(await den().state(neverAborted)).toMatchObject({ power: "unknown", playback: { title: "Heist" } });
    expect(alpha.set.running).toBe(1);
  });

  test("is off with the one that leads, when that said so and is silent", async () => {
    alpha.set.state = { ...asleep, power: "on" };
    beta.set.state = { ...asleep, power: "unknown", playback: playing };
    await den().state(neverAborted);
    alpha.emit({ type: "disconnected", why: "going_off" });
    alpha.set.failure = failed("device_unreachable");
    expect(await den().state(neverAborted)).toMatchObject({ power: "off" });
    expect(den().describe().power).toBe("off");
    // Somebody turned it on with its own remote, which only the other notices.
    beta.pushes = new Set(["power"]);
    for (const endpoint of den().endpoints) endpoint.disconnect();
    beta.set.state = { ...asleep, power: "on", playback: playing };
    expect(await den().state(neverAborted)).toMatchObject({ power: "on" });
    expect(den().describe().power).toBe("on");
  });

  test("is polled after a command while an endpoint that answers pushes nothing, whatever the other pushes", async () => {
    alpha.pushes = new Set(stateParts);
    const looks = () => beta.set.done.filter((what) => what === "state").length;
    const release = den().watch.subscribe();
    await until("it is looked at", () => looks() === 1);
    await pressKey(den(), "home", now);
    await until("it is looked at again", () => looks() > 1);
    release();
  });

  test("has the picture of what it shows, not that of the endpoint that leads", async () => {
    await artwork(den(), neverAborted);
    beta.set.state = { ...asleep, power: "on", playback: playing };
    await den().state(neverAborted);
    await artwork(den(), neverAborted);
    expect([alpha.set.done, beta.set.done]).toEqual([
      ["artwork", "state"],
      ["state", "artwork"],
    ]);
  });

  test("tells which one plays: that is paused, and the one that leads where nothing plays", async () => {
    const pause = () => controlPlayback(den(), "pause", 0, now);
    const tells = () => [alpha, beta].map(({ set }) => set.done.splice(0).filter((what) => what === "pause").length);
    beta.set.state = { ...asleep, power: "on", playback: playing };
    alpha.set.state = { ...asleep, power: "on" };
    expect(await pause()).toMatchObject({ playback: { status: "paused" }, confirmed: true });
    expect(tells()).toEqual([0, 1]);
    // The answer holds what that one shows, not what the other has shown before.
    alpha.does.add("stop");
    for (const { set } of [alpha, beta]) set.state = { ...asleep, power: "on", playback: playing };
    await den().state(neverAborted);
    expect(await controlPlayback(den(), "stop", 0, now)).toEqual({ playback: null, confirmed: true });
    for (const { set } of [alpha, beta]) set.state = { ...asleep, power: "on" };
    tells();
    await pause();
    expect(tells()).toEqual([1, 0]);
    alpha.set.state = { ...asleep, power: "on" };
    beta.set.state = { ...asleep, power: "on", playback: { ...playing, status: "stopped" } };
    await pause();
    expect(tells()).toEqual([1, 0]);
    // Nor is any told where this machine slept while they were asked (SECURITY.md R14).
    beta.set.takes = 100;
    const late = codeOf(pause());
    await until("it is asked", () => beta.set.running > 0);
    passTime(8_000);
    expect([await late, tells()]).toEqual(["device_timeout", [0, 0]]);
    wakeUp();
    beta.set.takes = 0;
    // Nor is the one told that plays, where it does not take that command.
    beta.does.clear();
    alpha.set.state = { ...asleep, power: "on" };
    beta.set.state = { ...asleep, power: "on", playback: playing };
    await pause();
    expect(tells()).toEqual([1, 0]);
  });

  test("is read and told once something is joined or split: the last event shows what it is now", async () => {
    await registry.split(recordOf("beta").id, "beta");
    const { id } = recordOf("beta");
    beta.pushes = new Set(stateParts);
    for (const { set } of [alpha, beta]) set.state = { ...asleep, power: "on" };
    alpha.set.state = { ...alpha.set.state, playback: playing };
    const release = devices.watchDevices(null);
    await until("both are read", () => [alpha, beta].every(({ set }) => set.done.includes("state")));
    const told = () => {
      const events = devices.journal.after(0)?.filter((one) => one.type === "state.changed" && one.deviceId === id);
      return JSON.parse(events?.at(-1)?.json ?? "null")?.state.playback?.title;
    };
    await registry.join(id, recordOf("alpha").id);
    await until("it plays", () => told() === "Heist");
    await registry.split(id, "alpha");
    await until("it no longer plays", () => told() === undefined);
    release();
  });
});

describe("what a stranger gains that passes for one of its protocols (SECURITY.md 2.4)", () => {
  const paired = () => credentials.keeper(recordOf("beta").id).keep({ key: "0123456789" });

  test("no typed text: it goes to a paired endpoint even if another is preferred, and to no other when that is off", async () => {
    await paired();
    await pressKey(den(), "literal:secret", now);
    beta.set.failure = failed("device_unreachable");
    expect(await codeOf(pressKey(den(), "literal:secret", now))).toBe("device_unreachable");
    expect(await codeOf(pressKeys(den(), ["up", "literal:secret"], 0, now))).toBe("device_unreachable");
    expect([alpha.set.done, beta.set.done]).toEqual([["up"], ["text secret"]]);
  });

  test("nor while one of them is on probation; keys still work, and trusting the device trusts all of them", async () => {
    const doubt = (platform: string) =>
      registry.setStanding(recordOf(platform).id, () =>
        standingWithStrangeMac(initialStanding, "02:00:00:00:00:99", Date.now()),
      );
    for (const platform of ["alpha", "beta"]) {
      await doubt(platform);
      expect(den().endpointToPair().record.platform).toBe(platform);
      expect(await codeOf(pressKey(den(), "literal:secret", now))).toBe("device_unproven");
      await pressKey(den(), "home", now);
      await den().trust();
      await pressKey(den(), "literal:secret", now);
    }
    const busy = Promise.withResolvers<void>();
    const work = () => busy.promise;
    const running = den().command(now, { activity: "being busy", needs: "keys", timeoutMs: 60_000, work });
    const waiting = codeOf(pressKey(den(), "literal:secret", now));
    await doubt("alpha");
    // Refused at once, and not when its turn has come.
    expect(await codeOf(pressKey(den(), "literal:secret", now))).toBe("device_unproven");
    expect(await codeOf(pressKeys(den(), ["literal:secret"], 0, now))).toBe("device_unproven");
    busy.resolve();
    await running;
    expect(await waiting).toBe("device_unproven");
    expect(alpha.set.done.filter((one) => one.startsWith("text")).length).toBe(2);
  });

  test("no place in it from another host, whatever hardware it claims; and no name", async () => {
    await registry.change(recordOf("alpha").id, { name: "Mine" });
    const stranger = sightingOf("gamma", { name: "Mine", serial: "alpha", macs: ["02:00:00:00:00:01"] });
    await registry.learn(recordOf("alpha").id, { facts: { macs: ["02:00:00:00:00:01"] } });
    const { record } = await registry.merge({
      platform: "gamma",
      sighting: stranger,
      address: { host: "192.0.2.66", port: 80 },
    });
    expect(devices.describeAll().map(({ name, platforms }) => [name, platforms])).toEqual([
      ["Mine", ["alpha", "beta"]],
      ["Mine 2", ["gamma"]],
    ]);
    expect(registry.deviceOf(record.id)?.id).toBe(record.id);
  });
});

test("a wait for one that becomes a part of another goes on with that", async () => {
  await registry.split(recordOf("beta").id, "beta");
  for (const { set } of [alpha, beta]) set.state = { ...asleep, power: "on" };
  const part = devices.deviceOf(recordOf("alpha"));
  const waits = waitFor(part, [readCondition("power:standby")], 20_000, neverAborted);
  const whole = devices.deviceOf(await registry.join(recordOf("beta").id, recordOf("alpha").id));
  expect(whole).not.toBe(part);
  await until("it is read again", () => alpha.set.done.filter((what) => what === "state").length > 1);
  alpha.emit({ type: "state", patch: { power: "standby" } });
  expect(await waits).toMatchObject({ device: { id: whole.id }, matched: true, state: { power: "standby" } });
});

test("a wait for one that became a part of another before, as in the course of a scene, is for that", async () => {
  await registry.split(recordOf("beta").id, "beta");
  for (const { set } of [alpha, beta]) set.state = { ...asleep, power: "on" };
  const part = devices.deviceOf(recordOf("alpha"));
  await registry.join(recordOf("beta").id, recordOf("alpha").id);
  const waits = waitFor(part, [readCondition("power:standby")], 2_000, neverAborted);
  await until("it is read", () => alpha.set.done.includes("state"));
  alpha.emit({ type: "state", patch: { power: "standby" } });
  expect((await waits).matched).toBe(true);
});

test("a scene tests what its device is now, also where it was a part of another in its course", async () => {
  await registry.split(recordOf("beta").id, "beta");
  alpha.set.state = { ...asleep, power: "on" };
  beta.set.state = { ...asleep, power: "on", playback: playing, app };
  const id = recordOf("alpha").id;
  const toml = 'steps = [{ if = "playback:playing", then = [{ key = "up" }] }, { launch = "News" }]';
  const plan = new Scenes(folder(), devices).ofSteps({ device: id, toml });
  await registry.join(recordOf("beta").id, id);
  await registry.split(recordOf("beta").id, "beta");
  const sent: string[] = [];
  const send = async (_command: object, { id: to }: { readonly id: string }) => {
    sent.push(to);
    return { ok: true, data: {} } as const;
  };
  const result = await runPlan(plan, { send, signal: neverAborted, onStep: () => {} });
  expect(result.steps[0]).toMatchObject({ matched: false });
  expect(sent).toEqual([id]);
});

test("who follows one that becomes a part of another follows that", async () => {
  await registry.split(recordOf("beta").id, "beta");
  const [whole, part] = [recordOf("beta").id, recordOf("alpha").id];
  const ids = new Set([part]);
  const release = devices.watchDevices(ids);
  await until("it is online", () => devices.find(part).describe().status === "online");
  const events = devices.journal.follow({ devices: ids, types: ["device.*"], snapshot: false, since: null });
  await registry.join(whole, part);
  const told = await events.next();
  expect(
    told
      ?.map(({ event }) => JSON.parse(event?.json ?? "null"))
      .map(({ type, device_id, part_of }) => [type, device_id, part_of]),
  ).toEqual([
    ["device.removed", part, whole],
    ["device.changed", whole, undefined],
  ]);
  await until("it is polled", () => beta.set.done.includes("state"));
  release();
  events.close();
});

test("a read that ends once its device became a part of another publishes nothing of a device that is gone", async () => {
  await registry.split(recordOf("beta").id, "beta");
  for (const { set } of [alpha, beta]) set.state = { ...asleep, power: "on" };
  const part = devices.deviceOf(recordOf("alpha"));
  alpha.set.takes = 600;
  const reads = part.state(neverAborted);
  await registry.join(recordOf("beta").id, part.id);
  const { newest } = devices.journal;
  await reads;
  const of = devices.journal.after(newest)?.map(({ type, deviceId }) => [type, deviceId === part.id]);
  expect(of?.filter(([, isOfPart]) => isOfPart)).toEqual([]);
});

test("nobody is given the lease of one that becomes a part of another: it would lease nothing", async () => {
  await registry.split(recordOf("beta").id, "beta");
  const { id } = recordOf("alpha");
  const wanted = { owner: "ada", ttl_s: 60, wait_s: 20 };
  const { token } = await leases.take(id, wanted, undefined, neverAborted);
  const waiting = codeOf(leases.take(id, wanted, undefined, neverAborted));
  await registry.join(recordOf("beta").id, id);
  expect([await waiting, leases.isEmpty]).toEqual(["device_not_found", true]);
  expect(await codeOf(pressKey(devices.find(id), "home", { ...now, lease: token }))).toBe("device_leased");
});

test("what runs under a lease ends when its device is removed, and is told by the name of that", async () => {
  const { id } = den();
  const { token } = await leases.take(id, { owner: "ada", ttl_s: 60, wait_s: 0 }, undefined, neverAborted);
  alpha.set.takes = 60_000;
  const pressing = pressKey(den(), "home", { ...now, lease: token }).catch((error: ZapdError) => error.message);
  await until("it is pressed", () => alpha.set.running === 1);
  await devices.remove(den());
  expect(await pressing).toBe("What was running on Den ended with its lease (removed)");
});

test("a pairing that was begun before its device became a part of another goes on there", async () => {
  await registry.split(recordOf("beta").id, "beta");
  await registry.learn(recordOf("beta").id, { facts: { access: "unpaired" } });
  await devices.deviceOf(recordOf("alpha")).pair({ begin: true }, neverAborted);
  const joined = devices.deviceOf(await registry.join(recordOf("beta").id, recordOf("alpha").id));
  expect(joined.endpointToPair().record.platform).toBe("alpha");
  joined.cancelPairing();
  expect(joined.endpointToPair().record.platform).toBe("beta");
});

test("it is paired over the protocol that requires it, though another was tried before", async () => {
  await registry.learn(recordOf("beta").id, { facts: { access: "unpaired" } });
  const left = AbortSignal.abort(new Error("left"));
  await expect(den().pair({}, left, undefined, den().endpointToPair("alpha"))).rejects.toThrow("left");
  expect(den().endpointToPair().record.platform).toBe("beta");
});

test("what it showed only over a protocol that is split off is told to be unknown, as a snapshot has it", async () => {
  const { id } = den();
  await pressKey(den(), "up", now);
  alpha.emit({ type: "state", patch: { power: "on", volume: { level: 18, muted: false } } });
  await devices.split(den(), "alpha");
  const shown = (devices.journal.after(0) ?? []).flatMap(({ type, deviceId, json }) =>
    type === "state.changed" && deviceId === id ? [JSON.parse(json).state] : [],
  );
  expect(shown.map(({ power, volume }) => [power, volume?.level ?? null])).toEqual([
    ["on", 18],
    ["unknown", null],
  ]);
  expect(devices.find(id).lastState.view).toMatchObject({ power: "unknown", volume: null });
});

test("what remains of it is told when one of its records turns out to be another device", async () => {
  const other = { host: "192.0.2.8", port: 80 };
  // With only one device, it would be the default no longer, and be told for that.
  await registry.merge({ platform: "alpha", sighting: sightingOf("other", { name: "Attic" }), address: other });
  const { id } = den();
  const at = { host: "192.0.2.9", port: 80 };
  await registry.merge({ platform: "alpha", sighting: sightingOf("alpha", { name: "Loft" }), address: at });
  const told = (devices.journal.after(0) ?? []).flatMap(({ type, deviceId, json }) =>
    type === "device.changed" && deviceId === id ? [JSON.parse(json).device.platforms] : [],
  );
  expect([devices.find(id).describe().platforms, told.at(-1)]).toEqual([["beta"], ["beta"]]);
});

test("its lease ends when its oldest record is split off, and its holder learns that", async () => {
  const { id } = den();
  const { token } = await leases.take(id, { owner: "ada", ttl_s: 60, wait_s: 0 }, undefined, neverAborted);
  const rest = await devices.split(den(), "beta");
  expect([rest.id === id, leases.get(id)?.owner]).toEqual([false, undefined]);
  expect(await codeOf(pressKey(rest, "home", { ...now, lease: token }))).toBe("device_leased");
});

test("what is joined or split keeps its connections, and removed it leaves nothing", async () => {
  await pressKey(den(), "home", now);
  await pressKey(den(), "mute", now);
  await registry.split(recordOf("beta").id, "beta");
  expect(devices.describeAll().map(({ platforms }) => platforms)).toEqual([["beta"], ["alpha"]]);
  const joined = devices.deviceOf(await registry.join(recordOf("alpha").id, recordOf("beta").id));
  await pressKey(joined, "mute", now);
  expect([alpha.set.closed, beta.set.closed]).toEqual([[], []]);
  await credentials.keeper(recordOf("alpha").id).keep({ key: "0123456789" });
  const { id } = recordOf("alpha");
  await devices.remove(joined);
  expect([alpha.set.closed.length, beta.set.closed.length, registry.records.length]).toEqual([1, 1, 0]);
  expect(credentials.has(id)).toBe(false);
  // What it still reports while its connection closes is nobody's.
  alpha.emit({ type: "state", patch: { power: "on" } });
  expect(devices.sizes).toMatchObject({ devices: 0, endpoints: 0 });
});
