/** Waits, or fails as soon as the signal ends. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const aborted = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", aborted);
      resolve();
    }, ms);
    signal?.addEventListener("abort", aborted, { once: true });
  });
}

/** The signal of what nobody ends. */
export const neverAborted = new AbortController().signal;

/** What `work` comes to, or the reason of the signal as soon as that ends: `work` is left to itself then. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const aborted = () => reject(signal.reason);
  signal.addEventListener("abort", aborted, { once: true });
  if (signal.aborted) aborted();
  try {
    return await Promise.race([promise, work]);
  } finally {
    signal.removeEventListener("abort", aborted);
  }
}

/** What passes time: injected where a test must not wait for it. */
export interface Clock {
  /** Milliseconds since some moment. */
  now(): number;
  /** Waits, or fails as soon as the signal ends. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = { now: () => performance.now(), sleep };

/**
 * Looks until something holds: at once, then every `everyMs` (0.1 s); `false` when it does not hold within `timeoutMs`. A
 * look that is under way then is waited for.
 */
export async function until(
  holds: () => boolean | Promise<boolean>,
  { timeoutMs, everyMs = 100, signal, clock = systemClock }: UntilOptions,
): Promise<boolean> {
  const end = clock.now() + timeoutMs;
  for (;;) {
    if (await holds()) return true;
    if (clock.now() >= end) return false;
    await clock.sleep(everyMs, signal);
  }
}

export interface UntilOptions {
  readonly timeoutMs: number;
  readonly everyMs?: number;
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock;
}
