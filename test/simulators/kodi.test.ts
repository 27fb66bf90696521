import { describe, expect, test } from "bun:test";
import { createKodiSimulator, type DialogKind } from "../../src/simulators/kodi.ts";
import { ask, call, listen, plugIn, post, request, until } from "./kodi-harness.ts";

describe("the web server (players.md 7.1)", () => {
  test("takes JSON alone, by POST, and requests by GET", async () => {
    const kodi = await plugIn();
    expect((await post(kodi, request("JSONRPC.Ping"), { "content-type": "text/plain" })).status).toBe(415);
    const charset = await post(kodi, request("JSONRPC.Ping"), { "content-type": "application/json; charset=utf-8" });
    expect(await charset.json()).toEqual({ id: 1, jsonrpc: "2.0", result: "pong" });
    const asked = encodeURIComponent(JSON.stringify(request("JSONRPC.Ping", undefined, "g")));
    const got = await fetch(`http://${kodi.host}:${kodi.port}/jsonrpc?request=${asked}`);
    expect(await got.json()).toEqual({ id: "g", jsonrpc: "2.0", result: "pong" });
    expect((await fetch(`http://${kodi.host}:${kodi.port}/nothing`)).status).toBe(404);
  });

  test("asks for the password where there is one, before anything else", async () => {
    const kodi = await plugIn({ password: "geheim ü" });
    const said = await post(kodi, "{}", { "content-type": "text/plain" });
    expect([said.status, said.headers.get("www-authenticate")]).toEqual([401, 'Basic realm="Kodi"']);
    const with_ = (words: string) => ({ authorization: `Basic ${Buffer.from(words).toString("base64")}` });
    expect((await post(kodi, request("JSONRPC.Ping"), with_("kodi:wrong"))).status).toBe(401);
    expect((await post(kodi, request("JSONRPC.Ping"), with_("kodi:geheim ü"))).status).toBe(200);
    // The other port asks for nothing (xbmc/xbmc#21306).
    const { socket, messages } = await listen(kodi.host, kodi.ports.tcp ?? 0);
    socket.write(JSON.stringify(request("JSONRPC.Ping")));
    await until("it answers", () => messages().length > 0);
    expect(messages()).toEqual([{ id: 1, jsonrpc: "2.0", result: "pong" }]);
    socket.destroy();
  });

  test("a call without an id is carried out, and the connection closed without an answer", async () => {
    const kodi = await plugIn();
    const silent = { jsonrpc: "2.0", method: "Application.SetVolume", params: { volume: 7 } };
    await expect(post(kodi, silent)).rejects.toThrow();
    expect(kodi.state.volume).toBe(7);
  });

  test("keeps what came in, with the error it was answered with", async () => {
    const kodi = await plugIn();
    await call(kodi, "Application.SetVolume", { volume: 30 });
    await call(kodi, "No.Method");
    await post(kodi, "nonsense");
    expect(kodi.calls).toEqual([
      { via: "http", method: "Application.SetVolume", params: { volume: 30 }, error: null },
      { via: "http", method: "No.Method", params: undefined, error: -32601 },
      { via: "http", method: "", params: "nonsense", error: -32700 },
    ]);
  });
});

