/**
 * Messages of MCP, one a line. A line that is no message is answered with an error, so that no client waits for an answer that
 * never comes; and requests are answered also once the input has ended, as that of a pipe does.
 */
import { PassThrough, type Readable, type Writable } from "node:stream";
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  parseJSONRPCMessage,
} from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { isObject } from "../system/json.ts";

const largestMiB = 10;
const largestLine = largestMiB * 1024 * 1024;
/** How long calls are still answered once the input has ended (MCP 2026-07-28, stdio, shutdown). */
const answersWithinMs = 3_000;
/** JSON-RPC 2.0, 5.1. */
const codes = { notJson: -32_700, noMessage: -32_600 } as const;

export class LineTransport extends StdioServerTransport {
  /** Resolves when the connection has ended. */
  readonly closed: Promise<void>;
  readonly #input: Readable;
  /** What the SDK takes for the input: only its end comes from there. */
  readonly #end: PassThrough;
  readonly #isClosed: () => void;
  readonly #listening: () => Promise<unknown>;
  readonly #asked = new Set<string | number>();
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
    this.#end = end;
    this.#listening = listening;
  }

  override async start(): Promise<void> {
    await super.start();
    this.#input.on("data", this.#take);
    this.#input.once("end", this.#ended).once("close", this.#ended).once("error", this.#ended);
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    await super.send(message);
    if (!isJSONRPCResultResponse(message) && !isJSONRPCErrorResponse(message)) return;
    if (message.id !== undefined) this.#done(message.id);
  }

  override async close(): Promise<void> {
    this.#input.off("data", this.#take).pause();
    await super.close();
    this.#isClosed();
  }

  readonly #take = (bytes: Buffer) => {
    for (let from = 0; ; ) {
      const at = bytes.indexOf("\n", from);
      const part = bytes.subarray(from, at === -1 ? undefined : at);
      this.#length += part.length;
      if (this.#length <= largestLine) this.#parts.push(part);
      else this.#parts = [];
      if (at === -1) return;
      from = at + 1;
      const line = this.#length <= largestLine ? Buffer.concat(this.#parts).toString() : null;
      this.#parts = [];
      this.#length = 0;
      if (line === null) this.#refuse(codes.noMessage, `The line is longer than ${largestMiB} MiB`);
      else if (line.trim() !== "") this.#read(line);
    }
  };

  #read(line: string): void {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      return this.#refuse(codes.notJson, "The line is not JSON. Each message is a line of its own");
    }
    if (Array.isArray(value))
      return this.#refuse(codes.noMessage, "The line is a list of messages. Send each on a line of its own");
    let message: JSONRPCMessage;
    try {
      message = parseJSONRPCMessage(value);
    } catch {
      const id = isObject(value) ? value["id"] : null;
      const known = typeof id === "string" || typeof id === "number" ? id : null;
      return this.#refuse(codes.noMessage, 'The line is no message of JSON-RPC 2.0: "jsonrpc", "method", "id"', known);
    }
    if (isJSONRPCRequest(message)) {
      if (message.method === "subscriptions/listen")
        return void this.#listening().then(() => this.onmessage?.(message));
      this.#asked.add(message.id);
    }
    this.onmessage?.(message);
    // A cancelled request is not answered.
    const given = isJSONRPCNotification(message) && message.method === "notifications/cancelled" && message.params;
    const cancelled = given ? given["requestId"] : undefined;
    if (typeof cancelled === "string" || typeof cancelled === "number") this.#done(cancelled);
  }

  #refuse(code: number, message: string, id: string | number | null = null): void {
    // The SDK's type knows no `null`, which JSON-RPC has for what cannot be told.
    const answer = { jsonrpc: "2.0", id, error: { code, message } } as JSONRPCMessage;
    super.send(answer).catch(() => {});
  }

  #done(id: string | number): void {
    this.#asked.delete(id);
    if (this.#isEnding && this.#asked.size === 0) this.#end.destroy();
  }

  readonly #ended = () => {
    if (this.#isEnding) return;
    this.#isEnding = true;
    // The last line may lack its newline.
    if (this.#length > 0) this.#take(Buffer.from("\n"));
    if (this.#asked.size === 0) return void this.#end.destroy();
    const timer = setTimeout(() => this.#end.destroy(), answersWithinMs);
    void this.closed.then(() => clearTimeout(timer));
  };
}
