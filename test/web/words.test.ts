/** What the page says of a device in words. */
import { expect, test } from "bun:test";
import type { Device, Followed, State } from "../../src/api/client-types.ts";
import { lineOf } from "../../src/web/views/activity-words.ts";
import { discoverySummary, displayStatusOf, formatTime, withLocalTimes } from "../../src/web/words.ts";

const device = (parts: Partial<Device>) =>
  ({ access: "full", capabilities: ["state"], status: "online", power: "unknown", ...parts }) as Device;
const state = (parts: Partial<State>) => ({ power: "unknown", playback: null, ...parts }) as State;
const playback = { status: "playing" } as State["playback"];

test("a device that does not answer any more is not on, whatever was seen of it last", () => {
  expect(displayStatusOf(device({ power: "on" }), state({ power: "on" }))).toBe("on");
  expect(displayStatusOf(device({ status: "offline" }), state({ power: "on" }))).toBe("offline");
  expect(displayStatusOf(device({ status: "offline" }), state({ playback }))).toBe("offline");
  expect(displayStatusOf(device({ status: "offline", power: "off" }), state({ power: "on" }))).toBe("off");
  expect(displayStatusOf(device({ status: "offline", power: "off" }), state({ power: "standby" }))).toBe("standby");
  expect(displayStatusOf(device({ status: "offline" }), null)).toBe("offline");
});

test("what plays is on, and what says nothing is said to say nothing", () => {
  expect(displayStatusOf(device({}), state({ playback }))).toBe("on");
  expect(displayStatusOf(device({}), state({}))).toBe("silent");
  expect(displayStatusOf(device({ status: "unknown" }), null)).toBe("unknown");
  expect(displayStatusOf(device({ access: "unpaired", capabilities: ["pair"] }), null)).toBe("unpaired");
});

test("of an empty house it is said that nobody answered only where nobody did", () => {
  const looking = { on_start: true, interfaces: [] };
  expect(discoverySummary(looking, 0)).toEndWith("and no device answered.");
  expect(discoverySummary(looking, undefined)).toStartWith("The search on every network interface of this");
  expect(discoverySummary({ on_start: false, interfaces: ["lo"] }, undefined)).toStartWith(
    "The search at start is off",
  );
  expect(discoverySummary(looking, 3)).not.toContain("no device answered");
});

test("times of the daemon are those of a clock here", () => {
  const until = "2026-11-22T21:00:00.000Z";
  expect(withLocalTimes(`ci has it until ${until} (nightly)`)).toBe(
    `ci has it until ${formatTime(new Date(until), false)} (nightly)`,
  );
});

test("what has happened to a device is told in words, and what only zapd itself is concerned with is left out", () => {
  const told = (event: object) => lineOf(event as Followed)?.text ?? null;
  const changed = (...fields: string[]) =>
    told({ type: "device.changed", device: { host: "192.0.2.7", status: "online" }, changed: fields });
  expect(
    [["name"], ["host"], ["labels"], ["name", "labels"], ["host", "status"], ["used"]].map((one) => changed(...one)),
  ).toEqual(["renamed", "now at 192.0.2.7", "labels: none", "changed: its name, its labels", "answers", null]);
  const part_of = "5f6b8a30-6a0a-4a57-9a43-5a2c6f0b7d11";
  expect([told({ type: "device.removed" }), told({ type: "device.removed", part_of })]).toEqual([
    "removed",
    "is a part of another device now",
  ]);
  const pairing = { type: "pairing.changed", status: "failed" };
  expect(["protocol", "later", undefined].map((reason) => told({ ...pairing, reason }))).toEqual([
    "not paired: zapd did not understand its answer",
    "not paired: later",
    "not paired",
  ]);
});

test("an action of which nothing is named is told in a whole sentence", () => {
  const told = (action: string, parts: object = {}) =>
    lineOf({ type: "action.finished", action, ok: true, by: "page", ...parts } as Followed)?.text;
  expect(["input", "channel", "launch", "stop", "sequence"].map((one) => told(one))).toEqual([
    "switched its input",
    "changed the channel",
    "opened an app",
    "closed its app",
    "pressed keys",
  ]);
  expect(told("launch", { ok: false })).toBe("failed: opened an app");
  expect(told("launch", { app: { id: "12", name: "Netflix" } })).toBe("opened Netflix");
  expect(told("key", { key: "home" })).toBe("pressed home");
});
