/** Streaming answers: each reader reads at its own pace, and their number is limited. */
import type { Context } from "hono";
import { ZapdError } from "../api/errors.ts";
import type { JournalMessage } from "../devices/journal.ts";
import type { Env } from "./route.ts";

/** Simultaneous streams over TCP: each holds a connection for as long as its reader stays. */
const maxStreams = 64;
/** A reader that takes no byte for this long is disconnected. */
const readerTimeoutMs = 120_000;
const readerCheckMs = 10_000;
/** How long a server may take, from the abort of a request, to cancel the stream that answers it. */
const cancelGraceMs = 500;

/** The format that a reader accepts: JSON Lines, or else an event stream. */
export function formatFor(request: Request): Format {
  return /\bapplication\/(?:x-ndjson|jsonl)\b/i.test(request.headers.get("accept") ?? "") ? lines : eventStream;
}

/** Whether a caller of an operation that usually answers with one value wants a stream. */
export function asksForStream(request: Request): boolean {
  return formatFor(request) === lines || /\btext\/event-stream\b/i.test(request.headers.get("accept") ?? "");
}

interface Format {
  readonly contentType: string;
  /** Sent before the first event. */
  readonly head: string;
  write(event: JournalMessage): string;
}

const eventStream: Format = {
  contentType: "text/event-stream",
  head: "retry: 2000\n\n",
  // A comment and an id alone move the reader's position without an event.
  write: ({ id, event }) =>
    event === null ? `: \nid: ${id}\n\n` : `event: ${event.type}\nid: ${id}\ndata: ${event.json}\n\n`,
};

const lines: Format = {
  contentType: "application/x-ndjson",
  head: "",
  write: ({ id, event }) =>
    event === null
      ? `${JSON.stringify({ type: "heartbeat", id })}\n`
      : `{"id":${JSON.stringify(id)},${event.json.slice(1)}\n`,
};

/** Where a stream gets its events from. */
export interface Source {
  /** Resolves with the next events, `null` at the end. */
  next(): Promise<readonly JournalMessage[] | null>;
  close(): void;
}

export class Streams {
  #overTcp = 0;

  /** Answers with a stream; HEAD is answered like it, and starts nothing. Fails with `too_many_streams`. */
  open(c: Context<Env>, format: Format, begin: () => Source): Response {
    const headers = { "content-type": format.contentType, "x-accel-buffering": "no" };
    if (c.req.method === "HEAD") {
      this.#checkCount(c);
      return c.body(null, 200, headers);
    }
    const { source, release } = this.#acquire(c, begin);
    c.env.withoutIdleLimit("ended");
    const encoder = new TextEncoder();
    let hasBegun = false;
    const body = streamOf(c.req.raw.signal, {
      async next() {
        if (!hasBegun && format.head !== "") {
          hasBegun = true;
          return encoder.encode(format.head);
        }
        const events = await source.next();
        return events && encoder.encode(events.map(format.write).join(""));
      },
      close() {
        source.close();
        release();
      },
    });
    return c.body(body, 200, headers);
  }

  /** Passes on a response, and counts it while it is an event stream. Fails with `too_many_streams`. */
  async pass(c: Context<Env>, respond: () => Promise<Response>): Promise<Response> {
    const { source, release } = this.#acquire(c, respond);
    const response = await source.catch((error: unknown) => {
      release();
      throw error;
    });
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
    const reader = isStream ? response.body?.getReader() : undefined;
    if (!reader) {
      release();
      return response;
    }
    const body = streamOf(c.req.raw.signal, {
      async next() {
        const { done, value } = await reader.read();
        return done ? null : value;
      },
      close() {
        void reader.cancel().catch(() => {});
        release();
      },
    });
    return new Response(body, response);
  }

  /** Tells whether a stream is counted; fails where no more are allowed. */
  #checkCount({ env }: Context<Env>): boolean {
    const isCounted = env.listener === "tcp" && env.ownProgram !== true;
    if (isCounted && this.#overTcp >= maxStreams)
      throw new ZapdError("too_many_streams", `${maxStreams} streams are already open`, {
        hint: "Close one, share one stream among the tabs of a page, or use the control socket, which has no such limit",
      });
    return isCounted;
  }

  /** Counts a stream over TCP until it is released. */
  #acquire<T>(c: Context<Env>, begin: () => T): { source: T; release: () => void } {
    const isCounted = this.#checkCount(c);
    const source = begin();
    if (isCounted) this.#overTcp++;
    return {
      source,
      release: () => {
        if (isCounted) this.#overTcp--;
      },
    };
  }
}

interface ByteSource {
  /** Resolves with the next bytes, `null` at the end. */
  next(): Promise<Uint8Array | null>;
  close(): void;
}

/** The bytes of a source as a stream, which ends when the signal of its request aborts. */
function streamOf(signal: AbortSignal, { next, close }: ByteSource): ReadableStream<Uint8Array> {
  let isEnded = false;
  /** Since when the reader has not asked for more; `null` while the next bytes are waited for. */
  let waitingSince: number | null = performance.now();
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const watch = setInterval(() => {
    if (waitingSince === null || performance.now() - waitingSince <= readerTimeoutMs) return;
    end();
    controller?.error(new Error("The reader does not read"));
  }, readerCheckMs);
  let cancelTimer: ReturnType<typeof setTimeout> | undefined;
  const end = () => {
    if (isEnded) return;
    isEnded = true;
    clearInterval(watch);
    close();
  };
  const stream = new ReadableStream<Uint8Array>(
    {
      start(own) {
        controller = own;
      },
      async pull(own) {
        waitingSince = null;
        const bytes = await next().catch((error: unknown) => {
          end();
          throw error;
        });
        waitingSince = performance.now();
        if (isEnded) return;
        if (bytes !== null) return own.enqueue(bytes);
        end();
        own.close();
      },
      cancel() {
        clearTimeout(cancelTimer);
        end();
      },
    },
    { highWaterMark: 0 },
  );
  // Whoever reads the stream in this process learns it from the stream alone. A server also cancels it, soon after the abort, and
  // must be able to do so first: Deno prints each stream that fails while it is being sent.
  const abort = () => {
    if (isEnded) return;
    end();
    cancelTimer = setTimeout(() => controller?.error(signal.reason), cancelGraceMs);
  };
  // The caller may have gone while the answer was prepared.
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  return stream;
}
