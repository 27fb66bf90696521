/** A server's end of WebSockets, byte by byte. It shares no code with zapd. */
import { createHash } from "node:crypto";

/** A client's frame as it came: every one must be masked. */
export interface ClientFrame {
  readonly first: number;
  readonly masked: boolean;
  readonly mask: string;
  readonly payload: Buffer;
}

/** The answer that opens a WebSocket; `but` replaces or adds headers, and `null` leaves one out. */
export function opened(head: string, but: Readonly<Record<string, string | null>> = {}): string {
  const key = /^Sec-WebSocket-Key: (.+)\r$/im.exec(head)?.[1] ?? "";
  const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
  const headers = { Upgrade: "websocket", Connection: "Upgrade", "Sec-WebSocket-Accept": accept, ...but };
  const lines = Object.entries(headers).flatMap(([name, value]) => (value === null ? [] : [`${name}: ${value}\r\n`]));
  return `HTTP/1.1 101 Switching Protocols\r\n${lines.join("")}\r\n`;
}

/** A server's frame: not masked. It may say another length than it has. */
export function frame(first: number, payload: string | Uint8Array = "", said?: number): Buffer {
  const bytes = Buffer.from(payload);
  const length = said ?? bytes.length;
  if (length < 126) return Buffer.concat([Buffer.from([first, length]), bytes]);
  const head = Buffer.alloc(length < 65_536 ? 4 : 10);
  head.set([first, length < 65_536 ? 126 : 127]);
  if (length < 65_536) head.writeUInt16BE(length, 2);
  else head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, bytes]);
}

/** Moves the whole frames at the head of some bytes into a list; returns the rest. */
export function takeFrames(heard: Buffer, frames: ClientFrame[]): Buffer {
  for (;;) {
    if (heard.length < 2) return heard;
    const [first = 0, second = 0] = heard;
    const short = second & 127;
    const at = short === 126 ? 4 : short === 127 ? 10 : 2;
    const masked = second >= 128;
    const start = at + (masked ? 4 : 0);
    if (heard.length < start) return heard;
    const length = short === 126 ? heard.readUInt16BE(2) : short === 127 ? Number(heard.readBigUInt64BE(2)) : short;
    if (heard.length < start + length) return heard;
    const mask = heard.subarray(at, start);
    const payload = Buffer.from(heard.subarray(start, start + length)).map(
      (byte, index) => byte ^ (mask[index & 3] ?? 0),
    );
    frames.push({ first, masked, mask: mask.toString("hex"), payload: Buffer.from(payload) });
    heard = heard.subarray(start + length);
  }
}
