/**
 * One entry of the registry, live: a device over one protocol. It owns the connection, what contact has shown, and the
 * attempts, each with a deadline and with errors that name the device; it wakes a device that sleeps, and has one looked for
 * that is silent. Knows no platform by name.
 */
import { DeviceError, hasReason, textOf, ZapdError } from "../api/errors.ts";
import type { Config } from "../config/config.ts";
import type { FoundDevice } from "../discovery/probe-queue.ts";
import {
  type Address,
  type Capability,
  type Connection,
  capabilities,
  type Description,
  type DeviceEvent,
  type Facts,
  type KeptSecret,
  type Key,
  keys,
  type Platform,
  type PlatformState,
  type Power,
  type StatePart,
  type Target,
} from "../platforms/platform.ts";
import { redacted } from "../system/log.ts";
import { until } from "../system/sleep.ts";
import { destinationsFor, sendMagicPackets } from "../transport/wake-on-lan.ts";
import type { StateSource } from "./compose.ts";
import { typed } from "./credentials.ts";
import { descriptionOf, type Entry, factsOf, type Learned, memoryOf, mergeLearned, withLearned } from "./entry.ts";
import { lacksCapability, requireCapability, subjectOf, withDeviceName } from "./failures.ts";
import type { Cause } from "./feed.ts";
import { DevicePairing, type PairingDependencies } from "./pairing.ts";
import { DeviceSearch } from "./search.ts";
import { isSameAddress } from "./standing.ts";
import { type WakeOptions, wake } from "./wake.ts";

export interface EndpointDependencies extends PairingDependencies {
  readonly platforms: readonly Platform[];
  config(): Config;
  /** Told when a device did not answer, so that it may be looked for. */
  onUnreachable(entry: Entry): void;
  /** Told when a device is shown otherwise than before. */
  onChange(id: string): void;
  /** Told when a device hints that it does something else than before. */
  onHint(id: string): void;
  /** Looks for devices; ends when the search is over. */
  search(): Promise<unknown>;
  /** Turns a device on, in a test that has none. */
  readonly wake?: typeof wake;
}

/** What contact with a device has shown since the start. */
export interface Availability {
  readonly status: "online" | "offline" | "unknown";
  readonly last_seen: string | null;
  /** The last word of the device on its power. */
  readonly power: Power | null;
}

/** Takes what is seen of a device's state: what it pushed, what was read, or what a command that it took makes of it. */
export type Observe = (patch: Partial<PlatformState>, cause: Cause, endpoint: Endpoint) => void;

/** One command or read of a device. */
export interface Task<T> {
  /** What is attempted, for the error: "pressing home". */
  readonly activity: string;
  /** Milliseconds from its turn to its end. */
  readonly timeoutMs: number;
  /** Words of the caller's that the device is given, and may repeat. */
  readonly callerTexts?: readonly string[];
  /** The capability that it needs: of the reaches that have it the preferred is asked first. Without it, the leading one is. */
  readonly needs?: Capability;
  /** Whether a reach that has the capability can do this very thing. */
  accepts?(endpoint: Endpoint): boolean;
  /** It may hold a secret: it goes to nobody but those that have secrets of their own, where there are such. */
  readonly isConfidential?: boolean;
  /** The one that is to do it, and no other. */
  readonly at?: Route;
  work(connection: Connection, signal: AbortSignal, endpoint: Endpoint): Promise<T>;
  /** The parts of the state that it can change; without it, any. */
  readonly changes?: readonly StatePart[];
  /** What is known of its state once it took the command. */
  readonly resultingState?: Partial<PlatformState> | undefined;
  /** It may be of another device, or elsewhere: what comes of it says nothing of the device where it is. */
  readonly skipsAvailability?: boolean;
  /** It is a part of pairing. */
  readonly isPairing?: boolean;
  /** Whether a part of it has been done, so that it cannot be begun again. */
  hasStarted?(): boolean;
  /** What it comes to at a device that is off: at once, or when that is woken. Otherwise it runs once the device is awake. */
  readonly whenOff?: { readonly wake: boolean; readonly result: T };
}

/** One reach of a device; `asIs`: it is neither woken nor looked for, since another may be asked. */
export interface Route {
  readonly endpoint: Endpoint;
  readonly withoutRecovery?: boolean;
}

