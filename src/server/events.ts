/** Streams: what happens, as it happens, to each reader at its own pace (next to the journal, which keeps it). */
import type { Context, Hono } from "hono";
import { ZapdError } from "../api/errors.ts";
import type { Reader, Told } from "../devices/journal.ts";
import type { AppDependencies } from "./app.ts";
import { type Env, stream } from "./route.ts";

/** Streams over TCP at a time: each holds a connection for as long as its reader likes. */
export const mostStreams = 64;
/** A reader that takes no byte for so long is hung up on. */
const takesWithinMs = 120_000;
const looksEveryMs = 10_000;

export function eventRoutes(app: Hono<Env>, { devices }: AppDependencies): void {
  const streams = new Streams();
  stream(app, "events", ({ query, request, context }) => {
    const { devices: names, types, snapshot = "true", since } = query;
    const ids = names === undefined ? null : new Set(listOf(names).map((name) => devices.find(name).id));
    const form = wantsLines(request) ? lines : eventStream;
    return streams.open(context, form, () => {
      const reader = devices.journal.follow({
        devices: ids,
        types: types === undefined ? null : listOf(types),
        snapshot: snapshot === "true",
        since: request.headers.get("last-event-id") ?? since ?? null,
      });
      const release = devices.watch(ids);
      return { next: () => reader.next(), close: () => close(reader, release) };
    });
  });
}

function close(reader: Reader, release: () => void): void {
  reader.close();
  release();
}

function listOf(text: string): string[] {
  return text
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "");
}

function wantsLines(request: Request): boolean {
  return /\bapplication\/(?:x-ndjson|jsonl)\b/i.test(request.headers.get("accept") ?? "");
}

/** How events are written down. */
interface Form {
  readonly contentType: string;
  /** What stands before all. */
  readonly head: string;
  write(told: Told): string;
}

export const eventStream: Form = {
  contentType: "text/event-stream",
  head: "retry: 2000\n\n",
  // A comment and an id alone move the reader's place without an event.
  write: ({ id, event }) =>
    event === null ? `: \nid: ${id}\n\n` : `event: ${event.type}\nid: ${id}\ndata: ${event.json}\n\n`,
};

export const lines: Form = {
  contentType: "application/x-ndjson",
  head: "",
  write: ({ id, event }) =>
    event === null
      ? `${JSON.stringify({ type: "heartbeat", id })}\n`
      : `{"id":${JSON.stringify(id)},${event.json.slice(1)}\n`,
};

/** What a stream tells: waited for, `null` at its end. */
export interface Source {
  next(): Promise<readonly Told[] | null>;
  close(): void;
}

/** The streams that are open. */
export class Streams {
  #overTcp = 0;

  /** Answers with a stream; HEAD is answered with its headers and starts nothing. Fails with `too_many_streams`. */
  open(c: Context<Env>, form: Form, begin: () => Source): Response {
    const headers = { "content-type": form.contentType, "x-accel-buffering": "no" };
    if (c.req.method === "HEAD") return c.body(null, 200, headers);
    const isCounted = c.env.listener === "tcp" && c.env.ownProgram !== true;
    if (isCounted && this.#overTcp >= mostStreams) throw tooManyStreams();
    const source = begin();
    if (isCounted) this.#overTcp++;
    c.env.withoutIdleLimit("ended");
    const body = streamOf(source, form, () => {
      if (isCounted) this.#overTcp--;
    });
    c.req.raw.signal.addEventListener("abort", body.end, { once: true });
    return c.body(body.stream, 200, headers);
  }
}

function streamOf(source: Source, form: Form, ended: () => void): { stream: ReadableStream; end: () => void } {
  const encoder = new TextEncoder();
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
    source.close();
    ended();
  };
  const hangUp = () => {
    end();
    controller?.error(new Error("The reader takes nothing"));
  };
  const stream = new ReadableStream<Uint8Array>(
    {
      start(own) {
        controller = own;
        if (form.head !== "") own.enqueue(encoder.encode(form.head));
      },
      async pull(own) {
        waitingSince = null;
        const told = await source.next();
        waitingSince = performance.now();
        if (isOver) return;
        if (told !== null) return own.enqueue(encoder.encode(told.map(form.write).join("")));
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
