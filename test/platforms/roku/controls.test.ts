/** What a Roku can be told beyond keys and apps, at the simulated set; and that each part of its state is asked for alone. */
import { describe, expect, test } from "bun:test";
import type { Capability, StatePart } from "../../../src/platforms/platform.ts";
import { readActiveChannel, readChannels } from "../../../src/platforms/roku/controls.ts";
import type { RokuSimulatorOptions } from "../../../src/simulators/roku.ts";
import { never, tidy } from "../harness.ts";
import { drive, refusal } from "./harness.ts";

tidy();

const controls: readonly Capability[] = ["volume", "mute", "inputs", "channels", "playback", "media", "icons", "seek"];

test("each kind has what its hardware has, and keeps it back where its settings do", async () => {
  const had = async (options: Partial<RokuSimulatorOptions>) => {
    const { has } = await drive(options);
    return controls.filter((one) => has.has(one));
  };
  const all = ["playback", "media", "icons"] as const;
  expect(await had({ kind: "tv" })).toEqual(["volume", "mute", "inputs", "channels", ...all]);
  expect(await had({ kind: "soundbar" })).toEqual(["volume", "mute", ...all]);
  // It steers the volume of its TV, and cannot know whether that is silent.
  expect(await had({ kind: "stick" })).toEqual(["volume", ...all]);
  const { has, withheld } = await drive({ access: "limited" });
  expect(controls.filter((one) => has.has(one) && !withheld.has(one))).toEqual([]);
});

describe("volume", () => {
  test("goes step by step, and mute is set whichever it was", async () => {
    const { set, connection } = await drive();
    const { volume } = set.state;
    await connection.volume?.step?.(1, never);
    await connection.volume?.step?.(1, never);
    await connection.volume?.step?.(-1, never);
    expect([set.state.volume, connection.volume?.set]).toEqual([volume + 1, undefined]);
    for (const muted of [true, true, false, false]) {
      await connection.volume?.mute?.(muted, never);
      expect(set.state.muted).toBe(muted);
    }
    expect(set.keys.filter((key) => key === "VolumeMute")).toHaveLength(2);
  });

  test("of a set that does not say whether it is muted is not toggled in the dark", async () => {
    const { set, connection } = await drive({ legacy: true });
    expect(await refusal(connection.volume?.mute?.(true, never))).toMatchObject({ code: "unsupported_operation" });
    expect(set.keys).toEqual([]);
  });
});

describe("channels", () => {
  test("that a set does not tune to are not confirmed", async () => {
    const { connection } = await drive();
    expect(await connection.channels?.select("99.9", never)).toBe(false);
  });

  test("that are hidden, or have no number, are left out; a tuner in the background shows none", () => {
    const channel = (inner: string) => `<channel>${inner}</channel>`;
    const list = [
      channel("<number>2.1</number><name>One</name><user-hidden>true</user-hidden>"),
      channel("<name>Nameless</name>"),
      channel("<number>3.1</number>"),
    ];
    expect(readChannels(`<tv-channels>${list.join("")}</tv-channels>`)).toEqual([
      { id: "3.1", number: "3.1", name: "3.1" },
    ]);
    expect(readChannels("<tv-channels/>")).toEqual([]);
    const active = (inner: string) => readActiveChannel(`<tv-channel><channel>${inner}</channel></tv-channel>`);
    expect(active("<number>3.1</number><active-input>true</active-input>")).toBe("3.1");
    expect([active("<number>3.1</number><active-input>false</active-input>"), active("")]).toEqual([null, null]);
  });
});

