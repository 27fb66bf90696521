/**
 * Limits for a connection that stays open: it is read in time slices, and closed when the device does not read. A device that
 * floods takes neither time nor memory from the others.
 */
import type net from "node:net";

/** A device that floods may not read the answers. */
const maxUnreadBytes = 1024 * 1024;

export interface Reading<Frame> {
  /** How many frames are read in how many milliseconds, a long frame counting once for each KiB. The rest waits in the socket. */
  readonly slice: { readonly ms: number; readonly frames: number };
  /** Cuts received bytes into frames. `failed` is called with what this or `take` throws. */
  split(piece: Buffer): Iterator<Frame>;
  bytesOf(frame: Frame): number;
  take(frame: Frame): void;
  isOpen(): boolean;
  failed(error: unknown): void;
}

export interface SlicedReader {
  /** Takes each piece that the socket receives. */
  push(piece: Buffer): void;
  /**
   * Calls back once every frame that was received has been read, as a device may close the connection right after its last one;
   * at once where none is left, so that no command is sent over a connection that has ended.
   */
  whenRead(then: () => void): void;
}

export function inSlices<Frame>(socket: net.Socket, reading: Reading<Frame>): SlicedReader {
  const { slice } = reading;
  const pieces: Buffer[] = [];
  let frames: Iterator<Frame> | undefined;
  /** The frame that the next slice begins with. */
  let waiting: Frame | undefined;
  let read = 0;
  let sliceEnds = 0;
  let nextSlice: ReturnType<typeof setTimeout> | undefined;
  let afterLast = () => {};
  /** The next complete frame, or `undefined`. */
  const next = () => {
    for (;;) {
      const frame = frames?.next();
      if (frame && frame.done !== true) return frame.value;
      const piece = pieces.shift();
      if (!piece) return undefined;
      frames = reading.split(piece);
    }
  };
  const readSlice = () => {
    nextSlice = undefined;
    const now = performance.now();
    if (now >= sliceEnds) [read, sliceEnds] = [0, now + slice.ms];
    let frame = waiting ?? next();
    waiting = undefined;
    for (; frame !== undefined && reading.isOpen(); frame = next()) {
      reading.take(frame);
      read += Math.max(1, reading.bytesOf(frame) / 1024);
      const after = performance.now();
      if (read < slice.frames && after < sliceEnds) continue;
      waiting = next();
      socket.pause();
      // A pause as long as the slice took, as one frame may take longer than the slice.
      nextSlice = setTimeout(readOrFail, Math.max(sliceEnds - after, after - now));
      nextSlice.unref?.();
      return;
    }
    socket.resume();
    afterLast();
  };
  const readOrFail = () => {
    try {
      if (reading.isOpen()) readSlice();
    } catch (error) {
      reading.failed(error);
    }
  };
  return {
    push(piece) {
      // A closed connection may still receive for a moment, and nobody would read what it has kept.
      if (!reading.isOpen()) return;
      pieces.push(piece);
      if (nextSlice === undefined) readOrFail();
    },
    whenRead(then) {
      if (nextSlice === undefined || (waiting === undefined && pieces.length === 0)) then();
      else afterLast = then;
    },
  };
}

/** Sends bytes; `false` where the device has left too many unread. */
export function sendIfRead(socket: net.Socket, bytes: Uint8Array): boolean {
  if (socket.writableLength > maxUnreadBytes) return false;
  socket.write(bytes);
  return true;
}

/** The reason of the end of such a connection. */
export const unread = "does not read what zapd sends";
