/**
 * CASTV2 frames (players.md 3.1): four bytes of length, then a protobuf message, of whose seven fields the texts are
 * used. Pure.
 */
import { encode as encodeFields, Message } from "../../transport/protobuf.ts";

/** One message; `text` is JSON in all namespaces used here. */
export interface CastMessage {
  readonly source: string;
  readonly destination: string;
  readonly namespace: string;
  readonly text: string;
}

const headBytes = 4;
/** How the stream is cut into messages, of 64 KiB at most. */
export const framing = { readHead, headBytes, maxBytes: 64 * 1024 } as const;

function readHead(bytes: Buffer): { readonly head: number; readonly body: number } | null {
  return bytes.length < headBytes ? null : { head: headBytes, body: bytes.readUInt32BE(0) };
}

/** The field numbers. Version and payload type are 0, and must not be left out. */
const fields = { version: 1, source: 2, destination: 3, namespace: 4, payloadType: 5, text: 6 } as const;

export function encode({ source, destination, namespace, text }: CastMessage): Buffer {
  const zero = (field: number) => Buffer.from([8 * field, 0]);
  const body = Buffer.concat([
    zero(fields.version),
    encodeFields({ [fields.source]: source, [fields.destination]: destination, [fields.namespace]: namespace }),
    zero(fields.payloadType),
    encodeFields({ [fields.text]: text }),
  ]);
  const head = Buffer.alloc(headBytes);
  head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
}

/** Reads a message; one without a text has `""`. Throws for bytes that are not a message. */
export function decode(body: Buffer): CastMessage {
  const message = new Message(body);
  return {
    source: message.text(fields.source),
    destination: message.text(fields.destination),
    namespace: message.text(fields.namespace),
    text: message.text(fields.text),
  };
}
