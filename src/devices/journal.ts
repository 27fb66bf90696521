/**
 * What happened, in one order, kept for a while: whoever follows it may fall behind, break off and come back. Readers hold a
 * place in it and no queue of their own, so that one that does not read costs nothing.
 */
import { randomBytes } from "node:crypto";
import { type ApiEvent, type EventOf, type EventType, meansType, type snapshotReasons } from "../api/events.ts";

/** What is kept at most. */
export const journalLimits = { events: 1_024, bytes: 1024 * 1024, ageMs: 10 * 60_000 } as const;
/** A reader that is further behind than this gets a snapshot in the place of what it missed. */
export const readerLimits = { events: 256, bytes: 256 * 1024 } as const;
export const heartbeatMs = 15_000;
/** Devices in one part of a snapshot. */
const partSize = 100;
/** So many bytes of events are handed over at once at most, that a slow reader need not take. */
const batchBytes = 16 * 1024;

export type SnapshotReason = (typeof snapshotReasons)[number];
type Shown = EventOf<"snapshot">["devices"][number];

/** A device that a snapshot may show. */
interface Showable {
  readonly id: string;
  show(): Shown;
}

/** An event without its time, which the journal gives it. */
export type NewEvent = { [Type in EventType]: Omit<EventOf<Type>, "at"> }[Exclude<EventType, "snapshot">];

/** An event as readers get it. */
export interface JournalMessage {
  /** `<boot>.<seq>`. */
  readonly id: string;
  /** `null`: a heartbeat, which says the newest id and nothing else. */
  readonly event: { readonly type: string; readonly json: string } | null;
}

/** What a reader wants to be told. */
export interface Subscription {
  /** The ids of devices; `null` for all. Events about no device are told in any case. */
  readonly devices: ReadonlySet<string> | null;
  /** Types, exact or by their beginning (`state.*`); `null` for all. */
  readonly types: readonly string[] | null;
  /** Whether it begins with a snapshot. */
  readonly snapshot: boolean;
  /** The id of the last event that it has, or `oldest` for all that is kept. */
  readonly since: string | null;
}

interface StoredEvent {
  readonly seq: number;
  readonly type: EventType;
  readonly deviceId: string | null;
  readonly json: string;
  readonly bytes: number;
  /** Milliseconds of the running clock. */
  readonly at: number;
}

export interface JournalOptions {
  /** Every device now, and how a snapshot shows it. */
  devices(): readonly Showable[];
  /** Milliseconds of a clock that nobody sets. */
  readonly now?: () => number;
}

export class Journal {
  /** Another one with each start of the daemon. */
  readonly boot = randomBytes(4).toString("hex");
  /** Every device now, for the snapshots of readers. */
  readonly devices: JournalOptions["devices"];
  readonly #now: () => number;
  readonly #kept: StoredEvent[] = [];
  #bytes = 0;
  #newest = 0;
  readonly #waiting = new Set<() => void>();
  #isOver = false;

  constructor({ devices, now = () => performance.now() }: JournalOptions) {
    this.devices = devices;
    this.#now = now;
  }

