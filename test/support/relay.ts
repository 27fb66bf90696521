/** A TCP relay between zapd and a device: it counts what is open, hangs up, keeps silent, or leads to another device. */
import net from "node:net";

export interface Relay {
  readonly host: string;
  readonly port: number;
  /** Connections taken so far, and those still open. */
  readonly taken: number;
  readonly open: number;
  /** `close`: hangs up on who comes. `hang`: takes the connection, and nothing more. */
  mode: "pass" | "close" | "hang";
  /** Bytes that clients sent so far. */
  readonly heard: number;
  /** Keeps back what devices say on the connections that are open, and hands it on. */
  keep(): void;
  give(): void;
  /** Tells its clients what no device has said. */
  say(bytes: Uint8Array): void;
  /** Leads to another port from now on; what is open stays with the old one. */
  to(port: number): void;
  /** Hangs up on everyone; done when each has noticed, and has hung up too. */
  cut(): Promise<void>;
  stop(): Promise<void>;
}

export async function startRelay(host: string, target: number): Promise<Relay> {
  let leads = target;
  let taken = 0;
  let heard = 0;
  /** Who is connected, and the device that each was led to. */
  const clients = new Map<net.Socket, net.Socket | undefined>();
  const server = net.createServer((client) => {
    taken++;
    const device = relay.mode === "pass" ? net.connect({ host, port: leads, noDelay: true }) : undefined;
    clients.set(client, device);
    client.on("data", (bytes) => {
      heard += bytes.length;
    });
    client.on("error", () => client.destroy());
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
  const port = await new Promise<number>((resolve) => {
    server.listen(0, host, () => resolve((server.address() as net.AddressInfo).port));
  });
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
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const client of clients.keys()) client.destroy();
      await closed;
    },
  };
  return relay;
}
