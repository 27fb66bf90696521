// Run by deno.test.ts under Deno. The process must end by itself, which an open socket would prevent.
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import WebSocket from "ws";
import { createAndroidTvSimulator } from "../../src/simulators/androidtv.ts";
import { createCertificateFor } from "../../src/simulators/bench/certificate.ts";
import { encodeWithLength } from "../../src/simulators/bench/protobuf.ts";
import { writeMessage } from "../../src/simulators/cast/messages.ts";
import { createCastSimulator } from "../../src/simulators/cast.ts";
import { createKodiSimulator } from "../../src/simulators/kodi.ts";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { createSamsungSimulator } from "../../src/simulators/samsung.ts";
import { createWebosSimulator } from "../../src/simulators/webos.ts";
import { until } from "../support/http-device.ts";
import { magicPacket, search, sendDatagram } from "./datagrams.ts";
import { openClient, paired } from "./webos-client.ts";

function expect(what: string, holds: boolean): void {
  if (!holds) throw new Error(`not so: ${what}`);
}

/** What a socket has received, as it is then. */
function hear(socket: Socket): () => string {
  let received = "";
  socket.on("data", (piece: Uint8Array) => {
    received += Buffer.from(piece).toString("latin1");
  });
  socket.on("error", () => {});
  return () => received;
}

async function expectFound(target: string, word: string): Promise<void> {
  const answers = await search(target, (found) => found.some(({ text }) => text.includes(word)));
  expect(
    `the set of ${target} is found`,
    answers.some(({ text }) => text.includes(word)),
  );
}

const fails = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => false,
    () => true,
  );

async function roku(): Promise<void> {
  const set = createRokuSimulator({ name: "Other runtime", developer: { password: "x" } });
  await set.start();
  const status = async (method: string, path: string) => {
    const response = await fetch(`http://${set.host}:${set.port}${path}`, { method });
    await response.arrayBuffer();
    return response.status;
  };
  await expectFound("roku:ecp", set.serial);
  expect("it answers", (await status("GET", "/query/apps")) === 200);
  expect("it takes keys", (await status("POST", "/keypress/Lit_%E2%82%AC")) === 200 && set.text === "€");
  expect("icons are drawn", (await status("GET", "/query/icon/12")) === 200);
  const socket = connect(set.ports.installer ?? 0, set.host);
  const text = hear(socket);
  socket.write("POST /plugin_install HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 67108864\r\n\r\n");
  socket.write(new Uint8Array(67_108_864));
  await new Promise<void>((resolve) => socket.on("close", () => resolve()));
  expect("the installer hangs up", text().startsWith("HTTP/1.1 401 "));
  await set.sleep("deep");
  expect("asleep it is silent", await fails(status("GET", "/")));
  await sendDatagram(magicPacket(set.mac), set.ports.wake, set.host);
  await until("it wakes", () => set.state.discoverable);
  expect("awake it answers", (await status("GET", "/")) === 200);
  await set.stop();
}