const noParts: ReadonlySet<StatePart> = new Set();
/** A timer set for longer would end at once. */
const longestTimer = 2 ** 31 - 1;
/** A platform that does not let go when its signal ends is left behind after this, or it would hold the queue. */
const letsGoWithin = 1_000;
/** What is under way when a pairing begins may end within this. */
const leavesWithin = 5_000;
/** A device that is called by magic packets answers within this, or not at all. */
const wakeTimeoutMs = 30_000;
/** From the moment that it answers until it says that it is on. */
const powerOnTimeoutMs = 15_000;

/** Failures that only a device which is there can give. */
const answeredBy: ReadonlySet<string> = new Set([
  "device_refused",
  "unsupported_key",
  "pairing_required",
  "pairing_failed",
]);

/** What is known of a device at one moment, and what that was made from. */
interface Derived {
  readonly of: Entry;
  readonly learned: Learned | undefined;
  readonly entry: Entry;
  readonly facts: Facts;
  readonly memory: unknown;
  readonly description: Description;
  readonly works: readonly Capability[];
  readonly keys: readonly Key[];
}

const nothing: Description = { has: new Set(), withheld: new Set(), keys: new Set() };

export class Endpoint {
  readonly id: string;
  readonly #deps: EndpointDependencies;
  readonly #observe: Observe;
  /** What ends each attempt that is under way. */
  readonly #running = new Set<(reason: ZapdError) => void>();
  #record: Entry;
  #isKnown: boolean;
  #opened: { of: Entry; readonly connection: Connection } | undefined;
  /** What was learned and is not on disk yet. */
  #learned: Learned | undefined;
  /** What it told last, and what was known then: told again, it is no news. */
  #lastTold: { readonly words: string; readonly by: Entry } | undefined;
  #known: Derived | undefined;
  #availability: Availability | undefined;
  /** Where, and when, it was last known not to answer. */
  #silence: (Address & { readonly at: number }) | undefined;
  #pairing: DevicePairing | undefined;
  #lastState: Partial<PlatformState> = {};
  /** When commands have last shown parts of it. */
  readonly #shownAt = new Map<string, number>();
  /** When the position of what plays was last seen. */
  positionAt: string | null = null;
  readonly #seeking = new DeviceSearch();
  /** When it last said by itself how its power is, that it is on, and that it goes off. */
  #saidPowerAt = Number.NEGATIVE_INFINITY;
  #saidOnAt = Number.NEGATIVE_INFINITY;
  #saidOffAt = Number.NEGATIVE_INFINITY;
  #over: ZapdError | undefined;

  constructor(deps: EndpointDependencies, record: Entry, observe: Observe) {
    this.#deps = deps;
    this.#observe = observe;
    this.#record = deps.registry.get(record.id) ?? record;
    this.#isKnown = deps.registry.get(record.id) !== undefined;
    this.id = record.id;
  }

  /** Takes what the registry holds of it now; `undefined`: it was removed. */
  update(record: Entry | undefined): void {
    this.#isKnown = record !== undefined;
    if (record) this.#record = record;
  }

  /** What the registry holds of it; of a device that was removed, what it held. */
  get record(): Entry {
    return this.#record;
  }

  /** The same with what it has told since; its name is the registry's to give. */
  get currentRecord(): Entry {
    return this.#now.entry;
  }

  /** Whether the registry still holds it. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** Milliseconds that one answer of a device may take. */
  get timeoutMs(): number {
    return this.#deps.config().devices.request_timeout_ms;
  }

