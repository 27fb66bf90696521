/** HTTP/1.1 by hand: the order and case of headers, empty responses and closed connections are part of the simulation. */
import { createServer, type Server, type Socket } from "node:net";
import { pushCapped } from "./set.ts";

export interface Request {
  readonly method: string;
  /** The path and query exactly as sent, as digest authentication needs it. */
  readonly target: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

type Header = readonly [name: string, value: string];

export interface HttpResponse {
  readonly status: number;
  readonly headers?: readonly Header[];
  readonly body?: string | Uint8Array;
  /** Closes the connection afterwards without announcing it. */
  readonly hangUp?: boolean;
}

/** `reset` resets the connection; `never` leaves it open without a response. */
export type Reply = HttpResponse | "reset" | "never";

export interface RecordedRequest {
  readonly method: string;
  /** The path and query as sent. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** 0 if there was no response. */
  readonly status: number;
  /** Bytes of the body that were read. */
  readonly bytes: number;
}

export interface HttpOptions {
  /** Sent with every response, before its own headers. */
  readonly headers?: readonly Header[];
  /** The limit of a body in bytes; a longer one gets 413. */
  readonly limit: number;
  /** A response to send right after the head, without reading the body; the connection is closed then. */
  refuse?(request: Request): HttpResponse | null;
  answer(request: Request, body: Buffer): Reply | Promise<Reply>;
  /** Records the last thousand requests. */
  readonly record?: RecordedRequest[];
}

const IDLE_MS = 60_000;
const KEPT_REQUESTS = 1_000;
const HEAD_LIMIT = 16 * 1024;
/** A client that never reads its responses is disconnected. */
const UNREAD_LIMIT = 8 * 1024 * 1024;

export function createHttpServer(options: HttpOptions, track: (socket: Socket) => void): Server {
  return createServer((socket) => {
    track(socket);
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    const connection = new Connection(socket, options);
    socket.on("data", (chunk: Uint8Array) => connection.feed(Buffer.from(chunk)));
  });
}

/** Serves the requests of one connection one after the other. */
class Connection {
  readonly #socket: Socket;
  readonly #options: HttpOptions;
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** How many bytes must arrive before the next step. */
  #neededBytes = 1;
  #request: Request | null = null;
  #busy = false;
  #closed = false;

  constructor(socket: Socket, options: HttpOptions) {
    this.#socket = socket;
    this.#options = options;
  }

  feed(chunk: Buffer): void {
    if (this.#closed) return;
    this.#pieces.push(chunk);
    this.#bytes += chunk.length;
    if (!this.#busy && this.#bytes >= this.#neededBytes) void this.#serve();
  }

  async #serve(): Promise<void> {
    this.#busy = true;
    for (let more = true; more && !this.#closed && this.#bytes >= this.#neededBytes; ) {
      const bytes = this.#pieces.length === 1 ? (this.#pieces[0] ?? Buffer.alloc(0)) : Buffer.concat(this.#pieces);
      this.#pieces = [bytes];
      if (this.#request === null) more = this.#readHead(bytes);
      else more = await this.#readBody(this.#request, bytes);
    }
    this.#busy = false;
  }

  /** False if more bytes must arrive first. */
  #readHead(bytes: Buffer): boolean {
    const end = bytes.indexOf("\r\n\r\n");
    if (end < 0) {
      if (bytes.length > HEAD_LIMIT) this.#close(null, { status: 400 });
      return false;
    }
    const request = parseHead(bytes.subarray(0, end).toString("latin1"));
    const refusal = request === null ? { status: 400 } : this.#refusal(request);
    if (request === null || refusal !== null) {
      this.#close(request, refusal ?? { status: 400 });
      return false;
    }
    if (request.headers["expect"]?.toLowerCase() === "100-continue")
      this.#socket.write("HTTP/1.1 100 Continue\r\n\r\n");
    this.#request = request;
    return this.#setBuffer(bytes.subarray(end + 4), lengthOf(request));
  }

  #refusal(request: Request): HttpResponse | null {
    const length = lengthOf(request);
    if (Number.isNaN(length)) return { status: 400 };
    return this.#options.refuse?.(request) ?? (length > this.#options.limit ? { status: 413 } : null);
  }

