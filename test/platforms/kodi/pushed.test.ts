import { expect, spyOn, test } from "bun:test";
import { kodi } from "../../../src/platforms/kodi/adapter.ts";
import type { KodiMemory, KodiSecret } from "../../../src/platforms/kodi/memory.ts";
import { readPlaying } from "../../../src/platforms/kodi/protocol.ts";
import { PushedState } from "../../../src/platforms/kodi/pushed.ts";
import type { Json } from "../../../src/transport/json.ts";
import { has } from "../../contract/bench.ts";
import { failureOf } from "../../support/failure.ts";
import { until } from "../../support/http-device.ts";
import { startRelay } from "../../support/relay.ts";
import { cleanups, lineTo, never, passing, tidy } from "../harness.ts";
import { doneTo, lineToKodi, startAnswering, startKodi } from "./harness.ts";

const passed = passing();
tidy();

test("what happens on the machine itself is told as it happens, each part for itself", async () => {
  const { set: player, connection, told } = await lineToKodi(await startKodi());
  let level = 0;
  // It is followed from the first reading on, as soon as its socket is open.
  await until("it is told", async () => {
    await connection.state?.read(never);
    player.setVolume(++level, true);
    await Bun.sleep(5);
    return told.states.some(({ volume }) => volume?.level === level);
  });
  expect(told.states.at(-1)).toEqual({ power: "on", volume: { level, muted: true } });
  // When the next poll is due is decided as it goes off.
  const pushes: number[] = [];
  told.onEnd = () => pushes.push(connection.state?.pushes?.size ?? 0);
  await player.sleep();
  await until("it is told", () => told.ended.includes("going_off"));
  expect(pushes[0]).toBe(0);
});

test("it is followed for as long as its state is read", async () => {
  const later = globalThis.setTimeout;
  // The timers that would close what nobody has used for five minutes.
  const idle: (() => void)[] = [];
  const timers = spyOn(globalThis, "setTimeout").mockImplementation(((work: () => void, ms = 0, ...rest: []) => {
    if (ms > 60_000) idle.push(work);
    return later(work, ms, ...rest);
  }) as typeof setTimeout);
  cleanups.push(() => timers.mockRestore());
  const { set: player, connection, told } = await lineToKodi(await startKodi());
  await until("it is followed", async () => {
    await connection.state?.read(never);
    return idle.length > 0 && player.state.clients.websocket === 1;
  });
  for (const ms of [200_000, 400_000]) {
    passed.ms = ms;
    await connection.state?.read(never);
    for (const close of idle.splice(0)) close();
  }
  await Bun.sleep(100);
  expect([player.state.clients.websocket, told.ended]).toEqual([1, []]);
});

test("what it tells while it is read is newer than what is read", () => {
  const pushed = new PushedState();
  const quiet = { playing: null, volume: { level: 20, muted: false }, screensaver: false, folder: null };
  pushed.store(quiet, performance.now());
  const since = performance.now();
  pushed.apply("Application.OnVolumeChanged", { volume: 30, muted: false });
  const read = { ...quiet, folder: "plugin.video.x" };
  expect(pushed.store(read, since)).toEqual({ ...read, volume: { level: 30, muted: false } });
  expect(pushed.fresh).toMatchObject({ folder: "plugin.video.x", volume: { level: 30 } });
  passed.ms = 1;
  expect(pushed.store(quiet, performance.now())).toEqual(quiet);
  expect(pushed.describe(quiet).app).toBeNull();
  // With nothing read before, it tells only that what is being read may be old.
  pushed.invalidate();
  passed.ms = 2;
  const begun = performance.now();
  pushed.apply("Application.OnVolumeChanged", { volume: 30 });
  expect(pushed.store(read, begun)).toEqual(read);
  expect(pushed.isKnown).toBe(false);
});

