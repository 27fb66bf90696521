/** The event server, JSONRPC.Introspect and what else clients of others ask: by raw datagrams, and by Kodi's own clients. */
import { describe, expect, test } from "bun:test";
import dgram from "node:dgram";
import { existsSync } from "node:fs";
import { sendDatagram } from "./datagrams.ts";
import { call, listen, plugIn, until } from "./kodi-harness.ts";

const client = process.env["ZAPD_KODI_EVENT_CLIENTS"] ?? "/usr/lib/python3/dist-packages/kodi";
const noClient =
  Bun.which("python3") !== null && existsSync(`${client}/xbmcclient.py`)
    ? null
    : "Kodi's event clients (kodi-eventclients-python) are not installed";
if (noClient !== null) process.stderr.write(`skipped: the event server by Kodi's own client: ${noClient}\n`);

function packet(type: number, payload: Uint8Array, at = 1, of = 1): Buffer {
  const head = Buffer.alloc(32);
  head.write("XBMC");
  head.writeUInt8(2, 4);
  head.writeUInt16BE(type, 6);
  head.writeUInt32BE(at, 8);
  head.writeUInt32BE(of, 12);
  head.writeUInt16BE(payload.length, 16);
  head.writeUInt32BE(4_711, 18);
  return Buffer.concat([head, payload]);
}
const button = (name: string, flags = 0x03) =>
  packet(3, Buffer.concat([Buffer.from([0, 0, 0, flags, 0, 0]), Buffer.from(`R1\0${name}\0`)]));
const action = (text: string, kind = 1) => packet(10, Buffer.concat([Buffer.from([kind]), Buffer.from(`${text}\0`)]));

describe("the event server", () => {
  test("takes buttons, actions and built-in functions, and answers nothing", async () => {
    const kodi = await plugIn({ eventPort: 0 });
    const events = kodi.ports.events ?? 0;
    expect(await call(kodi, "Settings.GetSettingValue", { setting: "services.esport" })).toEqual({ value: events });
    const send = (datagram: Uint8Array) => sendDatagram(datagram, events, kodi.host);
    const heard = () => kodi.calls.filter(({ via }) => via === "event").map(({ method }) => method);
    await send(packet(1, Buffer.from("remote\0\0\0\0\0\0\0\0\0\0\0\0")));
    await until("it is heard", () => heard().length === 1);
    kodi.play({ title: "Film" });
    await send(button("pause"));
    await until("it pauses", () => kodi.state.playback?.speed === 0);
    await send(button("pause", 0x05));
    await send(packet(5, Buffer.alloc(0)));
    await until("both are heard", () => heard().length === 4);
    expect(kodi.state.playback?.speed).toBe(0);
    await send(action("PlayerControl(Play)"));
    await until("it plays", () => kodi.state.playback?.speed === 1);
    await send(action("stop", 2));
    await until("it has stopped", () => kodi.state.playback === null);
    await send(action("SetVolume(33)"));
    await until("it is as loud as was said", () => kodi.state.volume === 33);
    await send(action('ActivateWindow("Settings")'));
    await until("its window is in front", () => kodi.state.window.id === 10_004);
    await send(button("home"));
    await until("home is in front", () => kodi.state.window.id === 10_000);
    const notified = Buffer.from("Title\0Message\0\0\0\0\0\0");
    // A message in pieces is known by who sends it.
    const socket = dgram.createSocket("udp4");
    const sendOn = (datagram: Uint8Array) =>
      new Promise<void>((resolve) => socket.send(datagram, events, kodi.host, () => resolve()));
    await sendOn(packet(7, notified.subarray(0, 4), 1, 2));
    await sendOn(packet(8, notified.subarray(4), 2, 2));
    await until("its pieces are one", () => heard().includes("NOTIFICATION"));
    expect(kodi.calls.at(-1)?.params).toEqual({ title: "Title", message: "Message" });
    expect(heard()[0]).toBe("HELO");
    socket.close();
  });

  test("garbage is nothing, and it lives on", async () => {
    const kodi = await plugIn({ eventPort: 0 });
    const events = kodi.ports.events ?? 0;
    const bad = [
      ...[Buffer.alloc(0), Buffer.from("XBMC"), Buffer.alloc(32), Buffer.alloc(60_000, 0x58)],
      ...[
        packet(3, Buffer.alloc(2)),
        packet(10, Buffer.alloc(0)),
        packet(99, Buffer.alloc(4)),
        button("").subarray(0, 33),
      ],
      ...[action("constructor", 2), action("((("), button("__proto__"), packet(7, Buffer.from("x"), 3, 5)],
    ];
    for (const datagram of bad) await sendDatagram(datagram, events, kodi.host);
    await sendDatagram(action("SetVolume(7)"), events, kodi.host);
    await until("it is heard", () => kodi.state.volume === 7);
  });

  test.skipIf(noClient !== null)("Kodi's own client is understood", async () => {
    const kodi = await plugIn({ eventPort: 0 });
    kodi.openDialog("yes-no");
    const lines = [
      "import sys; sys.path.insert(0, sys.argv[1])",
      "from xbmcclient import *",
      "client = XBMCClient('zapd')",
      "client.connect(sys.argv[2], int(sys.argv[3]))",
      "client.send_remote_button('back')",
      "client.release_button()",
      "client.send_notification('One', 'Two')",
      "client.send_action('SetVolume(21)')",
      "client.send_action('mute', ACTION_BUTTON)",
      "client.ping(); client.close()",
    ];
    const child = Bun.spawn(["python3", "-c", lines.join("\n"), client, kodi.host, String(kodi.ports.events)]);
    expect(await child.exited).toBe(0);
    await until("all is done", () => kodi.state.volume === 21 && kodi.state.muted && kodi.state.dialog === null);
    const heard = kodi.calls.map(({ method }) => method);
    for (const type of ["HELO", "BUTTON", "NOTIFICATION", "ACTION", "PING", "BYE"]) expect(heard).toContain(type);
    expect(kodi.calls.find(({ method }) => method === "HELO")?.params).toEqual({ device: "zapd" });
  });
});

