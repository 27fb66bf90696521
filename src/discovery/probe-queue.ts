/** The probes of one scan: identifies the device at each address that answered, once and within limits, and takes it in. */
import { textOf } from "../api/errors.ts";
import type { Address, Lead, Platform, PlatformHost, Sighting } from "../platforms/platform.ts";
import { until } from "../system/sleep.ts";

const limits = { candidates: 1_024, identifiedAtOnce: 16 } as const;
/** Further probes for hosts with few probes so far, when other hosts have used up the rest. */
const reserved = { candidates: 1_024, perHost: 2 } as const;
/** The share of one host: one that answers a thousand times must not block real devices. */
const perHost = { candidates: 128, identifiedAtOnce: 8 } as const;

/** A device that was found: its identity and address. */
export interface FoundDevice {
  readonly platform: string;
  readonly sighting: Sighting;
  readonly address: Address;
}

/** The control address of a device that was probed at an address. */
export function addressOf({ host, port }: Address, { port: control = port }: Pick<Sighting, "port">): Address {
  return { host, port: control };
}

/** The probes of one host. */
interface Host {
  added: number;
  running: number;
  started: number;
}

export interface ProbeDependencies<D> {
  readonly platformHost: Pick<PlatformHost, "isOwnListener" | "debug">;
  identify(platform: Platform, lead: Lead): Promise<Sighting>;
  /** The known device at an address that a probe would turn on: it counts as found without a probe. */
  sleepingAt?(platform: string, address: Address): D | null;
  /** Takes in a device as soon as it is identified; a new one needs one of the scan's seats. */
  addFound(finding: FoundDevice, seats: Seats): Promise<D>;
}

/** Probes each address once until the scan is joined, a limited number in all and at a time. */
export class ProbeQueue<D> {
  readonly #deps: ProbeDependencies<D>;
  readonly #seen = new Set<string>();
  readonly #found = new Map<string, D>();
  readonly #hosts = new Map<string, Host>();
  readonly seats = new Seats();
  #waiting: { host: Host; work(): Promise<void> }[] = [];
  #running = 0;
  #added = 0;

  constructor(deps: ProbeDependencies<D>) {
    this.#deps = deps;
  }

  /**
   * Probes an address when its turn has come; gives whether the platform recognized its device. With `only`, the device must
   * have that identity.
   */
  add(platform: Platform, lead: Lead | null, only?: string): Promise<boolean> {
    const no = Promise.resolve(false);
    if (!lead || lead.port < 1 || lead.port > 65_535 || this.#deps.platformHost.isOwnListener(lead)) return no;
    const key = `${platform.name} ${lead.host} ${lead.port} ${lead.path ?? ""} ${only ?? ""}`;
    const host = this.#hosts.get(lead.host) ?? { added: 0, running: 0, started: 0 };
    const most = host.added < reserved.perHost ? limits.candidates + reserved.candidates : limits.candidates;
    if (this.#seen.has(key) || this.#added >= most || host.added >= perHost.candidates) return no;
    this.#seen.add(key);
    this.#hosts.set(lead.host, host);
    this.#added++;
    host.added++;
    return new Promise((resolve) => {
      const work = async () => {
        const taken = await this.#take(platform, lead, only);
        // A device that could not be identified may be starting: its next answer is probed again.
        if (!taken) this.#seen.delete(key);
        resolve(taken);
      };
      this.#waiting.push({ host, work });
      this.#next();
    });
  }

  /** Probes every address that answers from now on again, within the limits of the scan. */
  askAgain(): void {
    this.#seen.clear();
  }

  /** The devices found, when all probes have ended or the grace time is over. */
  async finish(graceMs: number): Promise<D[]> {
    await until(() => this.#running === 0, { timeoutMs: graceMs, everyMs: 10 });
    this.#waiting = [];
    return [...this.#found.values()];
  }

  /** The next probe: of those that wait, the first of the host with the fewest probes started. */
  #nextIndex(): number {
    let next = -1;
    let least = Number.POSITIVE_INFINITY;
    for (const [at, { host }] of this.#waiting.entries()) {
      if (host.running >= perHost.identifiedAtOnce || host.started >= least) continue;
      next = at;
      least = host.started;
    }
    return next;
  }

  #next(): void {
    while (this.#running < limits.identifiedAtOnce) {
      const at = this.#nextIndex();
      const [next] = at === -1 ? [] : this.#waiting.splice(at, 1);
      if (!next) break;
      const { host, work } = next;
      this.#running++;
      host.running++;
      host.started++;
      void work().finally(() => {
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
        await this.#deps.addFound({ platform: platform.name, sighting, address }, this.seats),
      );
      return true;
    } catch (error) {
      this.#deps.platformHost.debug(`${lead.host}:${lead.port} is not a ${platform.name} device: ${textOf(error)}`);
      return false;
    }
  }
}

/** How many new devices one scan may add: of each host, and in all (SECURITY.md T30). */
const seats = { perHost: 16, perScan: 128 } as const;

interface Taken {
  count: number;
  /** The ids of the devices that took a seat. */
  readonly ids: string[];
}

/** The seats for new devices in one scan. */
export class Seats {
  /** When the scan began. */
  readonly since = new Date().toISOString();
  /** When a caller last began or joined the scan (`performance.now()`). */
  wantedAt = performance.now();
  readonly #hosts = new Map<string, Taken>();
  #total = 0;

  /**
   * Takes a seat for a new device of a host; `null` where there is none left. When all are taken, the host with the most seats
   * gives one up to a host with fewer: `instead` is the id of the device that is evicted.
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

  /** Gives back a seat that is not needed. */
  giveBack(host: string): void {
    this.#of(host).count--;
    this.#total--;
  }

  /** Records the device that took a seat. */
  took(host: string, id: string): void {
    this.#of(host).ids.push(id);
  }

  #of(host: string): Taken {
    const taken = this.#hosts.get(host) ?? { count: 0, ids: [] };
    this.#hosts.set(host, taken);
    return taken;
  }
}
