/** Requests in progress: they wait while the daemon opens its state, and the daemon waits for them when it stops. */
import { errorBody, ZapdError } from "../api/errors.ts";
import { sleep, until } from "../system/sleep.ts";
import type { Handler } from "./runtime.ts";

/** How long connections may take to receive their last bytes when a listener ends. */
const closeGraceMs = 250;
/** The number of requests that makes a daemon busy. */
const busyAfterRequests = 64;

/** `onBusy` is called once, at the request number `busyAfterRequests`. */
export function createServing(onBusy: () => void) {
  let running = 0;
  let taken = 0;
  const opened = Promise.withResolvers<Handler>();
  let handle: Handler = async (request, call) => (await opened.promise)(request, call);
  const open = (handler: Handler) => {
    handle = handler;
    opened.resolve(handler);
  };
  return {
    /** The handler for the listeners. */
    async handler(...args: Parameters<Handler>): Promise<Response> {
      running++;
      if (++taken === busyAfterRequests) onBusy();
      try {
        return await handle(...args);
      } finally {
        running--;
      }
    },
    /** Handles the waiting requests, and all that follow. */
    open,
    /** The daemon could not start: answers the waiting requests, and all that follow, with a failure. */
    refuse: () => open(notStarted),
    /** Waits until no request is in progress; `false` when that takes longer than `graceMs`. */
    drained: (graceMs: number) => until(() => running === 0, { timeoutMs: graceMs, everyMs: 10 }),
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
