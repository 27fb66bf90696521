/**
 * Reads one HTTP/1.1 answer of a device from the bytes as they come. Pure: no sockets. Lenient where sets are careless
 * (bare LF, no reason phrase, no length), strict where it protects us (size of head and body, no compression).
 */
import { DeviceError, notUnderstood } from "../api/errors.ts";

/** What a device answered. Header names are in lower case. */
export interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Uint8Array;
}

/** How much of an answer is wanted: an action is decided by its head, and some sets send no length for its empty body. */
export type Wanted = "head" | "all";

const maxHead = 16 * 1024;
const maxInterim = 8;

type Framing =
  | { by: "length"; left: number }
  | { by: "chunks"; left: number; trailer: boolean }
  | { by: "close" }
  | { by: "none" };

/** Fed with bytes by `push`, and told of the end of the connection by `end`; `answer` is there when it is complete. */
export class AnswerReader {
  answer: Answer | undefined;
  /** Whether the connection may carry another exchange after this answer. */
  reusable = false;

  readonly #wanted: Wanted;
  readonly #maxBytes: number;
  readonly #headOnly: boolean;
  #pending: Uint8Array = new Uint8Array(0);
  #head: { status: number; headers: Map<string, string>; persistent: boolean } | undefined;
  #framing: Framing = { by: "none" };
  #parts: Uint8Array[] = [];
  #size = 0;
  #interim = 0;

  constructor(method: string, wanted: Wanted, maxBytes: number) {
    this.#wanted = wanted;
    this.#maxBytes = maxBytes;
    this.#headOnly = method === "HEAD";
  }

  /** Whether a single byte of an answer has come. */
  get begun(): boolean {
    return this.#head !== undefined || this.#pending.length > 0;
  }

