/** A TCP relay between zapd and a device: it counts connections, ends or holds them, or leads to another device. */
import net from "node:net";
import { listening } from "./listening.ts";

export interface Relay {
  readonly host: string;
  readonly port: number;
  /** How many connections were accepted, and how many are open. */
  readonly taken: number;
  readonly open: number;
  /** `close`: ends new connections. `hang`: accepts them, and relays nothing. */
  mode: "pass" | "close" | "hang";
  /** Bytes that clients sent so far. */
  readonly heard: number;
  /** `keep` holds back data from devices on open connections, `give` relays it. */
  keep(): void;
  give(): void;
  /** Sends data to the clients that comes from no device. */
  say(bytes: Uint8Array): void;
  /** Leads new connections to another port. */
  to(port: number): void;
  /** Ends all connections, and waits until the clients have ended them, too. */
  cut(): Promise<void>;
  stop(): Promise<void>;
}

export async function startRelay(host: string, target: number): Promise<Relay> {
  let leads = target;
  let taken = 0;
  let heard = 0;
  /** The clients, and the device of each. */
  const clients = new Map<net.Socket, net.Socket | undefined>();
  const server = net.createServer((client) => {
    taken++;
    const device = relay.mode === "pass" ? net.connect({ host, port: leads, noDelay: true }) : undefined;
    clients.set(client, device);
    client.on("data", (bytes) => {
      heard += bytes.length;
    });
    client.on("close", () => {
      clients.delete(client);
      device?.destroy();
    });
    device?.on("error", () => device.destroy());
    device?.on("close", () => client.destroy());
    if (device) client.pipe(device).pipe(client);
    else if (relay.mode === "close") client.destroy();
    else client.resume();
  });
  const { port, stop } = await listening(server, host);
  const relay: Relay = {
    host,
    port,
    mode: "pass",
    get taken() {
      return taken;
    },
    get open() {
      return clients.size;
    },
    get heard() {
      return heard;
    },
    keep() {
      for (const [client, device] of clients) device?.unpipe(client);
    },
    give() {
      for (const [client, device] of clients) device?.pipe(client);
    },
    say(bytes) {
      for (const client of clients.keys()) client.write(bytes);
    },
    to(next) {
      leads = next;
    },
    async cut() {
      const gone = [...clients.keys()].map((client) => new Promise((resolve) => client.on("close", resolve)));
      for (const [client, device] of clients) {
        device?.unpipe(client).resume();
        client.unpipe().resume().end();
      }
      await Promise.all(gone);
    },
    stop,
  };
  return relay;
}
