/** Follows a stream of events, as JSON Lines: each line as it comes, and on from the last one when the connection breaks. */
import { sleep } from "../system/sleep.ts";
import type { ApiEvent } from "./events.ts";

/** One event of a stream, with the id to come back with. */
export type Followed = ApiEvent & { readonly id: string };

/** One line of any stream: something with the id to come back with, or what keeps it alive. */
export interface StreamLine {
  readonly id: string;
}

/** Milliseconds until a broken stream is opened again: doubled each time that it fails. */
const firstPause = 250;
const longestPause = 5_000;
/** The daemon says something every 15 s: after this the connection is taken to be dead. */
const deadAfter = 45_000;

export interface StreamOptions {
  /** Opens the stream after the event with this id. Fails with what the daemon answers, or that it is not there. */
  open(lastId: string | null, signal: AbortSignal): Promise<ReadableStream<Uint8Array>>;
  /** Whether a failure to come back is one that passes. */
  passes(error: unknown): boolean;
  /** Told once when the stream broke off and is not back at once, with what kept it from coming back; and when it is back. */
  broken?(isBroken: boolean, error?: unknown): void;
  /** It was followed before: the first opening, too, is tried again. */
  readonly resumed?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The events, until the caller ends. The first opening fails as any call does; from then on it comes back by itself. */
export async function* follow<Line extends StreamLine>({
  open,
  passes,
  broken,
  resumed = false,
  signal,
}: StreamOptions): AsyncGenerator<Line> {
  let lastId: string | null = null;
  let pause = firstPause;
  let hasBegun = resumed;
  /** What `broken` was told last; `null`: whoever resumes does not know. */
  let toldBroken: boolean | null = resumed ? null : false;
  const tell = (isBroken: boolean, error?: unknown) => {
    if (toldBroken !== isBroken) broken?.(isBroken, error);
    toldBroken = isBroken;
  };
  for (;;) {
    const connection = new AbortController();
    let isOpen = false;
    const leave = () => connection.abort(signal?.reason);
    if (signal?.aborted) return;
    signal?.addEventListener("abort", leave, { once: true });
    const alive = deadline(deadAfter, () => connection.abort(new Error("The stream fell silent")));
    try {
      const body = await open(lastId, connection.signal);
      tell(false);
      hasBegun = true;
      isOpen = true;
      for await (const line of linesOf(body, connection.signal)) {
        alive.renew();
        pause = firstPause;
        const told = JSON.parse(line) as Line & { readonly type?: string };
        lastId = told.id;
        if (told.type !== "heartbeat") yield told;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (!hasBegun || !passes(error)) throw error;
      // One that was open may come back as soon as it is asked for.
      if (!isOpen) tell(true, error);
    } finally {
      alive.end();
      signal?.removeEventListener("abort", leave);
      connection.abort(new Error("Nobody follows any more"));
    }
    try {
      await sleep(pause, signal);
    } catch {
      return;
    }
    pause = Math.min(longestPause, 2 * pause);
  }
}

function deadline(ms: number, over: () => void): { renew(): void; end(): void } {
  let timer = setTimeout(over, ms);
  return {
    renew() {
      clearTimeout(timer);
      timer = setTimeout(over, ms);
    },
    end: () => clearTimeout(timer),
  };
}

/** The lines of a body, as they come. */
export async function* linesOf(body: ReadableStream<Uint8Array>, signal: AbortSignal): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  // A request that is given up does not end its body on every runtime: its signal may be forgotten while it lasts.
  const cancel = () => void reader.cancel().catch(() => {});
  signal.addEventListener("abort", cancel, { once: true });
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
