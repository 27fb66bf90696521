/**
 * A WebSocket to a device (RFC 6455), over TCP or TLS. Not the runtime's own, nor `ws`, which Bun replaces by its own: here
 * the certificate is seen before anything is said, no redirect is followed, nothing is compressed, and a message, its
 * fragments and the handshake are bounded (SECURITY.md T10).
 */
import { createHash } from "node:crypto";
import type net from "node:net";
import { closedBeforeSending, DeviceError, protocolError, textOf, ZapdError } from "../api/errors.ts";
import type { Address, PlatformHost } from "../platforms/platform.ts";
import { orAborted } from "../system/sleep.ts";
import { inSlices, sendIfRead, unread } from "./slices.ts";
import { connectSocket, fingerprintOf, hostLine, loopHeader, refuseOwnListener, requireCertificate } from "./socket.ts";
import { type Frame, FrameReader, frameOf, opcodes } from "./websocket-frames.ts";

/** The whole of connecting, TLS and the upgrade (SECURITY.md 4: 10 s). */
const handshakeWithin = 10_000;
const headBytes = 16 * 1024;
/** RFC 6455 7.4.1. */
const normalClosure = 1_000;
/** A device that does not hang up after our close is hung up on. */
const closesWithin = 1_000;

/** How a line ended: with the device's close code, where it gave one. */
export interface ConnectionEnd {
  readonly code: number | null;
  readonly reason: string;
}

export interface WebSocketOptions {
  readonly address: Address;
  readonly path: string;
  readonly tls: boolean;
  /** Over TLS: SHA-256 of the certificate that it must show before the path is said, which may hold a secret; else any. */
  readonly certificate?: string | null;
  readonly platformHost: Pick<PlatformHost, "isOwnListener">;
  readonly maxBytes?: number;
  onText(text: string): void;
  /** Told once, when the line ends by itself or by `destroy`; not told when opening it failed. */
  onEnd(end: ConnectionEnd): void;
}

/** What a conversation goes over, whatever its messages look like. */
export interface OpenConnection {
  readonly open: boolean;
  /** When the last byte came, on the monotonic clock. */
  readonly lastReceivedAt: number;
  /** SHA-256 of the device's certificate in lower-case hex; `null` without TLS. */
  readonly fingerprint: string | null;
  /** Says goodbye, and hangs up within a second whatever the device does. */
  close(): void;
  /** Hangs up at once. */
  destroy(): void;
}

/** An open WebSocket. */
export interface WebSocketConnection extends OpenConnection {
  send(text: string): void;
  ping(): void;
  /** Whether all that was sent has been read there: a ping that is answered, behind it. Waits `ms` at most. */
  isRead(ms: number): Promise<boolean>;
}

/** Opens one. Fails with `device_unreachable` when nobody answers or the line breaks first, with `device_error` for an answer that is none. */
export async function openWebSocket(options: WebSocketOptions, signal: AbortSignal): Promise<WebSocketConnection> {
  const { address, platformHost } = options;
  refuseOwnListener(address, platformHost);
  const late = AbortSignal.timeout(handshakeWithin);
  const within = AbortSignal.any([signal, late]);
  const socket = await connectSocket(address, options.tls && {}, within);
  requireCertificate(options.certificate, socket);
  try {
    const key = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("base64");
    return lineOver(socket, options, await upgraded(socket, upgradeOf(options, key), key, within));
  } catch (error) {
    socket.destroy();
    if (signal.aborted) throw signal.reason;
    throw late.aborted ? handshakeTimedOut() : error;
  }
}

/** It took the connection, and no more. */
export function handshakeTimedOut(): DeviceError {
  const problem = "took the connection, and then said nothing";
  return new DeviceError("device_unreachable", problem, { phase: "connect", reason: "timeout" });
}

function upgradeOf({ address, path }: WebSocketOptions, key: string): string {
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
    throw new ZapdError("device_error", "gave an address that cannot be called");
  return `${head.join("\r\n")}\r\n\r\n`;
}

/** What came behind the answer to an upgrade, and whether the device has hung up since: taken over at once, so that nothing is lost between. */
type TakeOver = () => { readonly rest: Buffer; readonly isOver: boolean };

/** Sends the upgrade. A device may speak at once: what it says is kept until somebody listens. */
async function upgraded(socket: net.Socket, request: string, key: string, signal: AbortSignal): Promise<TakeOver> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let head = Buffer.alloc(0);
  const problem = "hung up before the conversation began";
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
    if (end === -1 && head.length <= headBytes) return;
    const wrong = end === -1 ? "answered with a head that has no end" : problemOf(head.toString("latin1", 0, end), key);
    if (wrong === null) resolve();
    else reject(protocolError(wrong));
  });
  for (const gone of ["error", "close", "end"]) socket.on(gone, hungUp);
  const leave = () => {
    for (const event of ["data", "error", "close", "end"]) socket.removeAllListeners(event);
    socket.on("error", () => {});
  };
  try {
    if (!signal.aborted) socket.write(request);
    await orAborted(promise, signal);
  } catch (error) {
    leave();
    throw error;
  }
  return () => {
    leave();
    return { rest: head.subarray(end + 4), isOver };
  };
}

