/** How often a device is asked while somebody is interested, and for which parts of its state (next/EVENTS.md, "Devices that do not push"). */
import { afterEach, beforeEach, expect, jest, test } from "bun:test";
import { ZapdError } from "../../src/api/errors.ts";
import type { State } from "../../src/api/schemas.ts";
import { readCondition } from "../../src/devices/conditions.ts";
import { notify } from "../../src/devices/controls.ts";
import { setVolume } from "../../src/devices/volume.ts";
import { waitFor } from "../../src/devices/wait.ts";
import { type PollTarget, Watch } from "../../src/devices/watch.ts";
import { stateParts } from "../../src/platforms/platform.ts";
import { asleep, idle as idlePlatform } from "../support/fake-platform.ts";
import { until } from "../support/http-device.ts";
import { type House, neverAborted, openHouse } from "./harness.ts";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const idle: State = { ...idlePlatform, observed_at: "2026-11-22T21:00:00.000Z" };
const playback = { status: "playing" } as State["playback"];

/** A watch without jitter, the looks that it has made, and time that passes at once. */
function watchOf(
  state: State,
  access: PollTarget["access"] = "full",
  failure?: ZapdError,
  pushes: PollTarget["pushes"] = new Set(),
) {
  const looks: string[] = [];
  const poll: PollTarget["poll"] = async (parts) => {
    looks.push(parts?.join("+") ?? "all");
    if (failure) throw failure;
  };
  const watch = new Watch({ state, access, pushes, poll }, () => 0.5);
  const pass = async (ms: number) => {
    looks.length = 0;
    await letPass(ms);
    return [...looks];
  };
  return { watch, pass };
}

async function letPass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 50) {
    jest.advanceTimersByTime(50);
    // The look ends, and the next one is scheduled.
    for (let turn = 0; turn < 50; turn++) await Promise.resolve();
  }
}

test.each<[string, State, PollTarget["access"], readonly string[]]>([
  ["plays", { ...idle, playback }, "full", Array(5).fill(["playback", "playback", "playback+app+volume"]).flat()],
  ["is on", idle, "full", Array(2).fill(["app+playback", "app+playback", "app+playback+power+volume"]).flat()],
  ["shows an input", { ...idle, input: "hdmi1" }, "full", ["app+volume", "app+volume", "app+volume+power"]],
  ["is in standby", { ...idle, power: "standby" }, "full", ["power", "power"]],
  ["has limited access", idle, "limited", ["power+app", "power+app", "power+app"]],
])(
  "one that %s is asked by its row of the table, and not at all while nobody is interested",
  async (_what, state, access, looks) => {
    const { watch, pass } = watchOf(state, access);
    expect(await pass(120_000)).toEqual([]);
    const release = watch.subscribe();
    expect(await pass(50)).toEqual(["all"]);
    expect(await pass(30_000)).toEqual([...looks]);
    release();
    expect(await pass(120_000)).toEqual([]);
  },
);

test("one that pushes what plays is not asked for nothing in between, but at once after a hint", async () => {
  const { watch, pass } = watchOf({ ...idle, playback }, "full", undefined, new Set(["playback"]));
  watch.subscribe();
  await pass(50);
  expect(await pass(12_000)).toEqual(["app+volume", "app+volume"]);
  watch.hintReceived();
  expect(await pass(100)).toEqual([""]);
  watch.stop();
});

test("one that pushes all of it is only asked every two minutes whether it is still there, and stays connected", async () => {
  const { watch, pass } = watchOf(idle, "full", undefined, new Set(stateParts));
  watch.subscribe();
  await pass(50);
  expect(await pass(250_000)).toEqual(["", ""]);
  watch.stop();
});

test("one that goes on not answering the polls is searched for at first, and then hardly, until a caller asks", async () => {
  jest.useRealTimers();
  const gone = new ZapdError("device_unreachable", "did not answer");
  let reads = 0;
  let answer = Promise.resolve();
  const read = async () => {
    reads++;
    await answer;
    throw gone;
  };
  const house = await openHouse((set) => ({ ...set.connection(), state: { read } }));
  const device = house.devices.deviceOf(await house.add("1", { name: "TV" }));
  for (let poll = 1; poll <= 10; poll++) {
    const release = device.watch.subscribe();
    await until("it is polled", () => reads === poll);
    await Bun.sleep(5);
    release();
  }
  expect([house.lost, house.searches()]).toEqual([["TV"], 3]);
  await expect(device.state(neverAborted)).rejects.toThrow();
  expect(house.lost).toEqual(["TV", "TV"]);
  // One that joins a poll.
  const slow = Promise.withResolvers<void>();
  answer = slow.promise;
  const release = device.watch.subscribe();
  await until("it is polled", () => reads === 12);
  const joined = device.state(neverAborted);
  slow.resolve();
  await expect(joined).rejects.toThrow();
  expect([reads, house.lost]).toEqual([12, ["TV", "TV", "TV"]]);
  release();
  await house.remove();
});

test("after a command, what it can change is polled, sooner at first, until the effect shows", async () => {
  const { watch, pass } = watchOf(idle);
  watch.afterCommand(["volume"]);
  expect(await pass(4_000)).toEqual([]);
  watch.subscribe();
  await pass(50);
  watch.afterCommand(["volume"]);
  for (const ms of [150, 250, 500, 1_100]) expect([ms, await pass(ms)]).toEqual([ms, ["volume"]]);
  expect(await pass(4_000)).toEqual([]);
  watch.afterCommand(["app", "playback"]);
  expect(await pass(150)).toEqual(["app+playback"]);
  watch.stateObserved(true);
  expect(await pass(4_000)).toEqual([]);
  // Of two commands, what either can change.
  watch.afterCommand(["volume", "app"]);
  watch.afterCommand(["app"]);
  expect(await pass(150)).toEqual(["app+volume"]);
  watch.stop();
  // It may have woken the device.
  const sleeper = watchOf({ ...idle, power: "standby" });
  sleeper.watch.subscribe();
  await sleeper.pass(50);
  sleeper.watch.afterCommand(["volume"]);
  expect(await sleeper.pass(150)).toEqual(["all"]);
});

