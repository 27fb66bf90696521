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
  /** Leads to another port from now on; what is open stays with the old one. */
  to(port: number): void;
  /** Hangs up on everyone. */
  cut(): void;
  stop(): Promise<void>;
}

export async function startRelay(host: string, target: number): Promise<Relay> {
  let leads = target;
  let taken = 0;
  const sockets = new Set<net.Socket>();
  const keep = (socket: net.Socket, other?: net.Socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      sockets.delete(socket);
      other?.destroy();
    });
  };
  const clients = new Set<net.Socket>();
  const server = net.createServer((client) => {
    taken++;
    clients.add(client);
    client.on("close", () => clients.delete(client));
    if (relay.mode !== "pass") {
      keep(client);
      if (relay.mode === "close") client.destroy();
      else client.resume();
      return;
    }
    const device = net.connect({ host, port: leads, noDelay: true });
    keep(client, device);
    keep(device, client);
    client.pipe(device).pipe(client);
  });
  const port = await new Promise<number>((resolve) => {
    server.listen(0, host, () => resolve((server.address() as net.AddressInfo).port));
  });
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const relay: Relay = {
    host,
    port,
    cut,
    mode: "pass",
    get taken() {
      return taken;
    },
    get open() {
      return clients.size;
    },
    to(next) {
      leads = next;
    },
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      cut();
      await closed;
    },
  };
  return relay;
}
