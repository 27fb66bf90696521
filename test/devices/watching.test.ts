/** What a device is asked while somebody is interested, where it tells by itself what it does. */
import { expect, test } from "bun:test";
import { ZapdError } from "../../src/api/errors.ts";
import type { State } from "../../src/api/schemas.ts";
import { readCondition } from "../../src/devices/conditions.ts";
import { pressKey } from "../../src/devices/press.ts";
import { setVolume } from "../../src/devices/volume.ts";
import { waitFor } from "../../src/devices/wait.ts";
import { Watch } from "../../src/devices/watch.ts";
import { type PlatformState, powers, type StatePart } from "../../src/platforms/platform.ts";
import { codeOf } from "../support/failure.ts";
import { idle, sightingOf } from "../support/fake-platform.ts";
import { until } from "../support/http-device.ts";
import { neverAborted, openHouse } from "./harness.ts";

const all = new Set<StatePart>(["power", "app", "playback", "volume", "screensaver", "input"]);

test("a connection to where a device was says nothing of it once it is elsewhere", async () => {
  const house = await openHouse();
  house.set.state = idle;
  await house.add("1", { name: "TV" });
  await house.devices.find("TV").state(neverAborted);
  const sighting = sightingOf("1", { name: "TV" });
  await house.registry.merge({ platform: "fake", sighting, address: { host: "192.0.2.2", port: 9 } });
  for (const why of ["hung_up", "going_off"] as const) house.connected[0]?.emit({ type: "disconnected", why });
  expect(house.devices.find("TV").describe()).toMatchObject({ host: "192.0.2.2", status: "online", power: "on" });
  await house.remove();
});

test("nor does an attempt that fails there once the device is elsewhere", async () => {
  const house = await openHouse();
  const { leading } = house.devices.deviceOf(await house.add("1", { name: "TV" }));
  const answer = Promise.withResolvers<never>();
  const asked = leading.attempt({ activity: "asking it", timeoutMs: 20_000, work: () => answer.promise }, neverAborted);
  const address = { host: "192.0.2.2", port: 9 };
  await house.registry.merge({ platform: "fake", sighting: sightingOf("1", { name: "TV" }), address });
  leading.presence.noteAnswer();
  answer.reject(new ZapdError("device_unreachable", "did not answer"));
  expect(await codeOf(asked)).toBe("device_unreachable");
  expect(house.devices.find("TV").describe()).toMatchObject({ host: "192.0.2.2", status: "online" });
  expect(house.lost).toEqual([]);
  await house.remove();
});

test("one that pushes everything is not polled, but is as soon as its connection breaks", async () => {
  const pushes = new Set<StatePart>();
  const house = await openHouse((set) => ({
    ...set.connection(),
    state: { read: (signal) => set.do("state", signal, set.state), pushes },
  }));
  house.set.state = idle;
  const { id } = await house.add("Teller");
  const letGo = house.devices.watchDevices(new Set([id]));
  const looks = () => house.set.done.length;
  await until("it is looked at", () => looks() === 1);
  for (const part of all) pushes.add(part);
  const told = (volume: number) => {
    for (const { emit } of house.connected) emit({ type: "state", patch: { volume: { level: volume, muted: false } } });
  };
  told(21);
  await Bun.sleep(300);
  expect(looks()).toBe(1);
  pushes.clear();
  for (const { emit } of house.connected) emit({ type: "disconnected", why: "hung_up" });
  // At its usual pace it would be asked after two minutes.
  await until("it is looked at again", () => looks() === 2);
  letGo();
  for (const { emit } of house.connected) emit({ type: "disconnected", why: "hung_up" });
  await Bun.sleep(300);
  expect(looks()).toBe(2);
  await house.remove();
});

