/** What a scan does with the answers it gets: asks each address once who lives there, and takes the device in, within bounds. */
import { textOf } from "../api/errors.ts";
import type { Address, Lead, Platform, PlatformHost, Sighting } from "../platforms/platform.ts";
import { until } from "../system/sleep.ts";

const limits = { candidates: 1_024, identifiedAtOnce: 16 } as const;
/** A host of which few have been asked has its turn, though others have filled the rest. */
const reserved = { candidates: 1_024, perHost: 2 } as const;
/** The part of one address in them: a host that answers a thousand times must not keep the real set from its turn. */
const perHost = { candidates: 128, identifiedAtOnce: 8 } as const;

/** A device that was found: who it is, and where. */
export interface FoundDevice {
  readonly platform: string;
  readonly sighting: Sighting;
  readonly address: Address;
}

/** Where a device that was asked at one address is to be driven. */
export function addressOf({ host, port }: Address, { port: control = port }: Pick<Sighting, "port">): Address {
  return { host, port: control };
}

/** What a scan has had of one host. */
interface Host {
  tries: number;
  running: number;
  asked: number;
}

export interface ProbeDependencies<D> {
  readonly platformHost: Pick<PlatformHost, "isOwnListener">;
  identify(platform: Platform, lead: Lead): Promise<Sighting>;
  /** A device that is known at an address, and that being asked would turn on: it is left alone there, and found as it is. */
  sleepingAt?(platform: string, address: Address): D | null;
  /** Takes a device in the moment it has said who it is; a new one needs one of the scan's seats. */
  addFound(finding: FoundDevice, seats: Seats): Promise<D>;
  debug(message: string): void;
}

/** Takes candidates of one scan: each address once until it is joined, a bounded number, some at a time. */
export class ProbeQueue<D> {
  readonly #deps: ProbeDependencies<D>;
  readonly #seen = new Set<string>();
  readonly #found = new Map<string, D>();
  readonly #hosts = new Map<string, Host>();
  readonly #seats = new Seats();
  #waiting: { host: string; work(): Promise<void> }[] = [];
  #running = 0;
  #tries = 0;

  constructor(deps: ProbeDependencies<D>) {
    this.#deps = deps;
  }

  /**
   * Asks who is there, in its turn. Resolves with whether the platform recognized its device; `only` is the identity that it
   * must have, where nobody else is looked for at this address.
   */
  add(platform: Platform, lead: Lead | null, only?: string): Promise<boolean> {
    const no = Promise.resolve(false);
    if (!lead || lead.port < 1 || lead.port > 65_535 || this.#deps.platformHost.isOwnListener(lead)) return no;
    const key = `${platform.name} ${lead.host} ${lead.port} ${lead.path ?? ""} ${only ?? ""}`;
    const host = this.#host(lead.host);
    const most = host.tries < reserved.perHost ? limits.candidates + reserved.candidates : limits.candidates;
    if (this.#seen.has(key) || this.#tries >= most || host.tries >= perHost.candidates) return no;
    this.#seen.add(key);
    this.#tries++;
    host.tries++;
    return new Promise((resolve) => {
      const work = async () => {
        const taken = await this.#take(platform, lead, only);
        // One that could not say who it is may be starting: its next answer is heard again.
        if (!taken) this.#seen.delete(key);
        resolve(taken);
      };
      this.#waiting.push({ host: lead.host, work });
      this.#next();
    });
  }

  /** Who answers from now on is asked again: who was asked before may be elsewhere by now. The bounds stay those of the scan. */
  askAgain(): void {
    this.#seen.clear();
  }

  /** What was found, when all have said who they are or the grace is over. */
  async finish(graceMs: number): Promise<D[]> {
    await until(() => this.#running === 0, { timeoutMs: graceMs, everyMs: 10 });
    this.#waiting = [];
    return [...this.#found.values()];
  }

  #host(address: string): Host {
    const host = this.#hosts.get(address) ?? { tries: 0, running: 0, asked: 0 };
    this.#hosts.set(address, host);
    return host;
  }

  /** Whose turn it is: of those that wait, the first of the host that was asked least. */
  #turn(): number {
    let turn = -1;
    let least = Number.POSITIVE_INFINITY;
    for (const [at, { host: address }] of this.#waiting.entries()) {
      const host = this.#host(address);
      if (host.running >= perHost.identifiedAtOnce || host.asked >= least) continue;
      turn = at;
      least = host.asked;
    }
    return turn;
  }

  #next(): void {
    while (this.#running < limits.identifiedAtOnce) {
      const at = this.#turn();
      const [next] = at === -1 ? [] : this.#waiting.splice(at, 1);
      if (!next) break;
      const host = this.#host(next.host);
      this.#running++;
      host.running++;
      host.asked++;
      void next.work().finally(() => {
        this.#running--;
        host.running--;
        this.#next();
      });
    }
  }

  async #take(platform: Platform, lead: Lead, only?: string): Promise<boolean> {
    try {
      const asleep = this.#deps.sleepingAt?.(platform.name, lead) ?? null;
      if (asleep !== null) {
        this.#found.set(`${platform.name} asleep at ${lead.host}:${lead.port}`, asleep);
        return true;
      }
      const sighting = await this.#deps.identify(platform, lead);
      if (only !== undefined && (sighting.provisional || sighting.identity !== only)) return false;
      const address = addressOf(lead, sighting);
      this.#found.set(
        `${platform.name} ${sighting.identity}`,
        await this.#deps.addFound({ platform: platform.name, sighting, address }, this.#seats),
      );
      return true;
    } catch (error) {
      this.#deps.debug(`${lead.host}:${lead.port} is no ${platform.name} device: ${textOf(error)}`);
      return false;
    }
  }
}

/** The new devices that one scan may bring: a few of each host, and a bounded number in all (SECURITY.md T30). */
const seats = { perHost: 16, perScan: 128 } as const;

interface Taken {
  count: number;
  /** Devices that took a seat, as they are known by. */
  readonly ids: string[];
}

/** The seats of one scan. */
export class Seats {
  /** When the scan began. */
  readonly since = new Date().toISOString();
  readonly #hosts = new Map<string, Taken>();
  #total = 0;

  /**
   * A seat for a new device of a host; `null` when it has none left. When all are taken, a host that took more than its
   * share gives one back: the device that goes is named then.
   */
  take(host: string): { readonly instead: string | null } | null {
    const mine = this.#of(host);
    if (mine.count >= seats.perHost) return null;
    let instead: string | null = null;
    if (this.#total < seats.perScan) this.#total++;
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
