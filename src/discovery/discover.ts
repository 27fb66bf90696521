/**
 * Finding devices: all platforms' searches at once, over SSDP and mDNS on every interface, and probes of the configured hosts.
 * Knows no platform: a platform gives its queries, reads the answers, and identifies the device at an address.
 */
import { DeviceError, hasCode, hasReason, protocolError, textOf, ZapdError } from "../api/errors.ts";
import type { Config } from "../config/config.ts";
import type { Address, Lead, Platform, PlatformHost, Sighting } from "../platforms/platform.ts";
import { sleep } from "../system/sleep.ts";
import { invalidHost, resolveHost, splitHost } from "./hosts.ts";
import { type Interface, wantedInterfaces } from "./interfaces.ts";
import { browseMdns } from "./mdns.ts";
import { addressOf, type FoundDevice, type ProbeDependencies, ProbeQueue } from "./probe-queue.ts";
import { searchSsdp } from "./ssdp.ts";
import { ScanWindow } from "./window.ts";

/** How long devices that answered late in a scan may take to be identified. */
const graceMs = 2_000;
/** The least time between two scans for a missing device. */
const backgroundScanIntervalMs = 30_000;
/** The least time from one scan to the next for a further network that has come up. */
const networkRestMs = 10_000;
/** A scan that began within this time need not ask again for a caller that joins it. */
const justBegunMs = 250;
/**
 * How long one platform probes an address alone: one platform's harmless probe may change state on another's device, and most
 * devices answer at once.
 */
const headStartMs = 250;

/** An address at which a known device may answer. */
export interface KnownAddress extends Address {
  readonly platform: string;
  readonly identity: string;
  /** What the platform remembers of it. */
  readonly memory?: unknown;
}

export interface DiscoveryDependencies<D> extends Omit<ProbeDependencies<D>, "identify"> {
  readonly platforms: readonly Platform[];
  readonly platformHost: PlatformHost;
  config(): Config["discovery"];
  /** Addresses to probe for known devices, beside the answers to searches. */
  knownAddresses?(): readonly KnownAddress[];
  /** Called when a scan begins; what it returns is called with the devices found, or `null` where the scan failed. */
  onScan?(): (found: readonly D[] | null) => void;
  warn(message: string): void;
  /** For tests: the interfaces of this machine. */
  interfaces?(): readonly Interface[];
}

export class Discovery<D> {
  readonly #deps: DiscoveryDependencies<D>;
  readonly #stopped = new AbortController();
  /** The scans that run, the newest last. */
  readonly #scans = new Set<{ readonly window: ScanWindow; readonly result: Promise<D[]> }>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #backgroundScanAt = Number.NEGATIVE_INFINITY;
  /** The addresses on which the last scan asked: the daemon may start before a network does. */
  #asked: ReadonlySet<string> | undefined;

  constructor(deps: DiscoveryDependencies<D>) {
    this.#deps = deps;
  }

