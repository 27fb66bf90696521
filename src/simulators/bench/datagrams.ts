/** UDP sockets of a set. */
import type { Socket } from "node:dgram";

/** Errors after this are nobody's. */
export function bind(socket: Socket, port: number, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.bind(port, address, () => {
      socket.off("error", reject);
      socket.on("error", () => {});
      resolve();
    });
  });
}

/** Hears a group on the interface that has this address. */
export function join(socket: Socket, group: string, host: string): void {
  socket.addMembership(group, interfaceOf(host));
}

/** The system lists loopback under one address only. */
export function interfaceOf(host: string): string {
  return host.startsWith("127.") ? "127.0.0.1" : host;
}

export function closeQuietly(socket: Socket): void {
  try {
    socket.close();
  } catch {
    // It was never open.
  }
}
