/**
 * The BrightScript console of a Roku (protocols/roku.md 2.2): one TCP connection per set, shared by all who read, kept
 * in a ring. Nothing is ever written to it: a Ctrl-C would stop the app.
 */
import { DeviceError, hasReason, ZapdError } from "../../api/errors.ts";
import { overlap } from "../../system/overlap.ts";
import { until } from "../../system/sleep.ts";
import { connectSocket } from "../../transport/socket.ts";
import type { Address, Console, ConsoleLines } from "../platform.ts";
import { developerHint } from "./ecp.ts";

/** What is kept of a console, and so the most that one answer holds: of lines, and of bytes in both. */
const limits = { lines: 5_000, bytes: 1024 * 1024, lineCharacters: 8_192, partial: 65_536 } as const;
/**
 * So much is read at once, such as what a set replays at the start, and so much after that. The rest waits at the set: an
 * app that prints without end must not keep the daemon from its other work, nor fill its memory.
 */
const pace = { atOnce: 4 * 1024 * 1024, perMillisecond: 512 } as const;
/** What the set replays on connecting is over when it has been silent this long (roku-debug, RTA). */
const settleFor = 400;
const settleAtMost = 3_000;
const waitForFirst = 500;
const pollEvery = 50;
/** Attaching is shared by all who wait, so no caller's own signal ends it. */
const attachTimeout = 8_000;
/** Released when nobody has read for a while: a set serves one reader, and it may be an editor's turn. */
const releaseAfter = 60_000;
/** Nothing is ever written to it, so that only this tells that a set has lost its power, or is there anew. */
const keepAlive = 30_000;
const inUse = /Console connection is already in use/i;

export class RokuConsole implements Console {
  readonly #address: Address;
  readonly #epoch = crypto.randomUUID().slice(0, 8);
  #ring = new Ring();
  readonly #prove: (signal: AbortSignal) => Promise<unknown>;
  #feed: Feed | undefined;
  #attaching: Promise<void> | undefined;
  #release: ReturnType<typeof setTimeout> | undefined;

  /** `prove` fails when another device has the address: its log is not for those who ask for this one. */
  constructor(address: Address, prove: (signal: AbortSignal) => Promise<unknown> = async () => {}) {
    this.#address = address;
    this.#prove = prove;
  }

