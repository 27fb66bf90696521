/**
 * A message of CASTV2 in bytes (players.md 3.1): four bytes of length, and a protobuf of seven fields, of which those that
 * are texts are read. Pure.
 */
import { encode as encodeFields, Message } from "../../transport/protobuf.ts";

/** One message; what it says is JSON in all namespaces that are spoken here. */
export interface CastMessage {
  readonly source: string;
  readonly destination: string;
  readonly namespace: string;
  readonly text: string;
}

const headBytes = 4;
/** How the stream is cut into messages: a set takes and says 64 KiB at most. */
export const framing = { readHead, headBytes, maxBytes: 64 * 1024 } as const;

function readHead(bytes: Buffer): { readonly head: number; readonly body: number } | null {
  return bytes.length < headBytes ? null : { head: headBytes, body: bytes.readUInt32BE(0) };
}

/** The fields by their numbers; the version is 0, as is the type of a payload that is a text, and neither may be left out. */
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

/** What a body says; a message without a text says `""`. Throws for what is none. */
export function decode(body: Buffer): CastMessage {
  const said = new Message(body);
  return {
    source: said.text(fields.source),
    destination: said.text(fields.destination),
    namespace: said.text(fields.namespace),
    text: said.text(fields.text),
  };
}