  /** What contact with it has shown since the start; before any, what was kept of it. */
  get availability(): Availability {
    if (this.#availability) return this.#availability;
    const { last_seen, last_power = null } = this.record;
    this.#availability = { status: "unknown", last_seen, power: last_power };
    return this.#availability;
  }

  /** Its last word was that it is off, or on its way to be: silent then, it is asleep rather than gone. */
  get isOff(): boolean {
    return isPowerOff(this.availability.power);
  }

  /** What is known of its power without asking it: of one that is silent, and was on, nothing. */
  get power(): Power {
    const { status, power } = this.availability;
    if (status === "online") return power ?? "unknown";
    if (status === "offline" && isPowerOff(power)) return "off";
    return isPowerOff(power) ? (power ?? "unknown") : "unknown";
  }

  /**
   * Notes that it answered, now or at a moment of `performance.now()`; `said` is what is known anew of its power, `null` where
   * it may be either by now. An answer from before it fell silent at the same address is ignored.
   */
  answered(said?: Power | null, at = performance.now()): void {
    const silence = this.#silence;
    if (silence && silence.at > at && isSameAddress(silence, this.record)) return;
    const { power: before } = this.availability;
    this.#note({ status: "online", last_seen: new Date().toISOString(), power: said === undefined ? before : said });
  }

  /** Notes that it does not answer, or is about to; `off`, where it said so. */
  unreachable(said?: Power): void {
    const { last_seen, power } = this.availability;
    const { host, port } = this.record;
    const at = performance.now();
    this.#silence = { host, port, at };
    if (said !== undefined) this.#saidOffAt = at;
    this.#note({ status: "offline", last_seen, power: said ?? power });
  }

  #note(availability: Availability): void {
    const { status, power } = this.availability;
    this.#availability = availability;
    if (status !== availability.status || power !== availability.power) this.#deps.onChange(this.id);
  }