  /** Tells everybody who follows. */
  publish(news: NewEvent): void {
    if (this.#isOver) return;
    const json = JSON.stringify(withTime(news));
    const deviceId = "device_id" in news ? news.device_id : null;
    const bytes = Buffer.byteLength(json);
    this.#kept.push({ seq: ++this.#newest, type: news.type, deviceId, json, bytes, at: this.#now() });
    this.#bytes += bytes;
    this.#forget();
    this.#wake();
  }

  /** The last word, after which every reader ends. */
  close(restart: boolean): void {
    if (this.#isOver) return;
    this.publish({ type: "daemon.stopping", restart });
    this.#isOver = true;
    this.#wake();
  }

  /** Whether the daemon stops, and nothing more is told. */
  get isClosed(): boolean {
    return this.#isOver;
  }

  /** Follows what happens; whoever follows must `close`. */
  follow(wanted: Subscription): Reader {
    return new Reader(wanted, this);
  }

  /** The place of the last event. */
  get newest(): number {
    return this.#newest;
  }

  /** The id of an event by its place. */
  idOf(seq: number): string {
    return `${this.boot}.${seq}`;
  }

  /** Where a reader goes on that has an id already: a place, or why it cannot. */
  resumePlace(since: string): number | SnapshotReason {
    this.#forget();
    const oldest = this.#newest - this.#kept.length;
    if (since === "oldest") return oldest;
    const [boot, text = "", part] = since.split(".");
    if (boot === this.boot && part !== undefined) return "start";
    const seq = /^\d{1,15}$/.test(text) ? Number(text) : -1;
    if (boot !== this.boot || seq < 0 || seq > this.#newest) return "restarted";
    return seq < oldest ? "too_old" : seq;
  }

  /** What came after a place; `null` when some of it is no longer kept. */
  after(seq: number): readonly StoredEvent[] | null {
    const oldest = this.#newest - this.#kept.length;
    if (seq < oldest) return null;
    return seq === this.#newest ? [] : this.#kept.slice(seq - oldest);
  }

  #forget(): void {
    const old = this.#now() - journalLimits.ageMs;
    const { events, bytes } = journalLimits;
    for (let first = this.#kept[0]; first; first = this.#kept[0]) {
      if (this.#kept.length <= events && this.#bytes <= bytes && first.at >= old) return;
      this.#bytes -= first.bytes;
      this.#kept.shift();
    }
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  /** Waits for the next event, for so many milliseconds at most, or until `end` is called. */
  changed(ms: number): { over: Promise<void>; end(): void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = () => {
      clearTimeout(timer);
      this.#waiting.delete(end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    this.#waiting.add(end);
    return { over: promise, end };
  }
}

/** Somebody who follows the journal, at their own pace. */
export class Reader {
  readonly #wanted: Subscription;
  readonly #journal: Journal;
  /** The last event that was told, or passed over. */
  #place: number;
  /** Up to here events are told again to a reader that came back: that does not count as being behind. */
  #replayedTo: number;
  #snapshot: Iterator<JournalMessage> | undefined;
  #giveUp: (() => void) | undefined;
  /** Where nothing is told at first, a heartbeat says at once from where it goes on. */
  #beats = false;
  #isClosed = false;

  constructor(wanted: Subscription, journal: Journal) {
    this.#wanted = wanted;
    this.#journal = journal;
    const place = wanted.since === null ? "start" : journal.resumePlace(wanted.since);
    this.#replayedTo = journal.newest;
    this.#place = typeof place === "number" ? place : journal.newest;
    // Whoever comes back and cannot go on gets one, asked for or not: after a part of one, too.
    if (typeof place === "string" && (wanted.snapshot || wanted.since !== null)) this.#snapshot = this.#parts(place);
    else this.#beats = true;
  }

  /** The id to begin anew from. */
  get id(): string {
    return this.#journal.idOf(this.#place);
  }

  /** What comes next, waited for; a heartbeat after 15 s; `null` when there is nothing more to come. */
  async next(): Promise<readonly JournalMessage[] | null> {
    const deadline = performance.now() + heartbeatMs;
    for (;;) {
      if (this.#isClosed) return null;
      const part = this.#snapshot?.next();
      if (part && !part.done) return [part.value];
      this.#snapshot = undefined;
      const told = this.#tell();
      if (told === "lagged") {
        this.#place = this.#journal.newest;
        this.#snapshot = this.#parts("lagged");
        continue;
      }
      const beats = this.#beats;
      this.#beats = false;
      if (told.length > 0) return told;
      if (this.#journal.isClosed) return null;
      const left = beats ? 0 : deadline - performance.now();
      if (left <= 0) return [{ id: this.id, event: null }];
      const { over, end } = this.#journal.changed(left);
      this.#giveUp = end;
      await over;
      this.#giveUp = undefined;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#snapshot = undefined;
    this.#giveUp?.();
  }

  #tell(): readonly JournalMessage[] | "lagged" {
    const after = this.#journal.after(this.#place);
    if (after === null) return "lagged";
    const matching = after.filter((one) => this.#wants(one));
    const behind = matching.filter(({ seq }) => seq > this.#replayedTo);
    const bytes = behind.reduce((sum, one) => sum + one.bytes, 0);
    if (behind.length > readerLimits.events || bytes > readerLimits.bytes) return "lagged";
    const told: JournalMessage[] = [];
    let size = 0;
    for (const { seq, type, json, bytes: own } of matching) {
      told.push({ id: this.#journal.idOf(seq), event: { type, json } });
      this.#place = seq;
      size += own;
      if (size >= batchBytes) return told;
    }
    this.#place = this.#journal.newest;
    return told;
  }

  #wants({ type, deviceId }: StoredEvent): boolean {
    const { devices, types } = this.#wanted;
    // Whoever follows must hear that the stream ends.
    if (type === "daemon.stopping") return true;
    if (devices !== null && deviceId !== null && !devices.has(deviceId)) return false;
    return types === null || types.some((word) => meansType(word, type));
  }

  /** A snapshot, a hundred devices at a time, each made when it is taken. */
  *#parts(reason: SnapshotReason): Iterator<JournalMessage> {
    const { devices: wanted } = this.#wanted;
    const id = this.#journal.idOf(this.#place);
    const all = this.#journal.devices().filter((one) => wanted === null || wanted.has(one.id));
    const parts = Math.max(1, Math.ceil(all.length / partSize));
    for (let part = 1; part <= parts; part++) {
      const devices = all.slice((part - 1) * partSize, part * partSize).map((one) => one.show());
      const last = part === parts;
      const json = JSON.stringify(withTime({ type: "snapshot", reason, part, last, devices }));
      // A reader that breaks off before the last part gets all of it anew.
      yield { id: last ? id : `${id}.${part}`, event: { type: "snapshot", json } };
    }
  }
}

function withTime<T extends { readonly type: EventType }>(news: T): Pick<ApiEvent, "type" | "at"> {
  return Object.assign({ type: news.type, at: new Date().toISOString() }, news);
}
