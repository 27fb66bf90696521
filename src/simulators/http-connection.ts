import type { Socket } from "node:net";
import type { Answer, HttpOptions, Plan, Reading, Request } from "./http.ts";
import { type Body, createBody } from "./http-body.ts";
import { keepsAlive, parseHead, renderAnswer } from "./http-head.ts";

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