  /** Scans at the start and then at an interval, as configured. Ends with the first scan. */
  start(): Promise<void> {
    this.#schedule();
    return this.#deps.config().on_start ? this.#background() : Promise.resolve();
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#stopped.abort();
    await Promise.allSettled([...this.#scans].map(({ result }) => result));
  }

  /**
   * Scans for devices; gives those found. Calls at the same time share one scan, which asks again for each call that joins. A
   * call that comes when a scan was extended already starts another: at most two listen at a time.
   */
  scan(): Promise<D[]> {
    // A scan that only waits for its last answers cannot be joined.
    const newest = this.#newest;
    if (newest?.window.extend()) return newest.result;
    const window = new ScanWindow(this.#deps.config().timeout_ms, this.#stopped.signal);
    const finished = this.#deps.onScan?.();
    const scan = { window, result: this.#scan(window).finally(() => this.#scans.delete(scan)) };
    this.#scans.add(scan);
    scan.result.then(finished, () => finished?.(null));
    return scan.result;
  }

  /** Scans because a device did not answer, unless that was done a short time ago. */
  scanInBackground(): void {
    if (performance.now() - this.#backgroundScanAt < backgroundScanIntervalMs) return;
    this.#backgroundScanAt = performance.now();
    void this.#background();
  }

  /** A scan for a device that does not answer: the one that has just begun, or another. */
  scanForMissing(): Promise<D[]> {
    const newest = this.#newest;
    return newest && newest.window.ageMs < justBegunMs ? newest.result : this.scan();
  }

  get #newest() {
    return [...this.#scans].at(-1);
  }

  /** Probes one address; fails with `device_unreachable`, `device_error` or `invalid_host` where there is no device. */
  async probe(host: string, port: number | null, platform: string | null): Promise<FoundDevice> {
    const address = await resolveHost(host);
    const asked = this.#deps.platforms.filter((one) => platform === null || one.name === platform);
    if (asked.length === 0) {
      const names = this.#deps.platforms.map((one) => one.name).join(", ");
      throw new ZapdError("invalid_payload", `${JSON.stringify(platform)} is not a platform`, {
        hint: `The platforms are: ${names}`,
      });
    }
    // The first platform that recognizes the device decides; others may wait long for a port that does not answer.
    const found = new AbortController();
    const signal = AbortSignal.any([this.#stopped.signal, found.signal]);
    const tries: Promise<FoundDevice>[] = [];
    try {
      const ask = (one: Platform) => {
        const attempt = this.#recognize(one, { host: address, port: port ?? one.ports.control }, signal);
        tries.push(attempt);
        return attempt.then(() => true);
      };
      await inTurn(asked, ask);
      return await Promise.any(tries).catch(({ errors }: AggregateError) => {
        throw mostInformative(errors);
      });
    } finally {
      found.abort(new ZapdError("device_error", "was recognized as another device"));
    }
  }

  async #recognize(platform: Platform, at: Lead, signal: AbortSignal): Promise<FoundDevice> {
    if (this.#deps.platformHost.isOwnListener(at)) throw invalidHost(at.host, "it is zapd itself");
    const sighting = await this.#identify(platform, at, signal);
    return { platform: platform.name, address: addressOf(at, sighting), sighting };
  }

  /** Ends what the platform began beside it, such as a question for an announcement, which has sockets of its own. */
  async #identify(platform: Platform, lead: Lead, signal: AbortSignal): Promise<Sighting> {
    const over = new AbortController();
    try {
      return await platform.identify(lead, this.#deps.platformHost, AbortSignal.any([signal, over.signal]));
    } finally {
      over.abort();
    }
  }

  #background(): Promise<void> {
    return this.scan().then(
      () => {},
      (error: unknown) => this.#deps.warn(`The scan failed: ${textOf(error)}`),
    );
  }

  /** Checks every second whether a scan is due: a changed interval takes effect at once, and a network that comes up is searched. */
  #schedule(): void {
    let scannedAt = performance.now();
    const tick = () => {
      const { interval_s, interfaces } = this.#deps.config();
      const asked = this.#asked;
      const restMs = performance.now() - scannedAt;
      // Those of containers and tunnels come and go.
      const mayBeNew = this.#scans.size === 0 && (asked?.size === 0 || restMs >= networkRestMs);
      const isNew = () => this.#interfaces(interfaces).some(({ address }) => asked?.has(address) === false);
      if (interval_s > 0 && (restMs >= interval_s * 1_000 || (mayBeNew && isNew()))) {
        scannedAt = performance.now();
        void this.#background();
      }
      this.#timer = setTimeout(tick, 1_000);
      this.#timer.unref?.();
    };
    tick();
  }

  #interfaces(wanted: readonly string[]): readonly Interface[] {
    return wantedInterfaces(wanted, this.#deps.interfaces?.());
  }

  async #scan(window: ScanWindow): Promise<D[]> {
    const { platforms, platformHost, config, warn } = this.#deps;
    const { interfaces, hosts } = config();
    const asked = this.#interfaces(interfaces);
    this.#asked = new Set(asked.map(({ address }) => address));
    platformHost.debug(
      `searching on ${asked.map((one) => `${one.name} (${one.address})`).join(", ") || "no interface"} for ${window.timeoutMs} ms`,
    );
    const identify = (platform: Platform, lead: Lead) => this.#identify(platform, lead, this.#stopped.signal);
    const probes = new ProbeQueue<D>({ ...this.#deps, identify });
    const queries = platforms.flatMap((platform) => platform.queries.map((query) => ({ platform, query })));
    const ssdp = queries.flatMap(({ platform, query }) => (query.over === "ssdp" ? [{ platform, query }] : []));
    const mdns = queries.flatMap(({ platform, query }) => (query.over === "mdns" ? [{ platform, query }] : []));
    const common = { interfaces: asked, window, onTrouble: warn };
    for (const { platform, identity, host, port, memory } of this.#deps.knownAddresses?.() ?? []) {
      const asks = platforms.find((one) => one.name === platform);
      if (asks) void probes.add(asks, { host, port, memory }, identity);
    }
    let askedAt = performance.now();
    window.onExtend(() => {
      probes.seats.wantedAt = performance.now();
      // Of many calls at once, only the first asks again.
      if (performance.now() - askedAt >= justBegunMs) {
        askedAt = performance.now();
        probes.askAgain();
      }
      for (const host of hosts) void this.#ask(host, probes);
    });
    await Promise.all([
      searchSsdp({
        ...common,
        // Platforms may have one in common.
        targets: [...new Set(ssdp.map(({ query }) => query.target))],
        onAnswer: (answer) => {
          for (const { platform, query } of ssdp) void probes.add(platform, query.read(answer));
        },
      }),
      browseMdns({
        ...common,
        types: [...new Set(mdns.map(({ query }) => query.type))],
        onService: (service) => {
          for (const { platform, query } of mdns)
            if (query.type === service.type) void probes.add(platform, query.read(service));
        },
      }).catch((error: unknown) => warn(`The mDNS search failed: ${textOf(error)}`)),
      // A name that resolves slowly must not delay the scan.
      ...hosts.map((host) => Promise.race([this.#ask(host, probes), window.over])),
    ]);
    return probes.finish(graceMs);
  }

  /** Probes a configured host: at each platform's usual port, or at the given port for one platform after the other. */
  async #ask(text: string, probes: ProbeQueue<D>): Promise<void> {
    const { platforms } = this.#deps;
    try {
      const { host, port } = splitHost(text);
      const address = await resolveHost(host);
      if (port === null) for (const one of platforms) void probes.add(one, { host: address, port: one.ports.control });
      else await inTurn(platforms, (one) => probes.add(one, { host: address, port }));
    } catch (error) {
      this.#deps.warn(`discovery.hosts: ${textOf(error)}`);
    }
  }
}

/** Asks one platform after the other until one has recognized its device; a slow one does not delay the next for long. */
async function inTurn(platforms: readonly Platform[], ask: (platform: Platform) => Promise<boolean>): Promise<void> {
  let recognized = false;
  for (const platform of platforms) {
    const answered = new AbortController();
    void ask(platform)
      .then((taken) => {
        recognized ||= taken;
      })
      .catch(() => {})
      .finally(() => answered.abort());
    await sleep(headStartMs, answered.signal).catch(() => {});
    if (recognized) return;
  }
}

/** Of several platforms' errors at one address, the most informative: from one that recognized its device, or at least got an answer. */
export function mostInformative(failures: readonly unknown[]): unknown {
  const answered = failures.filter((one) => !hasCode(one, "device_unreachable"));
  // A platform that recognized its device says what is wrong with it; the others say that it is not theirs.
  const recognized = answered.find(
    (one) =>
      one instanceof ZapdError &&
      one.code === "device_error" &&
      (one.hint !== undefined || !(one instanceof DeviceError)),
  );
  if (recognized) return recognized;
  const foreign = answered.filter((one) => hasReason(one, "protocol"));
  if (foreign.length > 1) return protocolError("does not answer like a device that zapd knows", foreign[0]);
  return answered[0] ?? failures[0];
}