  /** What was last seen of its state, and which parts of it it tells by itself. */
  get observed(): StateSource {
    return { state: this.#lastState, pushed: this.#opened?.connection.state?.pushes ?? noParts };
  }

  /**
   * Takes what was seen of its state. Power that is `unknown` after a command may be either by now; read, it says nothing new.
   * What says by itself that it is off will not answer.
   */
  noteState(patch: Partial<PlatformState>, cause: Cause): void {
    const { power } = patch;
    if (power === "off" && cause === "push") this.unreachable(power);
    else if (power === "unknown") this.answered(cause === "command" ? null : undefined);
    else this.answered(power);
    if (patch.playback !== undefined) this.positionAt = new Date().toISOString();
    const isShown = ([, value]: [string, unknown]) => cause === "command" && value !== "unknown";
    for (const [part] of Object.entries(patch).filter(isShown)) this.#shownAt.set(part, performance.now());
    const before = { ...this.#lastState, ...(power === "off" && offState), ...(power === "standby" && nothingShown) };
    this.#lastState = { ...before, ...patch };
  }

  /** What was asked at a moment of `performance.now()`, without what a command has shown since: that is newer. */
  withoutOlder<State extends Partial<PlatformState>>(read: State, asked: number): Partial<State> {
    const parts = Object.entries(read).filter(([part]) => !((this.#shownAt.get(part) ?? 0) > asked));
    return Object.fromEntries(parts) as Partial<State>;
  }

  /** Whether it has said since a moment of `performance.now()` that it goes off: what was asked before is answered late. */
  saidOffSince(moment: number): boolean {
    return this.#saidOffAt > moment && this.isOff;
  }

  /** Whether it has said by itself since a moment how its power is. */
  saidPowerSince(moment: number): boolean {
    return Math.max(this.#saidPowerAt, this.#saidOffAt) > moment;
  }

  /** Whether it has a capability that its settings, or its pairing, keep back now. */
  withholds(capability: Capability): boolean {
    return this.description.withheld.has(capability);
  }

  /** Whether it has a capability that works now. */
  has(capability: Capability): boolean {
    return this.capabilities.includes(capability);
  }

  get platform(): Platform {
    const platform = this.#platform;
    if (platform) return platform;
    const { name, platform: unknown } = this.record;
    const problem = `${name} is on a platform that this zapd does not know, "${unknown}"`;
    throw new ZapdError("unsupported_operation", problem, { namesDevice: true });
  }

  get #platform(): Platform | undefined {
    return this.#deps.platforms.find((one) => one.name === this.record.platform);
  }

  /** What it can do, told without a connection; nothing where its platform is not known. */
  get description(): Description {
    return this.#now.description;
  }

  /** What works on it now. */
  get capabilities(): readonly Capability[] {
    return this.#now.works;
  }

  /** The keys that work on it now. */
  get keys(): readonly Key[] {
    return this.#now.keys;
  }

  /** What is known of it now, in its platform's terms. */
  get #now(): Derived {
    const { record } = this;
    const known = this.#known;
    if (known?.of === record && known.learned === this.#learned) return known;
    const isPaired = this.#deps.credentials.has(this.id);
    const entry = this.#learned ? withLearned(record, this.#learned, []) : record;
    const platform = this.#platform;
    const description = platform ? descriptionOf(entry, platform, isPaired) : nothing;
    const { has, withheld } = description;
    const works = capabilities.filter((one) => has.has(one) && !withheld.has(one));
    const takes = (key: Key) => works.includes(key === "power-on" ? "power_on" : "keys");
    this.#known = {
      of: record,
      learned: this.#learned,
      entry,
      facts: factsOf(entry),
      memory: platform && memoryOf(entry, platform),
      description,
      works,
      keys: keys.filter((key) => description.keys.has(key) && takes(key)),
    };
    return this.#known;
  }

  /** The connection to it, made when it is first wanted, and anew when it is another device or elsewhere. */
  get connection(): Connection {
    const { record } = this;
    const opened = this.#opened;
    if (opened && isSameTarget(opened.of, record)) {
      opened.of = record;
      return opened.connection;
    }
    opened?.connection.close();
    const connection = this.platform.connect(this.#target(), this.#deps.platformHost, (event) =>
      this.handleEvent(event),
    );
    this.#opened = { of: record, connection };
    return connection;
  }

  #target(): Target {
    const { identity, provisional = false, host, port, ports } = this.record;
    const now = () => this.#now;
    const secret = typed(this.#deps.trust.keeper(this.record), this.platform);
    const anew = (changed: Promise<void>) => changed.finally(() => this.#describeAnew());
    return {
      identity,
      provisional,
      host,
      port,
      ports,
      get facts() {
        return now().facts;
      },
      get memory() {
        return now().memory;
      },
      secret: { ...secret, keep: (given) => anew(secret.keep(given)), drop: () => anew(secret.drop()) },
    };
  }

  /** What it can do depends on whether it is paired. */
  #describeAnew(): void {
    this.#known = undefined;
  }

  /** The device where it was met, when it was met elsewhere than it is known, with what it says there; and with another secret. */
  targetAt(at: FoundDevice | undefined, secret: KeptSecret<unknown> | undefined): Target {
    const { record, platform } = this;
    const there = at ? { ...withLearned(record, at.sighting, []), ...at.address } : record;
    const { host, port } = there;
    const target = this.#target();
    const known = { facts: factsOf(there), memory: memoryOf(there, platform) };
    return { ...target, ...known, host, port, secret: secret ?? target.secret };
  }

  /** Closes what is open once nothing is under way any more, which is waited for a while. */
  async disconnectWhenIdle(): Promise<void> {
    await until(() => this.#running.size === 0, { timeoutMs: leavesWithin, everyMs: 20 });
    this.disconnect();
  }

  /** Hangs up on its console. */
  closeConsole(): void {
    this.#opened?.connection.dev?.console.close();
  }

  /** Closes what is open; the next call opens it anew. */
  disconnect(): void {
    this.#opened?.connection.close();
    this.#opened = undefined;
    this.#describeAnew();
  }

  /** Looks for it after it did not answer where it was (`was`); whether it is elsewhere now. */
  searchElsewhere(was: Entry, what: "read" | "command", timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    const { search, config } = this.#deps;
    const isElsewhere = () => this.#isKnown && !isSameAddress(this.#record, was);
    const longestMs = config().discovery.timeout_ms + 1_000;
    return this.#seeking.find({ isElsewhere, search, what, timeoutMs: Math.min(timeoutMs, longestMs) }, signal);
  }

  /** A search has met it: those who wait for it go on. */
  foundAgain(): void {
    this.#seeking.foundAgain();
  }

  /**
   * After a command has not reached it: wakes a device that is known to be asleep, for as long as that takes. Any other is
   * called and looked for elsewhere only for the time of one answer, since it may as well be unplugged. Tells which of the two
   * has helped; fails with `error` where neither has. Without `wakes` it is only looked for: woken to be turned off, one that
   * was off by its own remote would be left on.
   */
  async recover(
    before: Entry,
    error: ZapdError,
    { timeoutMs, waited, wakes }: { readonly timeoutMs: number; readonly waited: number; readonly wakes: boolean },
    signal: AbortSignal,
  ): Promise<"awake" | "elsewhere"> {
    if (error.code !== "device_unreachable") throw error;
    if (this.isOff) {
      await this.#wake(error, wakeTimeoutMs, signal);
      return "awake";
    }
    const over = new AbortController();
    const both = AbortSignal.any([signal, over.signal]);
    const found = this.searchElsewhere(before, "command", Math.min(this.timeoutMs, timeoutMs - waited), both).then(
      (isElsewhere): "elsewhere" => {
        if (!isElsewhere) throw error;
        return "elsewhere";
      },
    );
    if (!wakes) return found;
    const woken = this.#wake(error, this.timeoutMs - waited, both).then((): "awake" => "awake");
    try {
      return await Promise.any([found, woken]);
    } catch {
      throw signal.aborted ? signal.reason : error;
    } finally {
      over.abort(new ZapdError("device_error", "was reached otherwise"));
    }
  }

  async #wake(error: ZapdError, timeoutMs: number, signal: AbortSignal): Promise<void> {
    const wasOff = this.isOff;
    if (!this.capabilities.includes("power_on") || timeoutMs <= 0) throw error;
    const task: Task<void> = {
      activity: "waking it",
      needs: "power_on",
      timeoutMs: timeoutMs + powerOnTimeoutMs,
      work: (connection, within) =>
        this.turnOn(connection, within, { isSilent: !hasReason(error, "asleep"), timeoutMs }),
    };
    await this.attempt(task, signal).catch((unwoken: unknown) => {
      throw wasOff || signal.aborted ? unwoken : error;
    });
    this.#observe({ power: "on" }, "command", this);
  }

  /** Turns it on and waits until it is: one that may as well be on, unless it is said how it is. */
  async turnOn(
    connection: Connection,
    signal: AbortSignal,
    waking: WakeOptions = { isSilent: false, timeoutMs: wakeTimeoutMs },
  ): Promise<void> {
    const { platformHost } = this.#deps;
    const { host, ports, name, standing } = this.record;
    // A set that uses another interface than it tells is woken by the one that the network has shown for it.
    const macs = [...new Set([...this.record.macs, ...(standing?.macs ?? [])])];
    const parts = {
      power: requireCapability(connection.power, "power_on"),
      macs,
      hint: this.platform.sleepHint,
      reportedOnAt: () => this.#saidOnAt,
      sendPackets: () => {
        const destinations = destinationsFor(host, platformHost.broadcasts());
        platformHost.debug(`${name}: magic packets for ${macs.join(", ")} to ${destinations.join(", ")}`);
        return sendMagicPackets(macs, destinations, ports["wake"] ?? 9);
      },
    };
    await (this.#deps.wake ?? wake)(parts, waking, signal);
  }

  /**
   * Runs a task once, with its deadline, which is made here and nowhere else. A failure gets the device's name, and what was
   * attempted; what the outcome says of the device is noted.
   */
  async attempt<T>(task: Task<T>, signal: AbortSignal): Promise<T> {
    if (this.#over) throw this.#over;
    this.#pairing?.checkNotPairing(task);
    const { log } = this.#deps;
    const controller = new AbortController();
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    let behind: ReturnType<typeof setTimeout> | undefined;
    const end = (reason: unknown) => {
      controller.abort(reason);
      behind ??= setTimeout(() => reject(reason), letsGoWithin);
    };
    const leave = () => end(signal.reason);
    signal.addEventListener("abort", leave);
    if (signal.aborted) leave();
    this.#running.add(end);
    const timer = setTimeout(() => end(tooLate(task)), Math.min(task.timeoutMs, longestTimer));
    const asked = performance.now();
    try {
      if (task.needs) this.requireCapability(task.needs);
      task.work(this.connection, controller.signal, this).then(resolve, reject);
      const result = await promise;
      // An answer from before it said that it goes off is no sign of life.
      if (!task.skipsAvailability && !this.saidOffSince(asked)) this.answered();
      return result;
    } catch (error) {
      const { record } = this;
      log.debug(`${record.name}: ${task.activity}: ${messageOf(error)}`);
      // A caller who hung up says nothing of the device; what is named already is another reach's failure.
      if (error instanceof ZapdError && !error.namesDevice && !signal.aborted && !task.skipsAvailability)
        this.#noteFailure(error);
      // What a device says may hold a secret; what the caller said is the caller's.
      const told = error instanceof ZapdError ? redacted(error, log, task.callerTexts) : error;
      throw withDeviceName(told, subjectOf(record, this.#platform), task.activity);
    } finally {
      clearTimeout(timer);
      clearTimeout(behind);
      signal.removeEventListener("abort", leave);
      this.#running.delete(end);
      // Removed in the midst of it, it may have been connected to anew.
      if (this.#running.size === 0 && !this.#isKnown) this.disconnect();
    }
  }

  #noteFailure(error: ZapdError): void {
    const { onUnreachable } = this.#deps;
    // It says so itself: it is where it was, and answers.
    if (hasReason(error, "asleep")) this.answered("standby");
    else if (error.code === "device_unreachable") {
      this.unreachable();
      // One that is off is where it was; where a machine refuses, nothing of the device runs any more, and it may have moved.
      if (!this.isOff || hasReason(error, "refused")) onUnreachable(this.record);
    } else if (answeredBy.has(error.code) && !(error instanceof DeviceError && error.phase === "connect")) {
      this.answered();
    }
  }

  /** Pairing with it. */
  get pairing(): DevicePairing {
    this.#pairing ??= new DevicePairing(this.#deps, this);
    return this.#pairing;
  }

  /** It is no longer known: what is open is closed, and what contact has shown is forgotten. What is under way ends by itself. */
  forget(): void {
    this.disconnect();
    // The same device, added anew, can be paired at once.
    this.#pairing?.end(new ZapdError("device_not_found", "was removed while it was being paired"));
    this.#availability = undefined;
  }

  /** Ends what is under way, too, and begins nothing any more: a device that hangs must not hold the process. */
  close(reason: ZapdError): void {
    this.#over = reason;
    this.#pairing?.end(reason);
    for (const end of this.#running) end(reason);
    this.disconnect();
  }

  /** Fails with `unsupported_operation` where it lacks a capability; one that its settings withhold it has. */
  requireCapability(capability: Capability): void {
    // Says first that its platform is not known, where that is so.
    if (this.platform && !this.description.has.has(capability))
      throw lacksCapability(capability, this.description.keys);
  }

  /** Fails with `device_unproven` while it is on probation, under its name. */
  checkTrusted(activity: string): void {
    const doubt = this.#deps.trust.doubt(this.record);
    if (doubt) throw withDeviceName(doubt, this.record, activity);
  }

  /** Takes what a connection of it tells. */
  handleEvent(event: DeviceEvent): void {
    const { registry, log } = this.#deps;
    if (event.type === "facts") {
      const words = JSON.stringify([event.facts, event.memory]);
      if (this.#lastTold?.words === words && this.#lastTold.by === this.#record) return;
      this.#lastTold = { words, by: this.#record };
      const learned = mergeLearned(this.#learned ?? {}, event);
      this.#learned = learned;
      registry.learn(this.id, learned).then(
        () => {
          if (this.#learned === learned) this.#learned = undefined;
        },
        (error: unknown) => log.recurring(`What a device told could not be kept: ${textOf(error)}`),
      );
    } else if (event.type === "state") {
      const { power = "unknown" } = event.patch;
      if (power !== "unknown") this.#saidPowerAt = performance.now();
      if (power === "on") this.#saidOnAt = this.#saidPowerAt;
      this.#observe(event.patch, "push", this);
    } else if (event.type === "hint") {
      this.#deps.onHint(this.id);
    } else if (event.why === "going_off") {
      this.#observe({ power: "off" }, "push", this);
    } else {
      this.unreachable();
      // It pushes nothing until it is connected to again.
      this.#deps.onHint(this.id);
    }
  }
}

/** Whether a connection to a device is one to what is known of it now. */
function isSameTarget(one: Entry, other: Entry): boolean {
  if (one === other) return true;
  const of = ({ identity, host, port, ports }: Entry) => JSON.stringify([identity, host, port, ports]);
  return of(one) === of(other);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? `${error.message} ${String(error.cause ?? "")}` : String(error);
}

function tooLate({ timeoutMs }: { timeoutMs: number }): ZapdError {
  return new ZapdError("device_timeout", `did not finish within ${Math.round(timeoutMs / 1000)} s`);
}

// Off is a state, not an error: what the last word of a device and its silence say together.

/** Off or in standby: `power-off` leads to standby on most devices. */
export function isPowerOff(power: Power | null): boolean {
  return power === "off" || power === "standby";
}

/** What one in standby shows, where it says no more. */
const nothingShown = { app: null, playback: null, input: null } as const;

/** The state of a device that is off. */
export const offState: PlatformState & { readonly app: null } = {
  power: "off",
  app: null,
  screensaver: null,
  playback: null,
  volume: null,
  input: null,
};
