/** What a simulated Kodi says to clients of others, byte by byte; what it answers is compared to a real one in test/slow. */
import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { connect } from "node:net";
import { Bonjour } from "bonjour-service";
import WebSocket from "ws";
import type { KodiSimulator } from "../../src/simulators/kodi.ts";
import { call, listen } from "../slow/kodi/client.ts";
import { until } from "../support/http-device.ts";
import { listen as listenBare, plugInKodi as plugIn } from "../support/sets.ts";

const request = (method: string, id: unknown = 1) => ({ jsonrpc: "2.0", id, method });

/** What the client from npm makes of it. */
async function open(kodi: KodiSimulator) {
  const socket = new WebSocket(`ws://${kodi.host}:${kodi.ports.tcp}/jsonrpc`);
  const heard: string[] = [];
  const texts: string[] = [];
  socket.on("message", (text) => texts.push(String(text)));
  socket.on("error", (error) => heard.push(`error ${(error as { code?: string }).code}`));
  socket.on("close", (code) => heard.push(`close ${code}`));
  await new Promise((resolve) => socket.once("open", resolve));
  return { socket, heard, texts };
}

describe("the other port (players.md 7.1)", () => {
  test("its answers to a close and to a ping are no frames that a client takes", async () => {
    const kodi = await plugIn();
    for (const act of [(socket: WebSocket) => socket.close(1000, "bye"), (socket: WebSocket) => socket.ping("hey")]) {
      const { socket, heard } = await open(kodi);
      act(socket);
      await until("it is closed", () => heard.length > 1);
      expect(heard).toEqual(["error WS_ERR_INVALID_UTF8", "close 1006"]);
    }
  });

  test("the bytes are those of Kodi 20.1", async () => {
    const kodi = await plugIn();
    const mask = (opcode: number, payload: string) => {
      const key = createHash("md5").update(payload).digest().subarray(0, 4);
      const bytes = Buffer.from(payload, "latin1").map((byte, at) => byte ^ (key[at % 4] ?? 0));
      return Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | bytes.length]), key, bytes]);
    };
    const upgrade = ["GET /any HTTP/1.1", "Host: x", "Upgrade: websocket", "Connection: Upgrade"];
    const key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
    const socket = connect(kodi.ports.tcp ?? 0, kodi.host);
    const pieces: Uint8Array[] = [];
    socket.on("data", (piece: Uint8Array) => pieces.push(piece));
    const closed = new Promise((resolve) => socket.on("close", resolve));
    socket.write([...upgrade, key, "", ""].join("\r\n"));
    socket.write(mask(9, "hey"));
    // Split in the middle of a frame, and what is no JSON gets an error.
    const ping = mask(1, JSON.stringify(request("JSONRPC.Ping")));
    socket.write(ping.subarray(0, 9));
    await Bun.sleep(20);
    socket.write(ping.subarray(9));
    socket.write(mask(8, "\x03\xe8"));
    await closed;
    const said = Buffer.concat(pieces).toString("latin1");
    expect(said.slice(0, said.indexOf("\r\n\r\n")).split("\r\n")).toEqual([
      "HTTP/1.1 101 Switching Protocols",
      "Upgrade: websocket",
      "Connection: Upgrade",
      "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
    ]);
    expect(said.slice(said.indexOf("\r\n\r\n") + 4)).toBe(
      '\x81\x02\x8a\x00\x81\x28{"id":1,"jsonrpc":"2.0","result":"pong"}\x81\x04\x88\x02\x03\xe8',
    );
  });

  test("objects back to back, split or in pairs, and noise between them", async () => {
    const kodi = await plugIn();
    const { socket, text } = listenBare(kodi.host, kodi.ports.tcp ?? 0);
    const ping = (id: unknown) => JSON.stringify(request("JSONRPC.Ping", id));
    socket.write(`hello ${ping(1)}${ping("} {")}`);
    socket.write(ping(3).slice(0, 9));
    await Bun.sleep(20);
    socket.write(`${ping(3).slice(9)}{"a":}[${ping(4)}]`);
    const pong = (id: unknown) => JSON.stringify({ id, jsonrpc: "2.0", result: "pong" });
    const error = JSON.stringify({ error: { code: -32700, message: "Parse error." }, id: null, jsonrpc: "2.0" });
    const expected = [pong(1), pong("} {"), pong(3), error, `[${pong(4)}]`].join("");
    await until("all is answered", () => text().length >= expected.length);
    expect(text()).toBe(expected);
    socket.destroy();
  });
});

test("both services are announced, at its own address alone, and taken back", async () => {
  const kodi = await plugIn({ mdns: true, host: "127.0.0.1", name: "Küche, 2nd" });
  expect(kodi.state.discoverable).toBe(true);
  // What bonjour-service hands on to multicast-dns, without declaring it.
  const options = { interface: "127.0.0.1", bind: "0.0.0.0" } as ConstructorParameters<typeof Bonjour>[0];
  const bonjour = new Bonjour(options);
  const down: string[] = [];
  const browsers = ["xbmc-jsonrpc-h", "xbmc-jsonrpc"].map((type) => {
    const browser = bonjour.find({ type });
    browser.on("down", (service: { type: string; txt?: { uuid?: string } }) => {
      if (service.txt?.uuid === kodi.uuid) down.push(service.type);
    });
    return browser;
  });
  const found = () => browsers.map(({ services }) => services.find(({ txt }) => txt?.uuid === kodi.uuid));
  await until("both are found", () => found().every((service) => service?.addresses?.length));
  const facts = { name: "Küche, 2nd", addresses: ["127.0.0.1"], txt: { txtvers: "1", uuid: kodi.uuid } };
  expect(found()).toMatchObject([
    { ...facts, port: kodi.port },
    { ...facts, port: kodi.ports.tcp ?? 0 },
  ]);
  await kodi.sleep();
  expect(kodi.state.discoverable).toBe(false);
  await until("both are taken back", () => down.length === 2);
  bonjour.destroy();
});

const client = process.env["ZAPD_KODI_EVENT_CLIENTS"] ?? "/usr/lib/python3/dist-packages/kodi";
const noClient =
  Bun.which("python3") !== null && existsSync(`${client}/xbmcclient.py`)
    ? null
    : "Kodi's event clients (kodi-eventclients-python) are not installed";
if (noClient !== null) process.stderr.write(`skipped: the event server by Kodi's own client: ${noClient}\n`);

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
