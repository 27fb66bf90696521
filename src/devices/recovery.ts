/** Recovering an endpoint that does not answer: it is woken, and searched for at another address. */
import { hasReason, ZapdError } from "../api/errors.ts";
import type { Config } from "../config/config.ts";
import type { Connection, PlatformHost } from "../platforms/platform.ts";
import { sleepCheck } from "../system/clock.ts";
import { orAborted } from "../system/sleep.ts";
import { destinationsFor, sendMagicPackets } from "../transport/wake-on-lan.ts";
import type { Endpoint, Observe } from "./endpoint.ts";
import { requireCapability } from "./failures.ts";
import type { DeviceRecord } from "./record.ts";
import { isSameAddress } from "./standing.ts";
import type { Task } from "./task.ts";
import { type WakeOptions, wake } from "./wake.ts";

export interface RecoveryDependencies {
  readonly platformHost: PlatformHost;
  config(): Config;
  /** Scans for devices; ends with the scan. */
  scan(): Promise<unknown>;
  /** For tests: what turns a device on. */
  readonly wake?: typeof wake;
}

/** A device woken by magic packets answers within this time or not at all. */
const wakeTimeoutMs = 30_000;
/** From its first answer until it reports that it is on. */
const onAfterAnswerMs = 15_000;
/** After this many searches in vain, there is a pause before each further one. */
const searchesWithoutPause = 3;
const searchPauseMs = { command: 5_000, read: 30_000, poll: 120_000 } as const;
/** How often one that is being woken is searched for: it may come up at another address. */
const wakingSearchMs = 10_000;

