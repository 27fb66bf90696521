/**
 * The journal of events, in one order, kept for a while: a reader may fall behind, disconnect and resume. A reader has a
 * position in it and no queue of its own, so one that does not read costs nothing.
 */
import { randomBytes } from "node:crypto";
import { type ApiEvent, type EventOf, type EventType, meansType, type snapshotReasons } from "../api/events.ts";

/** How much is kept. */
export const journalLimits = { events: 1_024, bytes: 1024 * 1024, ageMs: 10 * 60_000 } as const;
/** A reader that is further behind gets a snapshot instead of the events it missed. */
export const readerLimits = { events: 256, bytes: 256 * 1024 } as const;
export const heartbeatMs = 15_000;
/** Devices in one part of a snapshot. */
const devicesPerPart = 100;
/** Events are given to a reader in batches of about this size, so that a slow one does not buffer many. */
const batchBytes = 16 * 1024;

type SnapshotReason = (typeof snapshotReasons)[number];
type DeviceSnapshot = EventOf<"snapshot">["devices"][number];

export interface SnapshotSource {
  readonly id: string;
  /** `null` where it is gone. */
  show(): DeviceSnapshot | null;
}

/** An event without its time, which the journal adds. */
export type NewEvent = { [Type in EventType]: Omit<EventOf<Type>, "at"> }[Exclude<EventType, "snapshot">];

/** An event as readers get it. */
export interface JournalMessage {
  /** `<boot>.<seq>`. */
  readonly id: string;
  /** `null`: a heartbeat, which gives the newest id only. */
  readonly event: { readonly type: string; readonly json: string } | null;
}

export interface Subscription {
  /** The ids of devices; `null` for all. Events about no device always match. */
  readonly devices: ReadonlySet<string> | null;
  /** Event types, exact or by prefix (`state.*`); `null` for all. */
  readonly types: readonly string[] | null;
  /** Whether the stream begins with a snapshot. */
  readonly snapshot: boolean;
  /** The id of the last event that the reader has, or `oldest` for all that is kept. */
  readonly since: string | null;
}

interface StoredEvent {
  readonly seq: number;
  readonly type: EventType;
  readonly deviceId: string | null;
  readonly json: string;
  readonly bytes: number;
  /** Milliseconds on the monotonic clock. */
  readonly at: number;
}

interface JournalOptions {
  /** Every device now, for snapshots. */
  devices(): readonly SnapshotSource[];
  /** The monotonic clock, in milliseconds. */
  readonly now?: () => number;
}

export class Journal {
  /** Differs with each start of the daemon. */
  readonly boot = randomBytes(4).toString("hex");
  readonly devices: JournalOptions["devices"];
  readonly #now: () => number;
  readonly #events: StoredEvent[] = [];
  #bytes = 0;
  #newest = 0;
  readonly #waiting = new Set<() => void>();
  #hasEnded = false;

  constructor({ devices, now = () => performance.now() }: JournalOptions) {
    this.devices = devices;
    this.#now = now;
  }

