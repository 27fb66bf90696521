/** Who is connected to a listener: each has its time (SECURITY.md 4), and all of them their number. */
import type { Socket } from "node:net";

/** A whole head must be there, and after an answer the next one, within this time. */
export const idleMs = 10_000;
/** Callers at a time; of more, those who have waited longest without a request give way. */
const most = 512;
/** With so many at a time, descriptors may have run out. */
const crowd = 128;

export class Callers {
  /** Those for whom no request is served, and since when on the monotonic clock; the longest first. */
  readonly #idle = new Map<Socket, number>();
  /** How many requests are served for each of the others: one may send the next before the answer. */
  readonly #busy = new Map<Socket, number>();
  /** The monotonic clock. */
  readonly #now: () => number;
  #crowded = false;
  #cameAt = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  add(socket: Socket): void {
    this.#cameAt = this.#now();
    if (this.#size >= most) {
      const [[first] = [socket]] = this.#idle;
      this.#idle.delete(first);
      first.destroy();
      if (first === socket) return;
    }
    this.#idle.set(socket, this.#cameAt);
    this.#crowded ||= this.#size >= crowd;
    socket.once("close", () => {
      this.#idle.delete(socket);
      this.#busy.delete(socket);
    });
  }

  /** Keeps a caller while it is served; gives what ends that. */
  busy(socket: Socket): () => void {
    this.#idle.delete(socket);
    this.#busy.set(socket, (this.#busy.get(socket) ?? 0) + 1);
    return () => {
      const left = (this.#busy.get(socket) ?? 1) - 1;
      if (left > 0) return void this.#busy.set(socket, left);
      this.#busy.delete(socket);
      if (!socket.destroyed) this.#idle.set(socket, this.#now());
    };
  }

  /** Hangs up on those who have not brought a whole head for too long. */
  endIdle(): void {
    const before = this.#now() - idleMs;
    for (const [socket, since] of this.#idle) if (since <= before) socket.destroy();
  }

  /** Whether a crowd was here, has gone, and nobody has come for a while: told once. */
  crowdHasGone(quietMs: number): boolean {
    if (!this.#crowded || this.#size >= crowd || this.#now() - this.#cameAt < quietMs) return false;
    this.#crowded = false;
    return true;
  }

  get #size(): number {
    return this.#idle.size + this.#busy.size;
  }
}
