/**
 * A connection to a device over TLS that carries frames, each preceded by its length; a platform reads their content. The size of a
 * frame, the frames read in a while, and the bytes that the device leaves unread are limited.
 */
import type { Address, PlatformHost } from "../platforms/platform.ts";
import { type ConnectionEnd, disconnected, type OpenConnection, SlicedConnection } from "./sliced-connection.ts";
import { certificateOf, connectSocket, fingerprint, refuseOwnListener, type Secure } from "./socket.ts";

/** Reads the lengths of a frame's head and body; `null` while too few bytes have come. */
type ReadHead = (bytes: Buffer) => { readonly head: number; readonly body: number } | null;

interface FramedOptions {
  readonly address: Address;
  /** The client certificate, where the device requires one. */
  readonly secure?: Exclude<Secure, false>;
  readonly platformHost: Pick<PlatformHost, "isOwnListener">;
  readonly readHead: ReadHead;
  /** Bytes of a head, and of a body, at most. */
  readonly headBytes: number;
  readonly maxBytes: number;
  /** When it throws, the connection ends. */
  onFrame(body: Buffer): void;
  /** Called once, when an open connection ends. */
  onEnd(end: ConnectionEnd): void;
}

export interface FramedConnection extends OpenConnection {
  /** The certificate that the device showed, in DER; `null` where it showed none. */
  readonly certificate: Uint8Array | null;
  /** Sends a frame, with its head. */
  send(frame: Uint8Array): void;
}

/** Opens a connection. Fails as `connectSocket` does. */
export async function openFramed(options: FramedOptions, signal: AbortSignal): Promise<FramedConnection> {
  refuseOwnListener(options.address, options.platformHost);
  const socket = await connectSocket(options.address, options.secure ?? {}, signal);
  const certificate = certificateOf(socket);
  const frames = new FrameSplitter(options);
  const connection = new SlicedConnection<Buffer>(socket, {
    slice: { ms: 100, frames: 100 },
    split: (piece) => frames.push(piece),
    bytesOf: (body) => body.length,
    take: options.onFrame,
    onEnd: options.onEnd,
  });
  return {
    certificate,
    fingerprint: certificate && fingerprint(certificate),
    get lastReceivedAt() {
      return connection.lastReceivedAt;
    },
    get open() {
      return connection.isOpen;
    },
    send: (frame) => connection.send(frame),
    close: () => connection.end(disconnected, []),
    destroy: () => connection.end(disconnected),
  };
}

/** Cuts what comes into frames; keeps no more than one of them. */
export class FrameSplitter {
  readonly #options: Pick<FramedOptions, "readHead" | "headBytes" | "maxBytes">;
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** The bytes that must have come for the next frame. */
  #wanted = 1;

  constructor(options: Pick<FramedOptions, "readHead" | "headBytes" | "maxBytes">) {
    this.#options = options;
  }

  /** The frames that are complete. Throws for one that is too long. */
  *push(bytes: Buffer): Generator<Buffer> {
    this.#pieces.push(bytes);
    this.#bytes += bytes.length;
    if (this.#bytes < this.#wanted) return;
    let rest = this.#pieces.length === 1 ? bytes : Buffer.concat(this.#pieces);
    const { readHead, headBytes, maxBytes } = this.#options;
    for (;;) {
      const read = readHead(rest);
      if (read === null && rest.length >= headBytes) throw new Error("sent a frame with an invalid length");
      if (read && read.body > maxBytes) throw new Error("sent a frame that is too long");
      const end = read === null ? rest.length + 1 : read.head + read.body;
      if (read === null || rest.length < end) {
        // Copied, so that the received piece is not kept in memory for its end.
        this.#pieces = [Buffer.from(rest)];
        this.#bytes = rest.length;
        this.#wanted = end;
        return;
      }
      const body = rest.subarray(read.head, end);
      rest = rest.subarray(end);
      yield body;
    }
  }
}
