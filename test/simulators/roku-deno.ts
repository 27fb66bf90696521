import { connect } from "node:net";
import { createRokuSimulator, type RokuSimulator } from "../../src/simulators/roku.ts";
import { magicPacket, search, sendDatagram } from "./datagrams.ts";

// Run by roku-deno.test.ts under the other runtime. It ends by itself: a socket left open would keep it.

function expect(what: string, holds: boolean): void {
  if (!holds) throw new Error(`not so: ${what}`);
}

async function status(simulator: RokuSimulator, method: string, path: string): Promise<number> {
  const response = await fetch(`http://${simulator.host}:${simulator.port}${path}`, { method });
  await response.arrayBuffer();
  return response.status;
}

async function hangsUp(simulator: RokuSimulator): Promise<boolean> {
  const socket = connect(simulator.ports.installer ?? 0, simulator.host);
  let text = "";
  socket.on("data", (piece: Uint8Array) => {
    text += Buffer.from(piece).toString("latin1");
  });
  socket.on("error", () => {});
  socket.write("POST /plugin_install HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 67108864\r\n\r\n");
  socket.write(new Uint8Array(67_108_864));
  await new Promise<void>((resolve) => socket.on("close", () => resolve()));
  return text.startsWith("HTTP/1.1 401 ");
}

const simulator = createRokuSimulator({ name: "Other runtime", developer: { password: "x" } });
await simulator.start();
expect(
  "the set is found",
  (await search("roku:ecp")).some(({ text }) => text.includes(simulator.serial)),
);
expect("it answers", (await status(simulator, "GET", "/query/apps")) === 200);
expect("it takes keys", (await status(simulator, "POST", "/keypress/Lit_%E2%82%AC")) === 200 && simulator.text === "€");
expect("icons are drawn", (await status(simulator, "GET", "/query/icon/12")) === 200);
expect("the installer hangs up", await hangsUp(simulator));
await simulator.sleep("deep");
expect(
  "asleep it is silent",
  await status(simulator, "GET", "/").then(
    () => false,
    () => true,
  ),
);
await sendDatagram(magicPacket(simulator.mac), simulator.ports.wake, simulator.host);
for (let round = 0; round < 100 && !simulator.state.discoverable; round += 1) {
  await new Promise((resolve) => setTimeout(resolve, 20));
}
expect("awake it answers", (await status(simulator, "GET", "/")) === 200);
await simulator.stop();
process.stdout.write("all of it\n");