test("a notification changes its part; one that says too little, or of another player, has all of it read again", () => {
  const playing = readPlaying(1, { speed: 1, time: { minutes: 2 }, totaltime: { hours: 1 } }, {}, {});
  const reading = { playing, volume: { level: 20, muted: false }, screensaver: false, folder: null };
  const told = (method: string, data: Json) => {
    const pushed = new PushedState();
    pushed.store(reading, performance.now());
    const patch = pushed.apply(method, data);
    return pushed.isKnown ? patch : null;
  };
  expect(told("GUI.OnScreensaverActivated", {})).toEqual({ screensaver: true });
  expect(told("GUI.OnScreensaverDeactivated", {})).toEqual({});
  expect(told("Application.OnVolumeChanged", { volume: 30.4 })).toEqual({ volume: { level: 30, muted: false } });
  expect(told("Application.OnVolumeChanged", { muted: true })).toEqual({ volume: { level: 20, muted: true } });
  const seek = { playerid: 1, time: { minutes: 5 } };
  expect(told("Player.OnSeek", { player: seek })?.playback?.position_ms).toBeWithin(300_000, 310_000);
  for (const [method, player] of [
    ["Player.OnSeek", { playerid: 1 }],
    ["Player.OnSeek", { ...seek, playerid: 2 }],
    ["Player.OnSpeedChanged", { playerid: 1 }],
    ["Player.OnPause", { playerid: 2, speed: 0 }],
    ["Player.OnPlay", { playerid: 1, speed: 1 }],
  ] as const)
    expect(told(method, { player })).toBeNull();
});

test("a scan of the library, and add-ons that notify all the time, neither spoil a reading nor keep it fresh", () => {
  const pushed = new PushedState();
  const reading = { playing: null, volume: { level: 20, muted: false }, screensaver: false, folder: null };
  const since = performance.now();
  for (const method of ["VideoLibrary.OnUpdate", "Other.Tick"]) pushed.apply(method, { id: 1 });
  pushed.store(reading, since);
  expect(pushed.fresh).toEqual(reading);
  passed.ms = 600;
  for (const method of ["VideoLibrary.OnUpdate", "Application.OnVolumeChanged"]) pushed.apply(method, { volume: 21 });
  passed.ms = 1_100;
  expect(pushed.fresh).toBeNull();
  expect(pushed.isKnown).toBe(true);
});

test("names of add-ons are kept, but not without end", () => {
  const pushed = new PushedState();
  pushed.rememberName("plugin.video.x", "X");
  pushed.rememberName("plugin.video.y", "Y");
  expect(pushed.appNamed("plugin.video.x").name).toBe("X");
  for (let at = 0; at < 20_000; at++) pushed.rememberName(`plugin.video.${at}`, "One of many");
  expect(["x", "0", "19999"].map((one) => pushed.appNamed(`plugin.video.${one}`).name)).toEqual([
    "plugin.video.x",
    "plugin.video.0",
    "One of many",
  ]);
});

test("a player that winds tells how fast, so that its position is known", () => {
  const pushed = new PushedState();
  const playing = readPlaying(1, { speed: 4, time: { minutes: 2 }, totaltime: { hours: 1 } }, {}, {});
  const reading = { playing, volume: { level: 20, muted: false }, screensaver: false, folder: null };
  pushed.store(reading, performance.now());
  expect(pushed.describe(reading).playback).toMatchObject({ status: "playing", rate: 4 });
  for (const [speed, status] of [
    [-2, "playing"],
    [0, "paused"],
  ] as const) {
    const { playback } = pushed.apply("Player.OnSpeedChanged", { player: { playerid: 1, speed } });
    expect(playback).toMatchObject({ status, rate: speed });
  }
});

test.each([
  [{}, "plugin.video.x"],
  [{ "Player.Filenameandpath": "/media/song.flac" }, "plugin.video.x"],
  [{ "Player.Filenameandpath": "plugin://plugin.audio.y/1" }, "plugin.audio.y"],
  [{ "Player.FolderPath": "/media/" }, "plugin.video.x"],
  [{ "Player.FolderPath": "plugin://plugin.audio.y/" }, "plugin.audio.y"],
])("where an add-on is shown and %j plays, the app is %s", (labels, app) => {
  const playing = readPlaying(0, { speed: 1 }, { file: "http://192.0.2.7/1.mp3" }, labels);
  const reading = { playing, volume: { level: 20, muted: false }, screensaver: false, folder: "plugin.video.x" };
  expect(new PushedState().describe(reading).app?.platformId).toBe(app);
});

