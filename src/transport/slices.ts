/**
 * What a device says over a line that stays open, read in slices of time, and what it leaves unread of what it is told: one
 * device that floods takes neither time nor memory from the others.
 */
import type net from "node:net";

/** A device that reads nothing of what it is sent, such as the answers to a flood of its own, is hung up on. */
const mostUnread = 1024 * 1024;

export interface Reading<Frame> {
  /**
   * What is read in so many milliseconds, in frames, a long one being as many as it has KiB: who says more is left to wait by
   * its own socket.
   */
  readonly slice: { readonly ms: number; readonly frames: number };
  /** Cuts what comes into frames. What it throws ends the line, as what `take` throws. */
  split(piece: Buffer): Iterator<Frame>;
  bytesOf(frame: Frame): number;
  take(frame: Frame): void;
  /** Whether the line is still open: else what is left is not read. */
  isOpen(): boolean;
  failed(error: unknown): void;
}

/** Gives what is called with each piece that comes over the socket. */
export function inSlices<Frame>(socket: net.Socket, reading: Reading<Frame>): (piece: Buffer) => void {
  const { slice } = reading;
  const pieces: Buffer[] = [];
  let frames: Iterator<Frame> | undefined;
  let read = 0;
  let sliceEnds = 0;
  let rest: ReturnType<typeof setTimeout> | undefined;
  /** The next frame of what has come; `undefined` where none is whole. */
  const next = () => {
    for (;;) {
      const frame = frames?.next();
      if (frame && frame.done !== true) return frame.value;
      const piece = pieces.shift();
      if (!piece) return undefined;
      frames = reading.split(piece);
    }
  };
  const work = () => {
    rest = undefined;
    const now = performance.now();
    if (now >= sliceEnds) [read, sliceEnds] = [0, now + slice.ms];
    for (let frame = next(); frame !== undefined && reading.isOpen(); frame = next()) {
      reading.take(frame);
      read += Math.max(1, reading.bytesOf(frame) / 1024);
      const after = performance.now();
      if (read < slice.frames && after < sliceEnds) continue;
      socket.pause();
      // As long as it took, at least: what one frame costs is not known before.
      rest = setTimeout(orFail, Math.max(sliceEnds - after, after - now));
      rest.unref?.();
      return;
    }
    socket.resume();
  };
  const orFail = () => {
    try {
      if (reading.isOpen()) work();
    } catch (error) {
      reading.failed(error);
    }
  };
  return (piece) => {
    pieces.push(piece);
    if (rest === undefined) orFail();
  };
}

/** Sends something, unless too much of what was sent before lies there unread: `false` then. */
export function sendIfRead(socket: net.Socket, bytes: Uint8Array): boolean {
  if (socket.writableLength > mostUnread) return false;
  socket.write(bytes);
  return true;
}

/** Why a line ends on which that is so. */
export const unread = "does not read what it is sent";
