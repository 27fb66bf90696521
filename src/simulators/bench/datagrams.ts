/** UDP sockets of a set. */
import { createSocket, type Socket, type SocketOptions } from "node:dgram";
import { once } from "node:events";
import type { Part } from "./set.ts";

export interface Sender {
  readonly address: string;
  readonly port: number;
}

type OnDatagram = (datagram: Buffer, from: Sender) => void;

/** A UDP port. A free port found at the first start is kept for later starts. */
export class UdpPort implements Part {
  readonly #host: string;
  readonly #onDatagram: OnDatagram;
  #port: number;
  #socket: Socket | null = null;

  /** Port 0 means any free port. */
  constructor(host: string, port: number, onDatagram: OnDatagram) {
    this.#host = host;
    this.#port = port;
    this.#onDatagram = onDatagram;
  }

  /** 0 until the first start if any free port was asked for. */
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
 * Opens sockets for a multicast group: the first receives, the others are bound to the given addresses for sending.
 * Null if the port is taken.
 */
export async function joinGroup(
  group: string,
  port: number,
  host: string,
  onDatagram: OnDatagram,
  addresses: readonly string[],
) {
  const binds = ["0.0.0.0", ...addresses];
  const sockets = binds.map(() => createUdpSocket({ type: "udp4", reuseAddr: true }, onDatagram));
  const [receiver] = sockets;
  // The loopback interface is known by one address only.
  const interfaceAddress = host.startsWith("127.") ? "127.0.0.1" : host;
  try {
    for (const [at, socket] of sockets.entries()) await bind(socket, port, binds[at] ?? host);
    receiver?.addMembership(group, interfaceAddress);
    receiver?.setMulticastInterface(interfaceAddress);
    receiver?.setMulticastLoopback(true);
    return sockets;
  } catch {
    for (const socket of sockets) closeQuietly(socket);
    return null;
  }
}

function createUdpSocket(options: SocketOptions, onDatagram: OnDatagram): Socket {
  const socket = createSocket(options);
  socket.on("message", (datagram: Uint8Array, from: Sender) => onDatagram(Buffer.from(datagram), from));
  return socket;
}

/** Later errors of the socket are ignored. */
export async function bind(socket: Socket, port: number, address: string): Promise<void> {
  const bound = once(socket, "listening");
  socket.bind(port, address);
  await bound;
  socket.on("error", () => {});
}

export function closeQuietly(socket: Socket): void {
  try {
    socket.close();
  } catch {
    // It was never bound.
  }
}
