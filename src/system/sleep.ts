/** Waits `ms`. Rejects with the reason of the signal as soon as that aborts. */
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

/** Awaits `work`, but rejects with the reason of the signal as soon as that aborts; `work` then goes on unobserved. */
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

/** A clock that tests can replace. */
export interface Clock {
  /** Milliseconds since some moment. */
  now(): number;
  /** As `sleep`. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = { now: () => performance.now(), sleep };

/**
 * Polls until `holds` gives true: at once, then every `everyMs` (0.1 s). Gives `false` after `timeoutMs`; a poll that has
 * begun is awaited.
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