test("one whose connection breaks again and again is not asked each time: its session tries less and less often", async () => {
  const house = await openHouse((set) => ({
    ...set.connection(),
    state: { read: (signal) => set.do("state", signal, set.state), pushes: all },
  }));
  const { id } = await house.add("Breaks");
  const letGo = house.devices.watchDevices(new Set([id]));
  for (const looks of [1, 2, 2, 2]) {
    await until("it is looked at", () => house.set.done.length === looks);
    for (const { emit } of house.connected) emit({ type: "disconnected", why: "hung_up" });
    await Bun.sleep(150);
  }
  expect(house.set.done).toHaveLength(2);
  letGo();
  await house.remove();
});

test("one that is followed is asked to push once it was read, and not by who only reads it", async () => {
  const done: string[] = [];
  const read = async () => {
    done.push("read");
    return idle;
  };
  const house = await openHouse((set) => ({ ...set.connection(), state: { read, follow: () => done.push("follow") } }));
  const record = await house.add("Pushes");
  await house.devices.deviceOf(record).state(neverAborted);
  const letGo = house.devices.watchDevices(new Set([record.id]));
  await until("it is asked to push", () => done.includes("follow"));
  expect(done).toEqual(["read", "read", "follow"]);
  letGo();
  await house.remove();
});

test("a part not observed yet counts as empty neither for a wait nor in events", async () => {
  const read = Promise.withResolvers<PlatformState>();
  const house = await openHouse((set) => ({ ...set.connection(), state: { read: () => read.promise } }));
  const record = await house.add("Late");
  const device = house.devices.deviceOf(record);
  const events = house.devices.journal.follow({ devices: null, types: ["state.*"], snapshot: false, since: "oldest" });
  const waits = ["app:none", "playback:stopped", "power:on", "app:netflix"].map((text) =>
    waitFor(device, [readCondition(text)], 60_000, neverAborted).then(({ matched }) => [text, matched]),
  );
  await until("it is read", () => house.connected.length > 0);
  // It answers, and has not said yet what it shows.
  for (const { emit } of house.connected) emit({ type: "state", patch: { power: "on" } });
  expect(await Promise.race(waits)).toEqual(["power:on", true]);
  const app = { platformId: "12", id: "netflix", name: "Netflix", type: "app", version: null } as const;
  read.resolve({
    ...idle,
    app,
    playback: { status: "paused", position_ms: 1, duration_ms: 2, live: false, title: null },
  });
  expect(await Promise.race([waits[0], waits[1], waits[3]])).toEqual(["app:netflix", true]);
  const told = (await events.next())?.map(({ event }) => JSON.parse(event?.json ?? "null"));
  expect(told?.map(({ state }) => [state.power, state.app?.id, state.playback?.status])).toEqual([
    ["on", "netflix", "paused"],
  ]);
  for (const { emit } of house.connected) emit({ type: "state", patch: { app: null, playback: null } });
  expect(await Promise.all(waits)).toContainEqual(["app:none", true]);
  // What is shown without asking was seen when it was seen.
  const seenAt = device.lastState.view?.observed_at;
  await Bun.sleep(5);
  expect(device.lastState.view?.observed_at).toBe(seenAt);
  events.close();
  await house.remove();
});

test.each([
  ["standby", "off"],
  ["on", "unknown"],
] as const)(
  "one that was last %s and no longer answers is %s, in its state and its events, too",
  async (before, power) => {
    const house = await openHouse();
    house.set.state = { ...idle, power: before };
    const record = await house.add("Silent");
    const device = house.devices.deviceOf(record);
    await device.state(neverAborted);
    const events = house.devices.journal.follow({ devices: null, types: ["state.*"], snapshot: false, since: null });
    house.devices.endpointOf(record).presence.noteNoAnswer();
    expect((await events.next())?.map(({ event }) => JSON.parse(event?.json ?? "null"))).toMatchObject([
      { state: { power, ...(power === "off" && { screensaver: null, volume: null }) } },
    ]);
    expect(device.lastState.view?.power).toBe(device.describe().power);
    events.close();
    await house.remove();
  },
);

