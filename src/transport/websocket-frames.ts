/**
 * Frames of RFC 6455 as a client sees them. Strict, and bounded before anything is kept: what a device announces is not
 * believed (SECURITY.md T10).
 */
import { protocolError } from "../api/errors.ts";

export const opcodes = { more: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export type Frame =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "ping" | "pong"; readonly bytes: Uint8Array }
  /** A fragment, or a binary message: counted, and nothing else. */
  | { readonly kind: "passed" }
  | { readonly kind: "close"; readonly code: number | null; readonly reason: string };

interface FrameLimits {
  /** Bytes of one message, all its fragments together. */
  readonly maxBytes: number;
  readonly maxFragments: number;
}

/** Pieces up to this are joined as they come: each takes memory of its own, and a message of 8 MiB may come letter by letter. */
const joinedBytes = 16 * 1024;
/** A control frame has at most this payload. */
const maxControl = 125;

/** A client's frame: masked, as the RFC requires it. */
export function frameOf(opcode: number, payload: Uint8Array): Uint8Array {
  const { length } = payload;
  const extended = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const frame = new Uint8Array(2 + extended + 4 + length);
  const view = new DataView(frame.buffer);
  frame[0] = 0x80 | opcode;
  frame[1] = 0x80 | (extended === 0 ? length : extended === 2 ? 126 : 127);
  if (extended === 2) view.setUint16(2, length);
  if (extended === 8) view.setBigUint64(2, BigInt(length));
  const mask = crypto.getRandomValues(new Uint8Array(4));
  frame.set(mask, 2 + extended);
  const at = 6 + extended;
  for (let index = 0; index < length; index++) frame[at + index] = (payload[index] ?? 0) ^ (mask[index & 3] ?? 0);
  return frame;
}

/** Reads frames from bytes as they come. */
export class FrameReader {
  readonly #limits: FrameLimits;
  #chunks: Uint8Array[] = [];
  #kept = 0;
  /** The message whose fragments are arriving. */
  #message: { readonly parts: Uint8Array[]; bytes: number; readonly isText: boolean } | undefined;

  constructor(limits: FrameLimits) {
    this.#limits = limits;
  }

  /** Gives what is complete; throws `device_error` for what no frame may be. */
  *push(bytes: Uint8Array): Generator<Frame> {
    if (bytes.length > 0) this.#keep(bytes);
    for (;;) {
      const header = this.#header();
      if (!header || this.#kept < header.bytes + header.length) return;
      this.#take(header.bytes);
      yield this.#read(header, this.#take(header.length));
    }
  }

  /** Joins a piece with those before it that are no longer, so that each byte is copied a few times and no more. */
  #keep(bytes: Uint8Array): void {
    this.#kept += bytes.length;
    let last = bytes;
    for (
      let before = this.#chunks.at(-1);
      before && before.length <= Math.min(last.length, joinedBytes);
      before = this.#chunks.at(-1)
    ) {
      last = Buffer.concat([before, last]);
      this.#chunks.pop();
    }
    this.#chunks.push(last);
  }

  #header(): { opcode: number; final: boolean; bytes: number; length: number } | undefined {
    if (this.#kept < 2) return undefined;
    const start = this.#peek(Math.min(this.#kept, 10));
    const [first = 0, second = 0] = start;
    if ((first & 0x70) !== 0) throw protocolError("sent a frame with reserved bits set");
    if ((second & 0x80) !== 0) throw protocolError("sent a masked frame, which only a client may do");
    const short = second & 0x7f;
    const bytes = 2 + (short === 126 ? 2 : short === 127 ? 8 : 0);
    if (this.#kept < bytes) return undefined;
    const view = new DataView(start.buffer, start.byteOffset, start.byteLength);
    const length = short === 126 ? view.getUint16(2) : short === 127 ? Number(view.getBigUint64(2)) : short;
    const header = { opcode: first & 0x0f, final: (first & 0x80) !== 0, bytes, length };
    this.#check(header);
    return header;
  }

  #check({ opcode, final, length }: { opcode: number; final: boolean; length: number }): void {
    const { maxBytes } = this.#limits;
    if (opcode >= opcodes.close) {
      if (opcode > opcodes.pong) throw protocolError("sent a frame of an unknown type");
      if (!final || length > maxControl) throw protocolError("sent a control frame that is too long or fragmented");
    } else {
      if (opcode > opcodes.binary) throw protocolError("sent a frame of an unknown type");
      if ((opcode === opcodes.more) !== (this.#message !== undefined))
        throw protocolError("sent fragments out of order");
      if ((this.#message?.bytes ?? 0) + length > maxBytes)
        throw protocolError(`sent a message of more than ${maxBytes} bytes`);
    }
  }

  #read({ opcode, final }: { opcode: number; final: boolean }, payload: Uint8Array): Frame {
    if (opcode === opcodes.ping) return { kind: "ping", bytes: payload };
    if (opcode === opcodes.pong) return { kind: "pong", bytes: payload };
    if (opcode === opcodes.close) return closeOf(payload);
    this.#message ??= { parts: [], bytes: 0, isText: opcode === opcodes.text };
    const message = this.#message;
    message.parts.push(payload);
    message.bytes += payload.length;
    if (message.parts.length > this.#limits.maxFragments)
      throw protocolError(`sent a message in more than ${this.#limits.maxFragments} fragments`);
    if (!final) return { kind: "passed" };
    this.#message = undefined;
    if (!message.isText) return { kind: "passed" };
    return { kind: "text", text: textOf(Buffer.concat(message.parts, message.bytes)) };
  }

  #peek(length: number): Uint8Array {
    const [first] = this.#chunks;
    if (first && first.length >= length) return first.subarray(0, length);
    this.#chunks = [Buffer.concat(this.#chunks, this.#kept)];
    return this.#chunks[0]?.subarray(0, length) ?? new Uint8Array();
  }

  #take(length: number): Uint8Array {
    const taken = this.#peek(length);
    const [first = taken] = this.#chunks;
    if (first.length === length) this.#chunks.shift();
    else this.#chunks[0] = first.subarray(length);
    this.#kept -= length;
    return taken;
  }
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw protocolError("sent text that is not UTF-8", error);
  }
}

function closeOf(payload: Uint8Array): Frame {
  if (payload.length < 2) return { kind: "close", code: null, reason: "" };
  const code = ((payload[0] ?? 0) << 8) | (payload[1] ?? 0);
  return { kind: "close", code, reason: new TextDecoder().decode(payload.subarray(2)) };
}