test("one that has quit is followed again as soon as it is back", async () => {
  const { set: player, connection, told } = await lineToKodi(await startKodi());
  const isFollowed = async () => {
    await connection.state?.read(never);
    return player.state.clients.websocket > 0;
  };
  await until("it is followed", isFollowed);
  await player.end("quit");
  await until("it is told", () => told.ended.includes("going_off"));
  for (const ms of [0, 4_000]) {
    passed.ms = ms;
    expect(await failureOf(has(connection.state).read(never))).toMatch(/^device_unreachable/);
  }
  await player.wake();
  await until("it is followed again", isFollowed);
});

test("one that crashed is to be read as soon as its socket is open again (players.md 13)", async () => {
  const { set: player, connection, told } = await lineToKodi(await startKodi());
  await until("it is followed", async () => {
    await connection.state?.read(never);
    return player.state.clients.websocket > 0;
  });
  await player.end("crash");
  await until("it is told", () => told.ended.includes("hung_up"));
  told.hints = 0;
  await player.wake();
  await until("it is told", () => told.hints > 0);
});

test("an answer that was on its way when it said that it sleeps does not make it awake", async () => {
  const player = await startKodi();
  const relay = await startRelay(player.host, player.port);
  cleanups.push(() => relay.stop());
  const { connection, told } = await lineToKodi(player, relay.port);
  await until("it is followed", async () => {
    await connection.state?.read(never);
    return player.state.clients.websocket > 0;
  });
  relay.keep();
  const asked = connection.notify?.("Dinner", never);
  await until("it was shown", () => doneTo(player).includes("GUI.ShowNotification"));
  const asleep = player.sleep();
  await until("it is told", () => told.ended.includes("going_off"));
  relay.give();
  await asked;
  expect(await failureOf(Promise.resolve(connection.notify?.("Dinner", never)))).toBe(
    "device_unreachable: is turning off",
  );
  await asleep;
});

test("one that is followed does not go off where its web server is turned off, and gives no pictures", async () => {
  const player = await startKodi();
  const relay = await startRelay(player.host, player.port);
  const { connection, told } = await lineToKodi(player, relay.port);
  await until("it is followed", async () => {
    await connection.state?.read(never);
    return player.state.clients.websocket > 0;
  });
  await relay.stop();
  expect(await failureOf(Promise.resolve(connection.icon?.("plugin.video.youtube", never)))).toMatch(
    /^unsupported_operation: cannot send pictures/,
  );
  expect(told.ended).toEqual([]);
});

test("pictures that are paused beside the music do not pause that", async () => {
  const { set: player, connection } = await lineToKodi(await startKodi());
  const status = async () => (await connection.state?.read(never))?.playback?.status;
  player.play({ kind: "audio", path: "/media/song.flac" });
  await until("it is followed", async () => (await status()) === "playing" && player.state.clients.websocket > 0);
  const readings = () => player.calls.filter(({ method }) => method === "Player.GetProperties").length;
  const before = readings();
  player.notify("Player.OnPause", { item: { type: "picture" }, player: { playerid: 2, speed: 0 } });
  player.notify("Application.OnVolumeChanged", { volume: 77, muted: false });
  await until("both have come", async () => {
    const state = await connection.state?.read(never);
    expect(state?.playback?.status).toBe("playing");
    return readings() > before;
  });
});

test("what was typed before it went off, or a while ago where it is not followed, is not sent again with the next text", async () => {
  const texts: unknown[] = [];
  const player = await startAnswering({
    // A keyboard whose text cannot be read, so that what was typed is remembered.
    "GUI.GetProperties": () => ({ currentwindow: { id: 10_156, label: "" } }),
    "Input.SendText": ({ text }) => {
      texts.push(text);
      return "OK";
    },
    "System.GetProperties": () => ({ canshutdown: true }),
    "System.Shutdown": () => "OK",
  });
  const { connection } = await lineTo<typeof player, KodiMemory, KodiSecret>(kodi, player, { lead: player.address });
  for (const text of ["pop", "corn"]) await connection.text?.type(text, never);
  await connection.power?.off?.(never);
  // It is on again.
  passed.ms = 4_000;
  await connection.text?.type("Dune", never);
  passed.ms += 61_000;
  await connection.text?.type("5", never);
  expect(texts).toEqual(["pop", "popcorn", "Dune", "5"]);
});
