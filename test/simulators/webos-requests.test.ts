import { describe, expect, test } from "bun:test";
import { openClient } from "./webos-client.ts";
import { connect, manifest, paired, plugIn, until } from "./webos-harness.ts";

const APP = "com.webos.applicationManager/getForegroundAppInfo";
const LAUNCH_POINTS = "com.webos.applicationManager/listLaunchPoints";
const MEDIA = "com.webos.media/getForegroundAppInfo";
const KEYBOARD = "com.webos.service.ime/registerRemoteKeyboard";
const INSERT = "com.webos.service.ime/insertText";
const POINTER = "com.webos.service.networkinput/getPointerInputSocket";

describe("payloads that clients send as the text of their JSON", () => {
  test("are read like any other, from the registration on", async () => {
    const simulator = await plugIn();
    const client = await connect(simulator);
    client.send({ id: "register_0", type: "register", payload: JSON.stringify(manifest()) });
    await client.next((message) => message["type"] === "registered");
    expect(simulator.received.prompts[0]?.permissions).toContain("CONTROL_AUDIO");
    expect(await client.request("audio/setVolume", '{"volume":33}')).toMatchObject({ returnValue: true });
    await client.request("system.launcher/launch", JSON.stringify({ id: "netflix", params: { a: "b" } }));
    expect([simulator.state.volume, simulator.state.activeApp]).toEqual([33, "netflix"]);
    expect(simulator.received.launches).toMatchObject([{ id: "netflix", params: { a: "b" } }]);
  });

  test("and are none where they are no JSON, or no object", async () => {
    const simulator = await plugIn();
    const client = await paired(simulator);
    for (const payload of ["", "{", "[]", "null", "7", "volume=33", 7, null, ["a"]])
      expect((await client.ask("request", "ssap://audio/setVolume", payload))["type"]).toBe("error");
    for (const payload of ["", "{}", undefined])
      expect((await client.request("audio/getVolume", payload))?.["returnValue"]).toBe(true);
    expect(simulator.state.volume).toBe(18);
  });

  test("the sound output is told, and to those who subscribe", async () => {
    const simulator = await plugIn({ soundOutput: "external_arc" });
    const client = await paired(simulator);
    const uri = "com.webos.service.apiadapter/audio/getSoundOutput";
    expect(await client.request(uri)).toMatchObject({ soundOutput: "external_arc" });
    await client.subscribe(uri);
  });
});

describe("volume", () => {
  test("is told flat by old firmware, nested by new, and pushed whoever changes it", async () => {
    const old = await plugIn({ firmware: "2015" });
    const client = await paired(old);
    expect(client.socket.url).toStartWith("ws://");
    expect(await client.request("audio/getVolume")).toMatchObject({ volume: 18, muted: false, returnValue: true });
    const id = await client.subscribe("audio/getVolume");
    old.press("VOLUMEUP");
    expect(await client.pushed(id)).toMatchObject({ volume: 19, changed: ["volume"], cause: "volumeUp" });

    const simulator = await plugIn();
    const other = await paired(simulator);
    const volume = await other.subscribe("audio/getVolume");
    const status = await other.subscribe("audio/getStatus");
    expect(await other.request("audio/setVolume", { volume: 40 })).toMatchObject({ volume: 40 });
    expect(await other.pushed(volume)).toMatchObject({
      volumeStatus: { volume: 40, muteStatus: false, soundOutput: "tv_speaker", maxVolume: 100, cause: "setVolume" },
    });
    expect(await other.pushed(status)).toMatchObject({ volume: 40, mute: false });
    await other.request("audio/setMute", { mute: true });
    expect(await other.pushed(status)).toMatchObject({ volume: 40, mute: true });
    await other.request("audio/volumeDown");
    expect(simulator.state).toMatchObject({ volume: 39, muted: true });
    expect((await other.ask("request", "ssap://audio/setVolume", { volume: "7" }))["type"]).toBe("error");
  });

  test("the answer comes before the push, and nothing after the subscription ends", async () => {
    const client = await paired(await plugIn());
    const id = await client.subscribe("audio/getStatus");
    const { id: asked } = await client.ask("request", "ssap://audio/volumeUp");
    await client.pushed(id);
    const order = client.heard.map((message) => message["id"]);
    expect(order.lastIndexOf(asked)).toBeLessThan(order.lastIndexOf(id));
    client.send({ id, type: "unsubscribe" });
    await client.request("audio/volumeUp");
    const heard = client.heard.length;
    await client.request("audio/getStatus");
    expect(client.heard.length).toBe(heard + 1);
  });

  test("a soundbar hides its level, ignores setVolume and takes steps", async () => {
    const simulator = await plugIn({ soundOutput: "external_arc" });
    const client = await paired(simulator);
    expect(await client.request("audio/setVolume", { volume: 50 })).toMatchObject({ returnValue: true, volume: -1 });
    await client.request("audio/volumeUp");
    expect(await client.request("audio/getVolume")).toMatchObject({
      volumeStatus: { volume: -1, soundOutput: "external_arc" },
    });
    expect(simulator.state.volume).toBe(19);
  });
});

