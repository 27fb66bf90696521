/**
 * The messages of Android TV Remote v2 in bytes (players.md 4.1): a length, and a protobuf, of which a message has few fields.
 * Pure.
 */
import { createHash } from "node:crypto";

/** A frame is some hundred bytes long; text of 1,024 characters is the longest. */
const maxBytes = 64 * 1024;
/** A length has three bytes at most, then. */
export const headBytes = 3;
/** How a stream of either port is cut into messages. */
export const framing = { readHead, headBytes, maxBytes } as const;
/** No message has as many; what says more is none. */
const mostFields = 256;

/** What is said, by the numbers of its fields. Zero and `false` are left out, as everybody does. */
export interface Fields {
  readonly [field: number]: number | boolean | string | Uint8Array | Fields;
}

/** A message with its length before it. */
export function frameOf(message: Fields): Buffer {
  const body = encode(message);
  return Buffer.concat([Buffer.from(varint(body.length)), body]);
}

function encode(message: Fields): Buffer {
  const fields = Object.entries(message).flatMap(([name, value]) => {
    const key = 8 * Number(name);
    if (typeof value === "number" || typeof value === "boolean")
      return value ? [Buffer.from([...varint(key), ...varint(Number(value))])] : [];
    const isBytes = typeof value === "string" || value instanceof Uint8Array;
    const bytes = isBytes ? Buffer.from(value as string) : encode(value);
    return [Buffer.from([...varint(key + 2), ...varint(bytes.length)]), bytes];
  });
  return Buffer.concat(fields);
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value % 0x80) + 0x80, ...varint(Math.floor(value / 0x80))];
}

/** How long a frame is; `null` while too little of it has come. */
export function readHead(bytes: Buffer): { readonly head: number; readonly body: number } | null {
  for (let at = 0, body = 0; at < Math.min(bytes.length, headBytes); at++) {
    const byte = bytes[at] ?? 0;
    body += (byte % 0x80) * 0x80 ** at;
    if (byte < 0x80) return { head: at + 1, body };
  }
  return null;
}

/** A message that came; of a field that is there several times the last counts. */
export class Message {
  readonly #numbers = new Map<number, number>();
  readonly #bytes = new Map<number, Buffer>();

  /** Throws for what is none. Messages in it are read when they are asked for, so that nothing is as deep as a stranger likes. */
  constructor(body: Buffer) {
    let at = 0;
    const number = () => {
      let value = 0;
      for (let shift = 0; shift < 10; shift++) {
        const byte = body[at++];
        if (byte === undefined) break;
        value += (byte % 0x80) * 0x80 ** shift;
        if (byte < 0x80) return value;
      }
      throw new Error("said a message that ends in the midst");
    };
    for (let count = 0; at < body.length; count++) {
      if (count === mostFields) throw new Error("said a message of too many fields");
      const key = number();
      const kind = key % 8;
      const field = Math.floor(key / 8);
      if (kind === 0) this.#numbers.set(field, number());
      else {
        const length = { 1: 8, 2: kind === 2 ? number() : 0, 5: 4 }[kind];
        if (length === undefined) throw new Error("said a message of a strange kind");
        if (at + length > body.length) throw new Error("said a message that ends in the midst");
        if (kind === 2) this.#bytes.set(field, body.subarray(at, at + length));
        at += length;
      }
    }
  }

  /** A number that fits; `0` where it is left out, or is none. */
  number(field: number): number {
    const value = this.#numbers.get(field) ?? 0;
    return value < 2 ** 31 ? value : 0;
  }

  /** A text that says something, cut at 512 characters. */
  text(field: number): string | null {
    return this.#bytes.get(field)?.toString("utf8").slice(0, 512) || null;
  }

  /** Another message in it; `null` where it has none of the number. */
  message(field: number): Message | null {
    const bytes = this.#bytes.get(field);
    return bytes ? new Message(bytes) : null;
  }
}

/** What both can do, as bits (4.1, 4.4): what a set does not offer is not asked of it. Voice (8) is not spoken here. */
export const features = { ping: 1, key: 2, ime: 4, power: 32, volume: 64, appLink: 512 } as const;
export const ours = Object.values(features).reduce((sum, bit) => sum | bit, 0);

/** How a key is pressed (4.1). */
export const ways = { down: 1, up: 2, short: 3 } as const;

/** The messages of the remote, by the field that holds each. */
export const remote = {
  configure: 1,
  setActive: 2,
  ping: 8,
  pong: 9,
  key: 10,
  app: 20,
  edit: 21,
  start: 40,
  volume: 50,
  link: 90,
} as const;

const device: Fields = { 3: 1, 4: "1", 5: "zapd", 6: "1" };

export const says = {
  configure: (active: number) => frameOf({ [remote.configure]: { 1: active, 2: device } }),
  setActive: (active: number) => frameOf({ [remote.setActive]: { 1: active } }),
  pong: (value: number) => frameOf({ [remote.pong]: { 1: value } }),
  key: (code: number, way: number) => frameOf({ [remote.key]: { 1: code, 2: way } }),
  link: (link: string) => frameOf({ [remote.link]: { 1: link } }),
  /** The counters are those that the set told last; both ends of the text are its last character (4.3, 4.4). */
  text(text: string, { ime, field }: { readonly ime: number; readonly field: number }) {
    const end = text.length - 1;
    return frameOf({ [remote.edit]: { 1: ime, 2: field, 3: { 1: 1, 2: { 1: end, 2: end, 3: text } } } });
  },
} as const;

/** The messages of pairing, by the field that holds each. */
export const pairing = {
  request: 10,
  requestAck: 11,
  options: 20,
  configuration: 30,
  configurationAck: 31,
  secret: 40,
  secretAck: 41,
} as const;
/** The status of one (4.1); the others say what was wrong. */
export const statuses = { ok: 200, badSecret: 402 } as const;

const envelope = (field: number, message: Fields) => frameOf({ 1: 2, 2: statuses.ok, [field]: message });
/** Six characters of hex, which we type. */
const encoding: Fields = { 1: 3, 2: 6 };
export const codeLength = 6;

export const asks = {
  request: () => envelope(pairing.request, { 1: "atvremote", 2: "zapd" }),
  options: () => envelope(pairing.options, { 1: encoding, 3: 1 }),
  configuration: () => envelope(pairing.configuration, { 1: encoding, 2: 1 }),
  secret: (secret: Uint8Array) => envelope(pairing.secret, { 1: secret }),
} as const;

/** The two numbers of an RSA key, as bytes. */
export interface RsaNumbers {
  readonly modulus: Uint8Array;
  readonly exponent: Uint8Array;
}

/**
 * What a code proves (4.1): a hash over both keys and all of the code but its first byte, which is that of the hash. `null`
 * where it is not: the code is wrong, and the set need not be told.
 */
export function secretOf(client: RsaNumbers, server: RsaNumbers, code: string): Uint8Array | null {
  if (code.length !== codeLength || !/^[0-9a-f]+$/i.test(code)) return null;
  const hash = createHash("sha256");
  for (const { modulus, exponent } of [client, server]) hash.update(modulus).update(exponent);
  const secret = hash.update(Buffer.from(code.slice(2), "hex")).digest();
  return secret[0] === Number.parseInt(code.slice(0, 2), 16) ? secret : null;
}
