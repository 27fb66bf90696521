/** Runs two sets that turn clients away, and prints the ports at which they do. */
import { createAndroidTvSimulator } from "../../src/simulators/androidtv.ts";
import { createRokuSimulator } from "../../src/simulators/roku.ts";

const roku = createRokuSimulator({ name: "Test Room", ssdp: false, developer: { password: "rokudev" } });
const box = createAndroidTvSimulator({ name: "Test Box", mdns: false, remotePort: 0, pairingPort: 0 });
await Promise.all([roku.start(), box.start()]);
process.stdout.write(JSON.stringify({ console: roku.ports.console, remote: box.ports.remote }));
