/** Protobuf messages: numbered fields, each a number, a text, bytes or a message. Pure. */

/** No message of a known device has as many. */
const maxFields = 256;

/** A message, by the numbers of its fields. Zero and `false` are not encoded, as usual. */
export interface Fields {
  readonly [field: number]: number | boolean | string | Uint8Array | Fields;
}

export function encode(message: Fields): Buffer {
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

/** A number in as many bytes as it needs. */
export function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value % 0x80) + 0x80, ...varint(Math.floor(value / 0x80))];
}

/** A received message. Of a repeated field the last counts. */
export class Message {
  readonly #numbers = new Map<number, number>();
  readonly #bytes = new Map<number, Buffer>();

  /** Throws for an invalid message. Embedded messages are decoded when they are read, so that their depth costs nothing. */
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
      throw new Error("sent an incomplete message");
    };
    for (let count = 0; at < body.length; count++) {
      if (count === maxFields) throw new Error("sent a message with too many fields");
      const key = number();
      const kind = key % 8;
      const field = Math.floor(key / 8);
      if (kind === 0) this.#numbers.set(field, number());
      else {
        const length = { 1: 8, 2: kind === 2 ? number() : 0, 5: 4 }[kind];
        if (length === undefined) throw new Error("sent a message with a field of an unknown type");
        if (at + length > body.length) throw new Error("sent an incomplete message");
        if (kind === 2) this.#bytes.set(field, body.subarray(at, at + length));
        at += length;
      }
    }
  }

  /** A number below 2^31; else `0`. */
  number(field: number): number {
    const value = this.#numbers.get(field) ?? 0;
    return value < 2 ** 31 ? value : 0;
  }

  /** A text; `""` where the field is missing. */
  text(field: number): string {
    return this.#bytes.get(field)?.toString("utf8") ?? "";
  }

  /** An embedded message; `null` where the field is missing. */
  message(field: number): Message | null {
    const bytes = this.#bytes.get(field);
    return bytes ? new Message(bytes) : null;
  }
}
