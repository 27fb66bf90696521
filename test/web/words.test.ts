/** What the page says of a device in words. */
import { expect, test } from "bun:test";
import type { Device, State } from "../../src/api/client-types.ts";
import { askedWords, here, standingOf, timeOf } from "../../src/web/words.ts";

const device = (parts: Partial<Device>) =>
  ({ access: "full", capabilities: ["state"], status: "online", power: "unknown", ...parts }) as Device;
const state = (parts: Partial<State>) => ({ power: "unknown", playback: null, ...parts }) as State;
const playback = { status: "playing" } as State["playback"];

test("a device that does not answer any more is not on, whatever was seen of it last", () => {
  expect(standingOf(device({ power: "on" }), state({ power: "on" }))).toBe("on");
  expect(standingOf(device({ status: "offline" }), state({ power: "on" }))).toBe("offline");
  expect(standingOf(device({ status: "offline" }), state({ playback }))).toBe("offline");
  expect(standingOf(device({ status: "offline", power: "off" }), state({ power: "on" }))).toBe("off");
  expect(standingOf(device({ status: "offline", power: "off" }), state({ power: "standby" }))).toBe("standby");
  expect(standingOf(device({ status: "offline" }), null)).toBe("offline");
});

test("what plays is on, and what says nothing is said to say nothing", () => {
  expect(standingOf(device({}), state({ playback }))).toBe("on");
  expect(standingOf(device({}), state({}))).toBe("silent");
  expect(standingOf(device({ status: "unknown" }), null)).toBe("unknown");
  expect(standingOf(device({ access: "unpaired", capabilities: ["pair"] }), null)).toBe("unpaired");
});

test("of an empty house it is said that nobody answered only where nobody did", () => {
  const looking = { on_start: true, interfaces: [] };
  expect(askedWords(looking, 0)).toEndWith("and nobody answered.");
  expect(askedWords(looking, undefined)).toStartWith("Asking on every interface of this machine");
  expect(askedWords({ on_start: false, interfaces: ["lo"] }, undefined)).toStartWith("zapd was told not to look");
  expect(askedWords(looking, 3)).not.toContain("nobody");
});

test("times of the daemon are those of a clock here", () => {
  const until = "2026-11-22T21:00:00.000Z";
  expect(here(`ci has it until ${until} (nightly)`)).toBe(
    `ci has it until ${timeOf(new Date(until), false)} (nightly)`,
  );
});
