/** Protobuf messages over a stream of frames. */

/** A decoded message: numbers, and bytes of length-delimited fields. */
export type Fields = ReadonlyMap<number, number | Buffer>;
type Value = number | string | Uint8Array | MessageFields;
export interface MessageFields {
  readonly [field: number]: Value;
}

const maxMessageBytes = 65_536;

/** The length of a message and where it begins in the frame; null while the head is incomplete. */
type Head = readonly [length: number, start: number] | null;

/** Reads messages from a stream of chunks. The returned function answers false for invalid bytes: the connection must be closed then. */
export function readFrames(
  headOf: (bytes: Buffer) => Head,
  onMessage: (fields: Fields) => void,
): (bytes: Buffer) => boolean {
  let rest: Buffer = Buffer.alloc(0);
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    for (;;) {
      const head = headOf(rest);
      if (head === null) return rest.length < 5;
      const [length, start] = head;
      if (length > maxMessageBytes) return false;
      if (rest.length < start + length) return true;
      const fields = parse(rest.subarray(start, start + length));
      rest = rest.subarray(start + length);
      if (fields === null) return false;
      onMessage(fields);
    }
  };
}

/** Null for an invalid message. */
function parse(body: Buffer): Fields | null {
  const fields = new Map<number, number | Buffer>();
  for (let at = 0; at < body.length; ) {
    const key = readVarint(body, at);
    const value = key && readVarint(body, key[1]);
    if (!key || !value) return null;
    const field = Math.floor(key[0] / 8);
    if (key[0] % 8 === 0) {
      fields.set(field, value[0]);
      at = value[1];
    } else if (key[0] % 8 === 2 && value[1] + value[0] <= body.length) {
      at = value[1] + value[0];
      fields.set(field, body.subarray(value[1], at));
    } else return null;
  }
  return fields;
}

/** The message in a field; empty if there is none. */
export function messageIn(fields: Fields, field: number): Fields {
  const value = fields.get(field);
  return (value instanceof Buffer && parse(value)) || new Map();
}

export function numberIn(fields: Fields, field: number): number {
  const value = fields.get(field);
  return typeof value === "number" ? value : 0;
}

export function textIn(fields: Fields, field: number): string {
  return bytesIn(fields, field).toString();
}

export function bytesIn(fields: Fields, field: number): Buffer {
  const value = fields.get(field);
  return value instanceof Buffer ? value : Buffer.alloc(0);
}

/** Reads a varint; null if it is incomplete. */
export function readVarint(bytes: Buffer, from = 0): [value: number, after: number] | null {
  let value = 0;
  for (let at = from, weight = 1; at < bytes.length && at < from + 10; at += 1, weight *= 128) {
    const byte = bytes[at] ?? 0;
    value += (byte % 128) * weight;
    if (byte < 128) return [value, at + 1];
  }
  return null;
}

/** Encodes a message with its length before it. */
export function encodeWithLength(message: MessageFields): Buffer {
  const body = encode(message);
  return Buffer.concat([Buffer.from(encodeVarint(body.length)), body]);
}

/** Encodes a message without fields that are zero, as most encoders do. */
export function encode(message: MessageFields): Buffer {
  const parts = Object.entries(message).flatMap(([field, value]) => {
    const key = Number(field) * 8;
    if (typeof value === "number")
      return value === 0 ? [] : [Buffer.from([...encodeVarint(key), ...encodeVarint(value)])];
    const content =
      typeof value === "string" || value instanceof Uint8Array ? Buffer.from(value as string) : encode(value);
    return [Buffer.from([...encodeVarint(key + 2), ...encodeVarint(content.length)]), content];
  });
  return Buffer.concat(parts);
}

function encodeVarint(value: number): number[] {
  const bytes: number[] = [];
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 128) return [...bytes, left];
    bytes.push((left % 128) + 128);
  }
}
