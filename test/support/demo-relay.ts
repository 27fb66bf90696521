/**
 * Runs in its own network: starts the demo, and relays connections from a Unix socket, which other networks reach, to its
 * port. `bun demo-relay.ts SOCKET PORT PROGRAM…`; SIGINT ends both.
 */
import { spawn } from "node:child_process";
import net from "node:net";
import { joined } from "./joined.ts";

const [path = "", port = "", program = "", ...words] = process.argv.slice(2);
const demo = spawn(program, words, { stdio: ["ignore", "inherit", "inherit"] });
demo.on("exit", (status) => process.exit(status ?? 1));
process.on("SIGINT", () => demo.kill("SIGINT"));
net.createServer((socket) => joined(socket, net.connect(Number(port), "127.0.0.1"))).listen(path);
