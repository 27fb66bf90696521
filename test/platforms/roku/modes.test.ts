import { afterEach, describe, expect, test } from "bun:test";
import type { ZapdError } from "../../../src/api/errors.ts";
import type { Capability, Connection, Facts, Key } from "../../../src/platforms/platform.ts";
import { roku } from "../../../src/platforms/roku/adapter.ts";
import type { RokuMemory } from "../../../src/platforms/roku/identity.ts";
import type { RokuSimulator, RokuSimulatorOptions } from "../../../src/simulators/roku.ts";
import { platformHostOf, targetOf } from "../../support/platform-host.ts";
import { plugInRoku as plugIn } from "../../support/sets.ts";

const never = new AbortController().signal;
const open: Connection[] = [];
afterEach(() => {
  for (const connection of open.splice(0)) connection.close();
});

interface Driven {
  readonly set: RokuSimulator;
  readonly facts: Facts;
  readonly learned: Partial<Facts>[];
  readonly connection: Connection;
  readonly has: ReadonlySet<Capability>;
  readonly withheld: ReadonlySet<Capability>;
  readonly keys: ReadonlySet<Key>;
}

async function drive(options: Partial<RokuSimulatorOptions>): Promise<Driven> {
  const set = await plugIn(options);
  const platformHost = platformHostOf();
  const sighting = await roku.identify(set, platformHost, never);
  const { target, told } = targetOf<RokuMemory, unknown>(sighting, set);
  const connection = roku.connect(target, platformHost, told.emit);
  open.push(connection);
  const { has, withheld, keys } = roku.describe(target.facts, target.memory, false);
  return { set, facts: sighting.facts, learned: told.learned, connection, has, withheld, keys };
}

const refusal = (work: Promise<unknown> | undefined) =>
  (work ?? Promise.resolve()).then(
    () => null,
    (error: ZapdError) => error,
  );
const enabled = expect.stringContaining("Control by mobile apps > Network access: Enabled");

describe("a set in limited mode", () => {
  test("is known, says what it is doing, and withholds the rest by name", async () => {
    const { facts, withheld, connection } = await drive({ access: "limited" });
    expect(facts).toMatchObject({ access: "limited", kind: "tv", name: "Test Room" });
    const restricted = ["channels", "icons", "inputs", "media", "mute", "playback", "volume"] as const;
    expect([...withheld].sort()).toEqual(
      ([...restricted, "apps", "keys", "power_on", "stop", "text"] as Capability[]).sort(),
    );
    const state = await connection.state?.read(never);
    expect(state).toMatchObject({ power: "on", app: null, playback: null, volume: null, screensaver: false });
  });

  test("refuses keys, text and its list of apps with the very setting", async () => {
    const { set, connection } = await drive({ access: "limited" });
    const refused = [
      connection.keys?.press("home", never),
      connection.text?.type("a", never),
      connection.apps?.list?.(never),
    ];
    for (const error of await Promise.all(refused.map(refusal)))
      expect(error).toMatchObject({
        code: "device_refused",
        message: expect.stringContaining("set to Limited"),
        hint: enabled,
      });
    expect([set.keys, set.text]).toEqual([[], ""]);
  });

  test("launches, where it does, and says so where it does not", async () => {
    const lenient = await drive({ access: "limited" });
    expect(await lenient.connection.apps?.launch?.("12", {}, never)).toBe(true);
    const strict = await drive({ access: "limited", limitedLaunch: false });
    expect(await refusal(strict.connection.apps?.launch?.("12", {}, never))).toMatchObject({
      code: "device_refused",
      hint: enabled,
    });
  });
});

