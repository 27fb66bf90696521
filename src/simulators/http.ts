import { createServer, type Server, type Socket } from "node:net";

/** Null when it is not the head of an HTTP/1 request. */
export function parseHead(head: string): Request | null {
  const [first = "", ...lines] = head.replace(/^(\r\n)+/, "").split("\r\n");
  const [, method, target, version] = /^([A-Za-z-]+) (\S+) HTTP\/1\.([01])$/.exec(first) ?? [];
  if (method === undefined || target === undefined) return null;
  const headers: Record<string, string> = Object.create(null);
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon <= 0) return null;
    headers[line.slice(0, colon).trim().toLowerCase()] = line.slice(colon + 1).trim();
  }
  if (version === "0") headers.connection ??= "close";
  return { method: method.toUpperCase(), target, headers };
}

export function keepsAlive(request: Request): boolean {
  return request.headers.connection?.toLowerCase() !== "close";
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
};

/** An empty answer has no Content-Type (1.2), so only what the answer brings is said. */
export function renderAnswer(request: Request, answer: Answer, always: HttpOptions["headers"]): Uint8Array {
  const body = Buffer.from(answer.body ?? "");
  const lines = [
    `HTTP/1.1 ${answer.status} ${REASONS[answer.status] ?? "Error"}`,
    ...[...always, ...(answer.headers ?? [])].map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${body.length}`,
  ];
  const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`);
  return request.method === "HEAD" ? head : Buffer.concat([head, body]);
}

/** Follows one request body through the chunks of a connection, by length or by transfer coding. */
export interface Body {
  readonly received: number;
  readonly done: boolean;
  /** Takes what belongs to the body and gives back what follows it. */
  push(chunk: Buffer): Buffer | "too-large" | "malformed";
}

const LONGEST_SIZE_LINE = 256;

/** Null when the head states no length that can be followed. */
export function createBody(
  headers: Readonly<Record<string, string>>,
  limit: number,
  receive: (chunk: Uint8Array) => void,
): Body | null {
  if (headers["transfer-encoding"]?.toLowerCase() === "chunked") return chunkedBody(limit, receive);
  const length = headers["content-length"] ?? "0";
  return /^\d{1,15}$/.test(length) ? lengthBody(Number(length), limit, receive) : null;
}

function lengthBody(length: number, limit: number, receive: (chunk: Uint8Array) => void): Body {
  let received = 0;
  return {
    get received() {
      return received;
    },
    get done() {
      return received === length;
    },
    push(chunk) {
      if (length > limit) return "too-large";
      const mine = chunk.subarray(0, length - received);
      received += mine.length;
      if (mine.length > 0) receive(mine);
      return chunk.subarray(mine.length);
    },
  };
}

function chunkedBody(limit: number, receive: (chunk: Uint8Array) => void): Body {
  let received = 0;
  let left = 0;
  let state: "size" | "content" | "break" | "trailer" | "done" = "size";
  const take = (chunk: Buffer): Buffer | "too-large" | "malformed" | null => {
    if (state === "content") {
      const mine = chunk.subarray(0, left);
      left -= mine.length;
      received += mine.length;
      if (received > limit) return "too-large";
      if (mine.length > 0) receive(mine);
      if (left === 0) state = "break";
      return chunk.subarray(mine.length);
    }
    const end = chunk.indexOf("\r\n");
    if (end < 0) return chunk.length > LONGEST_SIZE_LINE ? "malformed" : null;
    const line = chunk.subarray(0, end).toString("latin1");
    if (state === "break") state = line === "" ? "size" : "done";
    else if (state === "trailer") state = line === "" ? "done" : "trailer";
    else {
      if (!/^[0-9a-f]{1,8}\s*(;.*)?$/i.test(line)) return "malformed";
      left = Number.parseInt(line, 16);
      state = left === 0 ? "trailer" : "content";
    }
    return chunk.subarray(end + 2);
  };
  return {
    get received() {
      return received;
    },
    get done() {
      return state === "done";
    },
    push(chunk) {
      let rest = chunk;
      while (state !== "done" && rest.length > 0) {
        const next = take(rest);
        if (next === null) return rest;
        if (typeof next === "string") return next;
        rest = next;
      }
      return rest;
    },
  };
}

const HEAD_LIMIT = 16 * 1024;
/** A client that asks and never reads is cut off. */
const UNREAD_LIMIT = 8 * 1024 * 1024;
const NOTHING = Buffer.alloc(0);
const NO_REQUEST: Request = { method: "", target: "", headers: {} };

/** Reads requests off one connection, one after the other. */
export class Connection {
  readonly #socket: Socket;
  readonly #options: HttpOptions;
  #rest: Buffer = NOTHING;
  #current: { request: Request; reading: Reading; body: Body } | null = null;
  #closed = false;