  publish(event: NewEvent): void {
    if (this.#hasEnded) return;
    const json = JSON.stringify(withTime(event));
    const deviceId = "device_id" in event ? event.device_id : null;
    const bytes = Buffer.byteLength(json);
    this.#events.push({ seq: ++this.#newest, type: event.type, deviceId, json, bytes, at: this.#now() });
    this.#bytes += bytes;
    this.#dropOld();
    this.#wake();
  }

  /** Publishes the last event, after which every reader ends. */
  close(): void {
    this.publish({ type: "daemon.stopping", restart: false });
    this.#hasEnded = true;
  }

  /** Whether the daemon stops, and no more events come. */
  get isClosed(): boolean {
    return this.#hasEnded;
  }

  /** A reader of the events; its owner must `close` it. */
  follow(subscription: Subscription): Reader {
    return new Reader(subscription, this);
  }

  /** The position of the last event. */
  get newest(): number {
    return this.#newest;
  }

  idOf(seq: number): string {
    return `${this.boot}.${seq}`;
  }

  /** The position from which a reader resumes after an id, or why it cannot. */
  resumePosition(since: string): number | SnapshotReason {
    this.#dropOld();
    const oldest = this.#newest - this.#events.length;
    if (since === "oldest") return oldest;
    const [boot, text = "", part] = since.split(".");
    if (boot === this.boot && part !== undefined) return "start";
    const seq = /^\d{1,15}$/.test(text) ? Number(text) : -1;
    if (boot !== this.boot || seq < 0 || seq > this.#newest) return "restarted";
    return seq < oldest ? "too_old" : seq;
  }

  /** The events after a position; `null` where some of them are no longer kept. */
  after(seq: number): readonly StoredEvent[] | null {
    const oldest = this.#newest - this.#events.length;
    if (seq < oldest) return null;
    return this.#events.slice(seq - oldest);
  }

  #dropOld(): void {
    const oldest = this.#now() - journalLimits.ageMs;
    const { events, bytes } = journalLimits;
    for (let first = this.#events[0]; first; first = this.#events[0]) {
      if (this.#events.length <= events && this.#bytes <= bytes && first.at >= oldest) return;
      this.#bytes -= first.bytes;
      this.#events.shift();
    }
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  /** Waits for the next event, for `ms` at most, or until `end` is called. */
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

/** Reads the journal at its own pace. */
export class Reader {
  readonly #subscription: Subscription;
  readonly #journal: Journal;
  /** The position of the last event that was given or skipped. */
  #position: number;
  /** Events up to here are repeated for a reader that resumes, which does not count as falling behind. */
  #replayedTo: number;
  #snapshot: Iterator<JournalMessage> | undefined;
  #endWait: (() => void) | undefined;
  /** Whether a heartbeat is due at once: it gives a reader without a first event its position. */
  #isHeartbeatDue = false;
  #isClosed = false;

  constructor(subscription: Subscription, journal: Journal) {
    this.#subscription = subscription;
    this.#journal = journal;
    const { since, snapshot } = subscription;
    const position = since === null ? "start" : journal.resumePosition(since);
    this.#replayedTo = journal.newest;
    this.#position = typeof position === "number" ? position : journal.newest;
    // A reader that cannot resume gets a snapshot even if it did not ask for one.
    if (typeof position === "string" && (snapshot || since !== null)) this.#snapshot = this.#parts(position);
    else this.#isHeartbeatDue = true;
  }

  /** Waits for the next messages; a heartbeat after 15 s; `null` at the end. */
  async next(): Promise<readonly JournalMessage[] | null> {
    const deadline = performance.now() + heartbeatMs;
    for (;;) {
      if (this.#isClosed) return null;
      const part = this.#snapshot?.next();
      if (part && !part.done) return [part.value];
      const messages = this.#take();
      if (messages === "lagged") {
        this.#position = this.#journal.newest;
        this.#snapshot = this.#parts("lagged");
        continue;
      }
      const isHeartbeatDue = this.#isHeartbeatDue;
      this.#isHeartbeatDue = false;
      if (messages.length > 0) return messages;
      if (this.#journal.isClosed) return null;
      const left = isHeartbeatDue ? 0 : deadline - performance.now();
      if (left <= 0) return [{ id: this.#journal.idOf(this.#position), event: null }];
      const { over, end } = this.#journal.changed(left);
      this.#endWait = end;
      await over;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#endWait?.();
  }

  #take(): readonly JournalMessage[] | "lagged" {
    const after = this.#journal.after(this.#position);
    if (after === null) return "lagged";
    const matching = after.filter((one) => this.#matches(one));
    const behind = matching.filter(({ seq }) => seq > this.#replayedTo);
    const bytes = behind.reduce((sum, one) => sum + one.bytes, 0);
    if (behind.length > readerLimits.events || bytes > readerLimits.bytes) return "lagged";
    const messages: JournalMessage[] = [];
    let size = 0;
    for (const { seq, type, json, bytes: own } of matching) {
      messages.push({ id: this.#journal.idOf(seq), event: { type, json } });
      this.#position = seq;
      size += own;
      if (size >= batchBytes) return messages;
    }
    this.#position = this.#journal.newest;
    return messages;
  }

  #matches({ type, deviceId }: StoredEvent): boolean {
    const { devices, types } = this.#subscription;
    // Every reader must learn that the stream ends.
    if (type === "daemon.stopping") return true;
    if (devices !== null && deviceId !== null && !devices.has(deviceId)) return false;
    return types === null || types.some((word) => meansType(word, type));
  }

  /** The parts of a snapshot, each made when it is taken. */
  *#parts(reason: SnapshotReason): Iterator<JournalMessage> {
    const { devices: wanted } = this.#subscription;
    const id = this.#journal.idOf(this.#position);
    const all = this.#journal.devices().filter((one) => wanted === null || wanted.has(one.id));
    const parts = Math.max(1, Math.ceil(all.length / devicesPerPart));
    for (let part = 1; part <= parts; part++) {
      const devices = all.slice((part - 1) * devicesPerPart, part * devicesPerPart).flatMap((one) => one.show() ?? []);
      const last = part === parts;
      const json = JSON.stringify(withTime({ type: "snapshot", reason, part, last, devices }));
      // A reader that disconnects before the last part gets the whole snapshot again.
      yield { id: last ? id : `${id}.${part}`, event: { type: "snapshot", json } };
    }
  }
}

function withTime<T extends { readonly type: EventType }>(event: T): Pick<ApiEvent, "type" | "at"> {
  return Object.assign({ type: event.type, at: new Date().toISOString() }, event);
}
