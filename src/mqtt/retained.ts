/**
 * The retained documents of a site, one per topic. Only those that differ from the broker's are sent. After a reconnect they are
 * first read from the broker: it may have lost them, or still have documents of removed devices.
 */
import { createHash } from "node:crypto";
import { sleep } from "../system/sleep.ts";
import { type Bus, BusError } from "./bus.ts";
import { matches } from "./topics.ts";

/** A document to publish; `null` clears the topic. */
interface Wanted {
  readonly payload: string | null;
  /** A hash of its significant fields. */
  readonly hash: string;
}

/**
 * Retained messages have arrived after so many pauses in a row without one, or at the latest after `maxReadMs`. A busy process
 * reads nothing for a while, so that the time alone shows no silence.
 */
const silence = { pauseMs: 50, pauses: 6 } as const;
const maxReadMs = 5_000;
/** Documents to read: more than there can be devices. */
const maxRead = 8_000;
/** The mean pause between two documents, and the time for all: many daemons may reconnect at once. */
const pace = { everyMs: 50, totalMs: 30_000 } as const;
/** After so many connections that ended with an optional document none is sent. */
const maxCut = 2;

/** Fields about time: a document in which only they have changed is not sent. */
const ignoredFields: ReadonlySet<string> = new Set([
  "seq",
  "changed",
  "last_seen",
  "observed_at",
  "position_ms",
  "position_at",
]);

export class RetainedDocuments {
  readonly #wanted = new Map<string, Wanted>();
  /** The hashes of the broker's documents, by topic. */
  readonly #published = new Map<string, string>();
  readonly #sending = new Set<string>();
  /** Topics whose document the broker refused, and why. */
  readonly #refused = new Map<string, BusError>();
  /** Whether a topic is left out where the broker closes the connection for it. */
  readonly #isOptional: (topic: string) => boolean;
  /** Connections that ended while an optional document was sent. A single one may have ended for another reason. */
  readonly #cut = new Set<Bus>();
  #leftOut: BusError | undefined;
  #bus: Bus | undefined;

  constructor(isOptional: (topic: string) => boolean) {
    this.#isOptional = isOptional;
  }

  /** Why the broker refused a document. It is sent again when it changes, or over the next connection. */
  get refused(): BusError | undefined {
    const [first] = this.#refused.values();
    return this.#leftOut ?? first;
  }

  /** Sets the document of a topic; `null` clears it. */
  set(topic: string, document: object | null): void {
    this.#wanted.set(topic, document ? { payload: JSON.stringify(document), hash: hashOf(document) } : cleared);
    if (this.#bus) void this.#send(topic);
  }

  /** Clears a topic where the broker may have a document that was not read. */
  clearUnread(topic: string): void {
    this.#published.set(topic, "unread");
    this.set(topic, null);
  }

  /**
   * Uses a new connection: reads the retained documents at `filters`, clears those that are not `isKnown`, and sends those that
   * differ. Resolves when the last one is being sent. Fails with a `BusError` where the connection ends while they are read.
   */
  async attach(
    bus: Bus,
    filters: readonly string[],
    isKnown: (topic: string) => boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const found = await readRetained(bus, filters, signal);
    // It shows nothing of the broker's documents then, and nothing more is sent over it.
    const ended = await Promise.race([bus.ended, null]);
    if (ended) throw ended;
    this.#refused.clear();
    if (found) {
      const lost = [...this.#published.keys()].some(
        (topic) => filters.some((filter) => matches(filter, topic)) && !found.has(topic),
      );
      // Then the broker has lost all others too.
      if (lost) this.#published.clear();
      for (const [topic, hash] of found) {
        this.#published.set(topic, hash);
        if (!isKnown(topic)) this.#wanted.set(topic, cleared);
      }
    } else {
      // Reading is not allowed: all documents are published, and all topics of removed devices cleared.
      this.#published.clear();
      for (const topic of this.#wanted.keys()) this.#published.set(topic, "unknown");
    }
    for (const [topic, { payload }] of this.#wanted)
      if (payload === null && !this.#isDue(topic)) this.#wanted.delete(topic);
    this.#bus = bus;
    const waiting = [...this.#wanted.keys()].filter((topic) => this.#isDue(topic));
    const everyMs = Math.min(pace.everyMs, pace.totalMs / waiting.length);
    for (const topic of waiting) {
      void this.#send(topic);
      await sleep(everyMs * 2 * Math.random(), signal);
    }
  }

  /** The topics at which the broker has a document, or may have one. */
  get topics(): readonly string[] {
    return [...new Set([...this.#published.keys(), ...this.#wanted.keys()])];
  }

  /** The connection has ended. */
  detach(): void {
    this.#bus = undefined;
  }

  #isDue(topic: string): boolean {
    if (this.#leftOut && this.#isOptional(topic)) return false;
    const wanted = this.#wanted.get(topic);
    return wanted !== undefined && (this.#published.get(topic) ?? cleared.hash) !== wanted.hash;
  }

  async #send(topic: string): Promise<void> {
    if (this.#sending.has(topic)) return;
    this.#sending.add(topic);
    let bus = this.#bus;
    try {
      for (; bus && this.#isDue(topic); bus = this.#bus) {
        const { payload, hash } = this.#wanted.get(topic) ?? cleared;
        await bus.publish(topic, payload ?? "", { retain: true, qos: 1 });
        if (this.#isOptional(topic)) this.#cut.clear();
        if (payload !== null) this.#published.set(topic, hash);
        else this.#published.delete(topic);
      }
      // Only now: until the broker has accepted it, the problem is reported.
      if (!this.#isDue(topic)) this.#refused.delete(topic);
      if (this.#wanted.get(topic)?.payload === null && !this.#published.has(topic)) this.#wanted.delete(topic);
    } catch (error) {
      if (!(error instanceof BusError)) return;
      if (error.reason === "forbidden" || error.reason === "too_large") this.#refused.set(topic, error);
      // With any other error the connection has ended: it is sent over the next one.
      else if (error.reason === "closed" && bus && this.#isOptional(topic) && this.#cut.add(bus).size >= maxCut)
        this.#leftOut ??= new BusError(
          "forbidden",
          `The broker closes the connection when zapd publishes to ${topic}, so nothing is published there any more`,
          { hint: "Allow it in the broker's ACL (src/mqtt/README.md has one to copy), and run zapd config reload" },
        );
    } finally {
      this.#sending.delete(topic);
    }
  }
}

const cleared: Wanted = { payload: null, hash: "" };

function hashOf(document: unknown): string {
  const significant = JSON.stringify(document, (name, value: unknown) => (ignoredFields.has(name) ? undefined : value));
  return createHash("sha256").update(significant).digest("base64url").slice(0, 22);
}

/** The hashes of the broker's retained documents; `null` where it does not allow reading them. */
async function readRetained(
  bus: Bus,
  filters: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string> | null> {
  const found = new Map<string, string>();
  const began = performance.now();
  let pauses = 0;
  const leave = await bus
    .subscribe(filters, ({ topic, payload, retained }) => {
      if (!retained || found.size >= maxRead) return;
      pauses = 0;
      found.set(topic, hashOfText(payload));
    })
    .catch(() => null);
  if (!leave) return null;
  while (pauses++ < silence.pauses && performance.now() - began < maxReadMs) await sleep(silence.pauseMs, signal);
  await leave();
  return found;
}

function hashOfText(payload: Uint8Array): string {
  try {
    return hashOf(JSON.parse(Buffer.from(payload).toString()));
  } catch {
    return "not JSON";
  }
}