  constructor(socket: Socket, options: HttpOptions) {
    this.#socket = socket;
    this.#options = options;
  }

  feed(chunk: Uint8Array): void {
    this.#rest = this.#rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#rest, chunk]);
    while (!this.#closed && (this.#current === null ? this.#readHead() : this.#readBody()));
  }

  /** False when more has to arrive first. */
  #readHead(): boolean {
    const end = this.#rest.indexOf("\r\n\r\n");
    if (end < 0 && this.#rest.length > HEAD_LIMIT) this.#close(NO_REQUEST, { status: 400 }, 0);
    if (end < 0) return false;
    const request = parseHead(this.#rest.subarray(0, end).toString("latin1"));
    this.#rest = this.#rest.subarray(end + 4);
    if (request === null) this.#close(NO_REQUEST, { status: 400 }, 0);
    else this.#begin(request, this.#options.plan(request));
    return true;
  }

  #begin(request: Request, plan: Plan): void {
    if ("refuse" in plan) return this.#close(request, plan.refuse, 0);
    const body = createBody(request.headers, plan.limit, (chunk) => plan.receive(chunk));
    if (body === null) return this.#close(request, { status: 400 }, 0);
    if (request.headers.expect?.toLowerCase() === "100-continue") this.#socket.write("HTTP/1.1 100 Continue\r\n\r\n");
    this.#current = { request, reading: plan, body };
  }

  #readBody(): boolean {
    if (this.#current === null) return false;
    const { request, reading, body } = this.#current;
    const rest = body.push(this.#rest);
    if (typeof rest === "string") {
      this.#close(request, { status: rest === "too-large" ? 413 : 400 }, body.received);
      return false;
    }
    this.#rest = rest;
    if (!body.done) return false;
    this.#current = null;
    this.#finish(request, reading, body.received);
    return true;
  }

  #finish(request: Request, reading: Reading, bytes: number): void {
    const answer = reading.answer();
    if (answer === "never") {
      this.#closed = true;
      this.#record(request, 0, bytes);
    } else if (answer === "reset") {
      this.#closed = true;
      this.#record(request, 0, bytes);
      this.#socket.resetAndDestroy();
    } else if (reading.hangUp || !keepsAlive(request)) {
      this.#close(request, answer, bytes);
    } else {
      this.#record(request, answer.status, bytes);
      this.#socket.write(renderAnswer(request, answer, this.#options.headers));
      if (this.#socket.writableLength > UNREAD_LIMIT) this.#socket.destroy();
    }
  }

  /** Answers and closes; what the client still sends is not read. */
  #close(request: Request, answer: Answer, bytes: number): void {
    this.#closed = true;
    this.#rest = NOTHING;
    this.#socket.pause();
    this.#record(request, answer.status, bytes);
    this.#socket.end(renderAnswer(request, answer, this.#options.headers), () => this.#socket.destroy());
  }

  #record({ method, target, headers }: Request, status: number, bytes: number): void {
    if (method !== "") this.#options.record({ method, path: target, headers: { ...headers }, status, bytes });
  }
}

export interface Request {
  readonly method: string;
  /** The path and query exactly as sent: digest authentication compares it. */
  readonly target: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

type Header = readonly [name: string, value: string];

export interface Answer {
  readonly status: number;
  readonly headers?: readonly Header[];
  readonly body?: string | Uint8Array;
}

/** Read the body, at most `limit` bytes of it, then answer. */
export interface Reading {
  readonly limit: number;
  receive(chunk: Uint8Array): void;
  /** Reset cuts the connection, never leaves it open without a word. */
  answer(): Answer | "reset" | "never";
  /** Close the connection after the answer, unannounced. */
  readonly hangUp?: boolean;
}

/** What to do with a request once its head is there; to refuse is to answer and close with the body unread. */
export type Plan = Reading | { readonly refuse: Answer };

export interface RecordedRequest {
  readonly method: string;
  /** With the query, as sent. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** 0 when the connection was reset instead of an answer. */
  readonly status: number;
  /** Bytes of the body that were read. */
  readonly bytes: number;
}

export interface HttpOptions {
  plan(request: Request): Plan;
  /** Said with every answer, before its own headers. */
  readonly headers: readonly Header[];
  record(request: RecordedRequest): void;
}

const IDLE_MS = 60_000;

/** HTTP/1.1 by hand: the order and case of headers, empty answers and hang-ups are part of what is simulated. */
export function createHttpServer(options: HttpOptions, track: (socket: Socket) => void): Server {
  return createServer((socket) => {
    track(socket);
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    const connection = new Connection(socket, options);
    socket.on("data", (chunk: Uint8Array) => connection.feed(chunk));
  });
}
