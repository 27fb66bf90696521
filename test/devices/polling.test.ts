/** How often a device is asked while somebody is interested, and for which parts of its state (next/EVENTS.md, "Devices that do not push"). */
import { afterEach, beforeEach, expect, jest, test } from "bun:test";
import type { State } from "../../src/api/schemas.ts";
import { notify } from "../../src/devices/controls.ts";
import { setVolume } from "../../src/devices/volume.ts";
import { type PollTarget, Watch } from "../../src/devices/watch.ts";
import { asleep, idle as idlePlatform } from "../support/fake-platform.ts";
import { until } from "../support/http-device.ts";
import { neverAborted, openHouse } from "./harness.ts";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const idle: State = { ...idlePlatform, observed_at: "2026-11-22T21:00:00.000Z" };
const playback = { status: "playing" } as State["playback"];

/** A watch without jitter, the looks that it has made, and time that passes at once. */
function watchOf(state: State, access: PollTarget["access"] = "full") {
  const looks: string[] = [];
  const poll: PollTarget["poll"] = async (parts) => void looks.push(parts?.join("+") ?? "all");
  const watch = new Watch({ state, access, pushes: new Set(), poll }, () => 0.5);
  const pass = async (ms: number) => {
    looks.length = 0;
    for (let passed = 0; passed < ms; passed += 50) {
      jest.advanceTimersByTime(50);
      // The look ends, and the next one is scheduled.
      for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    }
    return [...looks];
  };
  return { watch, pass };
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
    await until("all is read", () => looks().length > 0);
    await command();
    house.set.done.length = 0;
    // The first look after a command comes within 150 ms.
    await Bun.sleep(250);
    expect([...new Set(looks())]).toEqual([...expected]);
    release();
    house.set.done.length = 0;
  }
  await house.remove();
});
