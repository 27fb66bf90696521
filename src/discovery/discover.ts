/**
 * Finding devices: every platform's search at once, over SSDP and mDNS on every interface, and the configured hosts
 * directly. Knows no platform: a platform says what to ask, how to read an answer, and who lives at an address.
 */

import { DeviceError, hasCode, hasReason, protocolError, textOf, ZapdError } from "../api/errors.ts";
import type { Config } from "../config/config.ts";
import type { Address, DiscoveryQuery, Lead, Platform, PlatformHost } from "../platforms/platform.ts";
import { sleep } from "../system/sleep.ts";
import { invalidHost, resolveHost, splitHost } from "./hosts.ts";
import { wantedInterfaces } from "./interfaces.ts";
import { browseMdns } from "./mdns.ts";
import { addressOf, type FoundDevice, type ProbeDependencies, ProbeQueue } from "./probe-queue.ts";
import { searchSsdp } from "./ssdp.ts";
import { ScanWindow } from "./window.ts";

/** How long devices that answered late in a scan may take to say who they are. */
const graceMs = 2_000;
/** A device that is missed starts a scan, but not more often than this. */
const lookAgainEvery = 30_000;
/** A search that began this short a time ago, in milliseconds, need not ask again for who joins it. */
const justBegun = 250;
/**
 * Milliseconds in which one platform's question at an address goes alone: what is a question of the one may be a request
 * that changes something to a device of the other, and most answer at once.
 */
const headStartMs = 250;

/** An address at which a device that is known may answer. */
export interface KnownAddress extends Address {
  readonly platform: string;
  readonly identity: string;
  /** What its platform remembers of it. */
  readonly memory?: unknown;
}

export interface DiscoveryDependencies<D> extends Omit<ProbeDependencies<D>, "identify"> {
  readonly platforms: readonly Platform[];
  readonly platformHost: PlatformHost;
  config(): Config["discovery"];
  /** Addresses to ask for devices that are known, beside those that answer a search. */
  knownAddresses?(): readonly KnownAddress[];
  /** A scan begins; gives what is told of those that it found, `null` where it failed. */
  onScan?(): (found: readonly D[] | null) => void;
  warn(message: string): void;
}

