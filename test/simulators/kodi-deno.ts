import { connect } from "node:net";
import WebSocket from "ws";
import { createKodiSimulator } from "../../src/simulators/kodi.ts";
import { magicPacket, sendDatagram } from "./datagrams.ts";

// Run by kodi-deno.test.ts under the other runtime. It ends by itself: a socket left open would keep it.

function expect(what: string, holds: boolean): void {
  if (!holds) throw new Error(`not so: ${what}`);
}

async function until(what: string, holds: () => boolean): Promise<void> {
  for (let round = 0; round < 200 && !holds(); round += 1) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(what, holds());
}

const kodi = createKodiSimulator({ name: "Other runtime", password: "x", startMs: 0 });
await kodi.start();
const post = (body: unknown) =>
  fetch(`http://${kodi.host}:${kodi.port}/jsonrpc`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Basic ${btoa("kodi:x")}` },
    body: JSON.stringify(body),
  });
const ping = { jsonrpc: "2.0", id: 1, method: "JSONRPC.Ping" };
expect("it answers", ((await (await post(ping)).json()) as { result: string }).result === "pong");
expect("it is announced", kodi.state.discoverable);
expect(
  "a call without an id gets no answer",
  await post({ jsonrpc: "2.0", method: "JSONRPC.Ping" }).then(
    () => false,
    () => true,
  ),
);

const bare = connect(kodi.ports.tcp ?? 0, kodi.host);
let told = "";
bare.on("data", (piece: Uint8Array) => {
  told += Buffer.from(piece).toString();
});
bare.on("error", () => {});
bare.write(JSON.stringify(ping));
await until("bare TCP answers", () => told.includes("pong"));
const socket = new WebSocket(`ws://${kodi.host}:${kodi.ports.tcp}/jsonrpc`);
const heard: string[] = [];
socket.on("error", (error) => heard.push(String((error as { code?: string }).code)));
socket.on("close", (code) => heard.push(String(code)));
await new Promise((resolve) => socket.once("open", resolve));
kodi.play({});
await until("playing is told", () => told.includes("Player.OnAVStart"));
socket.close();
await until("the close is broken", () => heard.join() === "WS_ERR_INVALID_UTF8,1006");

await kodi.sleep();
await until("asleep the connections are cut", () => bare.destroyed);
await sendDatagram(magicPacket(kodi.mac), kodi.ports.wake, kodi.host);
await until("a magic packet wakes it", () => kodi.state.discoverable);
expect("awake it answers", (await (await post(ping)).text()).includes("pong"));
await kodi.stop();
process.stdout.write("all of it\n");