describe("playback (players.md 7.2, 7.3)", () => {
  test("a start is told as a storm, and one stop", async () => {
    const kodi = await plugIn();
    const { messages, socket } = await listen(kodi.host, kodi.ports.tcp ?? 0);
    await call(kodi, "Player.Open", { item: { file: "/media/holiday.mp4" } });
    await until("it plays", () => kodi.state.playback !== null);
    expect(await call(kodi, "Player.GetActivePlayers")).toEqual([
      { playerid: 1, playertype: "internal", type: "video" },
    ]);
    expect(kodi.state.window.id).toBe(12_005);
    await call(kodi, "Player.Stop", { playerid: 1 });
    expect(kodi.state.window.id).toBe(10_000);
    await until("the stop is told", () => messages().some(({ method }) => method === "Player.OnStop"));
    const told = messages().map(({ method }) => String(method));
    expect(told.filter((method) => method === "Player.OnAVChange")).toHaveLength(4);
    expect(told.filter((method) => /OnPlay|OnAVStart|OnStop/.test(method))).toEqual([
      "Player.OnPlay",
      "Player.OnAVStart",
      "Player.OnStop",
    ]);
    socket.destroy();
  });

  test("the position goes on while it plays, and milliseconds may be negative", async () => {
    const kodi = await plugIn();
    kodi.play({ title: "Odd", positionMs: -99, paused: true });
    const asked = { playerid: 1, properties: ["time", "speed"] };
    expect(await call(kodi, "Player.GetProperties", asked)).toEqual({
      time: { hours: 0, minutes: 0, seconds: 0, milliseconds: -99 },
      speed: 0,
    });
    await call(kodi, "Player.PlayPause", { playerid: 1, play: true });
    await until("it goes on", () => (kodi.state.playback?.positionMs ?? 0) > 0);
    // Relative: it answers with the position before.
    kodi.pause(true);
    const before = await call(kodi, "Player.Seek", { playerid: 1, value: { seconds: 30 } });
    expect(before).toMatchObject({ time: { seconds: 0 }, totaltime: { minutes: 2 } });
    const after = await call(kodi, "Player.Seek", { playerid: 1, value: { time: { minutes: 1 } } });
    expect(after).toMatchObject({ time: { minutes: 1, seconds: 0 }, percentage: 50 });
  });

  test("the action pause toggles, PlayPause does what it says, rewind steps down", async () => {
    const kodi = await plugIn();
    kodi.play({});
    const speed = () => kodi.state.playback?.speed;
    for (const expected of [0, 1]) {
      await call(kodi, "Input.ExecuteAction", { action: "pause" });
      expect(speed()).toBe(expected);
    }
    for (const _ of [1, 2])
      expect(await call(kodi, "Player.PlayPause", { playerid: 1, play: false })).toEqual({ speed: 0 });
    await call(kodi, "Input.ExecuteAction", { action: "fastforward" });
    expect(speed()).toBe(0);
    await call(kodi, "Player.PlayPause", { playerid: 1, play: true });
    for (const [action, expected] of [
      ["fastforward", 2],
      ["fastforward", 4],
      ["rewind", 2],
    ] as const) {
      await call(kodi, "Input.ExecuteAction", { action });
      expect(speed()).toBe(expected);
    }
  });

  test("it ends by itself", async () => {
    const kodi = await plugIn({ media: [{ file: "/short", durationMs: 30 }] });
    const { messages, socket } = await listen(kodi.host, kodi.ports.tcp ?? 0);
    await call(kodi, "Player.Open", { item: { file: "/short" } });
    await until("the end is told", () => JSON.stringify(messages()).includes('"end":true'));
    expect(await call(kodi, "Player.GetActivePlayers")).toEqual([]);
    socket.destroy();
  });

  test("a file that is not there is refused, a broken one is taken and fails with a dialog", async () => {
    const kodi = await plugIn({ media: [{ file: "http://nobody/x", broken: true }] });
    expect(await call(kodi, "Player.Open", { item: { file: "/nope" } })).toBe(-32602);
    expect(await call(kodi, "Player.Open", { item: { file: "http://nobody/x" } })).toBe("OK");
    await until("the dialog is there", () => kodi.state.dialog === "ok");
    expect(kodi.state.playback).toBeNull();
  });

  test("channels are live, and one that is not there ends the program", async () => {
    const channels = [
      { id: 11, number: 1, name: "One" },
      { id: 12, number: 2, name: "Two" },
    ];
    const kodi = await plugIn({ channels });
    await call(kodi, "Player.Open", { item: { channelid: 11 } });
    await until("it plays", () => kodi.state.playback?.channel === 11);
    const asked = { playerid: 1, properties: ["live", "totaltime"] };
    expect(await call(kodi, "Player.GetProperties", asked)).toMatchObject({ live: true, totaltime: { minutes: 0 } });
    await call(kodi, "Input.ExecuteAction", { action: "channelup" });
    await until("the next one plays", () => kodi.state.playback?.channel === 12);
    expect(await call(kodi, "Player.GetItem", { playerid: 1, properties: ["channel", "channelnumber"] })).toEqual({
      item: { channel: "Two", channelnumber: 2, id: 12, label: "Two", type: "channel" },
    });
    await expect(ask(kodi, "Player.Open", { item: { channelid: 99 } })).rejects.toThrow();
    await until("it has ended", () => kodi.state.power === "ended");
  });
});