export class Discovery<D> {
  readonly #deps: DiscoveryDependencies<D>;
  readonly #stopped = new AbortController();
  /** Those that are not over, the newest last. */
  readonly #scans = new Set<{ readonly window: ScanWindow; readonly result: Promise<D[]> }>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: DiscoveryDependencies<D>) {
    this.#deps = deps;
  }

  /** Scans at the start, as configured, and from then on at the configured interval. Ends when the first scan has. */
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
   * Looks for devices; calls at the same time share one scan, which asks again for each that joins. Answers with those
   * found in it. Who comes when a scan has been prolonged already has one of his own: two at most listen at a time.
   */
  scan(): Promise<D[]> {
    // One that only waits for its last answers asks nobody any more: who comes then has a scan of his own.
    const newest = this.#newest;
    if (newest?.window.extend()) return newest.result;
    const window = new ScanWindow(this.#deps.config().timeout_ms, this.#stopped.signal);
    const finished = this.#deps.onScan?.();
    const scan = { window, result: this.#scan(window).finally(() => this.#scans.delete(scan)) };
    this.#scans.add(scan);
    scan.result.then(finished, () => finished?.(null));
    return scan.result;
  }

  /** Looks again soon, because a device was missed. */
  scanInBackground(): void {
    if (performance.now() - this.#lookedAt < lookAgainEvery) return;
    this.#lookedAt = performance.now();
    void this.#background();
  }

  /** A scan for a device that was missed just now: the one that has just begun, or one that asks from now on. */
  scanForMissing(): Promise<D[]> {
    const newest = this.#newest;
    return newest && newest.window.age < justBegun ? newest.result : this.scan();
  }

  get #newest() {
    return [...this.#scans].at(-1);
  }

  /** Asks one address which device lives there; `device_unreachable`, `device_error` or `invalid_host` when none does. */
  async probe(host: string, port: number | null, platform: string | null): Promise<FoundDevice> {
    const address = await resolveHost(host);
    const asked = this.#deps.platforms.filter((one) => platform === null || one.name === platform);
    if (asked.length === 0) {
      const names = this.#deps.platforms.map((one) => one.name).join(", ");
      throw new ZapdError("invalid_payload", `${JSON.stringify(platform)} is not a platform`, {
        hint: `The platforms are: ${names}`,
      });
    }
    // Who is there is known with the first that recognizes it; the others may wait long for a port that nobody has.
    const found = new AbortController();
    const signal = AbortSignal.any([this.#stopped.signal, found.signal]);
    const tries: Promise<FoundDevice>[] = [];
    try {
      const ask = (one: Platform) => {
        const attempt = this.#recognize(one, { host: address, port: port ?? one.ports.control }, signal);
        tries.push(attempt);
        return attempt.then(() => true);
      };
      await inTurn(asked, ask, this.#stopped.signal);
      return await Promise.any(tries);
    } catch (error) {
      throw error instanceof AggregateError ? mostInformative(error.errors) : error;
    } finally {
      found.abort(new ZapdError("device_error", "was recognized as another device"));
    }
  }

  async #recognize(platform: Platform, at: Lead, signal: AbortSignal): Promise<FoundDevice> {
    if (this.#deps.platformHost.isOwnListener(at)) throw invalidHost(at.host, "it is zapd itself");
    const sighting = await platform.identify(at, this.#deps.platformHost, signal);
    return { platform: platform.name, address: addressOf(at, sighting), sighting };
  }

  #background(): Promise<void> {
    return this.scan().then(
      () => {},
      (error: unknown) => this.#deps.warn(`The scan failed: ${textOf(error)}`),
    );
  }

  /** Checks each second whether a scan is due, so that a changed interval takes effect at once. */
  #schedule(): void {
    let scannedAt = performance.now();
    const tick = () => {
      const { interval_s } = this.#deps.config();
      if (interval_s > 0 && performance.now() - scannedAt >= interval_s * 1_000) {
        scannedAt = performance.now();
        void this.#background();
      }
      this.#timer = setTimeout(tick, 1_000);
      this.#timer.unref?.();
    };
    tick();
  }

  async #scan(window: ScanWindow): Promise<D[]> {
    const { platforms, platformHost, config, warn, debug } = this.#deps;
    const { interfaces, hosts } = config();
    const asked = wantedInterfaces(interfaces);
    debug(
      `asking ${asked.map((one) => `${one.name} (${one.address})`).join(", ") || "no interface"} for ${window.timeoutMs} ms`,
    );
    const identify = (platform: Platform, lead: Lead) => platform.identify(lead, platformHost, this.#stopped.signal);
    const probes = new ProbeQueue<D>({ ...this.#deps, identify });
    const queries = platforms.flatMap((platform) => platform.queries.map((query) => ({ platform, query })));
    const of = <Over extends DiscoveryQuery["over"]>(over: Over) =>
      queries.flatMap(({ platform, query }) =>
        query.over === over ? [{ platform, query: query as DiscoveryQuery & { over: Over } }] : [],
      );
    const common = { interfaces: asked, window, onTrouble: warn };
    for (const { platform, identity, host, port, memory } of this.#deps.knownAddresses?.() ?? []) {
      const asks = platforms.find((one) => one.name === platform);
      if (asks) void probes.add(asks, { host, port, memory }, identity);
    }
    let askedAt = performance.now();
    window.onExtend(() => {
      // Of many who come at once the first has everybody asked.
      if (performance.now() - askedAt >= justBegun) {
        askedAt = performance.now();
        probes.askAgain();
      }
      void Promise.all(hosts.map((host) => this.#ask(host, probes)));
    });
    await Promise.all([
      searchSsdp({
        ...common,
        targets: [...new Set(of("ssdp").map(({ query }) => query.target))],
        onAnswer: (answer) => {
          for (const { platform, query } of of("ssdp")) void probes.add(platform, query.read(answer));
        },
      }),
      browseMdns({
        ...common,
        types: [...new Set(of("mdns").map(({ query }) => query.type))],
        onService: (service) => {
          for (const { platform, query } of of("mdns"))
            if (query.type === service.type) void probes.add(platform, query.read(service));
        },
      }).catch((error: unknown) => warn(`mDNS could not be asked: ${textOf(error)}`)),
      // A name that resolves slowly must not hold the scan.
      ...hosts.map((host) => Promise.race([this.#ask(host, probes), window.over])),
    ]);
    return probes.finish(graceMs);
  }

  /** Asks a configured host on every platform's usual port, where each may have a device, or whose its own port is. */
  async #ask(text: string, probes: ProbeQueue<D>): Promise<void> {
    const { platforms } = this.#deps;
    try {
      const { host, port } = splitHost(text);
      const address = await resolveHost(host);
      if (port === null) for (const one of platforms) void probes.add(one, { host: address, port: one.ports.control });
      else await inTurn(platforms, (one) => probes.add(one, { host: address, port }), this.#stopped.signal);
    } catch (error) {
      this.#deps.warn(`discovery.hosts: ${textOf(error)}`);
    }
  }
}

/** Asks one platform after the other until one has recognized its device; one that is slow does not hold the next up. */
async function inTurn(
  platforms: readonly Platform[],
  ask: (platform: Platform) => Promise<boolean>,
  stopped: AbortSignal,
): Promise<void> {
  let recognized = false;
  for (const platform of platforms) {
    const asked = ask(platform).then(
      (taken) => {
        recognized ||= taken;
      },
      () => {},
    );
    await Promise.race([asked, sleep(headStartMs, stopped).catch(() => {})]);
    if (recognized || stopped.aborted) return;
  }
}

/**
 * Of many platforms' failures at one address, that of one which found something there says more than one which found
 * nothing, and most says who knows what to do about it.
 */
export function mostInformative(failures: readonly unknown[]): unknown {
  const spoken = failures.filter((one) => !hasCode(one, "device_unreachable"));
  // Whoever has recognized its device says what is wrong with it; all others say that it is none of theirs.
  const knowing = spoken.find(
    (one) =>
      one instanceof ZapdError &&
      one.code === "device_error" &&
      (one.hint !== undefined || !(one instanceof DeviceError)),
  );
  if (knowing) return knowing;
  const strangers = spoken.filter((one) => hasReason(one, "protocol"));
  if (strangers.length > 1) return protocolError("answers as nothing that zapd knows", strangers[0]);
  return spoken[0] ?? failures[0];
}
