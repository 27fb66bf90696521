/**
 * What a renderer tells by itself: it is asked to while somebody looks often, and told that it need not once nobody has for a
 * while. It says that something has changed, and is read then, however much it says.
 */
import { textOf } from "../../api/errors.ts";
import { type Subscribed, subscribe } from "../../transport/gena.ts";
import type { DeviceHttp } from "../../transport/http.ts";
import { ReconnectingSession } from "../../transport/session.ts";
import type { DlnaTarget } from "./memory.ts";

export interface EventsOptions {
  readonly http: Pick<DeviceHttp, "exchangeOnce">;
  readonly target: DlnaTarget;
  debug(message: string): void;
  /** Something has changed: reads it, and says after how many milliseconds it is to be read again, if at all. */
  changed(signal: AbortSignal): Promise<number | null>;
  /** It tells nothing any more. */
  ended(): void;
}

/** What is asked whether it is still there is asked every two minutes (devices/watch.ts): nobody looks, from then on. */
const idleMs = 180_000;
/** One that takes no subscription is asked for one again after this. */
const againMs = 300_000;
/** Many events come for one change; and however many come, it is read no more often. */
const settlesMs = 100;
const readEveryMs = 500;

export class Events {
  readonly #options: EventsOptions;
  readonly #session: ReconnectingSession<Subscribed>;
  readonly #over = new AbortController();
  #refusedAt = Number.NEGATIVE_INFINITY;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isReading = false;
  #dueAt = Number.POSITIVE_INFINITY;
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(options: EventsOptions) {
    this.#options = options;
    this.#session = new ReconnectingSession({
      idleMs,
      debug: (message) => options.debug(`events: ${message}`),
      open: (signal, _unasked, ended) => this.#open(signal, ended),
      onEnd: () => options.ended(),
    });
  }

  /** Whether it tells of its changes now: it takes subscriptions, and its calls come in here. */
  get isHeard(): boolean {
    return this.#session.current?.isHeard === true;
  }

  /** Somebody looks often. Whether it tells of its changes already. */
  want(): boolean {
    const { rendering, transport } = this.#options.target.memory;
    const hasAny = (rendering?.events ?? transport?.events ?? null) !== null;
    if (!hasAny || performance.now() - this.#refusedAt < againMs) return false;
    const wasHeard = this.isHeard;
    this.#session.use(this.#over.signal).catch((error: unknown) => {
      if (this.#over.signal.aborted) return;
      this.#refusedAt = performance.now();
      this.#options.debug(`events: ${textOf(error)}`);
    });
    return wasHeard;
  }

  /** It may do something else than before; where it tells of that, it is read soon. */
  look(inMs = settlesMs): void {
    if (!this.isHeard) return;
    this.#dueAt = Math.min(this.#dueAt, performance.now() + inMs);
    if (this.#isReading) return;
    clearTimeout(this.#timer);
    const at = Math.max(this.#dueAt, this.#readAt + readEveryMs);
    this.#timer = setTimeout(() => void this.#read(), Math.max(0, at - performance.now()));
  }

  /** It does not answer: what it told says nothing any more. */
  drop(): void {
    if (!this.#session.current) return;
    this.#session.drop();
    this.#options.ended();
  }

  close(): void {
    this.#over.abort(new Error("closed"));
    clearTimeout(this.#timer);
    this.#session.close();
  }

  async #open(signal: AbortSignal, ended: (end: { retry: boolean }) => void): Promise<Subscribed> {
    const { http, target } = this.#options;
    const { rendering, transport } = target.memory;
    const paths = [transport?.events, rendering?.events].filter((path) => path != null);
    const session = await subscribe(
      { http, peer: target.host, paths, onEvent: () => this.look(), onEnd: () => ended({ retry: true }) },
      signal,
    );
    // What has changed since it was read last is not told.
    setTimeout(() => this.look(), 0);
    return session;
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    this.#dueAt = Number.POSITIVE_INFINITY;
    try {
      const again = await this.#options.changed(this.#over.signal);
      if (again !== null) this.#dueAt = Math.min(this.#dueAt, performance.now() + again);
    } catch (error) {
      this.#options.debug(`events: it could not be read: ${textOf(error)}`);
      if (!this.#over.signal.aborted) this.drop();
    } finally {
      this.#isReading = false;
      this.#readAt = performance.now();
      if (this.#dueAt < Number.POSITIVE_INFINITY) this.look(this.#dueAt - performance.now());
    }
  }
}
