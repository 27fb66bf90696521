/** The bytes and announcements of the simulated Kodi with third-party clients; test/slow compares its responses to a real Kodi. */
import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { connect } from "node:net";
import { Bonjour } from "bonjour-service";
import { until } from "../support/http-device.ts";
import { listen as listenBare, plugInKodi as plugIn } from "../support/sets.ts";

const request = (method: string, id: unknown = 1) => ({ jsonrpc: "2.0", id, method });

async function call(kodi: Awaited<ReturnType<typeof plugIn>>, method: string, params: object) {
  const answer = await fetch(`http://${kodi.host}:${kodi.port}/jsonrpc`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...request(method), params }),
    signal: AbortSignal.timeout(10_000),
  });
  return (await answer.json()) as { result?: object; error?: { code: number } };
}

describe("the other port (players.md 7.1)", () => {
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

test("a character that two segments share arrives whole", async () => {
  const kodi = await plugIn();
  const { socket, text } = listenBare(kodi.host, kodi.ports.tcp ?? 0);
  const ping = Buffer.from(JSON.stringify(request("JSONRPC.Ping", "é")));
  const within = ping.indexOf(0xc3) + 1;
  socket.write(ping.subarray(0, within));
  await Bun.sleep(20);
  socket.write(ping.subarray(within));
  await until("it is answered", () => text().endsWith("}"));
  expect(JSON.parse(text())).toEqual({ id: "é", jsonrpc: "2.0", result: "pong" });
});

test.each([
  ["XBMC.GetInfoLabels", "labels", ""],
  ["XBMC.GetInfoBooleans", "booleans", false],
] as const)("%s knows nothing by the names that every object has", async (method, parameter, unknown) => {
  const kodi = await plugIn();
  const names = ["constructor", "__proto__"];
  const { result = {} } = await call(kodi, method, { [parameter]: names });
  expect(Object.entries(result)).toEqual(names.map((name) => [name, unknown]));
});

test("the actions by which other clients wind, and change the volume; another is refused", async () => {
  const kodi = await plugIn();
  const act = async (action: string) => (await call(kodi, "Input.ExecuteAction", { action })).error?.code ?? "OK";
  const { socket, text } = listenBare(kodi.host, kodi.ports.tcp ?? 0);
  await until("it listens", () => kodi.state.clients.tcp === 1);
  kodi.play({});
  for (const action of ["volumeup", "volumeup", "volumedown", "mute", "rewind", "select"])
    expect([action, await act(action)]).toEqual([action, "OK"]);
  expect(kodi.state).toMatchObject({ volume: 81, muted: true });
  await until("it tells the speed", () => text().includes('"speed":-2'));
  for (const action of ["juggle", "constructor"]) expect(await act(action)).toBe(-32602);
  socket.destroy();
});

test("it says which calls and notifications it knows, which kodi-ws asks first", async () => {
  const kodi = await plugIn();
  const { socket, text } = listenBare(kodi.host, kodi.ports.tcp ?? 0);
  socket.write(JSON.stringify(request("JSONRPC.Introspect")));
  await until("it is answered", () => text().endsWith("}"));
  const { result } = JSON.parse(text());
  expect(result.methods).toMatchObject({ "Player.Open": { type: "method" }, "JSONRPC.Introspect": { type: "method" } });
  expect(result.notifications["Player.OnPlay"]).toEqual({ type: "notification" });
  socket.destroy();
});

test("malformed escapes in the address of a film, and in that of a picture, are no end of the connection", async () => {
  const kodi = await plugIn();
  const at = `http://${kodi.host}:${kodi.port}`;
  const call = { ...request("Player.Open"), params: { item: { file: "http://192.0.2.1/100%.mp4" } } };
  const headers = { "content-type": "application/json" };
  const opened = await fetch(`${at}/jsonrpc`, { method: "POST", headers, body: JSON.stringify(call) });
  expect(await opened.json()).toMatchObject({ result: "OK" });
  await until("it plays", () => kodi.state.playback?.title === "100%.mp4");
  expect((await fetch(`${at}/image/${encodeURIComponent("image://%zz/")}`)).status).toBe(404);
});

test("both services are announced at its own address only, and taken back", async () => {
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
