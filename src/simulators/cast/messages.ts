/** Reading and writing CASTV2 messages (players.md 3.1). */
import { encode, readFrames, textIn } from "../bench/protobuf.ts";

export interface Message {
  readonly source: string;
  readonly destination: string;
  readonly namespace: string;
  readonly text: string;
  /** A binary payload in place of `text`. */
  readonly bytes?: Uint8Array;
}

/** Reads messages from a stream. The returned function answers false for invalid bytes: the connection must be closed then. */
export function readMessages(onMessage: (message: Message) => void): (bytes: Buffer) => boolean {
  const headOf = (bytes: Buffer) => (bytes.length < 4 ? null : ([bytes.readUInt32BE(0), 4] as const));
  return readFrames(headOf, (fields) => {
    const [source, destination, namespace] = [textIn(fields, 2), textIn(fields, 3), textIn(fields, 4)];
    onMessage({ source, destination, namespace, text: textIn(fields, 6) });
  });
}

/** The version and the payload type must be written even when they are zero. */
export function writeMessage({ source, destination, namespace, text, bytes }: Message): Buffer {
  const body = Buffer.concat([
    Buffer.from([0x08, 0]),
    encode({ 2: source, 3: destination, 4: namespace }),
    Buffer.from([0x28, bytes ? 1 : 0]),
    encode(bytes ? { 7: bytes } : { 6: text }),
  ]);
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
}
