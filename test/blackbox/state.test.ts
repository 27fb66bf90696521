/** State: put together from what a set is willing to say, in every shape sets say it. */
import { expect, test } from "bun:test";
import { element } from "../../src/simulators/bench/documents.ts";
import type { Answer, Style } from "../support/wire.ts";
import type { WiredOptions, WiredRoku } from "../support/wired-roku.ts";
import { add, refuse, succeed } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";
import { app, homes, playing, spellHome } from "./documents.ts";

const { daemon, startRoku, ...home } = await daemonForFile({ speed: 1 });
const start = (options: WiredOptions = {}) => home.addRoku({ volume: 23, ...options });
/** It gives up on a set early: some of its sets never answer. */
const hurried = await daemonForFile({ speed: 1, config: { devices: { request_timeout_ms: 900 } } });

const read = async (id: string, from = daemon) => (await succeed(from, "getState", { id })).state;

function watch(set: WiredRoku): void {
  set.active = set.apps.find((one) => one.id === "12") ?? null;
  playing(set, { state: "play", plugin: "12", position: 754_321, duration: 3_600_000, live: false });
}

const whole = {
  power: "on",
  app: { id: "netflix", name: "Netflix", platform_id: "12", type: "app", installed: true },
  screensaver: false,
  volume: { level: 23, muted: false },
  playback: { status: "playing", position_ms: 754_321, duration_ms: 3_600_000, live: false },
};

const styles: readonly Style[] = [
  {},
  { close: "said" },
  { close: "rude" },
  { old: true },
  { chunked: true },
  { dribble: true },
  { chunked: true, dribble: true },
];
for (const style of styles) {
  test.concurrent(`the whole state, however the set frames it (${JSON.stringify(style)})`, async () => {
    const { set, id } = await start({ style });
    watch(set);
    for (let turn = 0; turn < 3; turn++) expect(await read(id)).toMatchObject(whole);
    set.active = set.apps.find((one) => one.id === "tvinput.hdmi3") ?? null;
    set.spoiled.clear();
    await set.press("VolumeMute");
    expect(await read(id)).toMatchObject({
      app: { type: "input", platform_id: "tvinput.hdmi3" },
      volume: { level: 23, muted: true },
    });
    expect((await read(id)).input).not.toBeNull();
  });
}

test.concurrent("one query refused, hanging, cut off or garbage costs its own part and no other", async () => {
  const faults: readonly Answer[] = [
    { status: 403 },
    { status: 401 },
    { status: 404 },
    { status: 500 },
    { status: 202 },
    ...(["hang", "close", "reset"] as const),
    ...[
      "",
      "not xml",
      "<player",
      "<app-ui/>",
      '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]><player>&a;</player>',
      "\u0000\u0001",
    ].map((body) => ({ status: 200, body })),
  ];
  await Promise.all(
    faults.map(async (fault) => {
      const { set, id } = await hurried.addRoku({ volume: 23 });
      watch(set);
      const started = performance.now();
      for (const [query, part] of [
        ["media-player", "playback"],
        ["audio-device", "volume"],
      ] as const) {
        set.broken.set(`/query/${query}`, fault);
        const { [part]: gone, ...rest } = whole;
        const state = await read(id, hurried.daemon);
        expect({ part, fault, is: state[part] }).toEqual({ part, fault, is: null });
        expect(state).toMatchObject(rest);
        expect(gone).not.toBeNull();
        set.broken.clear();
      }
      set.broken.set("/query/active-app", fault);
      const { app: shown, playback: _, screensaver: __, ...rest } = whole;
      const state = await read(id, hurried.daemon);
      expect(state).toMatchObject(rest);
      expect({ fault, app: state.app }).not.toEqual({ fault, app: shown as never });
      expect(performance.now() - started).toBeLessThan(3 * 1_200);
    }),
  );
}, 60_000);

test.concurrent("device-info gone wrong: the state goes on without what it alone tells", async () => {
  for (const fault of [{ status: 501 }, { status: 200, body: "<nothing/>" }] as const) {
    const { set, id } = await start();
    watch(set);
    set.broken.set("/query/device-info", fault);
    const state = await read(id);
    expect(state).toMatchObject({ app: { id: "netflix" }, playback: whole.playback, volume: whole.volume });
    expect(["unknown", "on"]).toContain(state.power);
  }
});

test.concurrent("power, as a television and as a player tell it", async () => {
  const { set, id } = await start();
  for (const [mode, power] of [
    ["PowerOn", "on"],
    ["Ready", "standby"],
    ["DisplayOff", "standby"],
    ["Headless", "standby"],
  ] as const) {
    set.facts.set("power-mode", mode);
    expect([mode, (await read(id)).power]).toEqual([mode, power]);
  }
  set.facts.set("power-mode", "PowerOff");
  expect(["off", "standby"]).toContain((await read(id)).power);
  set.facts.set("power-mode", null);
  expect((await read(id)).power).toBe("unknown");
  // A player says "on" while the television it feeds is off.
  const stick = await start({ kind: "stick" });
  stick.set.broken.set("/query/audio-device", { status: 404 });
  expect((await read(stick.id)).power).not.toBe("off");
  expect(await read(stick.id)).toMatchObject({ volume: null });
});

