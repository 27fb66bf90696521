/**
 * MCP messages, one per line. A line that is not a message is answered with an error, so that a client does not wait for nothing.
 * Requests are also answered after the end of the input, since that of a pipe ends early.
 */
import { PassThrough, type Readable, type Writable } from "node:stream";
import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
  parseJSONRPCMessage,
} from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { isObject } from "../system/json.ts";

const maxLineMiB = 10;
const maxLineBytes = maxLineMiB * 1024 * 1024;
/** How long calls are still answered after the end of the input (MCP 2026-07-28, stdio, shutdown). */
const shutdownMs = 3_000;
/** JSON-RPC 2.0, 5.1. */
const codes = { parseError: -32_700, invalidRequest: -32_600 } as const;

export class LineTransport extends StdioServerTransport {
  /** Resolves when the connection has ended. */
  readonly closed: Promise<void>;
  readonly #input: Readable;
  /** Stands in for the input in the SDK, which only sees its end. */
  readonly #sdkInput: PassThrough;
  readonly #isClosed: () => void;
  readonly #listening: () => Promise<unknown>;
  /** The ids of unanswered requests. */
  readonly #pending = new Set<string | number>();
  /** The ids of each `subscriptions/listen` that is not passed on yet. */
  readonly #opening = new Set<string | number>();
  #parts: Buffer[] = [];
  #length = 0;
  #isEnding = false;

  /** `listening` is awaited before a `subscriptions/listen` is passed on. */
  constructor(input: Readable, output: Writable, listening: () => Promise<unknown>) {
    const end = new PassThrough();
    super(end, output);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    this.#isClosed = resolve;
    this.#input = input;
    this.#sdkInput = end;
    this.#listening = listening;
  }

  override async start(): Promise<void> {
    await super.start();
    this.#input.on("data", this.#onData);
    this.#input.once("end", this.#onEnd).once("close", this.#onEnd).once("error", this.#onEnd);
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    await super.send(message);
    if (!("method" in message) && message.id !== undefined) this.#settle(message.id);
  }

  override async close(): Promise<void> {
    this.#input.off("data", this.#onData).pause();
    await super.close();
    this.#isClosed();
  }

  readonly #onData = (bytes: Buffer) => {
    for (let from = 0; ; ) {
      const at = bytes.indexOf("\n", from);
      const part = bytes.subarray(from, at === -1 ? undefined : at);
      this.#length += part.length;
      if (this.#length <= maxLineBytes) this.#parts.push(part);
      else this.#parts = [];
      if (at === -1) return;
      from = at + 1;
      const line = this.#length <= maxLineBytes ? Buffer.concat(this.#parts).toString() : null;
      this.#parts = [];
      this.#length = 0;
      if (line === null) this.#refuse(codes.invalidRequest, `The line is longer than ${maxLineMiB} MiB`);
      else if (line.trim() !== "") this.#onLine(line);
    }
  };

  #onLine(line: string): void {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      return this.#refuse(codes.parseError, "The line is not JSON. Send each message on a line of its own");
    }
    if (Array.isArray(value))
      return this.#refuse(codes.invalidRequest, "The line is a list of messages. Send each on a line of its own");
    let message: JSONRPCMessage;
    try {
      message = parseJSONRPCMessage(value);
    } catch {
      const id = isObject(value) ? value["id"] : null;
      const known = typeof id === "string" || typeof id === "number" ? id : null;
      return this.#refuse(
        codes.invalidRequest,
        'The line is not a JSON-RPC 2.0 message with "jsonrpc", "method" and "id"',
        known,
      );
    }
    if (isJSONRPCRequest(message)) {
      if (message.method === "subscriptions/listen") {
        this.#opening.add(message.id);
        // It may have been cancelled meanwhile.
        return void this.#listening().then(() => this.#opening.delete(message.id) && this.onmessage?.(message));
      }
      this.#pending.add(message.id);
    }
    this.onmessage?.(message);
    // A cancelled request gets no answer.
    const params = isJSONRPCNotification(message) && message.method === "notifications/cancelled" && message.params;
    const cancelled = params ? params["requestId"] : undefined;
    if (typeof cancelled !== "string" && typeof cancelled !== "number") return;
    this.#opening.delete(cancelled);
    this.#settle(cancelled);
  }

  #refuse(code: number, message: string, id: string | number | null = null): void {
    // JSON-RPC allows the id `null`, which the type of the SDK lacks.
    const answer = { jsonrpc: "2.0", id, error: { code, message } } as JSONRPCMessage;
    super.send(answer).catch(() => {});
  }

  #settle(id: string | number): void {
    this.#pending.delete(id);
    if (this.#isEnding && this.#pending.size === 0) this.#sdkInput.destroy();
  }

  readonly #onEnd = () => {
    this.#isEnding = true;
    // The last line may lack its newline.
    this.#onData(Buffer.from("\n"));
    if (this.#pending.size === 0) return void this.#sdkInput.destroy();
    const timer = setTimeout(() => this.#sdkInput.destroy(), shutdownMs);
    void this.closed.then(() => clearTimeout(timer));
  };
}