describe("apps", () => {
  test("are launched with what they are given, and closed", async () => {
    const simulator = await plugIn();
    const client = await paired(simulator);
    const id = await client.subscribe(APP);
    const params = { contentTarget: "https://www.youtube.com/watch?v=abc" };
    const launched = await client.request("system.launcher/launch", { id: "netflix", contentId: "m=1", params });
    expect(launched).toMatchObject({ returnValue: true, id: "netflix" });
    expect(await client.pushed(id)).toMatchObject({ appId: "netflix", subscribed: true });
    expect(simulator.received.launches).toEqual([{ id: "netflix", contentId: "m=1", params, target: null }]);
    await client.request("system.launcher/close", { id: "netflix" });
    expect(await client.pushed(id)).toMatchObject({ appId: "com.webos.app.home" });
    expect((await client.ask("request", "ssap://system.launcher/close", { id: "netflix" }))["type"]).toBe("error");
    await client.request("system.launcher/open", { target: "https://example.com" });
    expect(simulator.state.activeApp).toBe("com.webos.app.browser");
    expect(simulator.received.launches[1]).toMatchObject({ target: "https://example.com" });
  });

  test("come and go as deltas; hidden ones are in the other list", async () => {
    const simulator = await plugIn();
    const client = await paired(simulator);
    const id = await client.subscribe(LAUNCH_POINTS);
    simulator.install({ id: "tv.plex", title: "Plex" });
    expect(await client.pushed(id)).toMatchObject({ change: "added", id: "tv.plex", title: "Plex", removable: true });
    simulator.uninstall("netflix");
    expect(await client.pushed(id)).toMatchObject({ change: "removed", id: "netflix" });
    const { launchPoints } = (await client.request(LAUNCH_POINTS)) as { launchPoints: { id: string; icon: string }[] };
    const { apps } = (await client.request("com.webos.applicationManager/listApps")) as { apps: { id: string }[] };
    const shown = launchPoints.map((one) => one.id);
    expect(shown).toContain("tv.plex");
    expect(shown).not.toContain("netflix");
    expect(apps.map((one) => one.id).filter((one) => !shown.includes(one))).toEqual([
      "com.webos.app.home",
      "com.webos.app.screensaver",
    ]);
    const icon = await fetch(launchPoints[0]?.icon ?? "", { tls: { rejectUnauthorized: false } });
    expect(icon.headers.get("content-type")).toBe("image/png");
  });

  test("tell what they play where the firmware knows", async () => {
    const simulator = await plugIn({ firmware: "2023" });
    const client = await paired(simulator);
    const id = await client.subscribe(MEDIA);
    simulator.open("netflix");
    simulator.play("playing");
    expect(await client.pushed(id)).toMatchObject({ foregroundAppInfo: [{ appId: "netflix", playState: "playing" }] });
    await client.request("media.controls/pause");
    expect(simulator.state.playback).toBe("paused");
    await client.request("media.controls/stop");
    await client.next((message) => message["id"] === id && JSON.stringify(message).includes('"foregroundAppInfo":[]'));
    const c1 = await paired(await plugIn());
    expect((await c1.ask("subscribe", `ssap://${MEDIA}`))["error"]).toBe("404 no such service or method");
  });
});

describe("inputs and channels", () => {
  test("inputs are listed, switched to and pushed", async () => {
    const simulator = await plugIn();
    const client = await paired(simulator);
    const id = await client.subscribe("tv/getExternalInputList");
    simulator.plug("HDMI_2", true);
    const { devices } = (await client.pushed(id)) as { devices: unknown[] };
    expect(devices[1]).toMatchObject({ id: "HDMI_2", appId: "com.webos.app.hdmi2", connected: true });
    await client.request("tv/switchInput", { inputId: "HDMI_1" });
    expect(simulator.state.activeApp).toBe("com.webos.app.hdmi1");
    expect((await client.ask("request", "ssap://tv/switchInput", { inputId: "HDMI_9" }))["type"]).toBe("error");
  });

  test("the channel is told once live TV has settled", async () => {
    const simulator = await plugIn({ channelMs: 80 });
    const client = await paired(simulator);
    expect((await client.ask("subscribe", "ssap://tv/getCurrentChannel"))["error"]).toBe("500 Application error");
    await new Promise((resolve) => setTimeout(resolve, 90));
    const id = await client.subscribe("tv/getCurrentChannel");
    await client.request("tv/channelUp");
    expect(await client.pushed(id)).toMatchObject({ channelNumber: "7-1" });
    expect(await client.request("tv/getChannelList")).toMatchObject({
      channelList: [{ channelNumber: "5-1" }, {}, {}],
    });
  });

  test("without a tuner getChannelList ends the connection", async () => {
    const simulator = await plugIn({ tuner: false });
    const client = await paired(simulator);
    expect(simulator.state.activeApp).toBe("com.webos.app.home");
    client.send({ id: 1, type: "request", uri: "ssap://tv/getChannelList" });
    await until("it closes", () => client.closed !== null);
    expect(simulator.received.requests.at(-1)?.outcome).toBe("closed");
  });
});

