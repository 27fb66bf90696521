/** Requests in progress: they wait while the daemon opens its state, and the daemon waits for them when it stops. */
import { errorBody, ZapdError } from "../api/errors.ts";
import { sleep, until } from "../system/sleep.ts";
import type { Handler } from "./runtime.ts";

export interface Serving {
  /** The handler for the listeners. */
  readonly handler: Handler;
  /** Handles the waiting requests, and all that follow. */
  open(handler: Handler): void;
  /** The daemon could not start: answers the waiting requests, and all that follow, with a failure. */
  refuse(): void;
  /** Waits until no request is in progress; `false` when that takes longer than `graceMs`. */
  drained(graceMs: number): Promise<boolean>;
}

/** How long connections may take to receive their last bytes when a listener ends. */
const closeGraceMs = 250;
/** The number of requests that makes a daemon busy. */
const busyAfterRequests = 64;

/** `onBusy` is called once, at the request number `busyAfterRequests`. */
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

/** Names no path of the state, because the guard has not checked the caller yet. */
function notStarted(): Response {
  const error = new ZapdError("internal_error", "The daemon could not start; its log says why");
  return Response.json(
    { ok: false, error: errorBody(error) },
    { status: error.status, headers: { connection: "close" } },
  );
}

/** Waits until a listener has no connection left, for `closeGraceMs` at most, so that followers of a stream receive its end. */
export async function waitForClose(closed: Promise<void>): Promise<void> {
  const over = new AbortController();
  await Promise.race([closed, sleep(closeGraceMs, over.signal)]).catch(() => {});
  over.abort();
}
