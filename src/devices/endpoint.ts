/**
 * One endpoint of a device: the device over one protocol, as one record of the registry has it. It owns the connection, makes
 * each attempt with its deadline, names the device in errors, wakes it, and searches for it. Knows no platform by name.
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
import { typedSecrets } from "./credentials.ts";
import { lacksCapability, requireCapability, subjectOf, withDeviceName } from "./failures.ts";
import type { Cause } from "./feed.ts";
import { DevicePairing, type PairingDependencies } from "./pairing.ts";
import {
  type DeviceRecord,
  descriptionOf,
  factsOf,
  type Learned,
  memoryOf,
  mergeLearned,
  withLearned,
} from "./record.ts";
import { DeviceSearch } from "./search.ts";
import { isSameAddress } from "./standing.ts";
import { type WakeOptions, wake } from "./wake.ts";

export interface EndpointDependencies extends PairingDependencies {
  readonly platforms: readonly Platform[];
  config(): Config;
  /** Called when a device did not answer, so that a scan may find it. */
  onUnreachable(record: DeviceRecord): void;
  /** Called when the API shows a device differently than before. */
  onChange(id: string): void;
  /** Called when a device reports that something has changed, but not what. */
  onHint(id: string): void;
  /** Scans for devices; ends with the scan. */
  scan(): Promise<unknown>;
  /** For tests: what turns a device on. */
  readonly wake?: typeof wake;
}

/** Whether a device answers, as seen since the daemon's start. */
export interface Availability {
  readonly status: "online" | "offline" | "unknown";
  readonly last_seen: string | null;
  /** What the device last reported of its power. */
  readonly power: Power | null;
}

/** Takes what is observed of a device's state: pushed by it, read from it, or following from a command that it took. */
export type Observe = (patch: Partial<PlatformState>, cause: Cause, endpoint: Endpoint) => void;

/** One command or read of a device. */
export interface Task<T> {
  /** What is attempted, for errors: "pressing home". */
  readonly activity: string;
  /** Milliseconds from its turn to its end. */
  readonly timeoutMs: number;
  /** Texts of the caller that the device is given and may repeat: they are not redacted in its errors. */
  readonly callerTexts?: readonly string[];
  /** The capability that it needs; it goes to the endpoint preferred for that, and without it to the leading one. */
  readonly needs?: Capability;
  /** Whether an endpoint that has the capability can do this very thing. */
  accepts?(endpoint: Endpoint): boolean;
  /** It may hold a secret: it goes to paired endpoints only, where there are such. */
  readonly isConfidential?: boolean;
  /** The one endpoint that it is for. */
  readonly route?: Route;
  work(connection: Connection, signal: AbortSignal, endpoint: Endpoint): Promise<T>;
  /** The parts of the state that it can change; by default all. */
  readonly changes?: readonly StatePart[];
  /** What is known of the state once the device took the command. */
  readonly resultingState?: Partial<PlatformState> | undefined;
  /** It may reach another device or address: its outcome does not change the availability. */
  readonly skipsAvailability?: boolean;
  /** It is a part of pairing. */
  readonly isPairing?: boolean;
  /** Whether a part of it was done already, so that it cannot be tried again. */
  hasStarted?(): boolean;
  /** Its result at a device that is off: at once, or after waking it. By default the device is woken and the task run. */
  readonly whenOff?: { readonly wake: boolean; readonly result: T };
}

/** One endpoint of a device; `withoutRecovery`: it is neither woken nor searched for, since another may be tried. */
export interface Route {
  readonly endpoint: Endpoint;
  readonly withoutRecovery?: boolean;
}

const noParts: ReadonlySet<StatePart> = new Set();
/** `setTimeout` fires at once for anything longer. */
const longestTimerMs = 2 ** 31 - 1;
/** A platform that ignores its aborted signal for this long is abandoned, or it would hold the queue. */
const abandonAfterMs = 1_000;
/** How long a pairing waits for running tasks before it disconnects. */
const idleTimeoutMs = 5_000;
/** A device woken by magic packets answers within this time or not at all. */
const wakeTimeoutMs = 30_000;
/** From its first answer until it reports that it is on. */
const powerOnTimeoutMs = 15_000;

