/**
 * GENA events of a renderer: subscribed to while somebody polls it often, and cancelled when nobody has for a while. An
 * event only shows that something has changed; the renderer is read then, no matter how many events arrive.
 */
import { textOf } from "../../api/errors.ts";
import { type Subscriptions, subscribe } from "../../transport/gena.ts";
import type { DeviceHttp } from "../../transport/http.ts";
import { ReconnectingSession } from "../../transport/session.ts";
import type { DlnaTarget } from "./memory.ts";

interface EventsOptions {
  readonly http: Pick<DeviceHttp, "exchangeOnce">;
  readonly target: DlnaTarget;
  debug(message: string): void;
  /** Something has changed: reads it; resolves to the milliseconds until the next read, or `null` for none. */
  changed(signal: AbortSignal): Promise<number | null>;
  /** No more events will arrive. */
  ended(): void;
}

/** Longer than the two minutes between two checks whether the renderer is still there (devices/watch.ts). */
const idleMs = 180_000;
/** After this, the subscription is requested again from a renderer that refused it. */
const resubscribeAfterMs = 300_000;
/** One change sends many events; they are collected, and reads have a minimum distance. */
const debounceMs = 100;
const readEveryMs = 500;

export class Events {
  readonly #options: EventsOptions;
  readonly #session: ReconnectingSession<Subscriptions>;
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
      open: (signal, ended) => this.#open(signal, ended),
      onEnd: () => options.ended(),
    });
  }

  /** Whether events arrive: the renderer accepted the subscription, and its requests reach us. */
  get isReceiving(): boolean {
    return this.#session.current?.isConfirmed === true;
  }

  /** Somebody polls often: subscribes. Returns whether events arrived already. */
  subscribe(): boolean {
    const { rendering, transport } = this.#options.target.memory;
    const hasEvents = (rendering?.events ?? transport?.events ?? null) !== null;
    if (!hasEvents || performance.now() - this.#refusedAt < resubscribeAfterMs) return false;
    const wasReceiving = this.isReceiving;
    this.#session.use(this.#over.signal).catch((error: unknown) => {
      if (this.#over.signal.aborted) return;
      this.#refusedAt = performance.now();
      this.#options.debug(`events: ${textOf(error)}`);
    });
    return wasReceiving;
  }

  /** Something may have changed: reads soon, where events arrive. */
  readSoon(): void {
    if (this.isReceiving) this.#schedule(debounceMs);
  }

  #schedule(inMs: number): void {
    this.#dueAt = Math.min(this.#dueAt, performance.now() + inMs);
    if (this.#isReading) return;
    clearTimeout(this.#timer);
    const at = Math.max(this.#dueAt, this.#readAt + readEveryMs);
    this.#timer = setTimeout(() => void this.#read(), Math.max(0, at - performance.now()));
  }

  /** The renderer does not answer: the subscription is gone. */
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

  async #open(signal: AbortSignal, ended: (end: { retry: boolean }) => void): Promise<Subscriptions> {
    const { http, target } = this.#options;
    const { rendering, transport } = target.memory;
    const paths = [transport?.events, rendering?.events].filter((path) => path != null);
    const session = await subscribe(
      {
        http,
        peer: target.host,
        paths,
        onEvent: () => this.#schedule(debounceMs),
        onEnd: () => ended({ retry: true }),
      },
      signal,
    );
    // Changes between the last read and the subscription send no event.
    setTimeout(() => this.readSoon(), 0);
    return session;
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    this.#dueAt = Number.POSITIVE_INFINITY;
    try {
      const nextReadMs = await this.#options.changed(this.#over.signal);
      if (nextReadMs !== null) this.#dueAt = Math.min(this.#dueAt, performance.now() + nextReadMs);
    } catch (error) {
      this.#options.debug(`events: cannot read the state: ${textOf(error)}`);
      if (!this.#over.signal.aborted) this.drop();
    } finally {
      this.#isReading = false;
      this.#readAt = performance.now();
      if (this.#dueAt < Number.POSITIVE_INFINITY) this.#schedule(this.#dueAt - performance.now());
    }
  }
}