describe("dialogs swallow what is asked (players.md 7.3)", () => {
  for (const kind of ["yes-no", "keyboard", "context-menu"] satisfies DialogKind[]) {
    test(kind, async () => {
      const kodi = await plugIn();
      kodi.play({});
      kodi.openDialog(kind, { swallowsStop: true });
      const id = kodi.state.window.id;
      expect([10_100, 10_103, 10_106]).toContain(id);
      for (const [method, params] of [
        ["GUI.ActivateWindow", { window: "videos" }],
        ["Player.Stop", { playerid: 1 }],
        ["Input.Home", undefined],
        ["Addons.ExecuteAddon", { addonid: "plugin.video.netflix" }],
      ] as const)
        expect(await call(kodi, method, params)).toBe("OK");
      expect([kodi.state.window.id, kodi.state.playback !== null]).toEqual([id, true]);
      await call(kodi, "Input.Back");
      expect(kodi.state.dialog).toBeNull();
    });
  }

  test("text goes into a keyboard, in place of what is there, and nowhere without one", async () => {
    const kodi = await plugIn();
    const { messages, socket } = await listen(kodi.host, kodi.ports.tcp ?? 0);
    expect(await call(kodi, "Input.SendText", { text: "lost" })).toBe("OK");
    kodi.openDialog("keyboard", { title: "Search", value: "old" });
    await call(kodi, "Input.SendText", { text: "a", done: false });
    await call(kodi, "Input.SendText", { text: "hé€😀" });
    expect([kodi.text, kodi.state.dialog]).toEqual(["hé€😀", null]);
    await until("it is told", () => messages().some(({ method }) => method === "Input.OnInputFinished"));
    expect(messages().map(({ params }) => (params as { data: unknown }).data)).toEqual([
      { title: "Search", type: "keyboard", value: "old" },
      null,
    ]);
    socket.destroy();
  });
});

test("add-ons are listed by what they provide, and a plug-in opens its folder", async () => {
  const kodi = await plugIn();
  const video = await call(kodi, "Addons.GetAddons", { content: "video", enabled: true, properties: ["name"] });
  expect(video).toMatchObject({ limits: { total: 3 } });
  await call(kodi, "Addons.ExecuteAddon", { addonid: "plugin.video.netflix", params: { search: "x" } });
  expect(kodi.state).toMatchObject({ folder: "plugin://plugin.video.netflix/", window: { id: 10_025 } });
  expect(kodi.state.launched).toEqual({ id: "plugin.video.netflix", params: { search: "x" } });
  const labels = ["Container.PluginName", "Network.MacAddress"];
  const asked = () => call(kodi, "XBMC.GetInfoLabels", { labels });
  expect(await asked()).toEqual({ "Container.PluginName": "plugin.video.netflix", "Network.MacAddress": "Busy" });
  expect(await asked()).toEqual({ "Container.PluginName": "plugin.video.netflix", "Network.MacAddress": kodi.mac });
});

test("the first key ends the screensaver and does nothing else", async () => {
  const kodi = await plugIn();
  await call(kodi, "GUI.ActivateWindow", { window: "videos" });
  kodi.screensaver(true);
  const asked = { booleans: ["System.ScreenSaverActive"] };
  expect(await call(kodi, "XBMC.GetInfoBooleans", asked)).toEqual({ "System.ScreenSaverActive": true });
  await call(kodi, "Input.Home");
  expect(kodi.state).toMatchObject({ screensaver: false, window: { id: 10_025 } });
});

test("the same name is the same player", () => {
  const [one, same, other] = ["Den", "Den", "Attic"].map((name) => createKodiSimulator({ name }));
  expect([same?.uuid, same?.mac]).toEqual([one?.uuid, one?.mac]);
  expect(other?.uuid).not.toBe(one?.uuid);
  expect(one?.uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
});
