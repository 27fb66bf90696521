/**
 * A message of CASTV2 in bytes (players.md 3.1): four bytes of length, and a protobuf of seven fields, of which those that
 * are texts are read. Pure.
 */

/** One message; what it says is JSON in all namespaces that are spoken here. */
export interface CastMessage {
  readonly source: string;
  readonly destination: string;
  readonly namespace: string;
  readonly text: string;
}

/** A set takes and says 64 KiB at most. */
export const maxBytes = 64 * 1024;
export const headBytes = 4;

export function readHead(bytes: Buffer): { readonly head: number; readonly body: number } | null {
  return bytes.length < headBytes ? null : { head: headBytes, body: bytes.readUInt32BE(0) };
}

/** The fields by their numbers; 1 is the version (0), 5 the type of the payload (0: text), 7 a payload of bytes. */
const fields = { version: 1, source: 2, destination: 3, namespace: 4, payloadType: 5, text: 6 } as const;
const wire = { varint: 0, bytes: 2 } as const;

export function encode({ source, destination, namespace, text }: CastMessage): Buffer {
  const texts = [
    [fields.source, source],
    [fields.destination, destination],
    [fields.namespace, namespace],
    [fields.text, text],
  ] as const;
  const written = texts.map(([field, value]) => {
    const bytes = Buffer.from(value);
    return Buffer.concat([Buffer.from([(field << 3) | wire.bytes, ...varint(bytes.length)]), bytes]);
  });
  const zero = (field: number) => Buffer.from([field << 3, 0]);
  const [from, to, where, what] = written as [Buffer, Buffer, Buffer, Buffer];
  const body = Buffer.concat([zero(fields.version), from, to, where, zero(fields.payloadType), what]);
  const head = Buffer.alloc(headBytes);
  head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}

/** What a body says; a field that is not known is passed over, and a message without a text says `""`. Throws for what is none. */
export function decode(body: Buffer): CastMessage {
  const texts = new Map<number, string>();
  let at = 0;
  const number = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = body[at++];
      // Ten bytes are 64 bits; a length that is used has far fewer.
      if (byte === undefined || shift > 63) throw new Error("said a message that ends in the midst");
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < body.length) {
    const key = number();
    const kind = key % 8;
    const length = kind === wire.bytes ? number() : kind === 1 ? 8 : kind === 5 ? 4 : 0;
    if (kind === wire.varint) number();
    else if (length === 0 && kind !== wire.bytes) throw new Error("said a message of a strange kind");
    if (at + length > body.length) throw new Error("said a message that ends in the midst");
    if (kind === wire.bytes) texts.set(Math.floor(key / 8), body.toString("utf8", at, at + length));
    at += length;
  }
  const text = (field: number) => texts.get(field) ?? "";
  return {
    source: text(fields.source),
    destination: text(fields.destination),
    namespace: text(fields.namespace),
    text: text(fields.text),
  };
}
