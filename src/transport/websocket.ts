/**
 * A WebSocket to a device (RFC 6455), over TCP or TLS. Not the runtime's class, nor `ws`, which Bun replaces by its own: here
 * the certificate is checked before anything is sent, no redirect is followed, nothing is compressed, and messages, fragments
 * and the handshake are limited (SECURITY.md T10).
 */
import { createHash } from "node:crypto";
import type net from "node:net";
import { closedBeforeSending, DeviceError, protocolError, ZapdError } from "../api/errors.ts";
import type { Address, PlatformHost } from "../platforms/platform.ts";
import { orAborted } from "../system/sleep.ts";
import { type ConnectionEnd, disconnected, type OpenConnection, SlicedConnection } from "./sliced-connection.ts";
import {
  connectSocket,
  fingerprintOf,
  hangUp,
  hostLine,
  loopHeader,
  refuseOwnListener,
  requireCertificate,
} from "./socket.ts";
import { type Frame, FrameReader, frameOf, opcodes } from "./websocket-frames.ts";

/** For connecting, TLS and the upgrade together (SECURITY.md 4). */
const defaultHandshakeTimeoutMs = 10_000;
const maxHeadBytes = 16 * 1024;
/** RFC 6455 7.4.1. */
const normalClosure = 1_000;
/** Time for the device to answer our close frame. */
const closeTimeoutMs = 1_000;

export interface WebSocketOptions {
  readonly address: Address;
  readonly path: string;
  readonly tls: boolean;
  /** Over TLS: SHA-256 of the certificate that the device must show before the path is sent, which may hold a secret. */
  readonly certificate?: string | null;
  readonly platformHost: Pick<PlatformHost, "isOwnListener">;
  readonly maxBytes?: number;
  /** How long connecting and the upgrade may take together. */
  readonly handshakeTimeoutMs?: number;
  onText(text: string): void;
  /** Called once, when an open connection ends. */
  onEnd(end: ConnectionEnd): void;
}

export interface WebSocketConnection extends OpenConnection {
  send(text: string): void;
  ping(): void;
  /** Whether the device has read all that was sent, shown by its answer to a ping. Waits `ms` at most, and not beyond the end. */
  isRead(ms: number): Promise<boolean>;
}

/** Opens a WebSocket. Fails as `connectSocket` does, with `device_unproven` for another certificate, and with `device_error` for another answer than an upgrade. */
export async function openWebSocket(options: WebSocketOptions, signal: AbortSignal): Promise<WebSocketConnection> {
  const { address, platformHost, handshakeTimeoutMs = defaultHandshakeTimeoutMs } = options;
  refuseOwnListener(address, platformHost);
  const timeout = AbortSignal.timeout(handshakeTimeoutMs);
  const within = AbortSignal.any([signal, timeout]);
  const socket = await connectSocket(address, options.tls && {}, within);
  requireCertificate(options.certificate, socket);
  try {
    const key = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("base64");
    return connectionOver(socket, options, await upgrade(socket, upgradeRequest(options, key), key, within));
  } catch (error) {
    hangUp(socket);
    if (signal.aborted) throw signal.reason;
    throw timeout.aborted ? handshakeTimedOut() : error;
  }
}

export function handshakeTimedOut(problem = "accepted the connection, but sent nothing"): DeviceError {
  return new DeviceError("device_unreachable", problem, { phase: "connect", reason: "timeout" });
}

function upgradeRequest({ address, path }: WebSocketOptions, key: string): string {
  const head = [
    `GET ${path} HTTP/1.1`,
    hostLine(address),
    "Upgrade: websocket",
    "Connection: Upgrade",
    `Sec-WebSocket-Key: ${key}`,
    "Sec-WebSocket-Version: 13",
    `${loopHeader}: 1`,
  ];
  if (head.some((line) => !/^[\x21-\x7e]+( [\x21-\x7e]+)*$/.test(line)) || /\s/.test(path))
    throw new ZapdError("device_error", "gave an address with invalid characters");
  return `${head.join("\r\n")}\r\n\r\n`;
}

/** Hands the socket over: gives the bytes after the upgrade, and whether the device has closed the connection since. */
type TakeOver = () => { readonly rest: Buffer; readonly isOver: boolean };