test.concurrent("home in every spelling, a screensaver beside it, and two apps at once", async () => {
  const { set, id } = await start();
  for (const home of Object.values(homes)) {
    spellHome(set, home);
    expect(await read(id)).toMatchObject({ power: "on", app: null, playback: null });
  }
  set.simulator.screensaver(true);
  expect(await read(id)).toMatchObject({ app: null, screensaver: true });
  set.simulator.screensaver(false);
  const twice = element("app", { id: "99999", type: "appl", version: "4.2.17" }, "Shadow");
  set.spoiled.set("/query/active-app", (said) => ({
    ...said,
    body: `${said.body}`.replace("</active-app>", `${twice}</active-app>`),
  }));
  set.active = set.apps.find((one) => one.id === "837") ?? null;
  expect((await read(id)).app?.id).toBe("youtube");
});

test.concurrent("playback: a live stream, no duration, another app's leftovers, words nobody knows", async () => {
  const { set, id } = await start();
  watch(set);
  const play = (changes: object): void => {
    playing(set, { state: "play", plugin: "12", position: 10, duration: null, live: false, ...changes });
  };
  play({ duration: null });
  expect((await read(id)).playback).toMatchObject({ status: "playing", position_ms: 10, duration_ms: null });
  play({ state: "pause", live: true });
  expect((await read(id)).playback).toMatchObject({ status: "paused", live: true });
  play({ state: "buffer", position: null });
  expect((await read(id)).playback).toMatchObject({ status: "buffering", position_ms: null });
  play({ plugin: "837", position: 99 });
  expect((await read(id)).playback?.position_ms ?? null).toBeNull();
  for (const state of ["close", "none", "stop", "frobnicate", ""]) {
    play({ state });
    const { playback } = await read(id);
    expect([state, playback?.status ?? "stopped"]).toEqual([state, "stopped"]);
  }
});

test.concurrent("old firmware: no access mode, bare apps, empty facts, a description only", async () => {
  const old = await start({
    facts: {
      "ecp-setting-mode": null,
      "user-device-name": null,
      "friendly-device-name": "",
      "software-version": "7.5",
      "power-mode": null,
      "is-stick": null,
    },
    apps: [app("11", "Roku Channel Store", null, null)],
    style: { close: "said", server: "Roku UPnP/1.0 MiniUPnPd/1.4" } as const,
    legacy: true,
  });
  const device = await succeed(daemon, "getDevice", { id: old.id });
  expect(device).toMatchObject({ access: "full", serial: old.set.serial, kind: "tv" });
  expect(device.name).toContain(old.set.serial);
  spellHome(old.set, homes.bareMenu);
  expect(await read(old.id)).toMatchObject({ app: null });
  expect((await succeed(daemon, "listApps", { id: old.id })).apps).toMatchObject([
    { platform_id: "11", version: null, type: "app" },
  ]);
  expect((await succeed(daemon, "launchApp", { id: old.id, body: { app: "11" } })).app.name).toBe("Roku Channel Store");

  const bare = await startRoku({ vendor: "Norwood" });
  bare.broken.set("/query/device-info", { status: 404 });
  const described = await add(daemon, bare);
  expect(described).toMatchObject({ serial: bare.serial, manufacturer: "Norwood", name: bare.identity.name });
  await succeed(daemon, "pressKey", { id: described.id, body: { key: "home" } });
  expect(bare.commands).toEqual(["/keypress/Home"]);
});

test.concurrent("a soundbar is one, and a set without a serial is not taken for a set", async () => {
  const bar = await start({ kind: "soundbar" });
  expect((await succeed(daemon, "getDevice", { id: bar.id })).kind).toBe("soundbar");
  const nameless = await startRoku();
  nameless.broken.set("/query/device-info", { status: 200, body: "<device-info></device-info>" });
  nameless.broken.set("/", { status: 200, body: "<root></root>" });
  await refuse(daemon, "addDevice", { body: nameless.address }, "device_error", "device_unreachable");
});

test.concurrent("T4 fifty who ask at once are one reading, and none from before a command", async () => {
  const { set, id } = await start();
  set.answerMs = 40;
  set.forget();
  await Promise.all(Array.from({ length: 50 }, () => read(id)));
  const readings = set.wire.requests.filter((request) => request.path === "/query/active-app").length;
  expect(readings).toBeLessThanOrEqual(2);
  const early = read(id);
  await succeed(daemon, "launchApp", { id, body: { app: "12" } });
  expect((await read(id)).app?.id).toBe("netflix");
  await early;
});
