/** Requests under way: they wait while the daemon is still opening its state, and it waits for them when it stops. */
import type { Handler } from "./runtime.ts";

export interface Serving {
  /** What the listeners call. */
  readonly handler: Handler;
  /** From now on requests are handled. */
  open(handler: Handler): void;
  /** Waits until none is under way, or the grace is over. */
  drained(graceMs: number): Promise<void>;
}

/** So many requests make a busy daemon. */
const busyAfter = 64;

/** `onBusy` is called once, with the request that makes it a busy daemon. */
export function createServing(onBusy: () => void): Serving {
  let running = 0;
  let taken = 0;
  let idle = () => {};
  const opened = Promise.withResolvers<Handler>();
  let handle: Handler = async (request, call) => (await opened.promise)(request, call);
  return {
    async handler(request, call) {
      running++;
      if (++taken === busyAfter) onBusy();
      try {
        return await handle(request, call);
      } finally {
        if (--running === 0) idle();
      }
    },
    open(handler) {
      handle = handler;
      opened.resolve(handler);
    },
    async drained(graceMs) {
      if (running === 0) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, graceMs);
        idle = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
  };
}
