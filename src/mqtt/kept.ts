/**
 * What the broker is to keep: one document for each topic, of which it is told what is other than what it has. Who comes back
 * to a broker asks it first what it has kept: it may have lost all of it, or hold what nobody knows any more.
 */
import { createHash } from "node:crypto";
import { sleep } from "../system/sleep.ts";
import type { Bus } from "./bus.ts";
import { matches } from "./topics.ts";

/** A document as it is to be kept; `null`: none any more. */
interface Wanted {
  readonly payload: string | null;
  /** Of what is in it and counts. */
  readonly print: string;
}

/** The broker has told all that it keeps when it has been silent for so long; it is listened to for so long at most. */
const quietMs = 300;
const listensMs = 5_000;
/** So many documents are looked at: more than the devices that there can be. */
const mostSeen = 8_000;
/** Many documents are sent at this pace, and all of them within half a minute: ten thousand may come back at once. */
const pace = { everyMs: 50, withinMs: 30_000 } as const;

/** Fields that tell when, and not what: with them alone a document is the same as before. */
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
  /** What the broker has, by its prints. */
  readonly #told = new Map<string, string>();
  readonly #sending = new Set<string>();
  #bus: Bus | undefined;
  readonly #random: () => number;

  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /** What is to be kept at a topic from now on; `null` for nothing. */
  set(topic: string, document: object | null): void {
    const payload = document && JSON.stringify(document);
    this.#wanted.set(topic, { payload, print: printOf(document) });
    if (this.#bus) void this.#send(topic);
  }

  /** How many documents there are, for tests and for the pace. */
  get size(): number {
    return this.#wanted.size;
  }

  /**
   * A connection is there: hears what the broker keeps at `filters`, clears what `isKnown` does not know, and sends what
   * differs. Ends when all of that is under way.
   */
  async attach(
    bus: Bus,
    filters: readonly string[],
    isKnown: (topic: string) => boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const seen = await heard(bus, filters, signal);
    if (seen) {
      const lost = [...this.#told.keys()].some((topic) => isOneOf(topic, filters) && !seen.has(topic));
      // One that lost those has lost the others, too.
      if (lost) this.#told.clear();
      for (const [topic, print] of seen) {
        this.#told.set(topic, print);
        if (!isKnown(topic)) this.#wanted.set(topic, gone);
      }
    } else {
      // What it keeps may not be asked for: all of it is told anew, and what is gone is cleared unseen.
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

  /** Leaves nothing at the broker. */
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
    return wanted !== undefined && (this.#told.get(topic) ?? gone.print) !== wanted.print;
  }

  async #send(topic: string): Promise<void> {
    if (this.#sending.has(topic)) return;
    this.#sending.add(topic);
    try {
      for (let bus = this.#bus; bus && this.#isDue(topic); bus = this.#bus) {
        const { payload, print } = this.#wanted.get(topic) ?? gone;
        await bus.publish(topic, payload ?? "", { retain: true, qos: 1 });
        if (payload !== null) this.#told.set(topic, print);
        else this.#told.delete(topic);
      }
      if (this.#wanted.get(topic)?.payload === null && !this.#told.has(topic)) this.#wanted.delete(topic);
    } catch {
      // The connection is gone: the next one is told.
    } finally {
      this.#sending.delete(topic);
    }
  }
}

const gone: Wanted = { payload: null, print: "" };

function printOf(document: unknown): string {
  if (document === null) return gone.print;
  const counted = JSON.stringify(document, (name, value: unknown) => (uncounted.has(name) ? undefined : value));
  return createHash("sha256").update(counted).digest("base64url").slice(0, 22);
}

/** The prints of what the broker keeps; `null` where it does not let us hear them. */
async function heard(
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
      seen.set(topic, printOfText(payload));
    })
    .catch(() => null);
  if (!leave) return null;
  last = performance.now();
  while (performance.now() - last < quietMs && performance.now() - began < listensMs) await sleep(quietMs / 6, signal);
  await leave();
  return seen;
}

function printOfText(payload: Uint8Array): string {
  try {
    return printOf(JSON.parse(Buffer.from(payload).toString()));
  } catch {
    return "none of ours";
  }
}

/** Whether a topic is one of those that were asked for. */
function isOneOf(topic: string, filters: readonly string[]): boolean {
  return filters.some((filter) => matches(filter, topic));
}
