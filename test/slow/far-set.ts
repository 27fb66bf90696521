/** One simulated set as a process: `bun far-set.ts ADDRESS PORT`. It prints its port once it answers, and ends with its input. */
import { createRokuSimulator } from "../../src/simulators/roku.ts";

const [host = "127.0.0.1", port = "0"] = process.argv.slice(2);
const set = createRokuSimulator({ name: "Far Set", host, port: Number(port), launchMs: 0 });
await set.start();
process.stdout.write(`${set.port}\n`);
process.stdin.resume().on("close", () => process.exit(0));
