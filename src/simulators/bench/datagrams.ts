/** UDP sockets of a set. */
import { createSocket, type Socket, type SocketOptions } from "node:dgram";
import type { Part } from "./set.ts";

export interface Sender {
  readonly address: string;
  readonly port: number;
}

type OnDatagram = (datagram: Buffer, from: Sender) => void;

/** A port that hears; one that was found free at the first start is kept. */
export class UdpPort implements Part {
  readonly #host: string;
  readonly #onDatagram: OnDatagram;
  #port: number;
  #socket: Socket | null = null;

  /** Port 0 is a free one. */
  constructor(host: string, port: number, hear: OnDatagram) {
    this.#host = host;
    this.#port = port;
    this.#onDatagram = hear;
  }

  /** The port in use, or wanted; 0 until the first start. */
  get port(): number {
    return this.#port;
  }

  async open(): Promise<void> {
    if (this.#socket !== null) return;
    const socket = createUdpSocket({ type: "udp4" }, this.#onDatagram);
    await bind(socket, this.#port, this.#host);
    this.#socket = socket;
    this.#port = socket.address().port;
  }

  async close(): Promise<void> {
    const socket = this.#socket;
    this.#socket = null;
    if (socket !== null) await new Promise<void>((closed) => socket.close(() => closed()));
  }
}

/**
 * Sockets for a group: the first hears it, the others have the set's own addresses, so that what is answered comes from there.
 * Null when the port cannot be had.
 */
export async function joinGroup(
  group: string,
  port: number,
  host: string,
  hear: OnDatagram,
  addresses: readonly string[],
) {
  const places = ["0.0.0.0", ...addresses];
  const sockets = places.map(() => createUdpSocket({ type: "udp4", reuseAddr: true }, hear));
  const [ears] = sockets;
  // The system lists loopback under one address only.
  const own = host.startsWith("127.") ? "127.0.0.1" : host;
  try {
    for (const [at, socket] of sockets.entries()) await bind(socket, port, places[at] ?? host);
    ears?.addMembership(group, own);
    ears?.setMulticastInterface(own);
    ears?.setMulticastLoopback(true);
    return sockets;
  } catch {
    for (const socket of sockets) closeQuietly(socket);
    return null;
  }
}

function createUdpSocket(options: SocketOptions, hear: OnDatagram): Socket {
  const socket = createSocket(options);
  socket.on("message", (datagram: Uint8Array, from: Sender) => hear(Buffer.from(datagram), from));
  return socket;
}

/** Errors after this are nobody's. */
function bind(socket: Socket, port: number, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.bind(port, address, () => {
      socket.off("error", reject);
      socket.on("error", () => {});
      resolve();
    });
  });
}

export function closeQuietly(socket: Socket): void {
  try {
    socket.close();
  } catch {
    // It was never open.
  }
}