  /** The lines after `cursor`, and how many of them are not kept any more; a cursor of another run of the daemon counts as none. */
  async read(cursor: string | null, signal: AbortSignal): Promise<ConsoleLines> {
    if (!this.#feed?.open) {
      this.#attaching ??= this.#attach(AbortSignal.timeout(attachTimeout)).finally(() => {
        this.#attaching = undefined;
      });
    }
    await this.#attaching;
    clearTimeout(this.#release);
    this.#release = setTimeout(() => this.close(), releaseAfter);
    this.#release.unref?.();
    const [epoch, at] = cursor?.split(".") ?? [];
    const seen = epoch === this.#epoch && at && /^\d+$/.test(at) ? Number(at) : 0;
    await this.#something(seen, signal);
    const { count } = this.#ring;
    const wanted = Math.max(0, count - seen);
    const lines = this.#ring.newest(wanted);
    return { lines, cursor: `${this.#epoch}.${count}`, dropped: wanted - lines.length };
  }

  /** Waits a moment where there is nothing to give yet: what an install or a launch sets off comes just behind its answer. */
  async #something(seen: number, signal: AbortSignal): Promise<void> {
    const isThere = () => this.#ring.count > seen || !this.#feed?.open;
    await until(isThere, { everyMs: pollEvery, timeoutMs: waitForFirst, signal });
  }

  close(): void {
    clearTimeout(this.#release);
    this.#feed?.close();
    this.#feed = undefined;
  }

  async #attach(signal: AbortSignal): Promise<void> {
    const replay = new Ring();
    let settled = false;
    const feed = new Feed((bytes) => (settled ? this.#ring : replay).add(bytes));
    // From now on it is there to be closed, whoever waits for it.
    this.#feed = feed;
    await this.#prove(signal);
    await feed.connect(this.#address, signal);
    const start = performance.now();
    const quietFor = () => performance.now() - Math.max(feed.heardAt, start);
    const isSettled = () => !feed.open || quietFor() >= settleFor;
    await until(isSettled, { everyMs: pollEvery, timeoutMs: settleAtMost, signal });
    if (replay.newest(overlapping).some((line) => inUse.test(line))) {
      feed.close();
      throw new ZapdError("console_in_use", "already serves its developer console to another program", {
        hint: "Close the editor, telnet or log viewer that is connected to it, and ask again",
      });
    }
    settled = true;
    if (this.#ring.count === 0) {
      this.#ring = replay;
      return;
    }
    const replayed = replay.newest(replay.count);
    const known = overlap(this.#ring.newest(overlapping), replayed);
    // Where nothing of it is known, what fell out of the replay has been missed, too.
    if (known === 0) this.#ring.miss(replay.count - replayed.length);
    const fresh = replayed.slice(known).map((line) => `${line}\n`);
    this.#ring.add(new TextEncoder().encode(fresh.join("")));
  }
}

const [newline, doubleQuote, backslash, tab] = [0x0a, 0x22, 0x5c, 0x09];
/** What stands around each line of an answer: two quotes and a comma. */
const separators = 3;

/**
 * The newest lines of a console, as the bytes that came: made into text when somebody reads them. A flood costs a copy.
 */
class Ring {
  /** How many lines have gone through it. */
  count = 0;
  #bytes: Uint8Array<ArrayBuffer> | undefined;
  /** How many bytes have gone through it; they stand in `#bytes` at that number, taken round. */
  #end = 0;

  /** Takes whole lines. */
  add(given: Uint8Array): void {
    for (let at = given.indexOf(newline); at !== -1; at = given.indexOf(newline, at + 1)) this.count++;
    const bytes = given.subarray(-limits.bytes);
    if (bytes.length === 0) return;
    this.#bytes ??= new Uint8Array(limits.bytes);
    const start = this.#end % limits.bytes;
    const first = bytes.subarray(0, limits.bytes - start);
    this.#bytes.set(first, start);
    this.#bytes.set(bytes.subarray(first.length), 0);
    // What was left out in front moves nothing: only the order of what is kept counts.
    this.#end += bytes.length;
  }

  /** Counts lines that went by unseen. */
  miss(lines: number): void {
    this.count += lines;
  }

  /** The newest lines, `most` of them or as many as are kept and fit an answer. */
  newest(most: number): string[] {
    const lines: string[] = [];
    const ring = this.#bytes;
    const oldest = Math.max(0, this.#end - limits.bytes);
    const byteAt = (at: number) => ring?.[at % limits.bytes];
    let left = limits.bytes;
    for (let end = this.#end - 1; end >= oldest && lines.length < Math.min(most, limits.lines); ) {
      let start = end;
      let escapes = 0;
      for (; start > oldest; start--) {
        const byte = byteAt(start - 1);
        if (byte === newline) break;
        if (byte === doubleQuote || byte === backslash || byte === tab) escapes++;
      }
      // Its beginning has been written over.
      if (start === oldest && oldest > 0) break;
      const line = textOfLine(this.#slice(start, end));
      left -= Buffer.byteLength(line) + escapes + separators;
      if (left < 0) break;
      lines.push(line);
      end = start - 1;
    }
    return lines.reverse();
  }

  #slice(start: number, end: number): Uint8Array {
    const cut = Math.min(end, start + 4 * limits.lineCharacters);
    const [from, to] = [start % limits.bytes, cut % limits.bytes];
    if (!this.#bytes || cut === start) return new Uint8Array(0);
    if (from < to) return this.#bytes.subarray(from, to);
    return Buffer.concat([this.#bytes.subarray(from), this.#bytes.subarray(0, to)]);
  }
}

const utf8 = new TextDecoder();
/** Control sequences (ECMA-48, 5.4), and strings such as a title of a window (5.6), which end with BEL or ST. */
const terminalControls = /\x1b\[[0-?]*[ -/]*[@-~]|\x1b[P\]X^_][^\x07\x1b]*(?:\x07|\x1b\\)/g;

/** Colours and other terminal controls of an app's own output stay out: readers print this. */
function textOfLine(bytes: Uint8Array): string {
  return utf8
    .decode(bytes)
    .replace(terminalControls, "")
    .replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "")
    .slice(0, limits.lineCharacters)
    .toWellFormed();
}

/** So many of the last lines tell where a replay goes on. */
const overlapping = 20;

/** One TCP connection, cut behind the last whole line that has come. */
class Feed {
  open = false;
  heardAt = 0;
  readonly #onLines: (bytes: Uint8Array) => void;
  #socket: Awaited<ReturnType<typeof connectSocket>> | undefined;
  #closed = false;
  /** The beginning of a line whose end has not come. Of one that never ends, no more than this is kept. */
  readonly #partial = new Uint8Array(limits.partial);
  #partialBytes = 0;
  #skip = 0;
  /** Bytes that may be read now, and when that was reckoned. */
  #allowed: number = pace.atOnce;
  #allowedAt = performance.now();
  #resume: ReturnType<typeof setTimeout> | undefined;

  constructor(onLines: (bytes: Uint8Array) => void) {
    this.#onLines = onLines;
  }

  async connect(address: Address, signal: AbortSignal): Promise<void> {
    const socket = await connectSocket(address, false, signal).catch((error: unknown) => {
      throw signal.aborted ? signal.reason : withoutConsole(error);
    });
    if (this.#closed) {
      socket.destroy();
      throw withoutConsole(signal.reason);
    }
    socket.setKeepAlive(true, keepAlive);
    this.#socket = socket;
    this.open = true;
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#ended());
    socket.on("data", (bytes: Uint8Array) => this.#received(bytes));
  }

  close(): void {
    this.open = false;
    this.#closed = true;
    clearTimeout(this.#resume);
    this.#socket?.destroy();
  }

  #ended(): void {
    this.open = false;
    clearTimeout(this.#resume);
    if (this.#partialBytes > 0) this.#endPartial(Uint8Array.of(newline));
  }

  #received(given: Uint8Array): void {
    this.heardAt = performance.now();
    this.#slowDown(given.length);
    const bytes = this.#withoutTelnet(given);
    const end = bytes.lastIndexOf(newline);
    if (end !== -1) {
      const first = bytes.indexOf(newline);
      this.#endPartial(bytes.subarray(0, first + 1));
      this.#onLines(bytes.subarray(first + 1, end + 1));
    }
    this.#keepPartial(bytes.subarray(end + 1));
  }

  #keepPartial(bytes: Uint8Array): void {
    const kept = bytes.subarray(0, limits.partial - this.#partialBytes);
    this.#partial.set(kept, this.#partialBytes);
    this.#partialBytes += kept.length;
  }

  #endPartial(rest: Uint8Array): void {
    if (this.#partialBytes > 0) this.#onLines(Uint8Array.from(this.#partial.subarray(0, this.#partialBytes)));
    this.#partialBytes = 0;
    this.#onLines(rest);
  }

  /** Lets the set wait once it has said more than is read in a while. */
  #slowDown(bytes: number): void {
    const now = performance.now();
    this.#allowed = Math.min(pace.atOnce, this.#allowed + (now - this.#allowedAt) * pace.perMillisecond) - bytes;
    this.#allowedAt = now;
    if (this.#allowed > 0 || this.#resume) return;
    this.#socket?.pause();
    this.#resume = setTimeout(
      () => {
        this.#resume = undefined;
        this.#socket?.resume();
      },
      -this.#allowed / pace.perMillisecond + 1,
    );
  }

  /** Takes out NUL and telnet commands (0xff and two bytes), which may be split across packets. */
  #withoutTelnet(bytes: Uint8Array): Uint8Array {
    if (this.#skip === 0 && !bytes.includes(0xff) && !bytes.includes(0)) return bytes;
    return bytes.filter((byte) => {
      if (this.#skip > 0) {
        this.#skip--;
        return false;
      }
      if (byte === 0xff) this.#skip = 2;
      return byte !== 0xff && byte !== 0;
    });
  }
}

function withoutConsole(error: unknown): unknown {
  if (hasReason(error, "refused"))
    return new ZapdError("device_refused", "does not open its developer console", {
      hint: developerHint,
      cause: error,
    });
  const options = { phase: "connect", reason: "closed", hint: developerHint, cause: error } as const;
  return new DeviceError("device_unreachable", "did not answer on its developer console", options);
}
