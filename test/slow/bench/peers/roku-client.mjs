// A script with roku-client, as its README has it.
//   keys HOST PORT LANES MS   presses home in so many lanes at once: the milliseconds that a key took
//   press HOST PORT           one key and the end, for whole processes
//   find SERIAL-PORT          milliseconds until the set with this port is found on loopback
import dgram from "node:dgram";
import { createRequire } from "node:module";
import { Keys, RokuClient } from "roku-client";

const [what, ...words] = process.argv.slice(2);

if (what === "press") {
  const [host, port] = words;
  await new RokuClient(`http://${host}:${port}`).keypress(Keys.HOME);
} else if (what === "keys") {
  const [host, port, lanes, ms] = words;
  const client = new RokuClient(`http://${host}:${port}`);
  await press(client, Number(lanes), 200);
  process.stdout.write(JSON.stringify({ ms_per_key: await press(client, Number(lanes), Number(ms)) }));
} else {
  const [port] = words;
  showLoopback();
  const began = performance.now();
  await RokuClient.discoverEach((client) => {
    if (client.ip.port !== port) return;
    process.stdout.write(JSON.stringify({ ms: performance.now() - began }));
    process.exit(0);
  }, 5_000);
  throw new Error("did not find the set");
}

async function press(client, lanes, ms) {
  const began = performance.now();
  let done = 0;
  const lane = async () => {
    while (performance.now() - began < ms) {
      await client.keypress(Keys.HOME);
      done++;
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return (performance.now() - began) / done;
}

// Its search leaves loopback out: for the simulated set, loopback is shown to it as an ordinary interface.
function showLoopback() {
  const os = createRequire(import.meta.url)("node:os");
  const lo = { address: "127.0.0.1", netmask: "255.0.0.0", family: "IPv4", mac: "", internal: false, cidr: null };
  os.networkInterfaces = () => ({ lo: [{ ...lo }] });
  const { createSocket } = dgram;
  dgram.createSocket = (...given) => {
    const socket = createSocket(...given);
    return socket.on("listening", () => socket.setMulticastInterface("127.0.0.1"));
  };
}
