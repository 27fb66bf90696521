/** How many datagrams one socket reads of a flood: enough that a real device's is among them. Pure. */

/** Bytes in each slice of time. One host may be a router that repeats the answers of another network. The reserve is for the first datagram of each host. */
const limits = { sliceMs: 100, host: 16 * 1024, all: 32 * 1024, reserve: 32 * 1024 } as const;

/** Gives a function that tells whether to read a datagram of so many bytes, which comes `now`. */
export function datagramLimit(maxDatagram: number) {
  const hosts = new Map<string, number>();
  let all = 0;
  let since = Number.NEGATIVE_INFINITY;
  return (bytes: number, host: string, now = performance.now()): boolean => {
    if (bytes > maxDatagram) return false;
    if (now - since >= limits.sliceMs) {
      since = now;
      all = 0;
      hosts.clear();
    }
    const before = hosts.get(host);
    const most = before === undefined ? limits.all + limits.reserve : limits.all;
    if ((before ?? 0) >= limits.host || all >= most) return false;
    hosts.set(host, (before ?? 0) + bytes);
    all += bytes;
    return true;
  };
}
