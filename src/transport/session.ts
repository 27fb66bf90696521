/**
 * A session that stays open: opened on first use, shared by all callers, reopened when it breaks, and closed when it has not
 * been used for a while. Reopening is tried less and less often, and no longer when nobody uses the session.
 */
import { DeviceError, hasCode, ZapdError } from "../api/errors.ts";
import { orAborted, sleep, until } from "../system/sleep.ts";

/** One conversation with a device. */
export interface Session {
  /** Whether calls can still be made over it. */
  readonly alive: boolean;
  /** How many calls are under way. */
  readonly pending: number;
  close(): void;
}

/** How a session ended that was not closed by us. */
export interface SessionEnd {
  /** Whether to reopen it in the background: not where the device goes off, or refuses us. */
  readonly retry: boolean;
}

interface ReconnectingOptions<S extends Session> {
  /** Opens a session. `ended` is called once when the session ends by itself. */
  open(signal: AbortSignal, ended: (end: SessionEnd) => void): Promise<S>;
  onEnd?(end: SessionEnd): void;
  /** Called when the device answers that it must be paired with first, before the caller is. */
  onRefused?(): void;
  debug(message: string): void;
  /** A session that has not been used for so long is closed. */
  readonly idleMs?: number;
  /** The delay before the first try to reopen it; it doubles with each further try. */
  readonly firstRetryMs?: number;
}

/** SECURITY.md 4: 1 s, doubled up to 60 s, ±20 %. */
const firstRetryDelayMs = 1_000;
const maxRetryDelayMs = 60_000;
const retryJitter = 0.2;
const defaultIdleMs = 300_000;
/** After a session that ended sooner the delays go on growing. */
const stableAfterMs = 10_000;
/** For so long after a failed attempt readers get its failure instead of another attempt. */
const failureHoldsMs = 1_000;

/** An attempt under way, and how many callers wait for it. */
interface Opening<S> {
  readonly result: Promise<S>;
  readonly controller: AbortController;
  waiting: number;
}