describe("what it tells of itself", () => {
  test("every method with its parameters, every notification that it sends, and every type that is named", async () => {
    const kodi = await plugIn();
    const told = (await call(kodi, "JSONRPC.Introspect")) as Record<string, Record<string, Record<string, unknown>>>;
    expect(Object.keys(told)).toEqual(["description", "id", "methods", "notifications", "types", "version"]);
    const { methods = {}, notifications = {}, types = {} } = told;
    for (const name of ["Input.SendText", "Playlist.GetItems", "Textures.GetTextures", "JSONRPC.Permission"])
      expect(methods[name]).toMatchObject({ description: expect.any(String), type: "method" });
    expect(methods["Input.SendText"]?.["params"]).toEqual([
      { name: "text", required: true, type: "string" },
      { name: "done", type: "boolean" },
    ]);
    for (const [, name] of JSON.stringify(methods).matchAll(/"\$ref":"([^"]+)"/g))
      expect(types[name ?? ""]).toMatchObject({ id: name });
    expect(Object.keys(types).length).toBeGreaterThan(5);
    const { socket, messages } = await listen(kodi.host, kodi.ports.tcp ?? 0);
    kodi.play({ title: "Film" });
    kodi.setVolume(3);
    kodi.openDialog("keyboard");
    kodi.screensaver(true);
    kodi.screensaver(false);
    await until("all is told", () => messages().some(({ method }) => method === "GUI.OnScreensaverDeactivated"));
    for (const { method } of messages()) expect(notifications[String(method)]).toMatchObject({ type: "notification" });
    socket.destroy();
  });

  test("without descriptions, with permissions, and only what is asked for", async () => {
    const kodi = await plugIn();
    const ask = async (params: object) => (await call(kodi, "JSONRPC.Introspect", params)) as Record<string, object>;
    const bare = await ask({ getdescriptions: false });
    expect(JSON.stringify(bare["methods"])).not.toContain('"description"');
    const full = (await ask({ getmetadata: true }))["methods"] as Record<string, { permission: string }>;
    const may = (await call(kodi, "JSONRPC.Permission")) as Record<string, boolean>;
    for (const { permission } of Object.values(full)) expect(may[permission]).toBe(true);
    const one = await ask({ filter: { id: "Addons.GetAddons", type: "method" } });
    expect(Object.keys(one["methods"] ?? {})).toEqual(["Addons.GetAddons"]);
    expect(Object.keys(one["types"] ?? {})).toEqual(["Addon.Fields"]);
    expect(one["notifications"]).toBeUndefined();
    const space = await ask({ filter: { id: "Playlist", type: "namespace" } });
    expect(Object.keys(space["notifications"] ?? {})).toEqual([
      "Playlist.OnAdd",
      "Playlist.OnClear",
      "Playlist.OnRemove",
    ]);
    expect(await call(kodi, "JSONRPC.Introspect", { filter: { id: "Nope", type: "namespace" } })).toBe(-32602);
  });
});

describe("play lists and pictures", () => {
  test("a list is filled, changed and told of", async () => {
    const kodi = await plugIn();
    const { socket, messages } = await listen(kodi.host, kodi.ports.tcp ?? 0);
    const [video, other] = ["/media/holiday.mp4", "/media/trailer.mkv"];
    await call(kodi, "Playlist.Add", { playlistid: 1, item: [{ file: video }, { file: other }] });
    await call(kodi, "Playlist.Swap", { playlistid: 1, position1: 0, position2: 1 });
    const listed = (await call(kodi, "Playlist.GetItems", { playlistid: 1, properties: ["file"] })) as {
      items: { file: string }[];
    };
    expect(listed.items.map(({ file }) => file)).toEqual([other, video]);
    await call(kodi, "Playlist.Remove", { playlistid: 1, position: 0 });
    await call(kodi, "Playlist.Clear", { playlistid: 1 });
    await until("all is told", () => messages().length >= 4);
    expect(messages().map(({ method }) => method)).toEqual([
      ...["Playlist.OnAdd", "Playlist.OnAdd", "Playlist.OnRemove", "Playlist.OnClear"],
    ]);
    socket.destroy();
  });

  test("pictures are listed with what is asked for, and removed", async () => {
    const kodi = await plugIn({ textures: [{ textureid: 1, url: "image://a", cachedurl: "a/b.jpg" }] });
    expect(await call(kodi, "Textures.GetTextures", { properties: ["url"] })).toEqual({
      textures: [{ textureid: 1, url: "image://a" }],
    });
    expect(await call(kodi, "Textures.RemoveTexture", { textureid: 1 })).toBe("OK");
    expect(await call(kodi, "Textures.RemoveTexture", { textureid: 1 })).toBe(-32602);
  });
});
