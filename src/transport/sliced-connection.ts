/**
 * A connection to a device that stays open: it is read in time slices, and closed when the device does not read. A device that
 * floods takes neither time nor memory from the others.
 */
import type net from "node:net";
import { textOf } from "../api/errors.ts";
import { hangUp } from "./socket.ts";

/** A device that floods may not read the answers. */
const maxUnreadBytes = 1024 * 1024;

/** How a connection ended: with the close code of the device, where it sent one. */
export interface ConnectionEnd {
  readonly code: number | null;
  readonly reason: string;
}

/** An open connection, whatever its messages look like. */
export interface OpenConnection {
  readonly open: boolean;
  /** On the monotonic clock. */
  readonly lastReceivedAt: number;
  /** SHA-256 of the device's certificate in lower-case hex; `null` without TLS. */
  readonly fingerprint: string | null;
  /** Closes it by the protocol; after a second it is closed whatever the device does. */
  close(): void;
  /** Closes it at once. */
  destroy(): void;
}

const because = (reason: string): ConnectionEnd => ({ code: null, reason });
export const disconnected = because("was disconnected by zapd");
const closedByDevice = because("closed the connection");

export interface Reading<Frame> {
  /** How many frames are read in how many milliseconds, a long frame counting once for each KiB. The rest waits in the socket. */
  readonly slice: { readonly ms: number; readonly frames: number };
  /** Cuts received bytes into frames. When it or `take` throws, the connection ends. */
  split(piece: Buffer): Iterator<Frame>;
  bytesOf(frame: Frame): number;
  take(frame: Frame): void;
  /** Called once, when the connection ends. */
  onEnd(end: ConnectionEnd): void;
}

export class SlicedConnection<Frame> {
  isOpen = true;
  /** On the monotonic clock. */
  lastReceivedAt = performance.now();
  readonly #socket: net.Socket;
  readonly #reading: Reading<Frame>;
  readonly #pieces: Buffer[] = [];
  #frames: Iterator<Frame> | undefined;
  /** The frame that the next slice begins with. */
  #waiting: Frame | undefined;
  #read = 0;
  #sliceEnds = 0;
  #nextSlice: ReturnType<typeof setTimeout> | undefined;
  #isHungUp = false;

  constructor(socket: net.Socket, reading: Reading<Frame>) {
    this.#socket = socket;
    this.#reading = reading;
    socket.on("error", () => this.end(because("broke the connection")));
    for (const event of ["close", "end"]) socket.on(event, () => this.hungUp());
    socket.on("data", (bytes: Buffer) => this.receive(bytes));
  }

  /** Sends bytes; ends the connection where the device has left too many unread. */
  send(bytes: Uint8Array): void {
    if (!this.isOpen) return;
    if (this.#socket.writableLength > maxUnreadBytes) return this.end(because("does not read what zapd sends"));
    this.#socket.write(bytes);
  }

  /** Ends it at once; with `last`, once these have been sent, as `hangUp`. */
  end(why: ConnectionEnd, last?: readonly Uint8Array[]): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    if (last) {
      for (const bytes of last) this.#socket.write(bytes);
      hangUp(this.#socket);
    } else this.#socket.destroy();
    this.#reading.onEnd(why);
  }

  /** Takes bytes that the device has sent. */
  receive(piece: Buffer): void {
    // A closed connection may still receive for a moment, and nobody would read what it has kept.
    if (!this.isOpen) return;
    this.lastReceivedAt = performance.now();
    this.#pieces.push(piece);
    if (this.#nextSlice === undefined) this.#readOrEnd();
  }

  /**
   * The device has closed the connection. It ends once every frame that was received has been read, as a device may close it
   * right after its last one; at once where none is left, so that no command is sent over a connection that has ended.
   */
  hungUp(): void {
    this.#isHungUp = true;
    if (this.#nextSlice === undefined || (this.#waiting === undefined && this.#pieces.length === 0))
      this.end(closedByDevice);
  }

  #readOrEnd(): void {
    try {
      if (this.isOpen) this.#readSlice();
    } catch (error) {
      this.end(because(textOf(error)));
    }
  }

  #readSlice(): void {
    const { slice, take, bytesOf } = this.#reading;
    this.#nextSlice = undefined;
    const now = performance.now();
    if (now >= this.#sliceEnds) [this.#read, this.#sliceEnds] = [0, now + slice.ms];
    let frame = this.#waiting ?? this.#next();
    this.#waiting = undefined;
    for (; frame !== undefined; frame = this.#next()) {
      take(frame);
      if (!this.isOpen) return;
      this.#read += Math.max(1, bytesOf(frame) / 1024);
      const after = performance.now();
      if (this.#read < slice.frames && after < this.#sliceEnds) continue;
      this.#waiting = this.#next();
      this.#socket.pause();
      // A pause as long as the slice took, as one frame may take longer than the slice.
      this.#nextSlice = setTimeout(() => this.#readOrEnd(), Math.max(this.#sliceEnds - after, after - now));
      this.#nextSlice.unref?.();
      return;
    }
    this.#socket.resume();
    if (this.#isHungUp) this.end(closedByDevice);
  }

  /** The next complete frame, or `undefined`. */
  #next(): Frame | undefined {
    for (;;) {
      const frame = this.#frames?.next();
      if (frame && frame.done !== true) return frame.value;
      const piece = this.#pieces.shift();
      if (!piece) return undefined;
      this.#frames = this.#reading.split(piece);
    }
  }
}
