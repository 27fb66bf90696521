/** A server on this machine, and its connections. */
import net from "node:net";

export type Listening = Awaited<ReturnType<typeof listening>>;

/** Listens; port 0 is any free port. */
export async function listening(server: net.Server, host = "127.0.0.1", port = 0) {
  const sockets = new Set<net.Socket>();
  server.on("connection", (socket: net.Socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const hangUp = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as net.AddressInfo).port,
    /** How many connections are open. */
    get open() {
      return sockets.size;
    },
    /** Ends all connections, and keeps listening. */
    hangUp,
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      hangUp();
      await closed;
    },
  };
}

/**
 * Whether nobody listens at an address now. Nothing is sent: a port that was given up may be another process's by then, or that of
 * this connection itself, and neither answers.
 */
export function isRefused({ hostname, port }: Pick<URL, "hostname" | "port">): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(Number(port), hostname);
    socket.on("error", () => resolve(true));
    socket.on("connect", () => {
      socket.destroy();
      resolve(false);
    });
  });
}
