/** What a device is asked while somebody is interested, where it tells by itself what it does. */
import { expect, test } from "bun:test";
import type { PlatformState, StatePart } from "../../src/platforms/platform.ts";
import { until } from "../support/http-device.ts";
import { openHouse } from "./harness.ts";

const all = new Set<StatePart>(["power", "app", "playback", "volume", "screensaver", "input"]);
const on: PlatformState = {
  power: "on",
  app: null,
  screensaver: false,
  playback: null,
  volume: { level: 20, muted: false },
  input: null,
};

test("one that tells it all is left alone, and looked at again as soon as its connection broke", async () => {
  const pushes = new Set<StatePart>();
  const house = await openHouse((set) => ({
    ...set.connection(),
    state: { read: (signal) => set.do("state", signal, set.state), pushes },
  }));
  house.set.state = on;
  const { id } = await house.add("Teller");
  const letGo = house.devices.watch(new Set([id]));
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
  house.remove();
});
