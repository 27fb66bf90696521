/**
 * The retained documents of a site, one for each topic: only those that differ from what the broker has are sent. After a
 * reconnect the broker is asked first what it has: it may have lost everything, or hold documents of devices that are gone.
 */
import { createHash } from "node:crypto";
import { sleep } from "../system/sleep.ts";
import { type Bus, BusError } from "./bus.ts";
import { matches } from "./topics.ts";

/** A document to be retained; without a payload the topic is cleared. */
interface Wanted {
  readonly payload: string | null;
  /** A hash of the fields that count. */
  readonly hash: string;
}

/** After this much silence all that is retained has come; it is waited for no longer than this. */
const quietMs = 300;
const listensMs = 5_000;
/** Documents that are looked at: more than there can be devices. */
const mostSeen = 8_000;
/** The mean pause between two documents, and the time for all: ten thousand daemons may come back at once. */
const pace = { everyMs: 50, withinMs: 30_000 } as const;

/** Fields that tell when, and not what: a document in which nothing else has changed is not sent. */
const uncounted: ReadonlySet<string> = new Set([
  "seq",
  "changed",
  "last_seen",
  "observed_at",
  "position_ms",
  "position_at",
]);

export class Kept {
  readonly #wanted = new Map<string, Wanted>();
  /** What the broker has: hashes by topic. */
  readonly #told = new Map<string, string>();
  readonly #sending = new Set<string>();
  /** Topics at which the broker does not take what is wanted there, and why. */
  readonly #refused = new Map<string, BusError>();
  #bus: Bus | undefined;
  readonly #random: () => number;

  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /** Why the broker lacks a document: it has refused one, which is sent again once it changes, or over the next connection. */
  get refused(): BusError | undefined {
    const [first] = this.#refused.values();
    return first;
  }

  /** Sets the document of a topic; `null` clears it. */
  set(topic: string, document: object | null): void {
    const payload = document && JSON.stringify(document);
    this.#wanted.set(topic, { payload, hash: hashOf(document) });
    if (this.#bus) void this.#send(topic);
  }

  /**
   * Reads over a new connection what the broker retains at `filters`, clears what is not `isKnown`, and sends what differs.
   * Done when the last of it is being sent.
   */
  async attach(
    bus: Bus,
    filters: readonly string[],
    isKnown: (topic: string) => boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const seen = await readRetained(bus, filters, signal);
    this.#refused.clear();
    if (seen) {
      const lost = [...this.#told.keys()].some((topic) => isOneOf(topic, filters) && !seen.has(topic));
      // A broker that lost those has lost the others, too.
      if (lost) this.#told.clear();
      for (const [topic, hash] of seen) {
        this.#told.set(topic, hash);
        if (!isKnown(topic)) this.#wanted.set(topic, gone);
      }
    } else {
      // It does not let us read: everything is published anew, and what is gone is cleared unseen.
      this.#told.clear();
      for (const [topic, { payload }] of this.#wanted) if (payload === null) this.#told.set(topic, "unseen");
    }
    for (const [topic, { payload }] of this.#wanted)
      if (payload === null && !this.#isDue(topic)) this.#wanted.delete(topic);
    this.#bus = bus;
    const waiting = [...this.#wanted.keys()].filter((topic) => this.#isDue(topic));
    const everyMs = Math.min(pace.everyMs, pace.withinMs / Math.max(1, waiting.length));
    for (const topic of waiting) {
      void this.#send(topic);
      await sleep(everyMs * 2 * this.#random(), signal);
    }
  }

  /** Clears every document at the broker. */
  async clear(bus: Bus): Promise<void> {
    this.detach();
    const topics = [...this.#told.keys()];
    await Promise.all(topics.map((topic) => bus.publish(topic, "", { retain: true, qos: 1 })));
  }

  /** The connection is gone. */
  detach(): void {
    this.#bus = undefined;
  }

  #isDue(topic: string): boolean {
    const wanted = this.#wanted.get(topic);
    return wanted !== undefined && (this.#told.get(topic) ?? gone.hash) !== wanted.hash;
  }

  async #send(topic: string): Promise<void> {
    if (this.#sending.has(topic)) return;
    this.#sending.add(topic);
    this.#refused.delete(topic);
    try {
      for (let bus = this.#bus; bus && this.#isDue(topic); bus = this.#bus) {
        const { payload, hash } = this.#wanted.get(topic) ?? gone;
        await bus.publish(topic, payload ?? "", { retain: true, qos: 1 });
        if (payload !== null) this.#told.set(topic, hash);
        else this.#told.delete(topic);
      }
      if (this.#wanted.get(topic)?.payload === null && !this.#told.has(topic)) this.#wanted.delete(topic);
    } catch (error) {
      // Otherwise the connection is gone: it is sent over the next one.
      if (error instanceof BusError && (error.reason === "forbidden" || error.reason === "too_large"))
        this.#refused.set(topic, error);
    } finally {
      this.#sending.delete(topic);
    }
  }
}

const gone: Wanted = { payload: null, hash: "" };

function hashOf(document: unknown): string {
  if (document === null) return gone.hash;
  const counted = JSON.stringify(document, (name, value: unknown) => (uncounted.has(name) ? undefined : value));
  return createHash("sha256").update(counted).digest("base64url").slice(0, 22);
}

/** Hashes of what the broker retains; `null` where it does not let us read that. */
async function readRetained(
  bus: Bus,
  filters: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string> | null> {
  const seen = new Map<string, string>();
  let last = performance.now();
  const began = last;
  const leave = await bus
    .subscribe(filters, ({ topic, payload, retained }) => {
      if (!retained || seen.size >= mostSeen) return;
      last = performance.now();
      seen.set(topic, hashOfText(payload));
    })
    .catch(() => null);
  if (!leave) return null;
  last = performance.now();
  while (performance.now() - last < quietMs && performance.now() - began < listensMs) await sleep(quietMs / 6, signal);
  await leave();
  return seen;
}

function hashOfText(payload: Uint8Array): string {
  try {
    return hashOf(JSON.parse(Buffer.from(payload).toString()));
  } catch {
    return "none of ours";
  }
}

/** Whether a topic is one of those that were asked for. */
function isOneOf(topic: string, filters: readonly string[]): boolean {
  return filters.some((filter) => matches(filter, topic));
}
