/**
 * One live device: its records, the queue of its commands, its shared reads, its last state and its pairing. A
 * command goes to the endpoint that is preferred for it. Knows no platform by name.
 */
import { hasCode, hasReason, textOf, ZapdError } from "../api/errors.ts";
import type { EventOf } from "../api/events.ts";
import type { State, Device as View } from "../api/schemas.ts";
import type { FoundDevice } from "../discovery/probe-queue.ts";
import {
  type Capability,
  capabilities,
  type Description,
  type PlatformState,
  stateParts,
} from "../platforms/platform.ts";
import { sleepCheck } from "../system/clock.ts";
import { orAborted } from "../system/sleep.ts";
import type { AppChanges, Catalog } from "./catalog.ts";
import type { Endpoint, EndpointDependencies } from "./endpoint.ts";
import { EndpointSet } from "./endpoints.ts";
import { fillHint, withDeviceName } from "./failures.ts";
import type { Feed } from "./feed.ts";
import { HeldKey } from "./hold.ts";
import { LastState } from "./last-state.ts";
import type { Leases } from "./leases.ts";
import { removedError } from "./names.ts";
import type { PairingRequest, PairingStep } from "./pairing.ts";
import { isPowerOff } from "./presence.ts";
import { Queue, type Turn } from "./queue.ts";
import { Reads } from "./reads.ts";
import type { DeviceRecord } from "./record.ts";
import { isSameAddress } from "./standing.ts";
import type { Route, Task } from "./task.ts";
import { Watch } from "./watch.ts";

export interface DeviceDependencies extends EndpointDependencies {
  readonly catalog: Catalog;
  readonly feed: Feed;
  readonly leases: Leases;
  endpointOf(record: DeviceRecord): Endpoint;
  deviceOf(record: DeviceRecord): Device;
  /** Called when a device is no longer known and nothing is running on it. */
  onRemoved(device: Device): void;
}

/** How long it is asked which endpoint plays; after that, what is known counts. */
const playerAnswersMs = 1_000;
/** Why a wait for a device ends when the device was merged into another. */
export const becamePartOfOther = Symbol("it became a part of another device");

export class Device {
  /** The id of its oldest record; the ids of its other records mean this device, too. */
  readonly id: string;
  /** The key that a caller holds down. */
  readonly heldKey = new HeldKey();
  /** What its endpoints have reported of its state, without asking it. */
  readonly lastState: LastState;
  readonly catalog: Catalog;
  readonly #deps: DeviceDependencies;
  readonly #queue = new Queue();
  readonly #reads: Reads;
  /** Grows with each command that ends: a read that began before is not shared with later callers. */
  #commandCount = 0;
  /** Whether the last command has read its effect back from the device. */
  #isEffectSeen = false;
  /** The endpoint on which a pairing was begun last. */
  #pairing: Endpoint | undefined;
  #endpoints: EndpointSet;
  #isKnown = true;
  #isDefault = false;
  #isSavingUse = false;
  #watch: Watch | undefined;
  #removed = new AbortController();

