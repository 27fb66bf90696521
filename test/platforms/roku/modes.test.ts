import { describe, expect, test } from "bun:test";
import type { Key } from "../../../src/platforms/platform.ts";
import { never, state, tidy } from "../harness.ts";
import { drive, refusal } from "./harness.ts";

tidy();

const enabled = expect.stringContaining("Control by mobile apps > Network access: Enabled");

test("a set in limited mode is known, says what it is doing, and withholds the rest by name", async () => {
  const one = await drive({ access: "limited" });
  expect(one.sighting.facts).toMatchObject({ access: "limited", kind: "tv", name: "Test Room" });
  expect([...one.withheld].sort().join(" ")).toBe(
    "apps channels icons inputs keys media mute playback power_on stop text volume",
  );
  expect(await state(one)).toMatchObject({
    power: "on",
    app: null,
    playback: null,
    volume: null,
    screensaver: false,
  });
});

test("a set in disabled mode is known by its description alone, and refuses everything with the very setting", async () => {
  const { set, sighting, connection } = await drive({ access: "disabled" });
  expect(sighting.facts).toMatchObject({
    serial: set.serial,
    access: "disabled",
    kind: "unknown",
    name: "Test Room",
  });
  const asked = [
    connection.state?.read(never),
    connection.apps?.list?.(never),
    connection.apps?.stop?.(never),
    connection.keys?.press("home", never),
    connection.apps?.launch?.("12", {}, never),
    connection.text?.type("a", never),
  ];
  for (const error of await Promise.all(asked.map(refusal)))
    expect(error).toMatchObject({
      code: "device_refused",
      message: expect.stringContaining("set to Disabled"),
      hint: enabled,
    });
});

test("a set whose mode changes is driven by what it says now, and tells what it learned", async () => {
  const { set, connection, told } = await drive();
  await connection.keys?.press("home", never);
  set.setAccess("limited");
  expect(await refusal(connection.keys?.press("home", never))).toMatchObject({ code: "device_refused" });
  expect(told.learned.at(-1)?.access).toBe("limited");
  set.setAccess("enabled");
  await connection.keys?.press("home", never);
  await connection.state?.read(never);
  expect(told.learned.at(-1)?.access).toBe("full");
  expect(set.keys).toEqual(["Home", "Home"]);
});

describe("the kinds of sets", () => {
  test.each([
    ["tv", "tv", ["channel-up", "input-hdmi1", "input-tuner", "power-on", "volume-up", "home"]],
    ["stick", "player", ["power-on", "volume-up", "home"]],
    ["box", "player", ["power-on", "volume-up", "home"]],
    ["soundbar", "soundbar", ["power-on", "volume-up", "home"]],
  ] as const)("a %s is a %s, with the keys of its hardware", async (kind, known, had) => {
    const { target, keys } = await drive({ kind, name: `A ${kind}` });
    expect(target.facts.kind).toBe(known);
    const asked: readonly Key[] = ["channel-up", "input-hdmi1", "input-tuner", "power-on", "volume-up", "home"];
    expect(asked.filter((key) => keys.has(key))).toEqual([...had]);
  });

  test("one without developer mode has none of it", async () => {
    expect((await drive({ developer: null })).has.has("dev")).toBe(false);
    expect((await drive({ developer: { password: "x" } })).connection.dev).toBeDefined();
  });
});

describe("playing", () => {
  test("play and pause look first, and toggle only what is not there yet; play-pause always does", async () => {
    const { set, connection } = await drive();
    const press = (key: Key) => connection.keys?.press(key, never);
    set.play({ durationMs: 600_000 });
    await press("play");
    expect(set.state.playback?.state).toBe("play");
    await press("pause");
    await press("pause");
    expect(set.state.playback?.state).toBe("pause");
    await press("play");
    expect(set.state.playback?.state).toBe("play");
    await press("play-pause");
    expect(set.state.playback?.state).toBe("pause");
    expect(set.keys.length).toBe(3);
  });

  test("a screensaver is told beside what is shown", async () => {
    const one = await drive();
    await one.connection.apps?.launch?.("12", {}, never);
    one.set.screensaver(true);
    expect(await state(one)).toMatchObject({ screensaver: true, app: { platformId: "12" } });
  });
});