/** Failures that only a device that is there can give. */
const answerCodes: ReadonlySet<string> = new Set([
  "device_refused",
  "unsupported_key",
  "pairing_required",
  "pairing_failed",
]);

/** What follows from the record and from what was learned since: computed once for both. */
interface Derived {
  readonly from: DeviceRecord;
  readonly learned: Learned | undefined;
  readonly current: DeviceRecord;
  readonly facts: Facts;
  readonly memory: unknown;
  readonly description: Description;
  readonly capabilities: readonly Capability[];
  readonly keys: readonly Key[];
}

const noDescription: Description = { has: new Set(), withheld: new Set(), keys: new Set() };

export class Endpoint {
  readonly id: string;
  readonly #deps: EndpointDependencies;
  readonly #observe: Observe;
  /** Ends each running attempt. */
  readonly #running = new Set<(reason: ZapdError) => void>();
  #record: DeviceRecord;
  #isKnown: boolean;
  #opened: { record: DeviceRecord; readonly connection: Connection } | undefined;
  /** What the device reported and is not on disk yet. */
  #learned: Learned | undefined;
  /** The last facts event, and the record at that time: the same event again is ignored. */
  #lastFacts: { readonly json: string; readonly record: DeviceRecord } | undefined;
  #derivedCache: Derived | undefined;
  #availability: Availability | undefined;
  /** Where and when it last did not answer. */
  #unreachableAt: (Address & { readonly at: number }) | undefined;
  #pairing: DevicePairing | undefined;
  #lastState: Partial<PlatformState> = {};
  /** When commands last showed each part. */
  readonly #confirmedAt = new Map<string, number>();
  /** When the playback position was last observed. */
  positionAt: string | null = null;
  readonly #search = new DeviceSearch();
  /** When the device last pushed its power, that it is on, and that it goes off. */
  #pushedPowerAt = Number.NEGATIVE_INFINITY;
  #pushedOnAt = Number.NEGATIVE_INFINITY;
  #pushedOffAt = Number.NEGATIVE_INFINITY;
  #closedReason: ZapdError | undefined;

  constructor(deps: EndpointDependencies, record: DeviceRecord, observe: Observe) {
    this.#deps = deps;
    this.#observe = observe;
    this.#record = deps.registry.get(record.id) ?? record;
    this.#isKnown = deps.registry.get(record.id) !== undefined;
    this.id = record.id;
  }

  /** Takes over its record as the registry has it now; `undefined`: it was removed. */
  update(record: DeviceRecord | undefined): void {
    this.#isKnown = record !== undefined;
    if (record) this.#record = record;
  }

  /** Its record in the registry; of a removed device, the last one. */
  get record(): DeviceRecord {
    return this.#record;
  }

  /** Its record with what it reported since, but for the name, which the registry gives. */
  get currentRecord(): DeviceRecord {
    return this.#derived.current;
  }

  /** Whether the registry still holds it. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** Milliseconds that one answer of a device may take. */
  get timeoutMs(): number {
    return this.#deps.config().devices.request_timeout_ms;
  }

