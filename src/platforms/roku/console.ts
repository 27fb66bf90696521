/**
 * The BrightScript console of a Roku (protocols/roku.md 2.2): one TCP connection, shared by all readers, and a ring of its
 * newest lines. Nothing is ever sent over it: a Ctrl-C would stop the app.
 */
import { hasReason, ZapdError } from "../../api/errors.ts";
import { neverAborted } from "../../system/never-aborted.ts";
import { overlap } from "../../system/overlap.ts";
import { until } from "../../system/sleep.ts";
import { deadline } from "../../transport/http.ts";
import { connectSocket } from "../../transport/socket.ts";
import type { Address, Console, ConsoleLines } from "../platform.ts";
import { developerHint } from "./ecp.ts";

/** How much of a console is kept, which is also the most that one answer holds. */
const limits = { lines: 5_000, bytes: 1024 * 1024, lineCharacters: 8_192, partial: 65_536 } as const;
/**
 * How much is read at once, such as the replay, and how fast after that. The rest waits at the set, so that an app that prints
 * without end does not keep the daemon busy.
 */
const readRate = { atOnce: 4 * 1024 * 1024, perMillisecond: 512 } as const;
/** The set replays older lines on connecting; this silence ends the replay (roku-debug, RTA). */
const replaySilenceMs = 400;
const replayTimeoutMs = 3_000;
const firstLineTimeoutMs = 500;
const pollEveryMs = 50;
/** Connecting is shared by all callers, so no caller's signal ends it. */
const attachTimeoutMs = 8_000;
/** Closed when nobody has read for a while, as a set serves one reader, which may be an editor. */
const releaseAfterMs = 60_000;
/** As nothing is sent, only this notices that the set has lost its power, or has restarted. */
const keepAliveMs = 30_000;
const inUseMessage = /Console connection is already in use/i;

export class RokuConsole implements Console {
  readonly #address: Address;
  readonly #epoch = crypto.randomUUID().slice(0, 8);
  #ring = new Ring();
  readonly #prove: (signal: AbortSignal) => Promise<unknown>;
  #connection: Connection | undefined;
  #attaching: Promise<void> | undefined;
  #releaseTimer: ReturnType<typeof setTimeout> | undefined;

  /** `prove` fails when another device has the address. */
  constructor(address: Address, prove: (signal: AbortSignal) => Promise<unknown> = async () => {}) {
    this.#address = address;
    this.#prove = prove;
  }

  /** The lines after `cursor`, and how many are no longer kept; a cursor of another run of the daemon counts as none. */
  async read(cursor: string | null, signal: AbortSignal): Promise<ConsoleLines> {
    // Also before it connects, which takes a while: the end of an earlier read's time must not close that.
    clearTimeout(this.#releaseTimer);
    if (!this.#connection?.open) {
      this.#attaching ??= this.#attach(deadline(attachTimeoutMs, neverAborted)).finally(() => {
        this.#attaching = undefined;
      });
    }
    await this.#attaching;
    clearTimeout(this.#releaseTimer);
    this.#releaseTimer = setTimeout(() => this.close(), releaseAfterMs);
    this.#releaseTimer.unref?.();
    const [epoch, at] = cursor?.split(".") ?? [];
    const seen = epoch === this.#epoch && at && /^\d+$/.test(at) ? Number(at) : 0;
    await this.#waitForLines(seen, signal);
    const { count } = this.#ring;
    const unread = Math.max(0, count - seen);
    const lines = this.#ring.newest(unread);
    return { lines, cursor: `${this.#epoch}.${count}`, dropped: unread - lines.length };
  }

