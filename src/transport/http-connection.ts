/**
 * One connection to a device, carrying HTTP/1.1 exchanges one after another. Not `fetch`: here no redirect is followed, an
 * upload is streamed with its length, and an identity that was read over a connection holds for the command that is sent over
 * the same one. Reading is lenient where sets are careless (bare LF, no reason phrase, no length), and strict about sizes and
 * compression.
 */
import type net from "node:net";
import { DeviceError, protocolError, ZapdError } from "../api/errors.ts";
import type { Address } from "../platforms/platform.ts";
import { connectSocket, fingerprintOf, hostLine, loopHeader, requireCertificate, tooLate } from "./socket.ts";

export interface Answer {
  readonly status: number;
  /** By their names in lower case. */
  readonly headers: Pick<ReadonlyMap<string, string>, "get" | "has">;
  readonly body: Uint8Array;
}

/** The timeout of an exchange, and the failure that it ends with; without one only the signal limits it. */
export interface Limit {
  readonly timeoutMs: number;
  late(): DeviceError;
}

/** How much of an answer is waited for: of an action the head, as some sets send no length for its empty body. */
export type Wanted = "head" | "all";

export interface Exchange {
  readonly method: "GET" | "POST" | "DELETE" | "SUBSCRIBE" | "UNSUBSCRIBE";
  /** Path and query, percent-encoded. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A chunk is sent before the next is read, so that all may share their memory. */
  readonly body?: { readonly bytes: number; chunks(): AsyncIterable<Uint8Array> };
  readonly wanted: Wanted;
  readonly maxBytes: number;
}

export class HttpConnection {
  /** When the device last proved over it that it is the one that is meant, on the monotonic clock. */
  provenAt: number | undefined;
  /** The headers with the login, where the device requires one. */
  login: Readonly<Record<string, string>> | undefined;
  /** Whether another exchange may be sent. */
  usable = true;
  /** How many exchanges it has carried. */
  exchanges = 0;
  /** When the last exchange ended, on the monotonic clock. */
  idleSince = performance.now();

  readonly #socket: net.Socket;
  readonly #host: string;
  #reader: AnswerReader | undefined;
  #settle: ((error?: Error) => void) | undefined;