export class ReconnectingSession<S extends Session> {
  readonly #options: ReconnectingOptions<S>;
  #session: S | undefined;
  #opening: Opening<S> | undefined;
  #failure: { readonly error: unknown; readonly at: number } | undefined;
  #usedAt = Number.NEGATIVE_INFINITY;
  #tries = 0;
  #openedAt = 0;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #idle: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  constructor(options: ReconnectingOptions<S>) {
    this.#options = options;
  }

  /** The open session. Reading this does not count as use. */
  get current(): S | undefined {
    return this.#session?.alive ? this.#session : undefined;
  }

  /**
   * The session, opened where there is none; callers at the same time share one attempt. `eager` makes an attempt even if one
   * has just failed: for commands, and after waking.
   */
  async use(signal: AbortSignal, { eager = false }: { eager?: boolean } = {}): Promise<S> {
    // An end that has come already is read first: what is sent over a connection that has ended is lost.
    if (eager) await sleep(0);
    if (signal.aborted) throw signal.reason;
    if (this.#closed) throw disconnected("is no longer connected: what zapd knows about it has changed");
    this.#usedAt = performance.now();
    const { current } = this;
    if (current) return current;
    if (!eager && !this.#opening && this.#failure && performance.now() - this.#failure.at < failureHoldsMs)
      throw this.#failure.error;
    return this.#wait(this.#opening ?? this.#open(false), signal);
  }

  /** Closes the session for good, once the calls under way have ended. */
  close(): void {
    this.#closed = true;
    this.#cancelRetry();
    clearTimeout(this.#idle);
    this.#opening?.controller.abort(disconnected("is no longer connected"));
    const session = this.#session;
    this.#session = undefined;
    // Calls have deadlines of their own; they get half a minute at most.
    const isDone = () => session?.pending === 0;
    if (session) void until(isDone, { timeoutMs: 30_000, everyMs: 50 }).then(() => session.close());
  }

  /** Closes the session at once. It is not reopened before its next use. */
  drop(): void {
    this.#cancelRetry();
    const session = this.#session;
    this.#session = undefined;
    session?.close();
  }

  #open(inBackground: boolean): Opening<S> {
    // An attempt that a caller makes takes the place of the scheduled one.
    const mayRetry = inBackground || this.#retry !== undefined;
    this.#cancelRetry();
    const controller = new AbortController();
    const opening = { controller, waiting: 0, result: this.#attempt(controller.signal, inBackground, mayRetry) };
    // Callers get the failure through `#wait`.
    opening.result.catch(() => {});
    this.#opening = opening;
    return opening;
  }

  async #attempt(signal: AbortSignal, inBackground: boolean, mayRetry: boolean): Promise<S> {
    let earlyEnd: SessionEnd | undefined;
    let session: S | undefined;
    try {
      // A tick later, when `#opening` is set.
      await null;
      session = await this.#options.open(signal, (end) => {
        earlyEnd = end;
        if (session) this.#ended(session, end);
      });
      if (signal.aborted) {
        session.close();
        throw signal.reason;
      }
      this.#opening = undefined;
      this.#failure = undefined;
      this.#session = session;
      this.#openedAt = performance.now();
      this.#closeWhenIdle();
      if (earlyEnd) this.#ended(session, earlyEnd);
      return session;
    } catch (error) {
      if (!signal.aborted) this.#opening = undefined;
      if (hasCode(error, "pairing_required")) this.#options.onRefused?.();
      // After a try in the background the next caller makes an attempt: the device may be back by then.
      if (!signal.aborted && !inBackground) this.#failure = { error, at: performance.now() };
      // Only a session that has been open is reopened, and not where the device refuses us.
      const isRefusal =
        error instanceof ZapdError && error.code !== "device_unreachable" && error.code !== "device_timeout";
      if (mayRetry && !isRefusal) this.#scheduleRetry();
      throw error;
    }
  }

  async #wait(opening: Opening<S>, signal: AbortSignal): Promise<S> {
    opening.waiting++;
    try {
      return await orAborted(opening.result, signal);
    } finally {
      // An attempt that no caller waits for is given up; the next caller makes another.
      if (--opening.waiting === 0 && this.#opening === opening) {
        this.#opening = undefined;
        opening.controller.abort(signal.reason);
      }
    }
  }

  #ended(session: S, end: SessionEnd): void {
    if (this.#session !== session) return;
    this.#session = undefined;
    clearTimeout(this.#idle);
    if (performance.now() - this.#openedAt > stableAfterMs) this.#tries = 0;
    this.#options.onEnd?.(end);
    if (end.retry) this.#scheduleRetry();
  }

  #scheduleRetry(): void {
    if (this.#closed || !this.#isInUse()) return;
    const { debug, firstRetryMs = firstRetryDelayMs } = this.#options;
    const delayMs =
      Math.min(maxRetryDelayMs, firstRetryMs * 2 ** this.#tries++) * (1 + retryJitter * (2 * Math.random() - 1));
    debug(`the connection broke; zapd connects again in ${Math.round(delayMs)} ms`);
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      if (!this.current && !this.#opening && this.#isInUse()) this.#open(true);
    }, delayMs);
    this.#retry.unref?.();
  }

  #cancelRetry(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
  }

  #isInUse(): boolean {
    return performance.now() - this.#usedAt < (this.#options.idleMs ?? defaultIdleMs);
  }

  #closeWhenIdle(): void {
    clearTimeout(this.#idle);
    const ms = this.#options.idleMs ?? defaultIdleMs;
    const leftMs = Math.max(0, this.#usedAt + ms - performance.now());
    this.#idle = setTimeout(() => {
      const session = this.#session;
      if (!session) return;
      if (this.#isInUse() || session.pending > 0) return this.#closeWhenIdle();
      this.#options.debug("the connection has not been used for a while; zapd closes it");
      this.drop();
    }, leftMs + 10);
    this.#idle.unref?.();
  }
}

function disconnected(problem: string): DeviceError {
  return new DeviceError("device_error", problem, { phase: "connect", reason: "closed" });
}