  push(bytes: Uint8Array): void {
    if (this.answer) return;
    this.#pending = this.#pending.length === 0 ? bytes : join([this.#pending, bytes]);
    if (!this.#head && !this.#readHead()) return;
    this.#readBody();
    // An action whose body is not all here yet is answered all the same; its connection is not used again.
    if (!this.answer && this.#wanted === "head") this.#finish(false);
  }

  /** The device closed the connection. */
  end(): void {
    if (this.answer) return;
    if (this.#head && this.#framing.by === "close") return this.#finish(false);
    throw hungUp(this.begun ? "closed the connection in mid-answer" : "closed the connection without an answer");
  }

  #readHead(): boolean {
    for (;;) {
      const end = headEnd(this.#pending);
      if (end === -1 ? this.#pending.length > maxHead : end > maxHead) throw garbage("a head over 16 KiB");
      if (end === -1) {
        const start = latin1.decode(this.#pending.subarray(0, 5));
        if (!"HTTP/".startsWith(start)) throw garbage("something that is not HTTP");
        return false;
      }
      const head = parseHead(latin1.decode(this.#pending.subarray(0, end)));
      this.#pending = this.#pending.subarray(end);
      if (head.status >= 100 && head.status < 200) {
        if (head.status === 101 || ++this.#interim > maxInterim) throw garbage("an upgrade that nobody asked for");
        continue;
      }
      this.#head = head;
      this.#framing = framingOf(head, this.#headOnly);
      if (this.#wanted === "all") this.#refuseUnreadable(head.headers);
      return true;
    }
  }

  #refuseUnreadable(headers: ReadonlyMap<string, string>): void {
    const encoding = headers.get("content-encoding");
    if (encoding && encoding !== "identity") throw garbage("a compressed answer that nobody asked for");
    if (this.#framing.by === "length" && this.#framing.left > this.#maxBytes) throw tooLong(this.#maxBytes);
  }

  #readBody(): void {
    const framing = this.#framing;
    if (framing.by === "none") return this.#finish(true);
    if (framing.by === "close") return this.#keep(this.#take(this.#pending.length));
    if (framing.by === "length") {
      const bytes = this.#take(Math.min(framing.left, this.#pending.length));
      framing.left -= bytes.length;
      this.#keep(bytes);
      if (framing.left === 0) this.#finish(true);
      return;
    }
    this.#readChunks(framing);
  }

  #readChunks(framing: Framing & { by: "chunks" }): void {
    for (;;) {
      if (framing.left > 0) {
        const bytes = this.#take(Math.min(framing.left, this.#pending.length));
        framing.left -= bytes.length;
        this.#keep(bytes);
        if (framing.left > 0) return;
      }
      const end = this.#pending.indexOf(10);
      if (end === -1) {
        if (this.#pending.length > 1024) throw garbage("a broken chunk");
        return;
      }
      const line = latin1.decode(this.#take(end + 1)).trim();
      if (framing.trailer) {
        if (line === "") return this.#finish(true);
        continue;
      }
      if (line === "") continue; // the end of the chunk before
      const size = /^([0-9a-f]{1,8})(?:\s*;.*)?$/i.exec(line)?.[1];
      if (size === undefined) throw garbage("a broken chunk");
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

  #finish(framed: boolean): void {
    const head = this.#head;
    if (!head) return;
    this.reusable = framed && head.persistent && this.#pending.length === 0;
    this.answer = { status: head.status, headers: head.headers, body: join(this.#parts) };
  }
}

/** The body of an answer as text. Sets write UTF-8; what is not becomes U+FFFD. */
export function bodyText(answer: Answer): string {
  return utf8.decode(answer.body);
}

const latin1 = new TextDecoder("latin1");
const utf8 = new TextDecoder();

/** The index just behind the blank line that ends a head, or -1. */
function headEnd(bytes: Uint8Array): number {
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) {
    if (bytes[at + 1] === 10) return at + 2;
    if (bytes[at + 1] === 13 && bytes[at + 2] === 10) return at + 3;
  }
  return -1;
}

function parseHead(text: string): { status: number; headers: Map<string, string>; persistent: boolean } {
  const [first = "", ...lines] = text.split(/\r?\n/);
  const start = /^HTTP\/1\.([01]) +(\d{3})(?: .*)?$/.exec(first);
  if (!start) throw garbage("something that is not HTTP");
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon < 1) continue;
    const name = line.slice(0, colon).trim().toLowerCase();
    const value = line.slice(colon + 1).trim();
    const before = headers.get(name);
    if (before !== undefined && name === "content-length" && before !== value) throw garbage("two lengths");
    headers.set(name, before === undefined || name === "content-length" ? value : `${before}, ${value}`);
  }
  const connection = headers.get("connection")?.toLowerCase() ?? "";
  const persistent = start[1] === "1" ? !connection.includes("close") : connection.includes("keep-alive");
  return { status: Number(start[2]), headers, persistent };
}

function framingOf(head: { status: number; headers: ReadonlyMap<string, string> }, headOnly: boolean): Framing {
  if (headOnly || head.status === 204 || head.status === 304) return { by: "none" };
  if (head.headers.get("transfer-encoding")?.toLowerCase().includes("chunked")) {
    return { by: "chunks", left: 0, trailer: false };
  }
  const length = head.headers.get("content-length");
  if (length === undefined) return { by: "close" };
  if (!/^\d{1,15}$/.test(length)) throw garbage("a broken length");
  return length === "0" ? { by: "none" } : { by: "length", left: Number(length) };
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 1 && parts[0]) return parts[0];
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** The connection ended before an answer was whole: whether what was asked has been done is not known. */
export function hungUp(problem: string, cause?: unknown): DeviceError {
  return new DeviceError("device_error", problem, { phase: "sent", reason: "closed", cause });
}

function garbage(what: string): DeviceError {
  return notUnderstood(`answered with ${what}`);
}

function tooLong(maxBytes: number): DeviceError {
  return notUnderstood(`answered with more than ${Math.round(maxBytes / 1024)} KiB`);
}