async function kodi(): Promise<void> {
  const set = createKodiSimulator({ name: "Other runtime", password: "x", startMs: 0 });
  await set.start();
  const ping = { jsonrpc: "2.0", id: 1, method: "JSONRPC.Ping" };
  const post = (body: unknown) =>
    fetch(`http://${set.host}:${set.port}/jsonrpc`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Basic ${btoa("kodi:x")}` },
      body: JSON.stringify(body),
    });
  expect("it answers", (await (await post(ping)).text()).includes("pong"));
  expect("it is announced", set.state.discoverable);
  expect("a call without an id gets no answer", await fails(post({ ...ping, id: undefined })));
  const bare = connect(set.ports.tcp ?? 0, set.host);
  const received = hear(bare);
  bare.write(JSON.stringify(ping));
  await until("bare TCP answers", () => received().includes("pong"));
  const socket = new WebSocket(`ws://${set.host}:${set.ports.tcp}/jsonrpc`);
  const events: string[] = [];
  socket.on("error", (error) => events.push(String((error as { code?: string }).code)));
  socket.on("close", (code) => events.push(String(code)));
  await new Promise((resolve) => socket.once("open", resolve));
  set.play({});
  await until("playing is reported", () => received().includes("Player.OnAVStart"));
  socket.close();
  await until("the close is broken", () => events.join() === "WS_ERR_INVALID_UTF8,1006");
  await set.sleep();
  await until("asleep the connections are cut", () => bare.destroyed);
  await sendDatagram(magicPacket(set.mac), set.ports.wake, set.host);
  await until("a magic packet wakes it", () => set.state.discoverable);
  expect("awake it answers", (await (await post(ping)).text()).includes("pong"));
  await set.stop();
}

async function samsung(): Promise<void> {
  const ports = { securePort: 0, plainPort: 0, rendererPort: 0 };
  const set = createSamsungSimulator({ name: "Other runtime", ...ports, promptMs: 5, standby: "off", bootMs: 20 });
  await set.start();
  await expectFound("urn:samsung.com:device:RemoteControlReceiver:1", set.duid);
  const info = await (await fetch(`http://${set.host}:${set.ports.plain}/api/v2/`)).json();
  expect("it says who it is", info.device.duid === `uuid:${set.duid}`);
  const path = `/api/v2/channels/samsung.remote.control?name=${btoa("deno")}`;
  const socket = new WebSocket(`wss://${set.host}:${set.ports.secure}${path}`, { rejectUnauthorized: false });
  const messages: string[] = [];
  socket.on("message", (data) => messages.push(String(data)));
  await until("it lets in", () => messages.some((one) => one.includes("ms.channel.connect") && one.includes("token")));
  const params = { Cmd: "Click", DataOfCmd: "KEY_POWER", Option: "false", TypeOfRemote: "SendRemoteKey" };
  let isClosed = false;
  socket.on("close", () => {
    isClosed = true;
  });
  socket.send(JSON.stringify({ method: "ms.remote.control", params }));
  await until("it goes off, and hangs up", () => isClosed && !set.state.discoverable);
  await sendDatagram(magicPacket(set.mac), set.ports.wake, set.host);
  await until("a magic packet wakes it", () => set.state.power === "on" && set.state.discoverable);
  await set.stop();
}

async function webos(): Promise<void> {
  const quick = { promptMs: 5, socketsCloseMs: 100, portsCloseMs: 20, bootMs: 20 };
  const set = createWebosSimulator({ name: "Other runtime", securePort: 0, plainPort: 0, ...quick });
  await set.start();
  const { host, ports } = set;
  const refuses = () => fails(openClient(`wss://${host}:${ports.secure}/`).then(({ socket }) => socket.terminate()));
  await expectFound("urn:lge-com:service:webos-second-screen:1", `:${ports.description}/`);
  const client = await paired(set);
  const volume = await client.subscribe("audio/getVolume");
  set.press("VOLUMEUP");
  expect("it tells the volume", JSON.stringify(await client.pushed(volume)).includes('"volume":19'));
  const answer = await client.request("com.webos.service.networkinput/getPointerInputSocket");
  const pointer = await openClient(String(answer?.["socketPath"]));
  pointer.socket.send("type:button\nname:HOME\n\n");
  await until("it takes buttons", () => set.received.buttons.includes("HOME"));
  let ponged = 0;
  client.socket.on("pong", () => {
    ponged += 1;
  });
  client.socket.ping();
  await until("it answers pings", () => ponged === 1);
  await client.request("system/turnOff");
  await until("it goes off", () => !set.state.discoverable);
  client.socket.ping();
  await until("the silent socket closes", () => client.closed !== null);
  expect("in silence", ponged === 1);
  await until("the port refuses", refuses);
  await sendDatagram(magicPacket(set.mac), ports.wake, host);
  await until("it wakes", async () => set.state.discoverable && !(await refuses()));
  await set.stop();
}

async function cast(): Promise<void> {
  const set = createCastSimulator({ name: "Other runtime", port: 0, heartbeatMs: 100 });
  await set.start();
  const socket = connectTls({ host: set.host, port: set.port, rejectUnauthorized: false });
  const received = hear(socket);
  const say = (namespace: string, content: object) =>
    socket.write(
      writeMessage({
        source: "sender-0",
        destination: "receiver-0",
        namespace: `urn:x-cast:com.google.cast.${namespace}`,
        text: JSON.stringify(content),
      }),
    );
  await new Promise((resolve) => socket.once("secureConnect", resolve));
  say("tp.connection", { type: "CONNECT" });
  say("receiver", { type: "LAUNCH", requestId: 1, appId: "233637DE" });
  const words = ['"displayName":"YouTube"', '"requestId":1'];
  await until("it tells what runs", () => words.every((word) => received().includes(word)));
  await until("it pings", () => received().includes("PING"));
  await until("who is silent is hung up on", () => socket.destroyed || socket.closed);
  await set.stop();
}

async function androidTv(): Promise<void> {
  const own = createCertificateFor("a client", "rsa");
  // Unannounced: a daemon of another test that finds it would connect, too, and be counted.
  const ports = { remotePort: 0, pairingPort: 0 };
  const set = createAndroidTvSimulator({ name: "Other runtime", ...ports, mdns: false, pingMs: 50 });
  await set.start();
  const talk = (port: number) => {
    const socket = connectTls({ host: set.host, port, rejectUnauthorized: false, ...own });
    return { socket, received: hear(socket) };
  };
  const stranger = talk(set.ports.remote);
  await new Promise((resolve) => stranger.socket.once("close", resolve));
  expect(`a stranger hears nothing, not ${JSON.stringify(stranger.received())}`, stranger.received() === "");
  expect(
    `a stranger is rejected once, not ${set.state.rejected} times of ${set.state.accepted}`,
    set.state.rejected === 1,
  );
  const pairing = talk(set.ports.pairing);
  const ask = (message: object) => pairing.socket.write(encodeWithLength({ 1: 2, 2: 200, ...message }));
  ask({ 10: { 1: "atvremote", 2: "a client" } });
  ask({ 20: { 3: 1 } });
  ask({ 30: { 1: { 1: 3, 2: 6 }, 2: 1 } });
  await until("it shows a code", () => set.state.code !== null);
  ask({ 40: { 1: "wrong" } });
  await until("a wrong secret ends it", () => set.state.code === null && set.state.wrongSecrets === 1);
  pairing.socket.destroy();
  await set.stop();
}

await Promise.all([roku(), kodi(), webos(), samsung(), cast(), androidTv()]);
process.stdout.write("all of it\n");