describe("text and buttons", () => {
  test("text goes to the field in front, and is lost without one", async () => {
    const simulator = await plugIn();
    const client = await paired(simulator);
    expect((await client.ask("request", `ssap://${KEYBOARD}`))["type"]).toBe("error");
    const id = await client.subscribe(KEYBOARD);
    await client.request(INSERT, { text: "Breaking é", replace: 0 });
    await client.request("com.webos.service.ime/deleteCharacters", { count: 2 });
    await client.request(INSERT, { text: "!", replace: 0 });
    expect(await client.request("com.webos.service.ime/sendEnterKey")).toMatchObject({ returnValue: true });
    expect(simulator.text).toBe("Breaking!");
    simulator.focus(false);
    expect(await client.pushed(id)).toMatchObject({ focusChanged: true, currentWidget: { focus: false } });
    await client.request(INSERT, { text: "lost", replace: 0 });
    expect(simulator.text).toBe("");
    expect(simulator.received.texts).toEqual(["Breaking é", "!", "lost"]);
  });

  test("some firmware drops text until the keyboard is registered", async () => {
    const simulator = await plugIn({ traits: { textNeedsKeyboard: true } });
    const client = await paired(simulator);
    await client.request(INSERT, { text: "a", replace: 0 });
    await client.subscribe(KEYBOARD);
    await client.request(INSERT, { text: "b", replace: 0 });
    expect(simulator.text).toBe("b");
  });

  test("frames are lines; unknown buttons are dropped, and no word comes back", async () => {
    for (const firmware of ["2015", "2026"] as const) {
      const simulator = await plugIn({ firmware });
      const { socketPath } = (await (await paired(simulator)).request(POINTER)) as { socketPath: string };
      expect(socketPath).toStartWith(firmware === "2015" ? "ws://" : "wss://");
      const pointer = await openClient(socketPath);
      pointer.socket.send("type:button\nname:VOLUMEUP\n\ntype:button\nname:NOPE\n\n");
      pointer.socket.send("type:scroll\ndx:0\ndy:-5\n\n");
      pointer.socket.send("type:click\n\n");
      await until("all came in", () => simulator.received.pointer.length === 2);
      expect(simulator.received.buttons).toEqual(["VOLUMEUP"]);
      expect(simulator.received.pointer).toEqual([
        { action: "scroll", dx: 0, dy: -5 },
        { action: "click", dx: 0, dy: 0 },
      ]);
      expect(simulator.state.volume).toBe(19);
      expect(pointer.heard).toEqual([]);
      pointer.socket.terminate();
      await expect(openClient(socketPath.replace(/[0-9a-f]{40}/, "0".repeat(40)))).rejects.toThrow();
    }
  });

  test("toasts and addresses", async () => {
    const simulator = await plugIn();
    const client = await paired(simulator);
    await client.request("system.notifications/createToast", { message: "Dinner" });
    expect(simulator.received.toasts).toEqual(["Dinner"]);
    expect(await client.request("com.webos.service.connectionmanager/getinfo")).toMatchObject({
      wiredInfo: { macAddress: simulator.mac },
      wifiInfo: { macAddress: simulator.wifiMac },
    });
  });
});

test("whatever comes in, the set lives on", async () => {
  const simulator = await plugIn();
  const client = await paired(simulator);
  const junk: unknown[] = [
    null,
    [],
    7,
    "x",
    { id: 5 },
    { volume: 1e300 },
    { volume: 0.5 },
    { count: -1 },
    { toString: 1 },
    {},
  ];
  for (const path of ["audio/setVolume", "system.launcher/launch", INSERT, "com.webos.service.ime/deleteCharacters"])
    for (const payload of junk) await client.ask("request", `ssap://${path}`, payload);
  for (const uri of ["constructor", "ssap://toString", "", "ssap://__proto__", "audio/getStatus"])
    expect((await client.ask("request", uri))["error"]).toBe("404 no such service or method");
  expect(() => simulator.press("toString")).toThrow("no remote has a button");
  expect(await client.request("audio/getStatus")).toMatchObject({ returnValue: true });
});