test("who comes, or a device that appears again, while a poll is under way does not wait for the next one", async () => {
  const looks: string[] = [];
  let polling = Promise.withResolvers<void>();
  const poll: PollTarget["poll"] = (parts) => {
    looks.push(parts?.join("+") ?? "all");
    return polling.promise;
  };
  const watch = new Watch({ state: idle, access: "full", pushes: new Set(), poll }, () => 0.5);
  const leave = watch.subscribe();
  await letPass(50);
  leave();
  watch.subscribe();
  await letPass(50);
  const silent = Promise.withResolvers<void>();
  polling.resolve();
  polling = silent;
  await letPass(150);
  expect(looks).toEqual(["all", "all"]);
  silent.reject(new ZapdError("device_unreachable", "did not answer"));
  polling = Promise.withResolvers<void>();
  const last = polling;
  await letPass(2_050);
  expect(looks).toEqual(["all", "all", "all"]);
  watch.deviceReappeared();
  await letPass(50);
  last.reject(new ZapdError("device_unreachable", "did not answer"));
  await letPass(150);
  expect(looks).toEqual(["all", "all", "all", "all"]);
  watch.stop();
});

test("R15 a poll without an answer is repeated at once, as a kept connection may be dead, then less and less often", async () => {
  const { watch, pass } = watchOf(idle, "full", new ZapdError("device_timeout", "did not answer within 5 s"));
  watch.subscribe();
  for (const [ms, polls] of [
    [200, 2],
    [4_700, 0],
    [300, 1],
  ] as const)
    expect([ms, (await pass(ms)).length]).toEqual([ms, polls]);
  watch.stop();
});

test("each command has the parts polled that it can change, and no others", async () => {
  jest.useRealTimers();
  const state = { ...asleep, power: "on" as const };
  const house = await openHouse((set) => ({
    ...set.connection(),
    state: {
      read: (signal) => set.do("look at all", signal, state),
      readParts: (parts, signal) => set.do(`look at ${parts.join("+")}`, signal, {}),
    },
    volume: { set: (level, signal) => set.do(`volume ${level}`, signal, undefined) },
    notify: (message, signal) => set.do(`notify ${message}`, signal, undefined),
  }));
  const record = await house.add("1", { name: "TV" });
  const device = house.devices.deviceOf(record);
  const looks = () => house.set.done.filter((one) => one.startsWith("look"));
  const turn = { signal: neverAborted };
  for (const [command, expected] of [
    [() => notify(device, "hello", turn), []],
    [() => setVolume(device, { level: 30 }, turn), ["look at volume"]],
    [() => house.actions.key(record, "home", turn), ["look at app+screensaver+playback+input"]],
    [() => house.actions.launch(record, "99", {}, turn), ["look at app+screensaver+playback+input"]],
  ] as const) {
    const release = house.devices.watchDevices(new Set([record.id]));
    await until("all is read", () => looks().includes("look at all"));
    await command();
    house.set.done.length = 0;
    if (expected.length > 0) await until("it is looked at", () => looks().length > 0);
    // The first look after a command comes within 150 ms.
    await Bun.sleep(250);
    expect([...new Set(looks())]).toEqual([...expected]);
    release();
    house.set.done.length = 0;
  }
  await house.remove();
});

test("one that is off and silent is polled rarely, but at once where it may answer again, and often for a wait", async () => {
  jest.useRealTimers();
  let looks = 0;
  const house: House = await openHouse((set) => ({
    ...set.connection(),
    state: {
      read: async () => {
        looks++;
        // Some report with each refusal that they are off.
        for (const { emit } of house.connected) emit({ type: "disconnected", why: "going_off" });
        throw new ZapdError("device_unreachable", "refused the connection");
      },
    },
  }));
  const device = house.devices.deviceOf(await house.add("Off"));
  jest.useFakeTimers();
  const looksWithin = async (ms: number) => {
    looks = 0;
    await letPass(ms);
    return looks;
  };
  const release = device.watch.subscribe();
  // After 30 s and then 60 s, each with a jitter of a tenth.
  for (const [ms, expected] of [
    [50, 1],
    [26_000, 0],
    [8_000, 1],
    [46_000, 0],
  ] as const)
    expect([ms, await looksWithin(ms)]).toEqual([ms, expected]);
  device.reappeared();
  expect(await looksWithin(50)).toBe(1);
  const another = device.watch.subscribe();
  expect(await looksWithin(50)).toBe(0);
  const stopWaiting = device.watch.subscribe({ waits: true });
  for (const ms of [50, 2_250]) expect([ms, await looksWithin(ms)]).toEqual([ms, 1]);
  for (const end of [stopWaiting, another, release]) end();
  jest.useRealTimers();
  await house.remove();
});

test("a wait reads the device before it ends: what it waits for may be polled rarely", async () => {
  jest.useRealTimers();
  const house = await openHouse();
  const device = house.devices.deviceOf(await house.add("On"));
  house.set.state = idlePlatform;
  // Saved while time passes by itself.
  device.markUsed();
  await house.registry.settled();
  jest.useFakeTimers();
  const waits = waitFor(device, [readCondition("power:standby")], 4_000, neverAborted);
  await letPass(1_000);
  house.set.state = asleep;
  await letPass(3_000);
  jest.useRealTimers();
  expect(await waits).toMatchObject({ matched: true, state: { power: "standby" } });
  await house.remove();
});