export class Recovery {
  readonly #deps: RecoveryDependencies;
  readonly #endpoint: Endpoint;
  readonly #observe: Observe;
  /** The searches that run: each call ends one, if the device is elsewhere by now. */
  readonly #searches = new Set<() => void>();
  #vainSearches = 0;
  #searchedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: RecoveryDependencies, endpoint: Endpoint, observe: Observe) {
    this.#deps = deps;
    this.#endpoint = endpoint;
    this.#observe = observe;
  }

  /**
   * Recovers from a command that did not reach the device. One known to be asleep is woken, however long that takes. Any other
   * is woken and searched for elsewhere for the time of one answer only, since it may be unplugged; so is one that only this
   * refusal shows to be off (`wasOff` is from before it), since another machine may have its address. Gives which of the two
   * helped; fails with `error` where neither did. Without `wakes` it is only searched for: a device woken to be turned off,
   * but already off by its own remote, would be left on.
   */
  async recover(
    before: DeviceRecord,
    error: ZapdError,
    { elapsedMs, wakes, wasOff }: { readonly elapsedMs: number; readonly wakes: boolean; readonly wasOff: boolean },
    signal: AbortSignal,
  ): Promise<"awake" | "elsewhere"> {
    if (error.code !== "device_unreachable") throw error;
    if (this.#endpoint.presence.isOff && (wasOff || !hasReason(error, "refused"))) {
      await this.#wake(error, wakeTimeoutMs, signal);
      return "awake";
    }
    const over = new AbortController();
    const both = AbortSignal.any([signal, over.signal]);
    const found = this.searchElsewhere(before, "command", both).then((isElsewhere): "elsewhere" => {
      if (!isElsewhere) throw error;
      return "elsewhere";
    });
    if (!wakes) return found;
    const woken = this.#wake(error, this.#endpoint.timeoutMs - elapsedMs, both).then((): "awake" => "awake");
    try {
      return await Promise.any([found, woken]);
    } catch {
      throw signal.aborted ? signal.reason : error;
    } finally {
      over.abort(new ZapdError("device_error", "was reached otherwise"));
    }
  }

  /**
   * Searches for it, since a command or a read did not reach it where `before` has it. `true` as soon as it is known to be
   * elsewhere; `false` when it was not found, or is not searched for yet.
   */
  async searchElsewhere(before: DeviceRecord, what: keyof typeof searchPauseMs, signal: AbortSignal): Promise<boolean> {
    const { scan, config } = this.#deps;
    const endpoint = this.#endpoint;
    const isElsewhere = () => !isSameAddress(endpoint.record, before);
    if (isElsewhere()) return true;
    const mustPause =
      this.#vainSearches >= searchesWithoutPause && performance.now() - this.#searchedAt < searchPauseMs[what];
    if (mustPause) return false;
    this.#vainSearches++;
    this.#searchedAt = performance.now();
    const found = Promise.withResolvers<void>();
    const check = () => {
      if (isElsewhere()) found.resolve();
    };
    this.#searches.add(check);
    const late = AbortSignal.timeout(Math.min(endpoint.timeoutMs, config().discovery.timeout_ms + 1_000));
    try {
      await orAborted(Promise.race([scan(), found.promise]), AbortSignal.any([signal, late]));
    } catch {
      // A scan that fails or takes too long finds nothing.
    } finally {
      this.#searches.delete(check);
    }
    return isElsewhere();
  }

  /** A scan has found it: searches for it end if it is at another address. */
  foundAgain(): void {
    this.#vainSearches = 0;
    for (const check of this.#searches) check();
  }

  async #wake(error: ZapdError, timeoutMs: number, signal: AbortSignal): Promise<void> {
    const endpoint = this.#endpoint;
    if (!endpoint.has("power_on") || timeoutMs <= 0) throw error;
    const task: Task<void> = {
      activity: "waking it",
      needs: "power_on",
      timeoutMs: timeoutMs + onAfterAnswerMs,
      work: (connection, within) =>
        this.turnOn(connection, within, { isSilent: !hasReason(error, "asleep"), timeoutMs }),
    };
    await endpoint.attempt(task, signal);
    this.#observe({ power: "on" }, "command", endpoint);
  }

  /** Turns it on, and waits until it reports that it is on. Where it comes up at another address, it is turned on there. */
  async turnOn(
    connection: Connection,
    signal: AbortSignal,
    waking: WakeOptions = { isSilent: false, timeoutMs: wakeTimeoutMs },
  ): Promise<void> {
    const endpoint = this.#endpoint;
    const { record } = endpoint;
    const moved = new AbortController();
    const check = () => {
      if (!isSameAddress(endpoint.record, record)) moved.abort(new ZapdError("device_error", "was found elsewhere"));
    };
    this.#searches.add(check);
    const either = AbortSignal.any([signal, moved.signal]);
    const timer = setInterval(() => void this.searchElsewhere(record, "command", either), wakingSearchMs);
    try {
      return await this.#turnOnHere(connection, either, waking);
    } catch (error) {
      const isGone = hasReason(error, "wrong_device") && (await this.searchElsewhere(record, "command", signal));
      if (signal.aborted || !(isGone || moved.signal.aborted)) throw error;
    } finally {
      clearInterval(timer);
      this.#searches.delete(check);
    }
    return this.turnOn(endpoint.connection, signal, waking);
  }

  async #turnOnHere(connection: Connection, signal: AbortSignal, waking: WakeOptions): Promise<void> {
    const { platformHost } = this.#deps;
    const { presence, platform, record } = this.#endpoint;
    const { host, ports, name, standing } = record;
    // A device may report another network interface than the one that the neighbour table shows for it.
    const macs = [...new Set([...record.macs, ...(standing?.macs ?? [])])];
    const parts = {
      power: requireCapability(connection.power, "power_on"),
      macs,
      hint: platform.sleepHint,
      checkAwake: sleepCheck(),
      reportedOnAt: () => presence.pushedOnAt,
      sendPackets: () => {
        const destinations = destinationsFor(host, platformHost.broadcasts());
        platformHost.debug(`${name}: sending magic packets for ${macs.join(", ")} to ${destinations.join(", ")}`);
        return sendMagicPackets(macs, destinations, ports["wake"] ?? 9);
      },
    };
    await (this.#deps.wake ?? wake)(parts, waking, signal);
  }
}