  private constructor(socket: net.Socket, address: Address) {
    this.#socket = socket;
    this.#host = hostLine(address);
    socket.on("data", (bytes: Uint8Array) => this.#received(bytes));
    socket.on("error", (error) => this.#ended(error));
    socket.on("close", () => this.#ended());
    socket.on("end", () => this.#ended());
  }

  /**
   * Connects; over TLS where `certificate` is given: its SHA-256 in lower-case hex, or `null` for any. Fails as `connectSocket`
   * does, and with `device_unproven` where the device shows another certificate.
   */
  static async open(
    address: Address,
    signal: AbortSignal,
    certificate?: string | null,
    withinMs?: number,
  ): Promise<HttpConnection> {
    const socket = await connectSocket(address, certificate === undefined ? false : {}, signal, withinMs);
    requireCertificate(certificate, socket);
    return new HttpConnection(socket, address);
  }

  /** SHA-256 of the certificate that the device showed, in lower-case hex; `null` without TLS. */
  get fingerprint(): string | null {
    return fingerprintOf(this.#socket);
  }

  /** Sends one request and waits for its answer. A failure, `device_timeout` or `device_error`, closes the connection. */
  exchange(exchange: Exchange, signal: AbortSignal, limit?: Limit): Promise<Answer> {
    const head = headOf(exchange, this.#host);
    const reader = new AnswerReader(exchange.wanted, exchange.maxBytes);
    this.#reader = reader;
    return new Promise<Answer>((resolve, reject) => {
      const aborted = () => this.#settle?.(tooLate(signal, "device_timeout"));
      const timer = limit && setTimeout(() => this.#settle?.(limit.late()), limit.timeoutMs);
      this.#settle = (error) => {
        this.#settle = undefined;
        this.#reader = undefined;
        clearTimeout(timer);
        signal.removeEventListener("abort", aborted);
        this.exchanges++;
        this.idleSince = performance.now();
        // After `Connection: close` no other request may be sent (RFC 9112, 9.6): a device that leaves it open may reset it then.
        const isLast = exchange.headers?.["Connection"] === "close";
        if (error || !reader.reusable || isLast) this.close();
        if (error) reject(error);
        else if (reader.answer) resolve(reader.answer);
      };
      if (signal.aborted) return aborted();
      if (!this.usable) return this.#settle(hungUp("closed the connection without an answer"));
      signal.addEventListener("abort", aborted);
      this.#socket.write(head);
      if (exchange.body) this.#send(exchange.body.chunks()).catch((error) => this.#settle?.(error));
    });
  }

  close(): void {
    this.usable = false;
    this.#socket.destroy();
  }

  /** Sends a body chunk by chunk, as fast as the device takes it; stops when the device has answered. */
  async #send(chunks: AsyncIterable<Uint8Array>): Promise<void> {
    for await (const chunk of chunks) {
      if (!this.usable || !this.#settle) return;
      await new Promise<void>((resolve) => {
        const done = () => {
          this.#socket.off("close", done);
          resolve();
        };
        this.#socket.on("close", done);
        this.#socket.write(chunk, done);
      });
    }
  }

  #received(bytes: Uint8Array): void {
    const reader = this.#reader;
    // Bytes without a request would be taken for the next answer.
    if (!reader) return this.close();
    try {
      reader.push(bytes);
      if (reader.answer) this.#settle?.();
    } catch (error) {
      this.#settle?.(error as ZapdError);
    }
  }

  #ended(cause?: Error): void {
    this.usable = false;
    try {
      if (!cause) this.#reader?.end();
      this.#settle?.(cause && hungUp("broke the connection", cause));
    } catch (error) {
      this.#settle?.(error as ZapdError);
    }
  }
}

function headOf(exchange: Exchange, host: string): string {
  const lines = [`${exchange.method} ${exchange.path} HTTP/1.1`, host, `${loopHeader}: 1`];
  for (const [name, value] of Object.entries(exchange.headers ?? {})) lines.push(`${name}: ${value}`);
  if (exchange.body) lines.push(`Content-Length: ${exchange.body.bytes}`);
  else if (exchange.method === "POST") lines.push("Content-Length: 0");
  if (exchange.path.includes(" ") || lines.some((line) => /[^\x20-\x7e]/.test(line))) {
    throw new ZapdError("internal_error", "A request to a device contained invalid characters");
  }
  return `${lines.join("\r\n")}\r\n\r\n`;
}

const maxHeadBytes = 16 * 1024;
const maxInterimAnswers = 8;
/** Lines around the chunks, two for each: reading an answer in chunks of one byte would block all other work. */
const maxChunkLines = 64 * 1024;

type Framing =
  | { by: "length"; left: number }
  | { by: "chunks"; left: number; trailer: boolean }
  | { by: "close" }
  | { by: "none" };

/** Reads an answer from the bytes given to `push`; `end` is the end of the connection. `answer` is set when it is complete; nothing is given after that. */
export class AnswerReader {
  answer: Answer | undefined;
  /** Whether the connection may carry another exchange after this answer. */
  reusable = false;

  readonly #wanted: Wanted;
  readonly #maxBytes: number;
  #pending: Uint8Array = new Uint8Array(0);
  #head: Head | undefined;
  #framing: Framing = { by: "none" };
  #parts: Uint8Array[] = [];
  #size = 0;
  #interim = 0;
  #chunkLines = 0;

  constructor(wanted: Wanted, maxBytes: number) {
    this.#wanted = wanted;
    this.#maxBytes = maxBytes;
  }

  get begun(): boolean {
    return this.#head !== undefined || this.#pending.length > 0;
  }

  push(bytes: Uint8Array): void {
    this.#pending = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes]);
    if (!this.#head && !this.#readHead()) return;
    this.#readBody();
    // The rest of the body would be taken for the next answer, so the connection is not reusable.
    if (!this.answer && this.#wanted === "head") this.#finish(false);
  }

  /** The device closed the connection. */
  end(): void {
    if (this.#head && this.#framing.by === "close") return this.#finish(false);
    throw hungUp(
      this.begun ? "closed the connection before its answer was complete" : "closed the connection without an answer",
    );
  }

  #readHead(): boolean {
    for (;;) {
      const end = headEnd(this.#pending);
      if (end === -1 ? this.#pending.length > maxHeadBytes : end > maxHeadBytes) throw malformed("headers over 16 KiB");
      if (end === -1) {
        const start = latin1.decode(this.#pending.subarray(0, 5));
        if (!"HTTP/".startsWith(start)) throw malformed("something that is not HTTP");
        return false;
      }
      const head = parseHead(latin1.decode(this.#pending.subarray(0, end)));
      this.#pending = this.#pending.subarray(end);
      if (head.status >= 100 && head.status < 200) {
        if (head.status === 101 || ++this.#interim > maxInterimAnswers)
          throw malformed("an upgrade that zapd did not request");
        continue;
      }
      this.#head = head;
      this.#framing = framingOf(head);
      if (this.#wanted === "all") this.#refuseUnreadable(head.headers);
      return true;
    }
  }

  #refuseUnreadable(headers: Answer["headers"]): void {
    const encoding = headers.get("content-encoding");
    if (encoding && encoding !== "identity") throw malformed("a compressed body that zapd did not request");
    if (this.#framing.by === "length" && this.#framing.left > this.#maxBytes) throw tooLong(this.#maxBytes);
  }

  #readBody(): void {
    const framing = this.#framing;
    if (framing.by === "none") this.#finish(true);
    else if (framing.by === "close") this.#keep(this.#take(this.#pending.length));
    else if (framing.by === "chunks") this.#readChunks(framing);
    else if (this.#readLeft(framing)) this.#finish(true);
  }

  /** Reads what has come of a body, or of a chunk. Gives whether that is all of it. */
  #readLeft(framing: { left: number }): boolean {
    const bytes = this.#take(Math.min(framing.left, this.#pending.length));
    framing.left -= bytes.length;
    this.#keep(bytes);
    return framing.left === 0;
  }

  #readChunks(framing: Framing & { by: "chunks" }): void {
    for (;;) {
      if (!this.#readLeft(framing)) return;
      const end = this.#pending.indexOf(10);
      if (end === -1) {
        if (this.#pending.length > 1024) throw malformed("an invalid chunk");
        return;
      }
      if (++this.#chunkLines > maxChunkLines) throw malformed(`more than ${maxChunkLines / 2} chunks`);
      const line = latin1.decode(this.#take(end + 1)).trim();
      if (framing.trailer) {
        if (line === "") return this.#finish(true);
        continue;
      }
      if (line === "") continue; // the end of the chunk before
      const size = /^([0-9a-f]{1,8})(?:\s*;.*)?$/i.exec(line)?.[1];
      if (size === undefined) throw malformed("an invalid chunk");
      framing.left = Number.parseInt(size, 16);
      framing.trailer = framing.left === 0;
    }
  }

  #take(count: number): Uint8Array {
    const taken = this.#pending.subarray(0, count);
    this.#pending = this.#pending.subarray(count);
    return taken;
  }

  #keep(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#size += bytes.length;
    if (this.#size > this.#maxBytes) throw tooLong(this.#maxBytes);
    this.#parts.push(bytes);
  }

  #finish(isFramed: boolean): void {
    const head = this.#head;
    if (!head) return;
    this.reusable = isFramed && head.persistent && this.#pending.length === 0;
    this.answer = { status: head.status, headers: head.headers, body: Buffer.concat(this.#parts) };
  }
}

/** Fails with `device_error` for a redirect: none is ever followed. */
export function refuseRedirect({ status }: Pick<Answer, "status">): void {
  if (status >= 300 && status < 400) throw protocolError("answered with a redirect, which zapd does not follow");
}

/** The body as UTF-8 text; other bytes become U+FFFD. */
export function bodyText(answer: Answer): string {
  return utf8.decode(answer.body);
}

const latin1 = new TextDecoder("latin1");
const utf8 = new TextDecoder();

/** The index after the blank line that ends a head, or -1. */
function headEnd(bytes: Uint8Array): number {
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) {
    if (bytes[at + 1] === 10) return at + 2;
    if (bytes[at + 1] === 13 && bytes[at + 2] === 10) return at + 3;
  }
  return -1;
}

interface Head {
  readonly status: number;
  readonly headers: Answer["headers"];
  readonly persistent: boolean;
}

/** The headers by their names in lower case; the values of a repeated one are joined. */
function parseHeaders(lines: readonly string[]): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon === -1) continue;
    const name = line.slice(0, colon).trim().toLowerCase();
    const value = line.slice(colon + 1).trim();
    const before = headers.get(name);
    if (before === undefined) headers.set(name, value);
    else if (name !== "content-length") headers.set(name, `${before}, ${value}`);
    else if (before !== value) throw malformed("two different lengths");
  }
  return headers;
}

function parseHead(text: string): Head {
  const [first = "", ...lines] = text.split("\n");
  const start = /^HTTP\/1\.([01]) +(\d{3})(?: .*)?\r?$/.exec(first);
  if (!start) throw malformed("something that is not HTTP");
  const headers = parseHeaders(lines);
  const connection = headers.get("connection")?.toLowerCase() ?? "";
  const persistent = start[1] === "1" ? !connection.includes("close") : connection.includes("keep-alive");
  return { status: Number(start[2]), headers, persistent };
}

function framingOf({ status, headers }: Head): Framing {
  if (status === 204 || status === 304) return { by: "none" };
  if (headers.get("transfer-encoding")?.toLowerCase().includes("chunked")) {
    return { by: "chunks", left: 0, trailer: false };
  }
  const length = headers.get("content-length");
  if (length === undefined) return { by: "close" };
  if (!/^\d{1,15}$/.test(length)) throw malformed("an invalid length");
  return { by: "length", left: Number(length) };
}

/** The connection ended before the answer was complete: whether a command was carried out is not known. */
export function hungUp(problem: string, cause?: unknown): DeviceError {
  return new DeviceError("device_error", problem, { phase: "sent", reason: "closed", cause });
}

function malformed(what: string): DeviceError {
  return protocolError(`answered with ${what}`);
}

function tooLong(maxBytes: number): DeviceError {
  return protocolError(`answered with more than ${Math.round(maxBytes / 1024)} KiB`);
}
