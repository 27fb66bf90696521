/**
 * A session that stays open: made on first use, shared by all who need it, made again when it breaks, closed when nobody
 * has used it for a while. A device that sleeps is left alone: what fails is tried again ever more seldom, and no more
 * once nobody asks.
 */
import { DeviceError, hasCode, ZapdError } from "../api/errors.ts";
import { orAborted, until } from "../system/sleep.ts";

/** What a link keeps: one conversation with a device. */
export interface Session {
  /** Whether calls can still be made over it. */
  readonly alive: boolean;
  /** Calls under way. */
  readonly pending: number;
  close(): void;
}

/** How a session ended that nobody closed. */
export interface SessionEnd {
  /** Whether it is worth trying again inBackground: not with a device that said that it goes off, or that lets nobody in. */
  readonly retry: boolean;
}

export interface ReconnectingOptions<S extends Session> {
  /**
   * Opens a session. `inBackground` is true when nobody waits for it: it must not make the device show anything. `ended` is
   * called once when the session ends by itself.
   */
  open(signal: AbortSignal, inBackground: boolean, ended: (end: SessionEnd) => void): Promise<S>;
  /** Told when a session ended by itself. */
  onEnd?(end: SessionEnd): void;
  /** Told when the device let nobody in, before who asked hears of it. */
  onRefused?(): void;
  debug(message: string): void;
  /** Milliseconds without use after which the session is closed. */
  readonly idleMs?: number;
  /** Milliseconds before the first try to open it again; each next one waits twice as long. */
  readonly firstRetryMs?: number;
}

/** SECURITY.md 4: 1 s, doubled up to 60 s, ±20 %. */
const firstRetry = 1_000;
const longestRetry = 60_000;
const jitter = 0.2;
const idleAfter = 300_000;
/** A session that ends sooner was none to rely on: the waits before it is made again go on growing. */
const steadyAfter = 10_000;
/** Readers who come in this time after a failed attempt share its failure, so that many of them are one attempt. */
const failureHolds = 1_000;

/** An attempt under way, and how many wait for it. */
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

  /** The session that is open now. Looking at it is no use of it. */
  get current(): S | undefined {
    return this.#session?.alive ? this.#session : undefined;
  }

  /**
   * The session, opened if need be; all who ask at the same time share one attempt. `eager` tries now even if an attempt
   * has just failed: for commands, and after waking.
   */
  async use(signal: AbortSignal, { eager = false }: { eager?: boolean } = {}): Promise<S> {
    if (signal.aborted) throw signal.reason;
    if (this.#closed) throw letGo("is no longer connected: what is known of it has changed");
    this.#usedAt = performance.now();
    const { current } = this;
    if (current) return current;
    if (!eager && !this.#opening && this.#failure && performance.now() - this.#failure.at < failureHolds)
      throw this.#failure.error;
    return this.#wait(this.#opening ?? this.#open(false), signal);
  }

  /** Closes the session once nothing is under way in it, and opens no other. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#retryNoMore();
    clearTimeout(this.#idle);
    this.#opening?.controller.abort(letGo("is no longer connected"));
    const session = this.#session;
    this.#session = undefined;
    // What is under way may end first; it has a deadline of its own, and half a minute here.
    const isDone = () => session?.pending === 0 || session?.alive === false;
    if (session) void until(isDone, { timeoutMs: 30_000, everyMs: 50 }).then(() => session.close());
  }

  /** Ends the session at once, as if the device had hung up and were not to be called again inBackground. */
  drop(): void {
    this.#retryNoMore();
    const session = this.#session;
    this.#session = undefined;
    session?.close();
  }

  #open(inBackground: boolean): Opening<S> {
    // Who asks meanwhile takes the place of the next try, and no other's.
    const retries = inBackground || this.#retry !== undefined;
    this.#retryNoMore();
    const controller = new AbortController();
    const opening = { controller, waiting: 0, result: this.#attempt(controller.signal, inBackground, retries) };
    // Whoever waits hears of it; a try that nobody waits for fails in silence.
    opening.result.catch(() => {});
    this.#opening = opening;
    return opening;
  }

  async #attempt(signal: AbortSignal, inBackground: boolean, retries: boolean): Promise<S> {
    let over: SessionEnd | undefined;
    let session: S | undefined;
    try {
      // A tick later: `#opening` is set by then, for others to share and for the end of this attempt to clear.
      await null;
      session = await this.#options.open(signal, inBackground, (end) => {
        over = end;
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
      this.#watchIdle();
      if (over) this.#ended(session, over);
      return session;
    } catch (error) {
      if (!signal.aborted) this.#opening = undefined;
      if (hasCode(error, "pairing_required")) this.#options.onRefused?.();
      // Nobody has asked where it was tried unasked: who comes next meets a device that is back since.
      if (!signal.aborted && !inBackground) this.#failure = { error, at: performance.now() };
      // Only a session that has been there is made again unasked; and none with a device that lets nobody in.
      const refused =
        error instanceof ZapdError && error.code !== "device_unreachable" && error.code !== "device_timeout";
      if (retries && !refused) this.#retryLater();
      throw error;
    }
  }

  async #wait(opening: Opening<S>, signal: AbortSignal): Promise<S> {
    opening.waiting++;
    try {
      return await orAborted(opening.result, signal);
    } finally {
      // An attempt that nobody waits for any more is given up: who comes while it ends has another.
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
    if (performance.now() - this.#openedAt > steadyAfter) this.#tries = 0;
    this.#options.onEnd?.(end);
    if (end.retry) this.#retryLater();
  }

  #retryLater(): void {
    if (this.#closed || !this.#isWanted()) return;
    const { debug, firstRetryMs = firstRetry } = this.#options;
    const wait = Math.min(longestRetry, firstRetryMs * 2 ** this.#tries++) * (1 + jitter * (2 * Math.random() - 1));
    debug(`the connection broke; it is tried again in ${Math.round(wait)} ms`);
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      if (!this.#closed && !this.current && !this.#opening && this.#isWanted()) this.#open(true);
    }, wait);
    this.#retry.unref?.();
  }

  #retryNoMore(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
  }

  #isWanted(): boolean {
    return performance.now() - this.#usedAt < (this.#options.idleMs ?? idleAfter);
  }

  #watchIdle(): void {
    clearTimeout(this.#idle);
    const ms = this.#options.idleMs ?? idleAfter;
    const left = Math.max(0, this.#usedAt + ms - performance.now());
    this.#idle = setTimeout(() => {
      const session = this.#session;
      if (!session || this.#closed) return;
      if (this.#isWanted() || session.pending > 0) return this.#watchIdle();
      this.#options.debug("nobody has used the connection for a while: it is closed");
      this.drop();
    }, left + 10);
    this.#idle.unref?.();
  }
}

/** This connection is not used any more: that is no word of the device's. */
function letGo(problem: string): DeviceError {
  return new DeviceError("device_error", problem, { phase: "connect", reason: "closed" });
}
