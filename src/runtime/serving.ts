/** Requests under way: they wait while the daemon is still opening its state, and it waits for them when it stops. */
import { errorBody, ZapdError } from "../api/errors.ts";
import { sleep, until } from "../system/sleep.ts";
import type { Handler } from "./runtime.ts";

export interface Serving {
  /** What the listeners call. */
  readonly handler: Handler;
  /** From now on requests are handled. */
  open(handler: Handler): void;
  /** The daemon does not start after all: who waits is told so, and nobody is left waiting. */
  refuse(): void;
  /** Waits until none is under way; `false` when the grace is over before. */
  drained(graceMs: number): Promise<boolean>;
}

/** How long who is still connected when a listener ends may take to hear the last words. */
const closeGraceMs = 250;
/** So many requests make a busy daemon. */
const busyAfterRequests = 64;

/** `onBusy` is called once, with the request that makes it a busy daemon. */
export function createServing(onBusy: () => void): Serving {
  let running = 0;
  let taken = 0;
  const opened = Promise.withResolvers<Handler>();
  let handle: Handler = async (request, call) => (await opened.promise)(request, call);
  const open = (handler: Handler) => {
    handle = handler;
    opened.resolve(handler);
  };
  return {
    async handler(request, call) {
      running++;
      if (++taken === busyAfterRequests) onBusy();
      try {
        return await handle(request, call);
      } finally {
        running--;
      }
    },
    open,
    refuse: () => open(notStarted),
    drained: (graceMs) => until(() => running === 0, { timeoutMs: graceMs, everyMs: 10 }),
  };
}

/** No path of the state is told: nobody has judged yet who asks. */
function notStarted(): Response {
  const error = new ZapdError("internal_error", "The daemon could not start; its log says why");
  return Response.json(
    { ok: false, error: errorBody(error) },
    { status: error.status, headers: { connection: "close" } },
  );
}

/** Waits until a listener has no connection left, for a moment at most: who follows a stream still hears that it ends. */
export async function waitForClose(closed: Promise<void>): Promise<void> {
  const over = new AbortController();
  await Promise.race([closed, sleep(closeGraceMs, over.signal)]).catch(() => {});
  over.abort();
}