/** Upgrades the connection. Bytes that come after the answer are kept until the socket is taken over. */
async function upgrade(socket: net.Socket, request: string, key: string, signal: AbortSignal): Promise<TakeOver> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let head = Buffer.alloc(0);
  const problem = "closed the connection before the session began";
  let end = -1;
  let isOver = false;
  const hungUp = () => {
    isOver = true;
    reject(closedBeforeSending(problem));
  };
  socket.on("data", (bytes: Uint8Array) => {
    head = Buffer.concat([head, bytes]);
    if (end !== -1) return;
    end = head.indexOf("\r\n\r\n");
    if (end === -1 && head.length <= maxHeadBytes) return;
    const wrong =
      end === -1 ? "answered with headers over 16 KiB" : upgradeProblem(head.toString("latin1", 0, end), key);
    if (wrong === null) resolve();
    else reject(protocolError(wrong));
  });
  for (const event of ["error", "close", "end"]) socket.on(event, hungUp);
  const removeListeners = () => {
    for (const event of ["data", "error", "close", "end"]) socket.removeAllListeners(event);
    socket.on("error", () => {});
  };
  try {
    if (!signal.aborted) socket.write(request);
    await orAborted(promise, signal);
  } catch (error) {
    removeListeners();
    throw error;
  }
  return () => {
    removeListeners();
    return { rest: head.subarray(end + 4), isOver };
  };
}

/** What is wrong with the answer to an upgrade; `null` where it is right. */
function upgradeProblem(head: string, key: string): string | null {
  const [first = "", ...lines] = head.split("\r\n");
  // A port that serves bare JSON, too, may send messages before it has read that this is a WebSocket (players.md 7.1).
  const status = /^(?:\{[^\r]*\}\s*)?HTTP\/1\.1 (\d{3})(?: |$)/.exec(first)?.[1];
  if (status === undefined) return "answered with something that is not HTTP";
  if (status !== "101") return `refused to open a WebSocket: it answered ${status}`;
  const header = (name: string) =>
    lines
      .find((line) => line.toLowerCase().startsWith(`${name}:`))
      ?.slice(name.length + 1)
      .trim();
  const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
  if (header("upgrade")?.toLowerCase() !== "websocket" || header("sec-websocket-accept") !== accept)
    return "answered with an upgrade that zapd did not request";
  return header("sec-websocket-extensions") ? "turned on compression that zapd did not request" : null;
}

function connectionOver(socket: net.Socket, options: WebSocketOptions, takeOver: TakeOver): WebSocketConnection {
  const { maxBytes = 8 * 1024 * 1024 } = options;
  const frames = new FrameReader({ maxBytes, maxFragments: 1_024 });
  const fingerprint = fingerprintOf(socket);
  if (options.tls && fingerprint === null) throw protocolError("showed no certificate");
  let isClosing = false;
  const pongWaiters = new Map<string, (isRead: boolean) => void>();
  let pings = 0;
  const send = (opcode: number, payload: Uint8Array) => {
    if (connection.isOpen && !isClosing) connection.send(frameOf(opcode, payload));
  };
  const handleFrame = (frame: Frame) => {
    // After our close frame all is ignored: some answer it with a text frame that holds a close frame (players.md 7.1).
    if (isClosing) return connection.end(frame.kind === "close" ? frame : disconnected, []);
    // A close frame is answered with the same code (RFC 6455 5.5.1).
    if (frame.kind === "close") return connection.end(frame, [frameOf(opcodes.close, codeBytes(frame.code))]);
    if (frame.kind === "text") options.onText(frame.text);
    else if (frame.kind === "ping") send(opcodes.pong, frame.bytes);
    else if (frame.kind === "pong") pongWaiters.get(Buffer.from(frame.bytes).toString())?.(true);
  };
  const { rest, isOver } = takeOver();
  const connection = new SlicedConnection<Frame>(socket, {
    slice: { ms: 20, frames: 400 },
    split: (piece) => frames.push(piece),
    bytesOf: (frame) => (frame.kind === "text" ? frame.text.length : 0),
    take: handleFrame,
    onEnd(end) {
      for (const settle of pongWaiters.values()) settle(false);
      options.onEnd(end);
    },
  });
  // Read once the caller has the connection.
  if (rest.length > 0) queueMicrotask(() => connection.receive(rest));
  if (isOver) queueMicrotask(() => connection.hungUp());
  return {
    fingerprint,
    get lastReceivedAt() {
      return connection.lastReceivedAt;
    },
    get open() {
      return connection.isOpen && !isClosing;
    },
    send: (text) => send(opcodes.text, new TextEncoder().encode(text)),
    ping: () => send(opcodes.ping, new Uint8Array()),
    isRead(ms) {
      const mark = String(++pings);
      return new Promise((resolve) => {
        const settle = (isRead: boolean) => {
          clearTimeout(timer);
          pongWaiters.delete(mark);
          resolve(isRead);
        };
        const timer = setTimeout(() => settle(false), ms);
        pongWaiters.set(mark, settle);
        send(opcodes.ping, Buffer.from(mark));
      });
    },
    close() {
      if (!connection.isOpen || isClosing) return;
      send(opcodes.close, codeBytes(normalClosure));
      isClosing = true;
      setTimeout(() => connection.end(disconnected), closeTimeoutMs).unref?.();
    },
    destroy: () => connection.end(disconnected, []),
  };
}

function codeBytes(code: number | null): Uint8Array {
  return code === null ? new Uint8Array() : Uint8Array.of(code >> 8, code & 0xff);
}
