/**
 * HTTP as old firmware speaks it, on a bare TCP socket: requests are kept byte for byte, and answers may be framed in every
 * way that sets do. It shares no code with zapd.
 */
import { STATUS_CODES } from "node:http";
import net from "node:net";
import { freePort } from "./daemon.ts";
import { type Listening, listening } from "./listening.ts";

export interface RawRequest {
  readonly method: string;
  /** The target as in the request line. */
  readonly target: string;
  readonly path: string;
  readonly query: string;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly head: string;
  readonly body: Buffer;
  /** The number of the connection, counted from 1. */
  readonly connection: number;
  readonly at: number;
}

export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** `hang`: no answer. `close`: ends the connection without one. `reset`: ends it with RST. */
export type Answer = Reply | "hang" | "close" | "reset";

/** How answers are framed. Each of these is valid HTTP, or was seen on a set. */
export interface Style {
  /** `said` announces the end with `Connection: close`; `rude` does not. */
  readonly close?: "said" | "rude";
  /** HTTP/1.0: without a length, ended by the connection. */
  readonly old?: boolean;
  readonly chunked?: boolean;
  /** Sent in pieces of odd sizes. */
  readonly dribble?: boolean;
  /** Empty answers have no `Content-Length`, and the connection stays open. */
  readonly lengthless?: boolean;
}

export class Wire {
  readonly requests: RawRequest[] = [];
  style: Style = {};
  /** Takes over each new connection, before a byte is read. */
  fault: ((socket: net.Socket) => void) | null = null;
  connections = 0;
  /** Answers that replace the usual ones, by path. */
  readonly answers = new Map<string, Answer>();
  /** Bytes received on all connections. */
  bytesRead = 0;
  port = 0;
  #listening: Listening | undefined;
  readonly #answer: (request: RawRequest) => Answer | Promise<Answer>;

  constructor(answer: (request: RawRequest) => Answer | Promise<Answer>) {
    this.#answer = answer;
  }

  /** Without a port, one that no other process of tests uses. */
  async listen(host: string, port = 0): Promise<void> {
    const server = net.createServer((socket) => this.#accept(socket));
    this.#listening = await listening(server, host, port || (await freePort(host)));
    this.port = this.#listening.port;
  }

  /** Stops listening and drops every connection; the port may be listened on again. */
  async close(): Promise<void> {
    const open = this.#listening;
    this.#listening = undefined;
    await open?.stop();
  }

  #accept(socket: net.Socket): void {
    const connection = ++this.connections;
    socket.setNoDelay(true);
    if (this.fault) {
      this.fault(socket);
      return;
    }
    let pending: Buffer[] = [];
    let held = 0;
    let needed = 1;
    let busy = false;
    const step = async (): Promise<void> => {
      if (busy) return;
      busy = true;
      while (held >= needed) {
        const bytes = pending.length === 1 && pending[0] ? pending[0] : Buffer.concat(pending);
        pending = [bytes];
        const taken = readRequest(bytes, connection);
        if ("needed" in taken) {
          needed = taken.needed;
          continue;
        }
        pending = [bytes.subarray(taken.bytes)];
        held -= taken.bytes;
        needed = 1;
        this.requests.push(taken.request);
        if (!(await this.#reply(socket, taken.request))) return;
      }
      busy = false;
    };
    socket.on("data", (bytes: Buffer) => {
      this.bytesRead += bytes.length;
      held += bytes.length;
      pending.push(bytes);
      void step();
    });
  }

  /** Whether the connection stays open. */
  async #reply(socket: net.Socket, request: RawRequest): Promise<boolean> {
    const answer = this.answers.get(request.path) ?? (await this.#answer(request));
    if (answer === "hang") return false;
    if (answer === "close" || answer === "reset") {
      if (answer === "reset") socket.resetAndDestroy();
      else socket.destroy();
      return false;
    }
    const framed = frame(answer, this.style);
    const head = Buffer.from(framed.head, "latin1");
    const all = request.method === "HEAD" ? head : Buffer.concat([head, framed.body]);
    for (const piece of this.style.dribble ? oddPieces(all) : [all]) {
      if (socket.destroyed) return false;
      socket.write(piece);
      if (this.style.dribble) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    if (framed.ends || request.headers.get("connection")?.toLowerCase() === "close") {
      socket.end();
      return false;
    }
    return true;
  }
}

function frame(reply: Reply, style: Style): { head: string; body: Buffer; ends: boolean } {
  const body = Buffer.from(reply.body ?? "");
  const chunked = style.chunked === true && body.length > 0 && !style.old;
  const lines = [`HTTP/1.${style.old ? 0 : 1} ${reply.status} ${STATUS_CODES[reply.status] ?? "Unknown"}`];
  const server = reply.headers?.["Server"] ?? "Roku/14.6.4 UPnP/1.0 Roku/14.6.4";
  for (const [name, value] of Object.entries({ ...reply.headers, Server: server })) lines.push(`${name}: ${value}`);
  if (chunked) lines.push("Transfer-Encoding: chunked");
  else if (!style.old && !(style.lengthless && body.length === 0)) lines.push(`Content-Length: ${body.length}`);
  if (style.close === "said") lines.push("Connection: close");
  return {
    head: `${lines.join("\r\n")}\r\n\r\n`,
    body: chunked ? inChunks(body) : body,
    ends: style.close !== undefined || style.old === true,
  };
}

function inChunks(body: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (const piece of oddPieces(body))
    parts.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from("\r\n"));
  parts.push(Buffer.from("0\r\n\r\n"));
  return Buffer.concat(parts);
}

function oddPieces(bytes: Buffer): Buffer[] {
  const sizes = [1, 3, 17, 101, 2, 251];
  const pieces: Buffer[] = [];
  for (let from = 0, turn = 0; from < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    pieces.push(bytes.subarray(from, from + size));
    from += size;
  }
  return pieces;
}

/** The first request in the bytes, and its length; or how many bytes are needed. */
function readRequest(bytes: Buffer, connection: number): { request: RawRequest; bytes: number } | { needed: number } {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return { needed: bytes.length + 1 };
  const head = bytes.subarray(0, end).toString("latin1");
  const [line = "", ...rest] = head.split("\r\n");
  const [method = "", target = ""] = line.split(" ");
  const headers = new Map<string, string>();
  for (const field of rest) {
    const colon = field.indexOf(":");
    headers.set(field.slice(0, colon).trim().toLowerCase(), field.slice(colon + 1).trim());
  }
  const whole = end + 4 + Number(headers.get("content-length") ?? 0);
  if (bytes.length < whole) return { needed: whole };
  const [path = "", query = ""] = target.split(/\?(.*)/s);
  const body = bytes.subarray(end + 4, whole);
  const at = performance.now();
  return { request: { method, target, path, query, headers, head, connection, at, body }, bytes: whole };
}