describe("a file by its address", () => {
  const item = { url: "http://192.0.2.5/a film.mp4?x=1&y=2", mime: null, title: null, image: null };
  const apps = [{ id: "782875", name: "Media Assistant" }];

  test("is handed to the app that plays it, whole, with its kind", async () => {
    const { set, connection } = await drive({ apps });
    const kinds = [
      [null, "v"],
      ["video/mp4", "v"],
      ["application/vnd.apple.mpegurl", "v"],
      ["audio/flac", "a"],
      ["image/png", "p"],
    ] as const;
    for (const [mime, t] of kinds) {
      await connection.media?.play({ ...item, mime }, never);
      expect(set.state.lastLaunch).toEqual({ id: "782875", params: { u: item.url, t } });
    }
    expect((await connection.state?.read(never))?.playback).toMatchObject({ status: "playing" });
  });

  test("without that app, or of another kind, is refused with what is to be done", async () => {
    const { set, connection } = await drive();
    expect(await refusal(connection.media?.play(item, never))).toMatchObject({
      code: "unsupported_media",
      hint: expect.stringContaining("Media Assistant (channel 782875)"),
    });
    const page = { ...item, mime: "text/html" };
    expect(await refusal(connection.media?.play(page, never))).toMatchObject({ code: "unsupported_media" });
    expect(set.state.lastLaunch).toBeNull();
  });
});

describe("parts of the state", () => {
  const documents: readonly (readonly [StatePart, string])[] = [
    ["power", "device-info"],
    ["app", "active-app"],
    ["screensaver", "active-app"],
    ["input", "active-app"],
    ["playback", "media-player"],
    ["volume", "audio-device"],
  ];

  const watched = async () => {
    const one = await drive();
    const asked = async (work: () => Promise<unknown> | undefined) => {
      const before = one.set.requests.length;
      await work();
      const paths = one.set.requests.slice(before).map(({ path }) => path.replace("/query/", ""));
      return paths.sort();
    };
    return { ...one, asked };
  };

  test("cost the one document that tells them, and say nothing of the rest", async () => {
    const { connection, asked } = await watched();
    await connection.state?.read(never);
    for (const [part, document] of documents) {
      let seen = {};
      const paths = await asked(async () => {
        seen = (await connection.state?.readParts?.([part], never)) ?? {};
      });
      expect([part, paths, part in seen]).toEqual([part, [document], true]);
    }
    const volume = await connection.state?.readParts?.(["volume"], never);
    expect(Object.keys(volume ?? {})).toEqual(["volume"]);
  });

  test("are asked for together with who answers, where that was never said", async () => {
    const { connection, asked } = await watched();
    expect(await asked(() => connection.state?.readParts?.(["playback"], never))).toEqual([
      "device-info",
      "media-player",
    ]);
  });

  test("agree: an input plays nothing, what is off shows nothing, and what came on is read whole", async () => {
    const { set, connection, asked } = await watched();
    set.play({ durationMs: 60_000 });
    expect(await connection.state?.read(never)).toMatchObject({ playback: { status: "playing" } });
    await connection.inputs?.select("hdmi2", never);
    expect(await connection.state?.readParts?.(["app"], never)).toMatchObject({ input: "hdmi2", playback: null });
    await set.sleep("standby");
    expect(await connection.state?.readParts?.(["power"], never)).toMatchObject({
      power: "standby",
      app: null,
      input: null,
    });
    await connection.power?.on?.(never);
    const paths = await asked(() => connection.state?.readParts?.(["power"], never));
    expect([...new Set(paths)]).toEqual(["active-app", "audio-device", "device-info", "media-player"]);
  });

  test("that it refuses now have the whole read, which says why", async () => {
    const { set, connection } = await drive();
    await connection.state?.read(never);
    set.setAccess("limited");
    expect(await connection.state?.readParts?.(["playback"], never)).toMatchObject({ power: "on", playback: null });
  });

  test("of a set that is gone fail", async () => {
    const { set, connection } = await drive();
    await connection.state?.read(never);
    await set.sleep("deep");
    expect(await refusal(connection.state?.readParts?.(["playback", "app"], never))).toMatchObject({
      code: "device_unreachable",
    });
  });
});
