/** A device's end of a WebSocket, byte by byte, over TCP or TLS. */
import net from "node:net";
import tls from "node:tls";
import { ZapdError } from "../../src/api/errors.ts";
import { createCertificate } from "../../src/simulators/webos.ts";
import type { ConnectionEnd } from "../../src/transport/sliced-connection.ts";
import { openWebSocket, type WebSocketConnection } from "../../src/transport/websocket.ts";
import { listening } from "../support/listening.ts";
import { type ClientFrame, opened, takeFrames } from "../support/websocket-frames.ts";

export interface Peer {
  readonly socket: net.Socket;
  /** What was asked, with all its headers. */
  readonly head: string;
  readonly frames: ClientFrame[];
  /** Whether the other side has hung up. */
  gone: boolean;
}

export interface Device {
  readonly port: number;
  readonly connections: number;
  /** The first who came through. */
  readonly peer: Promise<Peer>;
  stop(): void;
}

export const certificate = createCertificate();

/** Takes connections; `say` is given each with its whole head, and without it nothing is ever answered. */
export async function startDevice(
  secure: boolean,
  say?: (socket: net.Socket, head: string) => unknown,
): Promise<Device> {
  const first = Promise.withResolvers<Peer>();
  let connections = 0;
  const take = (socket: net.Socket) => {
    connections++;
    const peer: { -readonly [Key in keyof Peer]: Peer[Key] } = { socket, head: "", frames: [], gone: false };
    let heard: Buffer = Buffer.alloc(0);
    for (const name of ["end", "close"])
      socket.on(name, () => {
        peer.gone = true;
      });
    socket.on("data", (bytes: Buffer) => {
      heard = Buffer.concat([heard, bytes]);
      const end = heard.indexOf("\r\n\r\n");
      if (peer.head === "" && end !== -1) {
        peer.head = heard.toString("latin1", 0, end + 4);
        heard = heard.subarray(end + 4);
        first.resolve(peer);
        say?.(socket, peer.head);
      }
      if (peer.head !== "") heard = takeFrames(heard, peer.frames);
    });
  };
  // Half-open sockets are part of what is tried.
  const server = secure
    ? tls.createServer({ ...certificate, allowHalfOpen: true }, take)
    : net.createServer({ allowHalfOpen: true }, take);
  const { port, stop } = await listening(server);
  return {
    port,
    get connections() {
      return connections;
    },
    peer: first.promise,
    stop,
  };
}

/** A line to a device, with all that was heard over it. */
export interface Heard {
  readonly line: WebSocketConnection;
  readonly texts: string[];
  readonly ends: ConnectionEnd[];
}

export async function openLine(
  secure: boolean,
  port: number,
  { signal = AbortSignal.timeout(15_000), path = "/", own = false, heard = () => {} } = {},
): Promise<Heard> {
  const texts: string[] = [];
  const ends: ConnectionEnd[] = [];
  const line = await openWebSocket(
    {
      address: { host: "127.0.0.1", port },
      path,
      tls: secure,
      platformHost: { isOwnListener: () => own },
      onText: (text) => {
        texts.push(text);
        heard();
      },
      onEnd: ({ code, reason }) => ends.push({ code, reason }),
    },
    signal,
  );
  return { line, texts, ends };
}

/** Devices, and open lines to them, over TCP or TLS; `stop` ends them all. */
export function workshop(secure: boolean) {
  const stops: (() => void)[] = [];
  const device = async (say?: (socket: net.Socket, head: string) => unknown): Promise<Device> => {
    const started = await startDevice(secure, say);
    stops.push(() => started.stop());
    return started;
  };
  return {
    device,
    /** An open line, and the device's end of it, which begins with `first`. */
    async open(first: (socket: net.Socket) => unknown = () => {}) {
      const one = await device((socket, head) => {
        socket.write(opened(head));
        first(socket);
      });
      const heard = await openLine(secure, one.port, { path: "/a?b=c" });
      stops.push(() => heard.line.destroy());
      return { ...heard, peer: await one.peer };
    },
    stop() {
      for (const stop of stops.splice(0)) stop();
    },
  };
}

export async function failure(opening: Promise<unknown>): Promise<ZapdError> {
  const error = await opening.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ZapdError)) throw new Error(`no ZapdError: ${String(error)}`);
  return error;
}
