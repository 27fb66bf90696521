import type { Server, Socket } from "node:net";

/** The TCP ports of a set: a port found free at the first start is kept, so that a set comes back where it was. */
export interface Listener {
  /** The port in use, or wanted; 0 until the first start. */
  readonly port: number;
  open(): Promise<void>;
  /** Frees the port and cuts every connection. */
  close(): Promise<void>;
}

export function createListener(
  host: string,
  wanted: number,
  build: (track: (socket: Socket) => void) => Server,
): Listener {
  let port = wanted;
  let server: Server | null = null;
  const sockets = new Set<Socket>();
  const track = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
  };
  return {
    get port() {
      return port;
    },
    async open() {
      server = build(track);
      port = await listen(server, port, host);
    },
    async close() {
      const closing = server;
      server = null;
      if (closing === null) return;
      const closed = new Promise<void>((resolve) => closing.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      server.on("error", () => {});
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}
