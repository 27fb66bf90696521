import { createHash } from "node:crypto";

/** The WebSocket frames of Kodi 20.1, faults and all; only what it was seen doing. */
export const TEXT = 1;
export const BINARY = 2;
export const CLOSE = 8;
export const PING = 9;
const PONG = 10;
const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/** A client that sends more in one frame is cut off. */
const LONGEST = 1024 * 1024;

export interface Frame {
  readonly opcode: number;
  readonly payload: Buffer;
}

/** Any path is taken, no subprotocol and no extension is answered (Kodi 20.1, ran). Null when it is no upgrade. */
export function accept(head: string): string | null {
  const key = /^sec-websocket-key:\s*(\S+)/im.exec(head)?.[1];
  if (key === undefined || !/^upgrade:\s*websocket/im.test(head)) return null;
  const token = createHash("sha1").update(`${key}${GUID}`).digest("base64");
  return [
    "HTTP/1.1 101 Switching Protocols",
    "Upgrade: websocket",
    "Connection: Upgrade",
    `Sec-WebSocket-Accept: ${token}`,
    "\r\n",
  ].join("\r\n");
}

/** The first frame and what follows it; null when more has to arrive first. */
export function readFrame(bytes: Buffer): { frame: Frame; rest: Buffer } | "too-large" | null {
  const [first = 0, second = 0] = bytes;
  if (bytes.length < 2) return null;
  const short = second & 0x7f;
  const extended = short === 126 ? 2 : short === 127 ? 8 : 0;
  const masked = (second & 0x80) !== 0;
  const start = 2 + extended + (masked ? 4 : 0);
  if (bytes.length < start) return null;
  const length = extended === 2 ? bytes.readUInt16BE(2) : extended === 8 ? Number(bytes.readBigUInt64BE(2)) : short;
  if (length > LONGEST) return "too-large";
  if (bytes.length < start + length) return null;
  const mask = bytes.subarray(start - 4, start);
  const payload = Buffer.from(bytes.subarray(start, start + length));
  if (masked) for (let at = 0; at < payload.length; at += 1) payload[at] = (payload[at] ?? 0) ^ (mask[at % 4] ?? 0);
  return { frame: { opcode: first & 0x0f, payload }, rest: bytes.subarray(start + length) };
}

export function textFrame(payload: Buffer): Buffer {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = 0x80 | TEXT;
  head[1] = length < 126 ? length : length < 65_536 ? 126 : 127;
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}

/** A close frame inside a text frame, whatever the client's own said (players.md 7.1; bytes: Kodi 20.1, ran). */
export const closeAnswer = textFrame(Buffer.from([0x80 | CLOSE, 2, 0x03, 0xe8]));

/** A pong without the ping's payload, inside a text frame: clients that ping lose the connection (Kodi 20.1, ran). */
export const pongAnswer = textFrame(Buffer.from([0x80 | PONG, 0]));