  /** Waits a moment for new lines: those of an install or a launch come just after its answer. */
  async #waitForLines(seen: number, signal: AbortSignal): Promise<void> {
    const isThere = () => this.#ring.count > seen || !this.#connection?.open;
    await until(isThere, { everyMs: pollEveryMs, timeoutMs: firstLineTimeoutMs, signal });
  }

  close(): void {
    clearTimeout(this.#releaseTimer);
    this.#connection?.close();
    this.#connection = undefined;
  }

  async #attach(signal: AbortSignal): Promise<void> {
    const replay = new Ring();
    let isLive = false;
    const connection = new Connection((bytes, isCut) => (isLive ? this.#ring : replay).add(bytes, isCut));
    // Set before it is open, so that `close` ends it.
    this.#connection = connection;
    try {
      await this.#prove(signal);
      await connection.connect(this.#address, signal);
      const start = performance.now();
      const silentForMs = () => performance.now() - Math.max(connection.receivedAt, start);
      const isReplayed = () => !connection.open || silentForMs() >= replaySilenceMs;
      await until(isReplayed, { everyMs: pollEveryMs, timeoutMs: replayTimeoutMs, signal });
      if (replay.newest(overlapLines).some((line) => inUseMessage.test(line)))
        throw new ZapdError("console_in_use", "already serves its developer console to another program", {
          hint: "Close the editor, telnet or log viewer that is connected to it, then try again",
        });
    } catch (error) {
      connection.close();
      throw error;
    }
    isLive = true;
    if (this.#ring.count === 0) {
      this.#ring = replay;
      return;
    }
    const replayed = replay.newest(replay.count);
    const kept = this.#ring.newest(overlapLines);
    // The set replays a line whole that was cut.
    const known = overlap(this.#ring.isCut ? kept.slice(0, -1) : kept, replayed);
    // Without an overlap the lines that the replay no longer held are missed as well.
    if (known === 0) this.#ring.count += replay.count - replayed.length;
    const newLines = replayed.slice(known).map((line) => `${line}\n`);
    this.#ring.add(new TextEncoder().encode(newLines.join("")), false);
  }
}

const [newline, doubleQuote, backslash, tab] = [0x0a, 0x22, 0x5c, 0x09];
/** Two quotes and a comma around each line of an answer. */
const separatorBytes = 3;

/**
 * The newest lines of a console, as bytes: they are decoded when they are read, so that a flood costs only a copy.
 */
class Ring {
  /** How many lines have been added. */
  count = 0;
  /** Whether the connection ended within the newest line. */
  isCut = false;
  #bytes: Uint8Array<ArrayBuffer> | undefined;
  /** How many bytes have been added; the next is written at this position, modulo the size. */
  #end = 0;

  /** Adds complete lines. */
  add(received: Uint8Array, isCut: boolean): void {
    for (let at = received.indexOf(newline); at !== -1; at = received.indexOf(newline, at + 1)) this.count++;
    const bytes = received.subarray(-limits.bytes);
    if (bytes.length === 0) return;
    this.isCut = isCut;
    this.#bytes ??= new Uint8Array(limits.bytes);
    const start = this.#end % limits.bytes;
    const first = bytes.subarray(0, limits.bytes - start);
    this.#bytes.set(first, start);
    this.#bytes.set(bytes.subarray(first.length), 0);
    this.#end += bytes.length;
  }

  /** The newest lines: `most`, or as many as are kept and fit into an answer. */
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
      // Its beginning has been overwritten.
      if (start === oldest && oldest > 0) break;
      const line = lineText(this.#slice(start, end));
      left -= Buffer.byteLength(line) + escapes + separatorBytes;
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

/** Removes colours and other terminal controls, as readers print the text. */
function lineText(bytes: Uint8Array): string {
  return utf8
    .decode(bytes)
    .replace(terminalControls, "")
    .replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "")
    .slice(0, limits.lineCharacters)
    .toWellFormed();
}

/** By so many last lines a replay is matched with the lines that are kept. */
const overlapLines = 20;

/** One TCP connection, which passes on complete lines. */
class Connection {
  open = false;
  receivedAt = 0;
  readonly #onLines: (bytes: Uint8Array, isCut: boolean) => void;
  #socket: Awaited<ReturnType<typeof connectSocket>> | undefined;
  #closed = false;
  /** The beginning of a line without an end yet; longer ones are cut. */
  readonly #partial = new Uint8Array(limits.partial);
  #partialBytes = 0;
  #skip = 0;
  /** Bytes that may be read now, and when that was computed. */
  #allowed: number = readRate.atOnce;
  #allowedAt = performance.now();
  #resume: ReturnType<typeof setTimeout> | undefined;

  constructor(onLines: (bytes: Uint8Array, isCut: boolean) => void) {
    this.#onLines = onLines;
  }

  async connect(address: Address, signal: AbortSignal): Promise<void> {
    if (this.#closed) throw closedMeanwhile();
    const socket = await connectSocket(address, false, signal).catch((error: unknown) => {
      throw signal.aborted ? signal.reason : withoutConsole(error);
    });
    if (this.#closed) {
      socket.destroy();
      throw closedMeanwhile();
    }
    socket.setKeepAlive(true, keepAliveMs);
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
    if (this.#partialBytes > 0) this.#endPartial(Uint8Array.of(newline), true);
  }

  #received(received: Uint8Array): void {
    this.receivedAt = performance.now();
    this.#slowDown(received.length);
    const bytes = this.#withoutTelnet(received);
    const end = bytes.lastIndexOf(newline);
    if (end !== -1) {
      const first = bytes.indexOf(newline);
      this.#endPartial(bytes.subarray(0, first + 1));
      this.#onLines(bytes.subarray(first + 1, end + 1), false);
    }
    this.#keepPartial(bytes.subarray(end + 1));
  }

  #keepPartial(bytes: Uint8Array): void {
    const kept = bytes.subarray(0, limits.partial - this.#partialBytes);
    this.#partial.set(kept, this.#partialBytes);
    this.#partialBytes += kept.length;
  }

  #endPartial(rest: Uint8Array, isCut = false): void {
    if (this.#partialBytes > 0) this.#onLines(Uint8Array.from(this.#partial.subarray(0, this.#partialBytes)), isCut);
    this.#partialBytes = 0;
    this.#onLines(rest, isCut);
  }

  /** Pauses reading when more has come than the rate allows. */
  #slowDown(bytes: number): void {
    const now = performance.now();
    this.#allowed =
      Math.min(readRate.atOnce, this.#allowed + (now - this.#allowedAt) * readRate.perMillisecond) - bytes;
    this.#allowedAt = now;
    if (this.#allowed > 0 || this.#resume) return;
    this.#socket?.pause();
    this.#resume = setTimeout(
      () => {
        this.#resume = undefined;
        this.#socket?.resume();
      },
      -this.#allowed / readRate.perMillisecond + 1,
    );
  }

  /** Removes NUL and telnet commands (0xff and two bytes), which may be split across packets. */
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

/** Nothing is wrong with the set: its lease has ended, or nobody has read for a while. */
function closedMeanwhile(): ZapdError {
  return new ZapdError("device_refused", "was let go while its developer console was being opened", {
    hint: "Read it again: zapd logs -d {device}",
  });
}

/** It has just answered on its control port, so it is neither off nor elsewhere. */
function withoutConsole(error: unknown): ZapdError {
  const how = hasReason(error, "refused") ? "refused the connection to" : "did not answer on";
  return new ZapdError("device_refused", `${how} its developer console`, { hint: developerHint, cause: error });
}
