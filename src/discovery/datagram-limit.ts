/** How many datagrams one socket reads of a flood: enough that a real device's is among them. Pure. */

/** Bytes in each slice of time. One host may be a router that repeats the answers of another network. The reserve is for the first datagram of each host. */
const limits = { sliceMs: 100, host: 16 * 1024, all: 32 * 1024, reserve: 32 * 1024 } as const;

export class DatagramLimit {
  readonly #maxDatagram: number;
  readonly #hosts = new Map<string, number>();
  #all = 0;
  #since = Number.NEGATIVE_INFINITY;

  constructor(maxDatagram: number) {
    this.#maxDatagram = maxDatagram;
  }

  /** Whether to read a datagram of so many bytes, which comes `now`. */
  takes(bytes: number, host: string, now = performance.now()): boolean {
    if (bytes > this.#maxDatagram) return false;
    if (now - this.#since >= limits.sliceMs) {
      this.#since = now;
      this.#all = 0;
      this.#hosts.clear();
    }
    const before = this.#hosts.get(host);
    const most = before === undefined ? limits.all + limits.reserve : limits.all;
    if ((before ?? 0) >= limits.host || this.#all >= most) return false;
    this.#hosts.set(host, (before ?? 0) + bytes);
    this.#all += bytes;
    return true;
  }
}
