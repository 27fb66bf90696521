/** The messages of Android TV Remote v2 (players.md 4.1): a length, then a protobuf message. Pure. */
import { createHash } from "node:crypto";
import { encode, type Fields, varint } from "../../transport/protobuf.ts";

/** A frame has some hundred bytes; the longest is a text of 1,024 characters. */
const maxBytes = 64 * 1024;
/** Enough for a length up to `maxBytes`. */
const headBytes = 3;
/** How the stream of either port is cut into frames. */
export const framing = { readHead, headBytes, maxBytes } as const;
export function frameOf(message: Fields): Buffer {
  const body = encode(message);
  return Buffer.concat([Buffer.from(varint(body.length)), body]);
}

/** The length of a frame; `null` while too little of it has arrived. */
function readHead(bytes: Buffer): { readonly head: number; readonly body: number } | null {
  for (let at = 0, body = 0; at < Math.min(bytes.length, headBytes); at++) {
    const byte = bytes[at] ?? 0;
    body += (byte % 0x80) * 0x80 ** at;
    if (byte < 0x80) return { head: at + 1, body };
  }
  return null;
}

/** Features as bits (4.1, 4.4): one that the TV does not offer is not used. Voice (8) is not supported here. */
export const features = { ping: 1, key: 2, ime: 4, power: 32, volume: 64, appLink: 512 } as const;
export const ours = Object.values(features).reduce((sum, bit) => sum | bit, 0);

/** The direction of a key press (4.1). */
export const keyDirections = { down: 1, up: 2, short: 3 } as const;

/** The messages of the remote, by the number of their field. */
export const remote = {
  configure: 1,
  setActive: 2,
  error: 3,
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

export const messages = {
  configure: (active: number) => frameOf({ [remote.configure]: { 1: active, 2: device } }),
  setActive: (active: number) => frameOf({ [remote.setActive]: { 1: active } }),
  pong: (value: number) => frameOf({ [remote.pong]: { 1: value } }),
  key: (code: number, way: number) => frameOf({ [remote.key]: { 1: code, 2: way } }),
  link: (link: string) => frameOf({ [remote.link]: { 1: link } }),
  /** The counters are the TV's last ones; start and end of the text are its last character (4.3, 4.4). */
  text(text: string, { ime, field }: { readonly ime: number; readonly field: number }) {
    const end = text.length - 1;
    return frameOf({ [remote.edit]: { 1: ime, 2: field, 3: { 1: 1, 2: { 1: end, 2: end, 3: text } } } });
  },
} as const;

/** The messages of pairing, by the number of their field. */
export const pairing = {
  request: 10,
  requestAck: 11,
  options: 20,
  configuration: 30,
  configurationAck: 31,
  secret: 40,
  secretAck: 41,
} as const;
/** The status of a pairing message (4.1); any other is an error. */
export const okStatus = 200;

const envelope = (field: number, message: Fields) => frameOf({ 1: 2, 2: okStatus, [field]: message });
/** Six characters of hex, typed by the user. */
const encoding: Fields = { 1: 3, 2: 6 };
export const codeLength = 6;

export const pairingMessages = {
  request: () => envelope(pairing.request, { 1: "atvremote", 2: "zapd" }),
  options: () => envelope(pairing.options, { 1: encoding, 3: 1 }),
  configuration: () => envelope(pairing.configuration, { 1: encoding, 2: 1 }),
  secret: (secret: Uint8Array) => envelope(pairing.secret, { 1: secret }),
} as const;

export interface RsaNumbers {
  readonly modulus: Uint8Array;
  readonly exponent: Uint8Array;
}

/**
 * The secret that proves a code (4.1): a hash over both keys and the code without its first byte. `null` where the
 * first byte of the hash is not that of the code: it was mistyped.
 */
export function secretOf(client: RsaNumbers, server: RsaNumbers, code: string): Uint8Array | null {
  const hash = createHash("sha256");
  for (const { modulus, exponent } of [client, server]) hash.update(modulus).update(exponent);
  const secret = hash.update(Buffer.from(code.slice(2), "hex")).digest();
  return secret[0] === Number.parseInt(code.slice(0, 2), 16) ? secret : null;
}
