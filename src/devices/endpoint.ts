/**
 * One endpoint of a device: the device over one protocol, as one record of the registry has it. It owns the connection, makes
 * each attempt with its deadline, and names the device in errors. Knows no platform by name.
 */
import { DeviceError, hasReason, textOf, ZapdError } from "../api/errors.ts";
import type { FoundDevice } from "../discovery/probe-queue.ts";
import {
  type Capability,
  type Connection,
  capabilities,
  type Description,
  type DeviceEvent,
  emptySet,
  type Facts,
  type KeptSecret,
  type Key,
  keys,
  type Platform,
  type PlatformState,
  type StatePart,
  type Target,
} from "../platforms/platform.ts";
import { redacted } from "../system/log.ts";
import { until } from "../system/sleep.ts";
import { typedSecrets } from "./credentials.ts";
import { lacksCapability, subjectOf, withDeviceName } from "./failures.ts";
import type { Cause } from "./feed.ts";
import { removedError } from "./names.ts";
import { EndpointPairing, type PairingDependencies } from "./pairing.ts";
import { Presence } from "./presence.ts";
import {
  type DeviceRecord,
  descriptionOf,
  factsOf,
  type Learned,
  memoryOf,
  mergeLearned,
  withLearned,
} from "./record.ts";
import { Recovery, type RecoveryDependencies } from "./recovery.ts";
import { isSameAddress } from "./standing.ts";
import type { Task } from "./task.ts";

export interface EndpointDependencies extends PairingDependencies, RecoveryDependencies {
  readonly platforms: readonly Platform[];
  /** Called when a device did not answer, so that a scan may find it. */
  onUnreachable(record: DeviceRecord): void;
  /** Called when the API shows a device differently than before. */
  onChange(id: string): void;
  /** Called when a device reports that something has changed, but not what. */
  onHint(id: string): void;
}

/** Takes what is observed of a device's state: pushed by it, read from it, or following from a command that it took. */
export type Observe = (patch: Partial<PlatformState>, cause: Cause, endpoint: Endpoint) => void;

/** `setTimeout` fires at once for anything longer. */
const longestTimerMs = 2 ** 31 - 1;
/** A platform that ignores its aborted signal for this long is abandoned, or it would hold the queue. */
const abandonAfterMs = 1_000;
/** How long a pairing waits for running tasks before it disconnects. */
const idleTimeoutMs = 5_000;
/** A device that disconnects sooner again is not asked at once another time. */
const stableMs = 10_000;
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

const noDescription: Description = { has: emptySet, withheld: emptySet, keys: emptySet };

export class Endpoint {
  readonly id: string;
  readonly presence: Presence;
  readonly recovery: Recovery;
  readonly #deps: EndpointDependencies;
  readonly #observe: Observe;
  /** Ends each running attempt. */
  readonly #running = new Set<(reason: ZapdError) => void>();
  #record: DeviceRecord;
  #isKnown: boolean;
  #opened: { record: DeviceRecord; readonly connection: Connection } | undefined;
  /** What the device reported and is not on disk yet. */
  #learned: Learned | undefined;
  #disconnectedAt = Number.NEGATIVE_INFINITY;
  #derivedCache: Derived | undefined;
  #pairing: EndpointPairing | undefined;
  #closedReason: ZapdError | undefined;

