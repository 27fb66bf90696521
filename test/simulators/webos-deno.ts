import { createWebosSimulator, type WebosSimulator } from "../../src/simulators/webos.ts";
import { magicPacket, search, sendDatagram } from "./datagrams.ts";
import { openClient, type RawClient } from "./webos-client.ts";

// Run by webos-deno.test.ts under the other runtime. It ends by itself: a socket left open would keep it.

function expect(what: string, holds: boolean): void {
  if (!holds) throw new Error(`not so: ${what}`);
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let round = 0; !(await holds()); round += 1) {
    expect(what, round < 200);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const permissions = ["CONTROL_AUDIO", "CONTROL_POWER", "CONTROL_MOUSE_AND_KEYBOARD"];

async function paired(url: string): Promise<RawClient> {
  const client = await openClient(url);
  client.send({ id: 1, type: "register", payload: { manifest: { manifestVersion: 1, permissions } } });
  await client.next(({ type }) => type === "registered");
  return client;
}

async function refuses({ host, ports }: WebosSimulator): Promise<boolean> {
  return await openClient(`wss://${host}:${ports.secure}/`).then(
    ({ socket }) => {
      socket.terminate();
      return false;
    },
    () => true,
  );
}

const quick = { promptMs: 5, socketsCloseMs: 100, portsCloseMs: 20, bootMs: 20 };
const simulator = createWebosSimulator({ name: "Other runtime", securePort: 0, plainPort: 0, ...quick });
await simulator.start();
const { host, ports } = simulator;
expect(
  "the set is found",
  (await search("urn:lge-com:service:webos-second-screen:1")).some(({ text }) =>
    text.includes(`:${ports.description}/`),
  ),
);
(await paired(`ws://${host}:${ports.plain}/`)).socket.terminate();
const client = await paired(`wss://${host}:${ports.secure}/`);
const volume = await client.subscribe("audio/getVolume");
simulator.press("VOLUMEUP");
expect("it tells the volume", JSON.stringify(await client.pushed(volume)).includes('"volume":19'));
const answer = await client.request("com.webos.service.networkinput/getPointerInputSocket");
const pointer = await openClient(String(answer?.["socketPath"]));
pointer.socket.send("type:button\nname:HOME\n\n");
await until("it takes buttons", () => simulator.received.buttons.includes("HOME"));
let ponged = 0;
client.socket.on("pong", () => {
  ponged += 1;
});
client.socket.ping();
await until("it answers pings", () => ponged === 1);
await client.request("system/turnOff");
await until("it goes off", () => !simulator.state.discoverable);
client.socket.ping();
await until("the silent socket closes", () => client.closed !== null);
expect("in silence", ponged === 1);
await until("the port refuses", () => refuses(simulator));
await sendDatagram(magicPacket(simulator.mac), ports.wake, host);
await until("it wakes", async () => simulator.state.discoverable && !(await refuses(simulator)));
const cut = createWebosSimulator({ name: "Resets", firmware: "2026", securePort: null, plainPort: 0, ssdp: false });
await cut.start();
expect(
  "the plain port resets",
  await openClient(`ws://${host}:${cut.ports.plain}/`).then(
    () => false,
    () => true,
  ),
);
await cut.stop();
await simulator.stop();
process.stdout.write("all of it\n");
