/** What a scan does with the answers it gets: asks each address once who lives there, and takes the device in. */
import { textOf } from "../errors.ts";
import type { Address, Identified, Lead, Platform, Surroundings } from "../platforms/platform.ts";

const limits = { candidates: 1_024, identifiedAtOnce: 16 } as const;
/** The part of one address in them: a host that answers a thousand times must not keep the real set from its turn. */
const perHost = { candidates: 128, identifiedAtOnce: 8 } as const;

/** A device that was found: who it is, and where. */
export interface Finding {
  readonly platform: string;
  readonly facts: Identified;
  readonly address: Address;
}

/** Where a device that was asked at one address is to be driven. */
export function addressOf({ host, port }: Address, { answersOn = port }: Identified): Address {
  return { host, port: answersOn };
}

export interface IntakeDependencies<D> {
  readonly surroundings: Pick<Surroundings, "isOwnDoor">;
  identify(platform: Platform, lead: Lead): Promise<Identified>;
  /** Takes a device in the moment it has said who it is. */
  found(finding: Finding): Promise<D>;
  debug(message: string): void;
}

/** Takes candidates of one scan: each address once, a bounded number, some at a time. */
export class Intake<D> {
  readonly #deps: IntakeDependencies<D>;
  readonly #seen = new Set<string>();
  readonly #found = new Map<string, D>();
  readonly #hosts = new Map<string, { tries: number; running: number }>();
  #waiting: { host: string; work(): Promise<void> }[] = [];
  #running = 0;
  #tries = 0;
  #idle: (() => void) | undefined;

  constructor(deps: IntakeDependencies<D>) {
    this.#deps = deps;
  }

  /** Asks who is there, in its turn. Resolves with whether the platform recognized its device. */
  offer(platform: Platform, lead: Lead | null): Promise<boolean> {
    const no = Promise.resolve(false);
    if (!lead || lead.port < 1 || lead.port > 65_535 || this.#deps.surroundings.isOwnDoor(lead)) return no;
    const key = `${platform.name} ${lead.host} ${lead.port}`;
    const host = this.#host(lead.host);
    if (this.#seen.has(key) || this.#tries >= limits.candidates || host.tries >= perHost.candidates) return no;
    this.#seen.add(key);
    this.#tries++;
    host.tries++;
    return new Promise((resolve) => {
      const work = async () => {
        const taken = await this.#take(platform, lead);
        // One that could not say who it is may be starting: its next answer is heard again.
        if (!taken) this.#seen.delete(key);
        resolve(taken);
      };
      this.#waiting.push({ host: lead.host, work });
      this.#next();
    });
  }

  /** What was found, when all have said who they are or the grace is over. */
  async finish(graceMs: number): Promise<D[]> {
    if (this.#running > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, graceMs);
        this.#idle = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#waiting = [];
    return [...this.#found.values()];
  }

  #host(address: string): { tries: number; running: number } {
    const host = this.#hosts.get(address) ?? { tries: 0, running: 0 };
    this.#hosts.set(address, host);
    return host;
  }

  #next(): void {
    while (this.#running < limits.identifiedAtOnce) {
      const at = this.#waiting.findIndex((one) => this.#host(one.host).running < perHost.identifiedAtOnce);
      const [next] = at === -1 ? [] : this.#waiting.splice(at, 1);
      if (!next) break;
      const host = this.#host(next.host);
      this.#running++;
      host.running++;
      void next.work().finally(() => {
        this.#running--;
        host.running--;
        this.#next();
        if (this.#running === 0) this.#idle?.();
      });
    }
  }

  async #take(platform: Platform, lead: Lead): Promise<boolean> {
    try {
      const facts = await this.#deps.identify(platform, lead);
      const address = addressOf(lead, facts);
      this.#found.set(
        `${platform.name} ${facts.identity}`,
        await this.#deps.found({ platform: platform.name, facts, address }),
      );
      return true;
    } catch (error) {
      this.#deps.debug(`${lead.host}:${lead.port} is no ${platform.name} device: ${textOf(error)}`);
      return false;
    }
  }
}