/** What is wrong with the answer to an upgrade; `null` when it is one. */
function problemOf(head: string, key: string): string | null {
  const [first = "", ...lines] = head.split("\r\n");
  const status = /^HTTP\/1\.1 (\d{3})(?: |$)/.exec(first)?.[1];
  if (status === undefined) return "answered something that is no HTTP";
  if (status !== "101") return `opens no WebSocket there: it answered ${status}`;
  const header = (name: string) =>
    lines
      .find((line) => line.toLowerCase().startsWith(`${name}:`))
      ?.slice(name.length + 1)
      .trim();
  const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
  if (header("upgrade")?.toLowerCase() !== "websocket" || header("sec-websocket-accept") !== accept)
    return "answered an upgrade that it was not asked for";
  return header("sec-websocket-extensions") ? "compresses though nobody asked for it" : null;
}

/** The open line over a socket that has been upgraded. */
function lineOver(socket: net.Socket, options: WebSocketOptions, takeOver: TakeOver): WebSocketConnection {
  const { maxBytes = 8 * 1024 * 1024 } = options;
  const reader = new FrameReader({ maxBytes, maxFragments: 1_024 });
  const fingerprint = fingerprintOf(socket);
  // Without one nothing could tell it from another device.
  if (options.tls && fingerprint === null) throw protocolError("showed no certificate");
  let isOpen = true;
  let isClosing = false;
  let lastReceivedAt = performance.now();
  const readers = new Map<string, () => void>();
  let pings = 0;
  const end = (why: ConnectionEnd, goodbye?: Uint8Array) => {
    if (!isOpen) return;
    isOpen = false;
    if (goodbye) {
      socket.end(goodbye);
      setTimeout(() => socket.destroy(), closesWithin).unref?.();
    } else socket.destroy();
    options.onEnd(why);
  };
  const send = (opcode: number, payload: Uint8Array) => {
    if (isOpen && !isClosing && !sendIfRead(socket, frameOf(opcode, payload))) end({ code: null, reason: unread });
  };
  const take = (frame: Frame) => {
    // After our own goodbye nothing matters: Kodi answers it with a text frame that holds a close frame (players.md 7.1).
    if (isClosing) return end(frame.kind === "close" ? frame : { code: null, reason: "was closed" });
    // Its goodbye is answered in its own words (RFC 6455 5.5.1).
    if (frame.kind === "close") return end(frame, frameOf(opcodes.close, codeBytes(frame.code)));
    if (frame.kind === "text") options.onText(frame.text);
    else if (frame.kind === "ping") send(opcodes.pong, frame.bytes);
    else if (frame.kind === "pong") readers.get(Buffer.from(frame.bytes).toString())?.();
  };
  const read = inSlices(socket, {
    slice: { ms: 20, frames: 400 },
    split: (piece) => reader.push(piece),
    bytesOf: (frame) => (frame.kind === "text" ? frame.text.length : 0),
    take,
    isOpen: () => isOpen,
    failed: (error) => end({ code: null, reason: textOf(error) }),
  });
  const received = (bytes: Buffer) => {
    lastReceivedAt = performance.now();
    read(bytes);
  };
  const { rest, isOver } = takeOver();
  socket.on("data", received);
  socket.on("error", () => end({ code: null, reason: "broke the line off" }));
  for (const gone of ["close", "end"]) socket.on(gone, () => end({ code: null, reason: "hung up" }));
  // What came with the upgrade is read once the caller has the line.
  if (rest.length > 0) queueMicrotask(() => received(rest));
  if (isOver) queueMicrotask(() => end({ code: null, reason: "hung up" }));
  return {
    fingerprint,
    get lastReceivedAt() {
      return lastReceivedAt;
    },
    get open() {
      return isOpen && !isClosing;
    },
    send: (text) => send(opcodes.text, new TextEncoder().encode(text)),
    ping: () => send(opcodes.ping, new Uint8Array()),
    isRead(ms) {
      const mark = String(++pings);
      return new Promise((resolve) => {
        const settle = (isRead: boolean) => {
          clearTimeout(timer);
          readers.delete(mark);
          resolve(isRead);
        };
        const timer = setTimeout(() => settle(false), ms);
        readers.set(mark, () => settle(true));
        send(opcodes.ping, Buffer.from(mark));
      });
    },
    close() {
      if (!isOpen || isClosing) return;
      send(opcodes.close, codeBytes(normalClosure));
      isClosing = true;
      setTimeout(() => end({ code: null, reason: "was closed" }), closesWithin).unref?.();
    },
    destroy: () => end({ code: null, reason: "was closed" }),
  };
}

function codeBytes(code: number | null): Uint8Array {
  return code === null ? new Uint8Array() : Uint8Array.of(code >> 8, code & 0xff);
}
