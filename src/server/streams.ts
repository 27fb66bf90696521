/** Streams: what is told as it comes, to each reader at its own pace, and how many there may be. */
import type { Context } from "hono";
import { ZapdError } from "../api/errors.ts";
import type { JournalMessage } from "../devices/journal.ts";
import type { Env } from "./route.ts";

/** Streams over TCP at a time: each holds a connection for as long as its reader likes. */
const mostStreams = 64;
/** A reader that takes no byte for so long is hung up on. */
const takesWithinMs = 120_000;
const looksEveryMs = 10_000;

/** The form that a reader asks for: an event stream, or JSON Lines. */
export function formFor(request: Request): Form {
  return /\bapplication\/(?:x-ndjson|jsonl)\b/i.test(request.headers.get("accept") ?? "") ? lines : eventStream;
}

/** Whether a reader asks for a stream, where a whole answer is usual. */
export function asksForStream(request: Request): boolean {
  return formFor(request) === lines || /\btext\/event-stream\b/i.test(request.headers.get("accept") ?? "");
}

/** How events are written down. */
interface Form {
  readonly contentType: string;
  /** What stands before all. */
  readonly head: string;
  write(told: JournalMessage): string;
}

const eventStream: Form = {
  contentType: "text/event-stream",
  head: "retry: 2000\n\n",
  // A comment and an id alone move the reader's place without an event.
  write: ({ id, event }) =>
    event === null ? `: \nid: ${id}\n\n` : `event: ${event.type}\nid: ${id}\ndata: ${event.json}\n\n`,
};

const lines: Form = {
  contentType: "application/x-ndjson",
  head: "",
  write: ({ id, event }) =>
    event === null
      ? `${JSON.stringify({ type: "heartbeat", id })}\n`
      : `{"id":${JSON.stringify(id)},${event.json.slice(1)}\n`,
};

/** What a stream tells: waited for, `null` at its end. */
export interface Source {
  next(): Promise<readonly JournalMessage[] | null>;
  close(): void;
}

/** The streams that are open. */
export class Streams {
  #overTcp = 0;

  /** Answers with a stream; HEAD is answered with its headers and starts nothing. Fails with `too_many_streams`. */
  open(c: Context<Env>, form: Form, begin: () => Source): Response {
    const headers = { "content-type": form.contentType, "x-accel-buffering": "no" };
    if (c.req.method === "HEAD") return c.body(null, 200, headers);
    const { source, left } = this.#enter(c, begin);
    c.env.withoutIdleLimit("ended");
    const encoder = new TextEncoder();
    const body = streamOf({
      head: form.head === "" ? undefined : encoder.encode(form.head),
      async next() {
        const told = await source.next();
        return told && encoder.encode(told.map(form.write).join(""));
      },
      close() {
        source.close();
        left();
      },
    });
    c.req.raw.signal.addEventListener("abort", body.end, { once: true });
    return c.body(body.stream, 200, headers);
  }

  /** Hands on a stream that somebody else makes; what turns out to be none is handed on as it is. Fails with `too_many_streams`. */
  async pass(c: Context<Env>, make: () => Promise<Response>): Promise<Response> {
    const { source: making, left } = this.#enter(c, make);
    const response = await making.catch((error: unknown) => {
      left();
      throw error;
    });
    const reader = isEventStream(response) ? response.body?.getReader() : undefined;
    if (!reader) {
      left();
      return response;
    }
    const body = streamOf({
      async next() {
        const { done, value } = await reader.read();
        return done ? null : value;
      },
      close() {
        void reader.cancel().catch(() => {});
        left();
      },
    });
    c.req.raw.signal.addEventListener("abort", body.end, { once: true });
    return new Response(body.stream, response);
  }

  /** Counts a stream, where those are counted, until it is left. */
  #enter<T>(c: Context<Env>, begin: () => T): { source: T; left: () => void } {
    const isCounted = c.env.listener === "tcp" && c.env.ownProgram !== true;
    if (isCounted && this.#overTcp >= mostStreams) throw tooManyStreams();
    const source = begin();
    if (isCounted) this.#overTcp++;
    return {
      source,
      left: () => {
        if (isCounted) this.#overTcp--;
      },
    };
  }
}

function isEventStream({ headers }: Response): boolean {
  return headers.get("content-type")?.startsWith("text/event-stream") === true;
}

/** Bytes as they come: waited for, `null` at their end. */
interface Bytes {
  readonly head?: Uint8Array | undefined;
  next(): Promise<Uint8Array | null>;
  close(): void;
}

function streamOf({ head, next, close }: Bytes): { stream: ReadableStream<Uint8Array>; end: () => void } {
  let isOver = false;
  /** When the reader was last seen to take what it was given. */
  let waitingSince: number | null = performance.now();
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const watch = setInterval(() => {
    if (waitingSince !== null && performance.now() - waitingSince > takesWithinMs) hangUp();
  }, looksEveryMs);
  const end = () => {
    if (isOver) return;
    isOver = true;
    clearInterval(watch);
    close();
  };
  const hangUp = () => {
    end();
    controller?.error(new Error("The reader takes nothing"));
  };
  const stream = new ReadableStream<Uint8Array>(
    {
      start(own) {
        controller = own;
        if (head) own.enqueue(head);
      },
      async pull(own) {
        waitingSince = null;
        const bytes = await next();
        waitingSince = performance.now();
        if (isOver) return;
        if (bytes !== null) return own.enqueue(bytes);
        end();
        own.close();
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
  return { stream, end };
}

function tooManyStreams(): ZapdError {
  return new ZapdError("too_many_streams", `There are ${mostStreams} streams open already`, {
    hint: "Close one, share one stream among the tabs of a page, or use the control socket, which has no such limit",
  });
}
