/** A broker in memory: what is kept, and who hears what. Each client of it is a bus of its own. */
import { type Bus, BusError, type Message, type PublishOptions, type RequestOptions } from "../../src/mqtt/bus.ts";
import { matches } from "../../src/mqtt/topics.ts";

interface Subscription {
  readonly client: MemoryBus;
  readonly filters: readonly string[];
  readonly listener: (message: Message) => void;
}

export class MemoryBroker {
  readonly kept = new Map<string, Uint8Array>();
  readonly subscriptions = new Set<Subscription>();
  /** Of what is kept, so many messages are sent at once to whoever subscribes; the others are dropped, as real ones do. */
  mostAtOnce = Number.POSITIVE_INFINITY;

  client(will?: { readonly topic: string; readonly payload: string }): MemoryBus {
    return new MemoryBus(this, will);
  }

  deliver(topic: string, payload: Uint8Array, options: PublishOptions & { readonly replyTo?: string }): void {
    if (options.retain) {
      if (payload.length === 0) this.kept.delete(topic);
      else this.kept.set(topic, payload);
    }
    for (const { filters, listener } of [...this.subscriptions])
      if (filters.some((filter) => matches(filter, topic))) listener(messageOf(topic, payload, options));
  }
}

export class MemoryBus implements Bus {
  readonly ended: Promise<BusError>;
  readonly #broker: MemoryBroker;
  readonly #will: { readonly topic: string; readonly payload: string } | undefined;
  #end: (why: BusError) => void = () => {};
  #count = 0;

  constructor(broker: MemoryBroker, will?: { readonly topic: string; readonly payload: string }) {
    this.#broker = broker;
    this.#will = will;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  async publish(topic: string, payload: string | Uint8Array, options: PublishOptions = {}): Promise<void> {
    this.#broker.deliver(topic, Buffer.from(payload as string), options);
  }

  async subscribe(filters: readonly string[], listener: (message: Message) => void): Promise<() => Promise<void>> {
    const subscription = { client: this, filters, listener };
    this.#broker.subscriptions.add(subscription);
    const kept = filters.flatMap((filter) => [...this.#broker.kept].filter(([topic]) => matches(filter, topic)));
    // After it has accepted the subscription, as real ones do.
    setTimeout(() => {
      for (const [topic, payload] of kept.slice(0, this.#broker.mostAtOnce))
        listener(messageOf(topic, payload, { retain: true }));
    });
    return async () => {
      this.#broker.subscriptions.delete(subscription);
    };
  }

  async request(
    topic: string,
    body: Readonly<Record<string, unknown>>,
    { replyTo, timeoutMs, signal }: RequestOptions,
  ): Promise<unknown> {
    const mark = Buffer.from(`${++this.#count}`);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const leave = await this.subscribe([replyTo], ({ payload, correlation }) => {
      if (correlation && Buffer.from(correlation).equals(mark)) resolve(JSON.parse(Buffer.from(payload).toString()));
    });
    const timer = setTimeout(() => reject(new BusError("timeout", "No answer came")), timeoutMs);
    void this.ended.then(reject);
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    this.#broker.deliver(topic, Buffer.from(JSON.stringify(body)), { correlation: mark, replyTo });
    return promise.finally(async () => {
      clearTimeout(timer);
      await leave();
    });
  }

  async close(): Promise<void> {
    this.#leave("left");
  }

  /** Its connection breaks: the broker says its will. */
  cut(): void {
    this.#leave("closed");
    if (this.#will) this.#broker.deliver(this.#will.topic, Buffer.from(this.#will.payload), { retain: true });
  }

  #leave(reason: "left" | "closed"): void {
    for (const one of this.#broker.subscriptions) if (one.client === this) this.#broker.subscriptions.delete(one);
    this.#end(new BusError(reason, "The connection is gone"));
  }
}

function messageOf(
  topic: string,
  payload: Uint8Array,
  { retain = false, correlation = null, replyTo = null }: PublishOptions & { readonly replyTo?: string | null },
): Message {
  return { topic, payload, retained: retain, expiresInS: null, sentAt: null, replyTo, correlation };
}