  async #readBody(request: Request, bytes: Buffer): Promise<boolean> {
    const length = lengthOf(request);
    this.#request = null;
    this.#setBuffer(bytes.subarray(length), 1);
    this.#finish(request, await this.#options.answer(request, bytes.subarray(0, length)), length);
    return true;
  }

  /** Sets the unread bytes and how many the next step needs. */
  #setBuffer(rest: Buffer, wanted: number): true {
    this.#pieces = [rest];
    this.#bytes = rest.length;
    this.#neededBytes = wanted;
    return true;
  }

  #finish(request: Request, reply: Reply, bytes: number): void {
    if (typeof reply === "string") {
      this.#closed = true;
      this.#record(request, 0, bytes);
      if (reply === "reset") this.#socket.resetAndDestroy();
    } else if (reply.hangUp || request.headers["connection"]?.toLowerCase() === "close") {
      this.#close(request, reply, bytes);
    } else {
      this.#record(request, reply.status, bytes);
      this.#socket.write(render(request, reply, this.#options.headers));
      if (this.#socket.writableLength > UNREAD_LIMIT) this.#socket.destroy();
    }
  }

  /** Responds and closes; further bytes of the client are not read. */
  #close(request: Request | null, answer: HttpResponse, bytes = 0): void {
    this.#closed = true;
    this.#socket.pause();
    if (request !== null) this.#record(request, answer.status, bytes);
    this.#socket.end(render(request, answer, this.#options.headers), () => this.#socket.destroy());
  }

  #record({ method, target, headers }: Request, status: number, bytes: number): void {
    const { record } = this.#options;
    if (record) pushCapped(record, { method, path: target, headers: { ...headers }, status, bytes }, KEPT_REQUESTS);
  }
}

/** A part of a path without its escapes; null where they are malformed. */
export function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}

/** Null if it is no head of an HTTP/1 request. */
function parseHead(head: string): Request | null {
  const [first = "", ...lines] = head.replace(/^(\r\n)+/, "").split("\r\n");
  const [, method, target, version] = /^([A-Za-z-]+) (\S+) HTTP\/1\.([01])$/.exec(first) ?? [];
  if (method === undefined || target === undefined) return null;
  const headers: Record<string, string> = Object.create(null);
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon <= 0) return null;
    headers[line.slice(0, colon).trim().toLowerCase()] = line.slice(colon + 1).trim();
  }
  if (version === "0") headers["connection"] ??= "close";
  return { method: method.toUpperCase(), target, headers };
}

/** The body length; NaN if the head states none that is supported: a chunked body is refused with 400. */
function lengthOf({ headers }: Request): number {
  const length = headers["transfer-encoding"] ?? headers["content-length"] ?? "0";
  return /^\d{1,15}$/.test(length) ? Number(length) : Number.NaN;
}

const REASONS: Readonly<Record<number, string>> = {
  200: "OK",
  202: "Accepted",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  413: "Payload Too Large",
  415: "Unsupported Media Type",
  500: "Internal Server Error",
};

/** No header is added but Content-Length: an empty response of a Roku has no Content-Type (roku.md 1.2). */
function render(request: Request | null, answer: HttpResponse, always: readonly Header[] = []): Uint8Array {
  const body = Buffer.from(answer.body ?? "");
  const lines = [
    `HTTP/1.1 ${answer.status} ${REASONS[answer.status] ?? "Error"}`,
    ...[...always, ...(answer.headers ?? [])].map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${body.length}`,
  ];
  const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`);
  return request?.method === "HEAD" ? head : Buffer.concat([head, body]);
}
