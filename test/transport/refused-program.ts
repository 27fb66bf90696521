/** Under Deno: TLS connections that are refused, as by a TV that is off. Prints how many sockets are still in memory. */
import net from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import tls from "node:tls";
import { connectSocket } from "../../src/transport/socket.ts";

const made: WeakRef<net.Socket>[] = [];
const keeping =
  <Words extends unknown[], Made extends net.Socket>(connect: (...words: Words) => Made) =>
  (...words: Words) => {
    const socket = connect(...words);
    made.push(new WeakRef(socket));
    return socket;
  };
net.connect = keeping(net.connect as (...words: unknown[]) => net.Socket) as typeof net.connect;
tls.connect = keeping(tls.connect as (...words: unknown[]) => tls.TLSSocket) as typeof tls.connect;

const address = { host: "127.0.0.1", port: Number(process.argv[2]) };
for (let at = 0; at < 20; at++) await connectSocket(address, {}, new AbortController().signal).catch(() => {});
for (let turn = 0; turn < 3; turn++) {
  await wait(50);
  globalThis.gc?.();
}
process.stdout.write(`${made.length} made, ${made.filter((one) => one.deref()).length} kept`);
process.exit(0);
