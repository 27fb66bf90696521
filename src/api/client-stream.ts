/** Follows a stream of JSON Lines, and reconnects after the last line when the connection breaks. */
import { sleep } from "../system/sleep.ts";
import type { ApiEvent } from "./events.ts";

/** One event of a stream, with the id from which the stream can be resumed. */
export type Followed = ApiEvent & { readonly id: string };

/** One line of any stream, with the id from which the stream can be resumed. */
export interface StreamLine {
  readonly id: string;
}

/** The delay before a broken stream is opened again, doubled with each failure. */
const firstDelayMs = 250;
const maxDelayMs = 5_000;
/** The daemon sends a line every 15 s: after this silence the connection counts as dead. */
const silenceTimeoutMs = 45_000;

export interface StreamOptions {
  /** Opens the stream after the event with this id. Fails with the daemon's error, or that of the connection. */
  open(lastId: string | null, signal: AbortSignal): Promise<ReadableStream<Uint8Array>>;
  /** Whether a failure to reconnect is temporary. */
  passes(error: unknown): boolean;
  /** Called once when the stream broke off and could not be reopened at once, with the error; and when it is open again. */
  broken?(isBroken: boolean, error?: unknown): void;
  /** Whether the first attempt to open the stream is also repeated. */
  readonly resumed?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The lines, until the caller stops. The first attempt fails as any call does; after that the stream reconnects by itself. */
export async function* follow<Line extends StreamLine>({
  open,
  passes,
  broken,
  resumed = false,
  signal,
}: StreamOptions): AsyncGenerator<Line> {
  let lastId: string | null = null;
  let delayMs = firstDelayMs;
  let hasBegun = resumed;
  /** The last value passed to `broken`; `null`: none yet. */
  let reported: boolean | null = resumed ? null : false;
  const report = (isBroken: boolean, error?: unknown) => {
    if (reported !== isBroken) broken?.(isBroken, error);
    reported = isBroken;
  };
  for (;;) {
    const connection = new AbortController();
    let isOpen = false;
    const abort = () => connection.abort(signal?.reason);
    if (signal?.aborted) return;
    signal?.addEventListener("abort", abort, { once: true });
    const isSilent = () => connection.abort(new Error("The stream sent nothing for too long"));
    let silence = setTimeout(isSilent, silenceTimeoutMs);
    try {
      const body = await open(lastId, connection.signal);
      report(false);
      hasBegun = true;
      isOpen = true;
      for await (const line of linesOf(body, connection.signal)) {
        clearTimeout(silence);
        silence = setTimeout(isSilent, silenceTimeoutMs);
        delayMs = firstDelayMs;
        const value = JSON.parse(line) as Line & { readonly type?: string };
        lastId = value.id;
        if (value.type !== "heartbeat") yield value;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (!hasBegun || !passes(error)) throw error;
      // A stream that was open can often be reopened at once.
      if (!isOpen) report(true, error);
    } finally {
      clearTimeout(silence);
      signal?.removeEventListener("abort", abort);
      connection.abort(new Error("Nobody follows the stream any more"));
    }
    try {
      await sleep(delayMs, signal);
    } catch {
      return;
    }
    delayMs = Math.min(maxDelayMs, 2 * delayMs);
  }
}

/** The lines of a body, as they come. */
export async function* linesOf(body: ReadableStream<Uint8Array>, signal: AbortSignal): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  // On some runtimes the signal of a request does not end the body of its response.
  const cancel = () => void reader.cancel().catch(() => {});
  if (signal.aborted) cancel();
  else signal.addEventListener("abort", cancel, { once: true });
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = parts.pop() ?? "";
      for (const part of parts) if (part !== "") yield part;
    }
  } finally {
    signal.removeEventListener("abort", cancel);
    cancel();
  }
}
