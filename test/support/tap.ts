/** A TCP relay before the daemon that records its statuses: a browser hides blocked answers. */
import net from "node:net";
import { joined } from "./joined.ts";
import { listening } from "./listening.ts";

/** Leads to a port of 127.0.0.1. The statuses are in the order of the answers. */
export async function startTap(target: number) {
  const statuses: number[] = [];
  const server = net.createServer((client) => {
    const daemon = net.connect(target, "127.0.0.1");
    joined(client, daemon);
    // Short answers come in one piece.
    daemon.on("data", (bytes: Buffer) => {
      const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(bytes.toString("latin1")) ?? [];
      if (status) statuses.push(Number(status));
    });
  });
  const { port, stop } = await listening(server);
  return { port, statuses, stop };
}