test("a command after which power is unknown has it polled, even if it is pushed: it may be unchanged", async () => {
  const looks: (readonly StatePart[] | null)[] = [];
  const state = {
    ...idle,
    app: null,
    power: "unknown" as const,
    observed_at: "2026-11-22T21:00:00.000Z",
    playback: null,
  };
  const poll = async (parts: readonly StatePart[] | null) => void looks.push(parts);
  const watch = new Watch({ state, access: null, pushes: all, poll });
  const letGo = watch.subscribe();
  await until("it is looked at", () => looks.length === 1);
  watch.afterCommand(["volume", "power"]);
  await until("it is looked at again", () => looks.length === 2);
  expect(looks).toEqual([null, ["power"]]);
  letGo();
});

test("what a command has shown is not undone by a poll that began before it", async () => {
  const read = Promise.withResolvers<PlatformState>();
  const loud = { level: 60, muted: false };
  const house = await openHouse((set) => ({
    ...set.connection(),
    state: { read: () => read.promise, readParts: async () => ({ volume: loud }) },
    volume: { set: (level, signal) => set.do(`volume ${level}`, signal, undefined) },
  }));
  const device = house.devices.deviceOf(await house.add("Slow"));
  const looking = device.state(neverAborted);
  await setVolume(device, { level: 60 }, { signal: neverAborted });
  read.resolve({ ...idle, input: "hdmi1" });
  expect(await looking).toMatchObject({ volume: loud, input: "hdmi1" });
  expect(device.lastState.parts).toMatchObject({ volume: loud, input: "hdmi1" });
  await house.remove();
});

test("a reader of one device has it polled again once it is removed and added again", async () => {
  const house = await openHouse((set) => ({
    ...set.connection(),
    state: { read: (signal) => set.do("state", signal, idle) },
  }));
  const { id } = await house.add("Returns");
  const letGo = house.devices.watchDevices(new Set([id]));
  for (const looks of [1, 2]) {
    await until("it is looked at", () => house.set.done.length === looks);
    await house.devices.remove(house.devices.find(id));
    await house.add("Returns");
  }
  letGo();
  await house.remove();
});

test("an endpoint on an unknown platform stops neither the polls of a device nor its commands", async () => {
  const house = await openHouse();
  const tv = await house.add("1", { name: "TV" });
  const old = await house.registry.merge({
    platform: "gone",
    sighting: sightingOf("9", { name: "Old" }),
    address: { host: "192.0.2.9", port: 9 },
  });
  // By itself it is never read; as a part of the other it is left out.
  const letGo = house.devices.watchDevices(new Set([old.record.id]));
  await Bun.sleep(50);
  letGo();
  const device = await house.devices.join(house.devices.deviceOf(tv), house.devices.deviceOf(old.record));
  expect(device.describe().platforms).toEqual(["fake", "gone"]);
  const stop = house.devices.watchDevices(new Set([device.id]));
  await until("it is read", () => house.set.done.includes("state"));
  await house.actions.key(tv, "home", { signal: neverAborted });
  expect(house.set.done).toContain("home");
  stop();
  await house.remove();
});

test("a wait of no time at all asks once, and does not wait long for the answer", async () => {
  const house = await openHouse();
  const device = house.devices.deviceOf(await house.add("Asked"));
  const waited = (text: string) => waitFor(device, [readCondition(text)], 0, neverAborted);
  house.set.takes = 50;
  expect((await waited("power:standby")).matched).toBe(true);
  expect(await waited("power:on")).toMatchObject({ matched: false, state: { power: "standby" } });
  house.set.takes = 60_000;
  expect((await waited("power:standby")).matched).toBe(false);
  await house.remove();
});

test("a wait that is met while the device is first read answers with all that it shows", async () => {
  const volume = { level: 20, muted: false };
  const read = async () => {
    for (const { emit } of house.connected) emit({ type: "state", patch: { power: "on" } });
    return { ...idle, power: "on", volume } as const;
  };
  const house = await openHouse((set) => ({ ...set.connection(), state: { read } }));
  const device = house.devices.deviceOf(await house.add("Shows"));
  const waited = await waitFor(device, [readCondition("power:on")], 60_000, neverAborted);
  expect(waited).toMatchObject({ matched: true, state: { volume } });
  await house.remove();
});

