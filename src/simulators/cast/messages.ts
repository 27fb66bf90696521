/** CASTV2 in bytes, as a device reads and writes it (players.md 3.1). */

export interface Message {
  readonly source: string;
  readonly destination: string;
  readonly namespace: string;
  readonly text: string;
  /** In its place. */
  readonly bytes?: Uint8Array;
}

/** What no message is longer than. */
const MOST = 65_536;

/** Reads messages from a stream; false when what came is none, and the line is to be cut. */
export function readMessages(onMessage: (message: Message) => void): (bytes: Buffer) => boolean {
  let rest: Buffer = Buffer.alloc(0);
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    while (rest.length >= 4) {
      const length = rest.readUInt32BE(0);
      if (length > MOST) return false;
      if (rest.length < 4 + length) return true;
      const message = parse(rest.subarray(4, 4 + length));
      rest = rest.subarray(4 + length);
      if (message === null) return false;
      onMessage(message);
    }
    return true;
  };
}

/** Field by field: 1 and 5 are numbers, all others have a length. */
function parse(body: Buffer): Message | null {
  const found: Record<number, string> = {};
  for (let at = 0; at < body.length; ) {
    const key = body[at] ?? 0;
    const [value, after] = number(body, at + 1);
    if ((key & 7) === 0) at = after;
    else if ((key & 7) === 2 && after + value <= body.length) {
      found[key >> 3] = body.toString("utf8", after, after + value);
      at = after + value;
    } else return null;
  }
  const { 2: source = "", 3: destination = "", 4: namespace = "", 6: text = "" } = found;
  return { source, destination, namespace, text };
}

function number(body: Buffer, from: number): [value: number, after: number] {
  let value = 0;
  for (let at = from, weight = 1; at < body.length && at < from + 10; at += 1, weight *= 128) {
    const byte = body[at] ?? 0;
    value += (byte % 128) * weight;
    if (byte < 128) return [value, at + 1];
  }
  return [Number.POSITIVE_INFINITY, body.length];
}

export function writeMessage({ source, destination, namespace, text, bytes: payload }: Message): Buffer {
  const field = (key: number, words: string | Uint8Array) => {
    const bytes = typeof words === "string" ? Buffer.from(words) : Buffer.from(words);
    const size: number[] = [];
    for (let left = bytes.length; ; left = Math.floor(left / 128)) {
      if (left < 128) {
        size.push(left);
        break;
      }
      size.push((left % 128) + 128);
    }
    return Buffer.concat([Buffer.from([key, ...size]), bytes]);
  };
  const body = Buffer.concat([
    Buffer.from([0x08, 0]),
    field(0x12, source),
    field(0x1a, destination),
    field(0x22, namespace),
    ...(payload ? [Buffer.from([0x28, 1]), field(0x3a, payload)] : [Buffer.from([0x28, 0]), field(0x32, text)]),
  ]);
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
}
