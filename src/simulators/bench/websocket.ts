/** HTTP and WebSocket on one port, by `node:http` and `ws`. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Server, Socket } from "node:net";
import type { WebSocket } from "ws";
import type { Certificate } from "./certificate.ts";

// Not imported statically: the binary would hold half a megabyte of bytecode that only the demo uses.
const { createServer: createHttpServer } = process.getBuiltinModule("node:http");
const { createServer: createHttpsServer } = process.getBuiltinModule("node:https");
const { WebSocketServer } = process.getBuiltinModule("node:module").createRequire(import.meta.url)(
  "ws",
) as typeof import("ws");

const MAX_MESSAGE = 1024 * 1024;

export interface WebOptions {
  /** Null for a port without TLS. */
  readonly certificate: Certificate | null;
  answer(request: IncomingMessage, response: ServerResponse): void;
  /** The handler of a WebSocket at this path and query; null closes the connection. The handler must answer pings. */
  upgrade?(url: string): ((socket: WebSocket) => void) | null;
}

export function createWebServer(options: WebOptions, track: (socket: Socket) => void): Server {
  const { certificate, answer } = options;
  const server = certificate === null ? createHttpServer(answer) : createHttpsServer({ ...certificate }, answer);
  const upgrades = new WebSocketServer({ noServer: true, autoPong: false, maxPayload: MAX_MESSAGE });
  server.on("connection", track);
  server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const accept = options.upgrade?.(request.url ?? "") ?? null;
    if (accept === null) socket.destroy();
    else upgrades.handleUpgrade(request, socket, head, accept);
  });
  return server;
}
