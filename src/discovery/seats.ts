/** The new devices that one scan may bring: a few of each host, and a bounded number in all (SECURITY.md T30). */

const limits = { perHost: 16, perScan: 128 } as const;

interface Taken {
  count: number;
  /** Devices that took a seat, as they are known by. */
  readonly ids: string[];
}

export class Seats {
  readonly #hosts = new Map<string, Taken>();
  #total = 0;

  /**
   * A seat for a new device of a host; `null` when it has none left. When all are taken, a host that took more than its
   * share gives one back: the device that goes is named then.
   */
  take(host: string): { readonly instead: string | null } | null {
    const mine = this.#of(host);
    if (mine.count >= limits.perHost) return null;
    let instead: string | null = null;
    if (this.#total < limits.perScan) this.#total++;
    else {
      const greediest = [...this.#hosts.values()]
        .filter(({ ids }) => ids.length > 0)
        .reduce<Taken | null>((most, one) => (most && most.count >= one.count ? most : one), null);
      const last = greediest && greediest.count > mine.count + 1 ? greediest.ids.pop() : undefined;
      if (!greediest || last === undefined) return null;
      greediest.count--;
      instead = last;
    }
    mine.count++;
    return { instead };
  }

  /** A seat that was taken is not needed. */
  giveBack(host: string): void {
    this.#of(host).count--;
    this.#total--;
  }

  /** Who took the seat. */
  took(host: string, id: string): void {
    this.#of(host).ids.push(id);
  }

  #of(host: string): Taken {
    const taken = this.#hosts.get(host) ?? { count: 0, ids: [] };
    this.#hosts.set(host, taken);
    return taken;
  }
}