  /** Its availability since the daemon's start; before any contact, what the registry kept. */
  get availability(): Availability {
    if (this.#availability) return this.#availability;
    const { last_seen, last_power = null } = this.record;
    this.#availability = { status: "unknown", last_seen, power: last_power };
    return this.#availability;
  }

  /** Whether it last reported that it is off or going off: if it does not answer then, it is asleep rather than gone. */
  get isOff(): boolean {
    return isPowerOff(this.availability.power);
  }

  /** Its power without asking it: `unknown` where it was on and does not answer. */
  get power(): Power {
    const { status, power } = this.availability;
    if (status === "online") return power ?? "unknown";
    if (status === "offline" && isPowerOff(power)) return "off";
    return isPowerOff(power) ? (power ?? "unknown") : "unknown";
  }

  /**
   * Notes that it answered, now or at a time of `performance.now()`; `reported` is its new power, `null` where it may be on or
   * off by now. An answer older than the last failure at the same address is ignored.
   */
  noteAnswer(reported?: Power | null, at = performance.now()): void {
    const failed = this.#unreachableAt;
    if (failed && failed.at > at && isSameAddress(failed, this.record)) return;
    const { power: before } = this.availability;
    this.#setAvailability({
      status: "online",
      last_seen: new Date().toISOString(),
      power: reported === undefined ? before : reported,
    });
  }

  /** Notes that it does not answer; with `reported`, that it is about to go off. */
  noteNoAnswer(reported?: Power): void {
    const { last_seen, power } = this.availability;
    const { host, port } = this.record;
    const at = performance.now();
    this.#unreachableAt = { host, port, at };
    if (reported !== undefined) this.#pushedOffAt = at;
    this.#setAvailability({ status: "offline", last_seen, power: reported ?? power });
  }

  #setAvailability(availability: Availability): void {
    const { status, power } = this.availability;
    this.#availability = availability;
    if (status !== availability.status || power !== availability.power) this.#deps.onChange(this.id);
  }

  /** Its last observed state, and the parts that it pushes. */
  get observed(): StateSource {
    return { state: this.#lastState, pushed: this.#opened?.connection.state?.pushes ?? noParts };
  }

  /**
   * Takes what was observed of its state. Power that is `unknown` after a command may be on or off; read as `unknown`, it says
   * nothing. A device that pushes that it is off will not answer.
   */
  noteState(patch: Partial<PlatformState>, cause: Cause): void {
    const { power } = patch;
    if (power === "off" && cause === "push") this.noteNoAnswer(power);
    else if (power === "unknown") this.noteAnswer(cause === "command" ? null : undefined);
    else this.noteAnswer(power);
    if (patch.playback !== undefined) this.positionAt = new Date().toISOString();
    const isConfirmed = ([, value]: [string, unknown]) => cause === "command" && value !== "unknown";
    for (const [part] of Object.entries(patch).filter(isConfirmed)) this.#confirmedAt.set(part, performance.now());
    const before = { ...this.#lastState, ...(power === "off" && offState), ...(power === "standby" && standbyState) };
    this.#lastState = { ...before, ...patch };
  }

  /** What a read that began at `startedAt` gave, without the parts that a command has shown since. */
  withoutOutdated<State extends Partial<PlatformState>>(read: State, startedAt: number): Partial<State> {
    const parts = Object.entries(read).filter(([part]) => !((this.#confirmedAt.get(part) ?? 0) > startedAt));
    return Object.fromEntries(parts) as Partial<State>;
  }

  /** Whether it has reported since a time of `performance.now()` that it goes off: answers to earlier requests are outdated. */
  reportedOffSince(moment: number): boolean {
    return this.#pushedOffAt > moment && this.isOff;
  }

  /** Whether it has pushed its power since a time of `performance.now()`. */
  reportedPowerSince(moment: number): boolean {
    return Math.max(this.#pushedPowerAt, this.#pushedOffAt) > moment;
  }

  /** Whether its settings, or a missing pairing, withhold a capability that it has. */
  withholds(capability: Capability): boolean {
    return this.description.withheld.has(capability);
  }

  /** Whether a capability works on it now. */
  has(capability: Capability): boolean {
    return this.capabilities.includes(capability);
  }

  get platform(): Platform {
    const platform = this.#platform;
    if (platform) return platform;
    const { name, platform: unknown } = this.record;
    const problem = `${name} uses the platform "${unknown}", which this version of zapd does not support`;
    throw new ZapdError("unsupported_operation", problem, { namesDevice: true });
  }

  get #platform(): Platform | undefined {
    return this.#deps.platforms.find((one) => one.name === this.record.platform);
  }

  /** What it can do, known without a connection; nothing where its platform is not known. */
  get description(): Description {
    return this.#derived.description;
  }

  /** What works on it now. */
  get capabilities(): readonly Capability[] {
    return this.#derived.capabilities;
  }

  /** The keys that work on it now. */
  get keys(): readonly Key[] {
    return this.#derived.keys;
  }

  /** What its platform makes of its record now. */
  get #derived(): Derived {
    const { record } = this;
    const known = this.#derivedCache;
    if (known?.from === record && known.learned === this.#learned) return known;
    const isPaired = this.#deps.credentials.has(this.id);
    const current = this.#learned ? withLearned(record, this.#learned, []) : record;
    const platform = this.#platform;
    const description = platform ? descriptionOf(current, platform, isPaired) : noDescription;
    const { has, withheld } = description;
    const working = capabilities.filter((one) => has.has(one) && !withheld.has(one));
    const takes = (key: Key) => working.includes(key === "power-on" ? "power_on" : "keys");
    this.#derivedCache = {
      from: record,
      learned: this.#learned,
      current,
      facts: factsOf(current),
      memory: platform && memoryOf(current, platform),
      description,
      capabilities: working,
      keys: keys.filter((key) => description.keys.has(key) && takes(key)),
    };
    return this.#derivedCache;
  }

  /** The connection to it: opened on first use, and again when its identity or address has changed. */
  get connection(): Connection {
    const { record } = this;
    const opened = this.#opened;
    if (opened && isSameTarget(opened.record, record)) {
      opened.record = record;
      return opened.connection;
    }
    opened?.connection.close();
    const connection = this.platform.connect(this.#target(), this.#deps.platformHost, (event) =>
      this.handleEvent(event),
    );
    this.#opened = { record: record, connection };
    return connection;
  }

  #target(): Target {
    const { identity, provisional = false, host, port, ports } = this.record;
    const derived = () => this.#derived;
    const secret = typedSecrets(this.#deps.trust.keeper(this.record), this.platform);
    // What it can do depends on whether it is paired.
    const saved = (change: Promise<void>) => change.finally(() => this.#forgetDerived());
    return {
      identity,
      provisional,
      host,
      port,
      ports,
      get facts() {
        return derived().facts;
      },
      get memory() {
        return derived().memory;
      },
      secret: { ...secret, keep: (value) => saved(secret.keep(value)), drop: () => saved(secret.drop()) },
    };
  }

  #forgetDerived(): void {
    this.#derivedCache = undefined;
  }

  /** The target of a pairing: at the address where it was found, with the facts from there, and with another secret. */
  targetAt(at: FoundDevice | undefined, secret: KeptSecret<unknown> | undefined): Target {
    const { record, platform } = this;
    const there = at ? { ...withLearned(record, at.sighting, []), ...at.address } : record;
    const { host, port } = there;
    const target = this.#target();
    const found = { facts: factsOf(there), memory: memoryOf(there, platform) };
    return { ...target, ...found, host, port, secret: secret ?? target.secret };
  }

  /** Disconnects once no attempt runs, or after a while. */
  async disconnectWhenIdle(): Promise<void> {
    await until(() => this.#running.size === 0, { timeoutMs: idleTimeoutMs, everyMs: 20 });
    this.disconnect();
  }

  /** Disconnects from its developer console. */
  closeConsole(): void {
    this.#opened?.connection.dev?.console.close();
  }

  /** Closes the connection; the next attempt opens another. */
  disconnect(): void {
    this.#opened?.connection.close();
    this.#opened = undefined;
    this.#forgetDerived();
  }

  /** Searches for it after it did not answer where `before` has it; whether it is elsewhere now. */
  searchElsewhere(
    before: DeviceRecord,
    what: "read" | "command",
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { scan, config } = this.#deps;
    const isElsewhere = () => this.#isKnown && !isSameAddress(this.#record, before);
    const longestMs = config().discovery.timeout_ms + 1_000;
    return this.#search.find({ isElsewhere, scan, what, timeoutMs: Math.min(timeoutMs, longestMs) }, signal);
  }

  /** A scan has found it: searches for it end. */
  foundAgain(): void {
    this.#search.foundAgain();
  }

  /**
   * Recovers from a command that did not reach the device. One known to be asleep is woken, however long that takes. Any other
   * is woken and searched for elsewhere for the time of one answer only, since it may be unplugged. Gives which of the two
   * helped; fails with `error` where neither did. Without `wakes` it is only searched for: a device woken to be turned off,
   * but already off by its own remote, would be left on.
   */
  async recover(
    before: DeviceRecord,
    error: ZapdError,
    {
      timeoutMs,
      elapsedMs,
      wakes,
    }: { readonly timeoutMs: number; readonly elapsedMs: number; readonly wakes: boolean },
    signal: AbortSignal,
  ): Promise<"awake" | "elsewhere"> {
    if (error.code !== "device_unreachable") throw error;
    if (this.isOff) {
      await this.#wake(error, wakeTimeoutMs, signal);
      return "awake";
    }
    const over = new AbortController();
    const both = AbortSignal.any([signal, over.signal]);
    const found = this.searchElsewhere(before, "command", Math.min(this.timeoutMs, timeoutMs - elapsedMs), both).then(
      (isElsewhere): "elsewhere" => {
        if (!isElsewhere) throw error;
        return "elsewhere";
      },
    );
    if (!wakes) return found;
    const woken = this.#wake(error, this.timeoutMs - elapsedMs, both).then((): "awake" => "awake");
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
    if (!this.has("power_on") || timeoutMs <= 0) throw error;
    const task: Task<void> = {
      activity: "waking it",
      needs: "power_on",
      timeoutMs: timeoutMs + powerOnTimeoutMs,
      work: (connection, within) =>
        this.turnOn(connection, within, { isSilent: !hasReason(error, "asleep"), timeoutMs }),
    };
    await this.attempt(task, signal).catch((failure: unknown) => {
      throw wasOff || signal.aborted ? failure : error;
    });
    this.#observe({ power: "on" }, "command", this);
  }

  /** Turns it on, and waits until it reports that it is on. */
  async turnOn(
    connection: Connection,
    signal: AbortSignal,
    waking: WakeOptions = { isSilent: false, timeoutMs: wakeTimeoutMs },
  ): Promise<void> {
    const { platformHost } = this.#deps;
    const { host, ports, name, standing } = this.record;
    // A set may report another network interface than the one that the neighbour table shows for it.
    const macs = [...new Set([...this.record.macs, ...(standing?.macs ?? [])])];
    const parts = {
      power: requireCapability(connection.power, "power_on"),
      macs,
      hint: this.platform.sleepHint,
      reportedOnAt: () => this.#pushedOnAt,
      sendPackets: () => {
        const destinations = destinationsFor(host, platformHost.broadcasts());
        platformHost.debug(`${name}: sending magic packets for ${macs.join(", ")} to ${destinations.join(", ")}`);
        return sendMagicPackets(macs, destinations, ports["wake"] ?? 9);
      },
    };
    await (this.#deps.wake ?? wake)(parts, waking, signal);
  }

  /**
   * Runs a task once, with its deadline: the only place where one is made. An error gets the device's name and the activity;
   * the outcome updates the availability.
   */
  async attempt<T>(task: Task<T>, signal: AbortSignal): Promise<T> {
    if (this.#closedReason) throw this.#closedReason;
    this.#pairing?.checkNotPairing(task);
    const { log } = this.#deps;
    const controller = new AbortController();
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    let abandon: ReturnType<typeof setTimeout> | undefined;
    const end = (reason: unknown) => {
      controller.abort(reason);
      abandon ??= setTimeout(() => reject(reason), abandonAfterMs);
    };
    const callerLeft = () => end(signal.reason);
    signal.addEventListener("abort", callerLeft);
    if (signal.aborted) callerLeft();
    this.#running.add(end);
    const timer = setTimeout(() => end(deadlineError(task)), Math.min(task.timeoutMs, longestTimerMs));
    const startedAt = performance.now();
    try {
      if (task.needs) this.requireCapability(task.needs);
      task.work(this.connection, controller.signal, this).then(resolve, reject);
      const result = await promise;
      // A device that has reported meanwhile that it goes off does not answer any more.
      if (!task.skipsAvailability && !this.reportedOffSince(startedAt)) this.noteAnswer();
      return result;
    } catch (error) {
      const { record } = this;
      log.debug(`${record.name}: ${task.activity}: ${messageOf(error)}`);
      // An aborted call says nothing about the device; an error that names its device is another endpoint's.
      if (error instanceof ZapdError && !error.namesDevice && !signal.aborted && !task.skipsAvailability)
        this.#noteFailure(error);
      // A device's text may hold a secret; the caller's own texts may be shown to the caller.
      const shown = error instanceof ZapdError ? redacted(error, log, task.callerTexts) : error;
      throw withDeviceName(shown, subjectOf(record, this.#platform), task.activity);
    } finally {
      clearTimeout(timer);
      clearTimeout(abandon);
      signal.removeEventListener("abort", callerLeft);
      this.#running.delete(end);
      // The attempt may have opened a connection after the device was removed.
      if (this.#running.size === 0 && !this.#isKnown) this.disconnect();
    }
  }

  #noteFailure(error: ZapdError): void {
    const { onUnreachable } = this.#deps;
    // The device itself says that it is asleep, so it answers.
    if (hasReason(error, "asleep")) this.noteAnswer("standby");
    else if (error.code === "device_unreachable") {
      this.noteNoAnswer();
      // A device that is off has not moved; where its host refuses the port, something else may have its address.
      if (!this.isOff || hasReason(error, "refused")) onUnreachable(this.record);
    } else if (answerCodes.has(error.code) && !(error instanceof DeviceError && error.phase === "connect")) {
      this.noteAnswer();
    }
  }

  /** Pairing with it. */
  get pairing(): DevicePairing {
    this.#pairing ??= new DevicePairing(this.#deps, this);
    return this.#pairing;
  }

  /** The device was removed: disconnects and forgets the availability. Running attempts end by themselves. */
  forget(): void {
    this.disconnect();
    // The same device can be added and paired again at once.
    this.#pairing?.end(new ZapdError("device_not_found", "was removed while it was being paired"));
    this.#availability = undefined;
  }

  /** Ends running attempts and refuses new ones: a device that hangs must not hold the process. */
  close(reason: ZapdError): void {
    this.#closedReason = reason;
    this.#pairing?.end(reason);
    for (const end of this.#running) end(reason);
    this.disconnect();
  }

  /** Fails with `unsupported_operation` where it lacks a capability; a withheld one it has. */
  requireCapability(capability: Capability): void {
    // Asking for the platform fails first where that is not known.
    if (this.platform && !this.description.has.has(capability))
      throw lacksCapability(capability, this.description.keys);
  }

  /** Fails with `device_unproven` while it is on probation. */
  checkTrusted(activity: string): void {
    const doubt = this.#deps.trust.doubt(this.record);
    if (doubt) throw withDeviceName(doubt, this.record, activity);
  }

  /** Takes an event of its connection. */
  handleEvent(event: DeviceEvent): void {
    const { registry, log } = this.#deps;
    if (event.type === "facts") {
      const json = JSON.stringify([event.facts, event.memory]);
      if (this.#lastFacts?.json === json && this.#lastFacts.record === this.#record) return;
      this.#lastFacts = { json, record: this.#record };
      const learned = mergeLearned(this.#learned ?? {}, event);
      this.#learned = learned;
      registry.learn(this.id, learned).then(
        () => {
          if (this.#learned === learned) this.#learned = undefined;
        },
        (error: unknown) => log.recurring(`Could not save what a device reported: ${textOf(error)}`),
      );
    } else if (event.type === "state") {
      const { power = "unknown" } = event.patch;
      if (power !== "unknown") this.#pushedPowerAt = performance.now();
      if (power === "on") this.#pushedOnAt = this.#pushedPowerAt;
      this.#observe(event.patch, "push", this);
    } else if (event.type === "hint") {
      this.#deps.onHint(this.id);
    } else if (event.why === "going_off") {
      this.#observe({ power: "off" }, "push", this);
    } else {
      this.noteNoAnswer();
      // It pushes nothing until the next connection.
      this.#deps.onHint(this.id);
    }
  }
}

/** Whether a connection made for one record serves another. */
function isSameTarget(one: DeviceRecord, other: DeviceRecord): boolean {
  if (one === other) return true;
  const keyOf = ({ identity, host, port, ports }: DeviceRecord) => JSON.stringify([identity, host, port, ports]);
  return keyOf(one) === keyOf(other);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? `${error.message} ${String(error.cause ?? "")}` : String(error);
}

function deadlineError({ timeoutMs }: { timeoutMs: number }): ZapdError {
  return new ZapdError("device_timeout", `did not finish within ${Math.round(timeoutMs / 1000)} s`);
}

/** Off or in standby: `power-off` leads to standby on most devices. */
export function isPowerOff(power: Power | null): boolean {
  return power === "off" || power === "standby";
}

/** What a device in standby shows. */
const standbyState = { app: null, playback: null, input: null } as const;

/** The state of a device that is off. */
export const offState: PlatformState & { readonly app: null } = {
  power: "off",
  app: null,
  screensaver: null,
  playback: null,
  volume: null,
  input: null,
};