test("one of which only a part is known is told to be unreachable where its first whole read fails for that", async () => {
  const house = await openHouse();
  const device = house.devices.deviceOf(await house.add("Half known"));
  await pressKey(device, "home", { signal: neverAborted });
  for (const { emit } of house.connected) emit({ type: "state", patch: { power: "on" } });
  house.set.failure = new ZapdError("device_unreachable", "does not answer");
  expect(await codeOf(device.state(neverAborted))).toBe("device_unreachable");
  const told = house.devices.journal.after(0)?.filter(({ type }) => type === "state.changed") ?? [];
  const powersTold = told.map(({ json }) => JSON.parse(json).state.power);
  expect([device.lastState.view?.power, powersTold]).toEqual(["unknown", ["on", "unknown"]]);
  await house.remove();
});

test("a wait for a device that lets nobody in before it is paired ends at once", async () => {
  const house = await openHouse();
  house.set.failure = new ZapdError("pairing_required", "lets nobody in");
  const device = house.devices.deviceOf(await house.add("Locked"));
  expect(await codeOf(waitFor(device, [readCondition("power:on")], 60_000, neverAborted))).toBe("pairing_required");
  await house.remove();
});

test("a wait ends when the device is removed", async () => {
  const house = await openHouse((set) => ({ ...set.connection(), state: { read: async () => idle } }));
  const device = house.devices.deviceOf(await house.add("Leaves"));
  const waits = waitFor(device, [readCondition("power:off")], 60_000, neverAborted).catch(({ code }) => code);
  await until("it is read", () => house.connected.length > 0);
  await house.devices.remove(device);
  expect(await waits).toBe("device_not_found");
  await house.remove();
});

const shown: State = { ...idle, app: null, playback: null, volume: null, observed_at: "2026-11-22T20:00:00.000Z" };

test("one that was turned off is off, whether its set calls that off or standby", () => {
  const holds = (text: string, power: PlatformState["power"]) => readCondition(text).holds({ ...shown, power });
  expect(powers.map((power) => [power, holds("power:off", power), holds("power:standby", power)])).toEqual([
    ["on", false, false],
    ["standby", true, true],
    ["off", true, false],
    ["unknown", false, false],
  ]);
});

test("a condition holds by what is shown; what was never shown is neither of two words", () => {
  const player = {
    id: "hdmi2",
    name: "Blu-ray",
    platform_id: "2",
    type: "input",
    version: null,
    installed: true,
  } as const;
  const netflix = { ...player, id: "netflix", name: "Netflix" };
  const holds = (text: string, more: Partial<State>) => readCondition(text).holds({ ...shown, ...more });
  expect([
    holds(" muted: true ", { volume: { level: 1, muted: true } }),
    holds("input:hdmi1", { input: "hdmi1" }),
    holds("input:Blu-ray", { input: "hdmi2", app: player }),
  ]).toEqual([true, true, true]);
  expect([
    holds("muted:false", { volume: { level: 1, muted: true } }),
    holds("muted:false", { volume: { level: 1, muted: null } }),
    holds("muted:false", {}),
    holds("input:hdmi1", {}),
    holds("input:Netflix", { input: "hdmi2", app: netflix }),
    holds("playback:playing", {}),
  ]).toEqual(Array(6).fill(false));
});

test.each([
  ["constructor:x", "Examples: power:on; app:netflix, "],
  ["Power:on", "Examples: "],
  ["muted:", "Examples: "],
  ["muted:no", "It can be muted:true, muted:false"],
  ["power:unknown", "It can be power:on, power:standby, power:off"],
])("%s is no condition", (text, hint) => {
  expect(() => readCondition(text)).toThrow(
    expect.objectContaining({ code: "invalid_payload", hint: expect.stringContaining(hint) }),
  );
});