  constructor(deps: EndpointDependencies, record: DeviceRecord, observe: Observe) {
    this.#deps = deps;
    this.#observe = observe;
    this.#record = deps.registry.get(record.id) ?? record;
    this.#isKnown = deps.registry.get(record.id) !== undefined;
    this.id = record.id;
    this.presence = new Presence({ record: () => this.#record, onChange: () => deps.onChange(record.id) });
    this.recovery = new Recovery(deps, this, observe);
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

  /** The parts of its state that it pushes over the connection that is open. */
  get pushed(): ReadonlySet<StatePart> {
    return this.#opened?.connection.state?.pushes ?? emptySet;
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
    let current = this.#learned ? withLearned(record, this.#learned, []) : record;
    const platform = this.#platform;
    const description = platform ? descriptionOf(current, platform, isPaired) : noDescription;
    // A platform that withholds keys at full access lacks its secret, which was lost with the credentials file.
    if (current.access === "full" && !isPaired && description.withheld.has("keys"))
      current = { ...current, access: "unpaired" };
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
    const emit = (event: DeviceEvent) => this.#handleEvent(event, record);
    const connection = this.platform.connect(this.#target(), this.#deps.platformHost, emit);
    this.#opened = { record, connection };
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

  closeConsole(): void {
    this.#opened?.connection.dev?.console.close();
  }

  /** Closes the connection; the next attempt opens another. */
  disconnect(): void {
    this.#opened?.connection.close();
    this.#opened = undefined;
    this.#forgetDerived();
  }

  /**
   * Runs a task once, with its deadline, which is made nowhere else. An error gets the device's name and the activity;
   * the outcome updates the availability.
   */
  async attempt<T>(task: Task<T>, signal: AbortSignal): Promise<T> {
    if (this.#closedReason) throw this.#closedReason;
    // A command that waited, or is tried again, when the device was removed.
    if (!this.#isKnown) throw removedError();
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
    const { record: asked } = this;
    try {
      if (task.needs) this.requireCapability(task.needs);
      task.work(this.connection, controller.signal, this).then(resolve, reject);
      const result = await promise;
      // A device that has reported meanwhile that it goes off does not answer any more.
      if (!task.skipsAvailability && !this.presence.reportedOffSince(startedAt)) this.presence.noteAnswer();
      return result;
    } catch (error) {
      const { record } = this;
      log.debug(`${record.name}: ${task.activity}: ${messageOf(error)}`);
      // An aborted call says nothing about the device, nor does one to where it was before; an error that names its device is
      // another endpoint's.
      const isOfDevice = error instanceof ZapdError && !error.namesDevice && isSameAddress(asked, record);
      if (isOfDevice && !signal.aborted && !task.skipsAvailability)
        this.#noteFailure(error, task.route?.isAwaited?.() ?? true);
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

  #noteFailure(error: ZapdError, isAwaited: boolean): void {
    const { presence } = this;
    const { status } = presence.availability;
    // The device itself says that it is asleep, so it answers.
    if (hasReason(error, "asleep")) presence.noteAnswer("standby");
    else if (error.code === "device_unreachable") {
      presence.noteNoAnswer();
      // A device that is off has not moved; where its host refuses the port, something else may have its address. Polling one
      // that goes on not answering must not have the whole network searched, and every device asked, again and again.
      const mayHaveMoved = !presence.isOff || hasReason(error, "refused");
      if (mayHaveMoved && (status !== "offline" || isAwaited)) this.#deps.onUnreachable(this.record);
    } else if (answerCodes.has(error.code) && !(error instanceof DeviceError && error.phase === "connect")) {
      // One that has forgotten zapd while it was off may be on by now, and will not tell.
      presence.noteAnswer(error.code === "pairing_required" && presence.isOff ? null : undefined);
    }
  }

  get pairing(): EndpointPairing {
    this.#pairing ??= new EndpointPairing(this.#deps, this);
    return this.#pairing;
  }

  /** The device was removed: ends what runs, disconnects and forgets the availability. */
  forget(): void {
    for (const end of this.#running) end(removedError());
    this.disconnect();
    // The same device can be added and paired again at once.
    this.#pairing?.end(new ZapdError("device_not_found", "was removed while it was being paired"));
    this.presence.forget();
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
  checkTrusted(): void {
    const doubt = this.#deps.trust.doubt(this.record);
    if (doubt) throw withDeviceName(doubt, this.record);
  }

  /** Takes what a connection reports that was made for a record. */
  #handleEvent(event: DeviceEvent, madeFor: DeviceRecord): void {
    if (!this.#isKnown) return;
    // A connection that ends where the device was says nothing of where it is.
    if (event.type === "disconnected" && !isSameAddress(madeFor, this.#record)) return;
    const { registry, log } = this.#deps;
    if (event.type === "facts") {
      const learned = mergeLearned(this.#learned ?? {}, event);
      this.#learned = learned;
      registry.learn(this.id, learned).then(
        () => {
          if (this.#learned === learned) this.#learned = undefined;
        },
        (error: unknown) => log.recurring(`Could not save what a device reported: ${textOf(error)}`),
      );
    } else if (event.type === "state") {
      this.#observe(event.patch, "push", this);
    } else if (event.type === "hint") {
      this.#deps.onHint(this.id);
    } else if (event.why === "going_off") {
      this.#observe({ power: "off" }, "push", this);
    } else {
      this.presence.noteNoAnswer();
      // It pushes nothing until the next connection. Where that breaks soon, too, the session tries less and less often.
      const before = this.#disconnectedAt;
      this.#disconnectedAt = performance.now();
      if (this.#disconnectedAt - before > stableMs) this.#deps.onHint(this.id);
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