describe("a set in disabled mode", () => {
  test("is known by its description alone, and refuses everything with the very setting", async () => {
    const { set, facts, connection } = await drive({ access: "disabled" });
    expect(facts).toMatchObject({ serial: set.serial, access: "disabled", kind: "unknown", name: "Test Room" });
    const asked = [
      ...[
        connection.state?.read(never),
        connection.apps?.list?.(never),
        connection.apps?.stop?.(never),
        connection.keys?.press("home", never),
      ],
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
});

describe("a set whose mode changes", () => {
  test("is driven by what it says now, and tells what it learned", async () => {
    const { set, connection, learned } = await drive({});
    await connection.keys?.press("home", never);
    set.setAccess("limited");
    expect(await refusal(connection.keys?.press("home", never))).toMatchObject({ code: "device_refused" });
    expect(learned.at(-1)?.access).toBe("limited");
    set.setAccess("enabled");
    await connection.keys?.press("home", never);
    await connection.state?.read(never);
    expect(learned.at(-1)?.access).toBe("full");
    expect(set.keys).toEqual(["Home", "Home"]);
  });

  test("and one that is permissive is as good as enabled", async () => {
    const { facts, connection } = await drive({ access: "permissive" });
    expect(facts.access).toBe("full");
    await connection.keys?.press("up", never);
  });
});

describe("the kinds of sets", () => {
  const tvOnly: readonly Key[] = ["channel-up", "input-hdmi1", "input-tuner"];
  const names = async (options: Partial<RokuSimulatorOptions>) => {
    const { connection, facts, keys } = await drive(options);
    return { names: keys, facts, connection };
  };

  test("a TV has every key, a stick and a box what they can steer, a soundbar its sound", async () => {
    const tv = await names({ kind: "tv" });
    expect(tv.facts.kind).toBe("tv");
    for (const key of [...tvOnly, "volume-up", "power-on"] as const)
      expect([key, tv.names.has(key)]).toEqual([key, true]);
    for (const [kind, known] of [
      ["stick", "player"],
      ["box", "player"],
      ["soundbar", "soundbar"],
    ] as const) {
      const one = await names({ kind, name: `A ${kind}` });
      expect(one.facts.kind).toBe(known);
      for (const key of tvOnly) expect([kind, key, one.names.has(key)]).toEqual([kind, key, false]);
      expect(one.names.has("volume-up")).toBe(true);
      expect(one.names.has("home")).toBe(true);
    }
  });

  test("a stick keeps its word to itself on whether the TV is on; a TV tells its volume and its input", async () => {
    const stick = await drive({ kind: "stick" });
    expect((await stick.connection.state?.read(never))?.power).toBe("unknown");
    const tv = await drive({ kind: "tv" });
    await tv.connection.keys?.press("volume-up", never);
    await tv.connection.keys?.press("input-hdmi1", never);
    expect(await tv.connection.state?.read(never)).toMatchObject({
      volume: { level: 19, muted: false },
      input: "hdmi1",
      app: { id: "hdmi1", type: "input" },
    });
  });

  test("old firmware has no mode, no volume and no exit, and a home with an id: all the same it is driven", async () => {
    const { set, facts, connection } = await drive({ legacy: true });
    expect(facts.access).toBe("full");
    expect(await connection.state?.read(never)).toMatchObject({ power: "on", app: null, volume: null });
    await connection.apps?.launch?.("12", {}, never);
    expect(await connection.apps?.stop?.(never)).toMatchObject({ platformId: "12" });
    expect(set.state.activeApp).toBeNull();
  });

  test("one without developer mode has none of it", async () => {
    expect((await drive({ developer: null })).has.has("dev")).toBe(false);
    expect((await drive({ developer: { password: "x" } })).connection.dev).toBeDefined();
  });
});

describe("playing", () => {
  test("play and pause look first, and toggle only what is not there yet; play-pause always does", async () => {
    const { set, connection } = await drive({});
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

  test("is told with its position, and what lives has no end", async () => {
    const { set, connection } = await drive({});
    set.play({ durationMs: 600_000 });
    await Bun.sleep(30);
    const first = (await connection.state?.read(never))?.playback;
    expect(first).toMatchObject({ status: "playing", duration_ms: 600_000, live: false });
    expect(first?.position_ms).toBeGreaterThan(20);
    set.play({ live: true });
    expect((await connection.state?.read(never))?.playback).toMatchObject({ status: "playing", live: true });
  });

  test("a screensaver is told beside what is shown", async () => {
    const { set, connection } = await drive({});
    await connection.apps?.launch?.("12", {}, never);
    set.screensaver(true);
    expect(await connection.state?.read(never)).toMatchObject({ screensaver: true, app: { platformId: "12" } });
  });
});