  constructor(deps: DeviceDependencies, records: readonly [DeviceRecord, ...DeviceRecord[]]) {
    this.#deps = deps;
    this.id = records[0].id;
    this.#endpoints = new EndpointSet(deps, records);
    this.catalog = deps.catalog;
    this.lastState = new LastState({
      deviceId: this.id,
      catalog: deps.catalog,
      feed: deps.feed,
      endpoints: () => this.#endpoints,
      onObserved: (isNew) => this.#watch?.stateObserved(isNew),
    });
    this.#reads = new Reads({
      endpoints: () => this.#endpoints,
      candidates: (task) => this.#candidates(task),
      lastState: this.lastState,
      commandCount: () => this.#commandCount,
    });
    this.update();
  }

  /** Takes over what the registry holds of it now. */
  update(): void {
    const { registry } = this.#deps;
    const records = registry.recordsOf(this.id);
    this.#isKnown = records[0]?.id === this.id;
    this.#isDefault = registry.defaultRecord?.id === this.id;
    if (records.length === 0) return;
    const { length: before } = this.endpoints;
    this.#endpoints = new EndpointSet(this.#deps, records);
    if (this.endpoints.length !== before) this.#watch?.endpointsChanged();
  }

  /** Its endpoints, the leading one first; of a removed device, those that it had. */
  get endpoints(): readonly Endpoint[] {
    return this.#endpoints.all;
  }

  get leading(): Endpoint {
    return this.#endpoints.leading;
  }

  /** Its only endpoint, which takes everything and is described without merging; `null` where it has several. */
  get #only(): Endpoint | null {
    return this.endpoints.length < 2 ? this.leading : null;
  }

  /** The record of its leading endpoint; of a removed device, the last one. */
  get record(): DeviceRecord {
    return this.leading.record;
  }

  /** What works on it now, over any of its endpoints. */
  get capabilities(): readonly Capability[] {
    return (this.#only ?? this.#endpoints).capabilities;
  }

  /** What it can do over any of its endpoints, known without a connection. */
  get description(): Description {
    return (this.#only ?? this.#endpoints).description;
  }

  /** The endpoint that takes a press: `usual`, if it can, or else the first that can. */
  endpointForPress(task: Pick<Task<unknown>, "needs" | "accepts" | "isConfidential">, usual: Endpoint): Endpoint {
    const able = this.#candidates(task);
    return able.includes(usual) ? usual : (able[0] ?? usual);
  }

  /** Of several endpoints that take a command to the player, the one that plays; they are asked, but not for long. */
  async playingEndpoint(takes: (endpoint: Endpoint) => boolean, signal: AbortSignal): Promise<Endpoint | undefined> {
    const able = this.endpoints.filter(takes);
    if (able.length < 2 || isPowerOff(this.#endpoints.power)) return undefined;
    const checkAwake = sleepCheck();
    const within = AbortSignal.any([signal, AbortSignal.timeout(playerAnswersMs)]);
    await orAborted(this.#reads.poll(["playback"], true), within).catch(() => {});
    checkAwake();
    const player = this.lastState.reporterOf("playback");
    const plays = player && able.includes(player) && player.presence.state.playback?.status !== "stopped";
    return plays ? player : undefined;
  }

  preferredEndpoint(needs: Capability): Endpoint {
    return this.#candidates({ needs })[0] ?? this.leading;
  }

  /** Fails with `unsupported_operation` where it lacks a capability. */
  requireCapability(capability: Capability): void {
    try {
      this.preferredEndpoint(capability).requireCapability(capability);
    } catch (error) {
      throw withDeviceName(error, this.record);
    }
  }

  get labels(): string[] {
    return [...new Set(this.endpoints.flatMap(({ record }) => record.labels ?? []))].toSorted();
  }

  /** The device as the API shows it. */
  describe(): View {
    const { record, endpoints, labels } = this;
    const { leases } = this.#deps;
    const { name, platform, host, port, ports } = record;
    const records = endpoints.map((endpoint) => endpoint.currentRecord);
    const availabilities = endpoints.map(({ presence }) => presence.availability);
    const byFacts = this.#endpoints.byFacts.map((endpoint) => endpoint.currentRecord);
    const known = <K extends keyof DeviceRecord>(key: K): DeviceRecord[K] | null =>
      byFacts.find((one) => one[key] !== null)?.[key] ?? null;
    return {
      id: this.id,
      name,
      platform,
      platforms: records.map((one) => one.platform),
      kind: byFacts.find(({ kind }) => kind !== "unknown")?.kind ?? "unknown",
      manufacturer: known("manufacturer"),
      model: known("model"),
      serial: known("serial"),
      mac: records.find(({ macs }) => macs.length > 0)?.macs[0] ?? null,
      software_version: known("software_version"),
      power: this.#only?.presence.power ?? this.#endpoints.power,
      host,
      port,
      ports,
      status:
        (["online", "offline"] as const).find((one) => availabilities.some(({ status }) => status === one)) ??
        "unknown",
      access: records.find(({ access }) => access !== null)?.access ?? null,
      capabilities: [...this.capabilities],
      ...(labels.length > 0 && { labels }),
      withheld: this.#withheld(),
      keys: [...(this.#only ?? this.#endpoints).keys],
      used: this.#isUsed,
      is_default: this.#isDefault,
      lease: leases.isEmpty ? null : leases.get(this.id),
      added_at: (records.find(({ id }) => id === this.id) ?? record).added_at,
      last_seen: availabilities.reduce<string | null>(
        (latest, { last_seen }) => (latest === null || (last_seen ?? "") > latest ? last_seen : latest),
        null,
      ),
    };
  }

  /** The capabilities that its settings, or a missing pairing, withhold, each with what the user does about it. */
  #withheld(): View["withheld"] {
    const { has, withheld } = this.description;
    if (withheld.size === 0) return [];
    return capabilities.flatMap((capability) => {
      if (!has.has(capability) || !withheld.has(capability)) return [];
      const { description, record } = this.endpoints.find((endpoint) => endpoint.withholds(capability)) ?? this.leading;
      return [{ capability, hint: fillHint(description.hint, record) ?? null }];
    });
  }

  /** The answer to an action: the device as it is after the action, the action's name, and the action's own fields. */
  actionResult<Name extends string, Payload extends object>(
    action: Name,
    payload: Payload,
  ): { device: View; action: Name } & Payload {
    return { device: this.describe(), action, ...payload };
  }

  // Commands

  /**
   * Runs a command when its turn has come. Where nothing of it has reached an endpoint, the next one is tried; a device that
   * is asleep is woken; one that has moved is searched for.
   */
  async command<T>(turn: Turn, task: Task<T>): Promise<T> {
    let hasStarted = false;
    try {
      return await this.#inTurn(turn, (signal) => {
        hasStarted = true;
        this.#isEffectSeen = false;
        this.lastState.command = commandOf(turn, Number.POSITIVE_INFINITY);
        return this.#countAsUse(this.#run(task, signal));
      });
    } catch (error) {
      throw withDeviceName(error, this.record, task.activity);
    } finally {
      this.#commandCount++;
      if (hasStarted && this.lastState.command?.id === turn.action)
        this.lastState.command = commandOf(turn, performance.now());
      if (hasStarted && !this.#isEffectSeen) this.#watch?.afterCommand(task.changes ?? stateParts);
      this.#closeIfRemoved();
    }
  }

  /** Runs a command that consists of several, with no other command between them. */
  async commands<T>(turn: Turn, activity: string, parts: (turn: Turn) => Promise<T>): Promise<T> {
    try {
      return await this.#inTurn(turn, (signal) => parts({ ...turn, signal, hasCome: true }));
    } catch (error) {
      throw withDeviceName(error, this.record, activity);
    } finally {
      this.#closeIfRemoved();
    }
  }

  /** Runs work when its turn has come, with a signal that aborts when the caller's lease ends, too. */
  async #inTurn<T>(turn: Turn, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    // Its signal ends with the lease, and a lease that others ask for meanwhile begins after it.
    if (turn.hasCome) return work(turn.signal);
    const leaseEnd = this.checkLease(turn.lease);
    const signal = leaseEnd ? AbortSignal.any([turn.signal, leaseEnd]) : turn.signal;
    return this.#queue.run({ ...turn, signal }, () => {
      // Another caller may have leased the device while the command waited.
      this.checkLease(turn.lease);
      return work(signal);
    });
  }

  async #run<T>(task: Task<T>, signal: AbortSignal): Promise<T> {
    const start = performance.now();
    const checkAwake = sleepCheck();
    const places = new Map(this.endpoints.map((one) => [one, one.record]));
    let missed: { endpoint: Endpoint; before: DeviceRecord; wasOff: boolean; error: ZapdError } | undefined;
    for (const endpoint of this.#candidates(task)) {
      const before = endpoint.record;
      const wasOff = endpoint.presence.isOff;
      try {
        return await this.#attempt(endpoint, task, signal);
      } catch (error) {
        if (!hasCode(error, "device_unreachable", "device_timeout") || signal.aborted || task.hasStarted?.())
          throw error;
        const isTimeout = error.code === "device_timeout";
        // One that timed out tells what was sent.
        checkAwake(isTimeout ? error : undefined);
        if (isTimeout || !missed) missed = { endpoint, before, wasOff, error };
        // A device that says it is asleep is asleep as a whole, whatever endpoint still answers.
        if (isTimeout || hasReason(error, "asleep")) break;
      }
    }
    if (!missed) throw removedError();
    const { endpoint, before, wasOff, error } = missed;
    const { whenOff } = task;
    const wakes = whenOff?.wake !== false;
    if (!wakes && endpoint.presence.isOff) return whenOff.result;
    if (task.route?.withoutRecovery) throw error;
    const canRecover = !wakes || endpoint.has("power_on");
    const waker = canRecover ? endpoint : (this.endpoints.find((one) => one.has("power_on")) ?? endpoint);
    const limits = { elapsedMs: performance.now() - start, wakes, wasOff };
    const wakerBefore = waker === endpoint ? before : (places.get(waker) ?? waker.record);
    const outcome = await waker.recovery.recover(wakerBefore, error, limits, signal);
    // The protocols of a device that has moved are found one after the other.
    if (waker !== endpoint && !isSameAddress(waker.record, wakerBefore))
      await endpoint.recovery.searchElsewhere(before, "command", signal);
    if (outcome === "awake") task.onWoken?.();
    if (!whenOff || outcome !== "awake") {
      checkAwake();
      return this.#attempt(endpoint, task, signal);
    }
    // It was woken, and is on.
    this.lastState.observe({ power: "on" }, "command", endpoint);
    return whenOff.result;
  }

  /** The endpoints that can do a task, the preferred first; where none can, one that can say why. */
  #candidates(task: Pick<Task<unknown>, "route" | "needs" | "accepts" | "isConfidential">): readonly Endpoint[] {
    if (task.route) return [task.route.endpoint];
    return this.#only ? this.endpoints : this.#endpoints.candidates(task);
  }

  async #attempt<T>(endpoint: Endpoint, task: Task<T>, signal: AbortSignal): Promise<T> {
    const startedAt = performance.now();
    const result = await endpoint.attempt(task, signal);
    const { resultingState, whenOff } = task;
    const { presence } = endpoint;
    const isReported = presence.reportedPowerSince(startedAt);
    // Only a device that is on takes most commands, so an older report that it is off no longer counts.
    if (presence.isOff && !isReported && whenOff?.wake !== false)
      this.lastState.observe({ power: "unknown" }, "command", endpoint);
    // A platform that turns its device on and off itself has reported that; others press the key after their report.
    const isTold = isReported && endpoint.isKnown && endpoint.connection.power?.off !== undefined;
    const power = resultingState?.power;
    const isKnown = power === "off" ? presence.isOff : power === "unknown" && isTold;
    if (resultingState && !isKnown) this.lastState.observe(resultingState, "command", endpoint);
    return result;
  }

  /**
   * Runs work that belongs to one endpoint as a whole, as an app belongs to its platform: on the first that has the
   * capability, or on the next where nothing of it has reached the first, or the first has no such app.
   */
  async onOneEndpoint<T>(needs: Capability, work: (route: Route) => Promise<T>): Promise<T> {
    const able = this.#candidates({ needs });
    let missed: Endpoint | undefined;
    let notFound: unknown;
    for (const endpoint of able.length > 1 ? able : []) {
      // Only a list tells of an app that the one before lacks: without one, a service of that name would be started instead.
      if (notFound && !endpoint.has("apps")) continue;
      try {
        return await work({ endpoint, withoutRecovery: true });
      } catch (error) {
        if (hasCode(error, "app_not_found")) notFound ??= error;
        else if (!hasCode(error, "device_unreachable")) throw error;
        else if (hasReason(error, "asleep")) return work({ endpoint });
        else if (!notFound) missed ??= endpoint;
      }
    }
    if (notFound && !missed) throw notFound;
    return work({ endpoint: missed ?? able[0] ?? this.leading });
  }

  /** Waits until the commands that were queued before have ended. */
  async whenIdle(turn: Pick<Turn, "signal" | "waitsForLongCommands">): Promise<void> {
    try {
      await this.#queue.run(turn, async () => {});
    } catch (error) {
      throw withDeviceName(error, this.record, "being leased");
    }
  }

  /**
   * Whether a caller may change the device, by the lease tokens that it carries: a signal that ends with its lease, or `null`
   * where the device is not leased. Fails with `device_leased`.
   */
  checkLease(lease: string | undefined): AbortSignal | null {
    const { leases } = this.#deps;
    return leases.isEmpty && lease === undefined ? null : leases.check(this.id, lease);
  }

  // State

  /**
   * The live state. Callers that ask at the same time share one read, but not one from before their last command. A device
   * that does not answer and last reported that it is off, is off.
   */
  async state(signal: AbortSignal, isUse = true): Promise<State> {
    const read = this.#reads.state(signal);
    return isUse ? this.#countAsUse(read) : read;
  }

  /** A read, shared by all who ask for it at the same time. */
  read<T>(what: string, signal: AbortSignal, task: Task<T>): Promise<T> {
    const read = this.#reads.read(what, signal, task);
    return task.isUse === false ? read : this.#countAsUse(read);
  }

  /** The effect of a command, as it was read back from the device. */
  confirmEffect(patch: Partial<PlatformState>, isAsWanted: boolean, endpoint: Endpoint): void {
    this.#isEffectSeen = isAsWanted;
    this.lastState.observe(patch, "command", endpoint);
  }

  /** Polls the device while somebody is interested. */
  get watch(): Watch {
    const device = this;
    this.#watch ??= new Watch({
      get state() {
        return device.lastState.view;
      },
      get access() {
        return device.record.access;
      },
      get pushes() {
        return device.#endpoints.pushedParts;
      },
      // Polling does not count as use.
      poll: (parts, isAwaited) => this.#reads.poll(parts, isAwaited),
    });
    return this.#watch;
  }

  /** It may answer again. */
  reappeared(): void {
    this.#watch?.deviceReappeared();
  }

  /** It reported that something has changed, but not what. */
  hinted(): void {
    this.#watch?.hintReceived();
  }

  publishApps({ added, removed }: AppChanges): void {
    if (added.length + removed.length > 0) this.#deps.feed.publishApps(this.id, added, removed);
  }

  /** Publishes how far a package is on its way to it. */
  publishInstall(phase: EventOf<"install.progress">["phase"], bytes: number, total: number | null): void {
    this.#deps.feed.publishInstall(this.id, phase, bytes, total);
  }

  // Pairing, trust and secrets

  /**
   * The endpoint to pair: the one over `platform`, the one being paired, or else the first that needs it. The oldest comes
   * first, since a new one may be a stranger's. Fails with `invalid_payload` where it has no endpoint over `platform`.
   */
  endpointToPair(platform?: string): Endpoint {
    const { registry, trust, endpointOf } = this.#deps;
    const { endpoints } = this;
    if (platform !== undefined) return this.#endpointOver(platform);
    const begun = this.#pairing;
    if (begun?.pairing.takesCode && endpoints.includes(begun)) return begun;
    // It may have been begun at a device that has become a part of this one.
    const running = endpoints.find(({ pairing }) => pairing.isRunning);
    if (running) return running;
    const oldestFirst = registry.recordsOf(this.id).map(endpointOf);
    const needsPairing = ({ record, currentRecord }: Endpoint) =>
      currentRecord.access === "unpaired" || trust.doubt(record) !== null;
    return oldestFirst.find(needsPairing) ?? oldestFirst.find(({ record }) => trust.canPair(record)) ?? this.leading;
  }

  #endpointOver(platform: string): Endpoint {
    const endpoint = this.endpoints.find(({ record }) => record.platform === platform);
    if (endpoint) return endpoint;
    const over = this.endpoints.map(({ record }) => record.platform).join(" and ");
    const problem = `There is no connection to ${this.record.name} over ${JSON.stringify(platform)}`;
    throw new ZapdError("invalid_payload", problem, { hint: `It is reached over ${over}`, namesDevice: true });
  }

  /** Begins a pairing, or takes part in the one that runs; gives the next step, or `null` once it is paired. */
  async pair(
    request: PairingRequest,
    signal: AbortSignal,
    foundAt?: FoundDevice,
    endpoint = this.endpointToPair(),
  ): Promise<PairingStep | null> {
    // The code or password is a secret: a device with any endpoint on probation gets none.
    if (!foundAt && (request.pin ?? request.password) !== undefined) this.checkTrusted();
    this.#pairing = endpoint;
    try {
      const next = await this.#countAsUse(endpoint.pairing.pair(request, signal, foundAt));
      if (next !== null && next.step !== "confirm" && !foundAt) this.#requireTrustToGoOn(endpoint);
      return next;
    } finally {
      this.#commandCount++;
    }
  }

  /** Nobody is asked for a code or a password that would then be refused. */
  #requireTrustToGoOn(endpoint: Endpoint): void {
    try {
      this.checkTrusted();
    } catch (error) {
      endpoint.pairing.cancel();
      throw error;
    }
  }

  /** Cancels the pairing that runs; whether there was one. */
  cancelPairing(): boolean {
    return this.endpoints.filter((endpoint) => endpoint.pairing.cancel()).length > 0;
  }

  /** Fails with `device_unproven` while any of its endpoints is on probation. */
  checkTrusted(): void {
    for (const endpoint of this.endpoints) endpoint.checkTrusted();
  }

  /** The user says that what answers at its address now is the device. */
  async trust(): Promise<void> {
    const { trust } = this.#deps;
    const doubted = this.endpoints.filter(({ record }) => trust.doubt(record));
    for (const { record } of doubted.length > 0 ? doubted : [this.leading]) await trust.trust(record);
    this.markUsed();
  }

  /**
   * The password of its developer mode: its own, once it has accepted one, or else the configured one. Fails with
   * `dev_password_missing`, whose text begins with `attempt` ("Installing on"), or with `device_unproven`.
   */
  developerPassword(attempt: string): string {
    this.checkTrusted();
    const { credentials, config } = this.#deps;
    const own = credentials.developer(this.preferredEndpoint("dev").id).readAnyway()?.["password"];
    const password = own ?? config().dev.vendor_password;
    if (password !== "") return password;
    const problem = `${attempt} ${this.record.name} requires its developer password, but none is set`;
    throw new ZapdError("dev_password_missing", problem, {
      hint: "Set the one that was chosen on the device: zapd config set dev.vendor_password -",
      namesDevice: true,
    });
  }

  async keepDeveloperPassword(password: string): Promise<void> {
    await this.#deps.credentials.developer(this.preferredEndpoint("dev").id).keep({ password });
  }

  // Removal and use

  /** Disconnects from its developer console; a caller that reads on is connected again. */
  closeConsole(): void {
    for (const endpoint of this.endpoints) endpoint.closeConsole();
  }

  /** Aborts with `device_not_found` when the device is removed, and with `becamePartOfOther` when it is merged. */
  get removed(): AbortSignal {
    return this.#removed.signal;
  }

  /** Ends polling, and the hold of a key. */
  stop(reason?: ZapdError): void {
    this.#watch?.stop();
    this.heldKey.stop(reason);
  }

  /** It became a part of another device, which takes its commands from now on. */
  mergedIntoOther(): void {
    this.stop();
    this.#endWaits(becamePartOfOther);
    this.#closeIfRemoved();
  }

  /** The device that it is a part of now; itself where it is a part of none, or was removed. */
  get mergedDevice(): Device {
    const whole = this.#deps.registry.deviceOf(this.id);
    return whole ? this.#deps.deviceOf(whole) : this;
  }

  /** Ends the device, whose records were removed, and deletes its secrets and apps. */
  async remove(records: readonly DeviceRecord[]): Promise<void> {
    this.stop(removedError());
    this.#endWaits(removedError());
    const { credentials, log } = this.#deps;
    this.#endpoints = new EndpointSet(this.#deps, records);
    const { endpoints } = this;
    for (const endpoint of endpoints) endpoint.forget();
    this.#closeIfRemoved();
    await credentials.forget(endpoints.map(({ id }) => id));
    // The device is gone all the same.
    for (const { id } of endpoints)
      await this.catalog
        .forget(id)
        .catch((error: unknown) =>
          log.recurring(`The apps of a removed device could not be removed: ${textOf(error)}`),
        );
  }

  #endWaits(reason: unknown): void {
    this.#removed.abort(reason);
    this.#removed = new AbortController();
  }

  /** A running command keeps the queue, so that nothing overtakes it when the device is added again. */
  #closeIfRemoved(): void {
    if (this.#queue.isIdle && !this.#isKnown) this.#deps.onRemoved(this);
  }

  /** Marks the device as used by a request that it could have fulfilled, even where the request failed. */
  async #countAsUse<T>(work: Promise<T>): Promise<T> {
    try {
      const result = await work;
      this.markUsed();
      return result;
    } catch (error) {
      if (error instanceof ZapdError && error.status === 500) this.markUsed();
      throw error;
    }
  }

  get #isUsed(): boolean {
    return this.#isSavingUse || this.endpoints.some(({ record }) => record.used !== false);
  }

  /** Marks the device as used: it is never evicted for a newly found one. Written once. */
  markUsed(): void {
    const { registry, log } = this.#deps;
    const isSaved = this.endpoints.every(({ record }) => record.used !== false);
    if (isSaved || this.#isSavingUse) return;
    this.#isSavingUse = true;
    registry
      .markUsed(this.id)
      .catch((error: unknown) => log.recurring(`Could not save that a device is used: ${textOf(error)}`))
      .finally(() => {
        this.#isSavingUse = false;
      });
  }
}

function commandOf({ action }: Turn, endedAt: number): LastState["command"] {
  return action === undefined ? undefined : { id: action, endedAt };
}
