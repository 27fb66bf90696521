/**
 * One device, live: its name, the queue of its commands, the reads that are shared, and its pairing. It gives what is asked
 * of it to its reach, the protocol by which it is driven, or to the one of several that comes first for it. Knows no platform
 * by name.
 */
import { hasCode, hasReason, inStandby, textOf, ZapdError } from "../api/errors.ts";
import type { EventOf } from "../api/events.ts";
import type { State, Device as View } from "../api/schemas.ts";
import type { FoundDevice } from "../discovery/probe-queue.ts";
import {
  type Capability,
  capabilities,
  type Description,
  keys,
  type PlatformState,
  type StatePart,
  stateParts,
} from "../platforms/platform.ts";
import type { SleepWatch } from "../system/clock.ts";
import { neverAborted, orAborted, sleep } from "../system/sleep.ts";
import { type Catalog, describeApp } from "./catalog.ts";
import { mergeStates, sortByPlatform } from "./compose.ts";
import { type Endpoint, type EndpointDependencies, offState, type Route, type Task } from "./endpoint.ts";
import type { Entry } from "./entry.ts";
import { fillHint, requireCapability, withDeviceName } from "./failures.ts";
import type { Cause, Feed } from "./feed.ts";
import { HeldKey } from "./hold.ts";
import type { Leases } from "./leases.ts";
import { removedError } from "./names.ts";
import type { PairingRequest, PairingStep } from "./pairing.ts";
import { Queue, type Turn } from "./queue.ts";
import { Watch } from "./watch.ts";

export interface DeviceDependencies extends EndpointDependencies {
  readonly catalog: Catalog;
  /** Told what it does, for those who follow. */
  readonly feed: Feed;
  /** Who has it to themselves; without them nobody has. */
  readonly leases?: Leases;
  /** What waits for its turn while the machine sleeps is not sent. */
  readonly sleep?: SleepWatch;
  /** An entry of the registry, live. */
  endpointOf(entry: Entry): Endpoint;
  /** The device that an entry is, or is a part of. */
  deviceOf(entry: Entry): Device;
  /** Told when nothing is under way any more at a device that is no longer known. */
  onRemoved(device: Device): void;
}

/** Why nobody waits for a device any more that has become a part of another. */
export const becamePartOfOther = Symbol("it is a part of another device now");

/** Milliseconds that the other protocols of a device have to say what they know once one of them has. */
const othersWithinMs = 1_000;

export class Device {
  /** The id of its oldest entry; those of the others mean it, too. */
  readonly id: string;
  readonly #deps: DeviceDependencies;
  readonly #queue: Queue;
  readonly #reads = new Map<string, Promise<unknown>>();
  /** Those of several protocols whose state could not be read the last time. */
  readonly #unread = new WeakSet<Endpoint>();
  /** Grows with each command that ends: a read that began before is not shared with who asks after. */
  #commands = 0;
  /** Where the last pairing was begun, until it has succeeded. */
  #pairing: Endpoint | undefined;
  #endpoints: readonly Endpoint[];
  /** Whether the registry holds it, as a device of its own. */
  #isKnown = true;
  #isDefault = false;
  /** That it is used is being written down. */
  #isBeingUsed = false;
  #watch: Watch | undefined;
  /** The key that somebody holds down. */
  readonly heldKey = new HeldKey();
  /** When anything of its state was last seen. */
  #observedAt: string | undefined;
  /** The command that is under way, or has ended lately: what changes is its doing. */
  #action: { readonly id: string; endedAt: number } | undefined;
  /** Readings of its whole state that are under way. */
  #readings = 0;
  /** Tells what was seen while the first of them was under way; it is told with what that reads. */
  #tellLater: (() => unknown) | undefined;
  /** Whether the command that ran last has shown its effect by its end. */
  #isShown = false;
  readonly #observers = new Set<(state: State) => void>();
  #leaving = new AbortController();

  constructor(deps: DeviceDependencies, parts: readonly [Entry, ...Entry[]]) {
    this.#deps = deps;
    this.id = parts[0].id;
    this.#endpoints = this.#reachesOf(parts);
    this.#queue = new Queue(deps.sleep);
    this.update();
  }

  /** Takes what the registry holds of it now. */
  update(): void {
    const { registry } = this.#deps;
    const parts = registry.partsOf(this.id);
    this.#isKnown = parts[0]?.id === this.id;
    this.#isDefault = registry.defaultEntry?.id === this.id;
    if (parts.length > 0) this.#endpoints = this.#reachesOf(parts);
  }

  /** Asks what it does while somebody is interested. */
  get watch(): Watch {
    const device = this;
    this.#watch ??= new Watch({
      get state() {
        return device.shownState;
      },
      get access() {
        return device.record.access;
      },
      get pushes() {
        return new Set(device.#leaders.flatMap(({ connection }) => [...(connection.state?.pushes ?? [])]));
      },
      poll: (parts) => this.#look(parts),
    });
    return this.#watch;
  }

  /** Lets go of whatever key is held. */
  releaseKey(reason?: ZapdError): void {
    this.heldKey.stop(reason);
  }

  /** Hangs up on its console: who reads on is connected anew. */
  closeConsole(): void {
    for (const endpoint of this.#endpoints) endpoint.closeConsole();
  }

  /** Waits until what has been asked of it so far has ended. */
  async whenIdle(turn: Pick<Turn, "signal" | "waitsForLongCommands">): Promise<void> {
    try {
      await this.#queue.run(turn, async () => {});
    } catch (error) {
      throw withDeviceName(error, this.record, "being leased");
    }
  }

  /**
   * Whether a caller may change it, by the tokens of leases that it carries; what ends with its lease, or `null` where nobody
   * has it. Fails with `device_leased`.
   */
  checkLease(lease: string | undefined): AbortSignal | null {
    const { leases } = this.#deps;
    return !leases || (leases.isEmpty && lease === undefined) ? null : leases.check(this.id, lease);
  }

  get #lease(): View["lease"] {
    const { leases } = this.#deps;
    return !leases || leases.isEmpty ? null : leases.get(this.id);
  }

  /** A turn that ends with the lease of its caller, too. */
  #admitted(turn: Turn): Turn {
    const over = this.checkLease(turn.lease);
    return over === null ? turn : { ...turn, signal: AbortSignal.any([turn.signal, over]) };
  }

  /** Every protocol by which it is reached, the leading one first; of a device that was removed, those that it had. */
  get endpoints(): readonly Endpoint[] {
    return this.#endpoints;
  }

  #reachesOf(parts: readonly Entry[]): readonly Endpoint[] {
    const { registry, endpointOf } = this.#deps;
    return sortByPlatform(parts, registry.composition.leading, (entry) => entry.platform).map(endpointOf);
  }

  /** The leading one. */
  get leading(): Endpoint {
    const [first] = this.endpoints;
    if (!first) throw removedError();
    return first;
  }

  /** Those that drive it as a whole; where there are none, all of them. */
  get #leaders(): readonly Endpoint[] {
    const { endpoints } = this;
    if (endpoints.length < 2) return endpoints;
    const whole = endpoints.filter((endpoint) => !this.#isPartial(endpoint));
    return whole.length > 0 ? whole : endpoints;
  }

  #isPartial({ record: { platform } }: Endpoint): boolean {
    return this.#deps.registry.composition.partial?.includes(platform) === true;
  }

  /** Whether, or for which parts, the word of a reach on the state counts only where no other has one. */
  #standingOf(endpoint: Endpoint): { readonly isPartial: boolean; readonly behind: readonly StatePart[] } {
    const { behind = {} } = this.#deps.registry.composition;
    return { isPartial: this.#isPartial(endpoint), behind: behind[endpoint.record.platform] ?? [] };
  }

  /** Those whose keys are the keys of the whole device, where there are such: a part has keys that mean another thing. */
  get #keyed(): readonly Endpoint[] {
    const leaders = this.#leaders;
    return leaders.some(({ description }) => description.has.has("keys")) ? leaders : this.endpoints;
  }

  /** The reach that takes a press: the usual one, if it can, or else the first that can. */
  endpointForPress(task: Pick<Task<unknown>, "needs" | "accepts" | "isConfidential">, usual: Endpoint): Endpoint {
    const able = this.#able(task);
    return able.includes(usual) ? usual : (able[0] ?? usual);
  }

  /** The reach that comes first for a capability. */
  preferredEndpoint(needs: Capability): Endpoint {
    return this.#able({ needs })[0] ?? this.leading;
  }

  /** Those that can do something, the preferred first; where none can, one that can say why. */
  #able({
    needs,
    accepts,
    isConfidential,
    at,
  }: Pick<Task<unknown>, "needs" | "accepts" | "isConfidential" | "at">): readonly Endpoint[] {
    const { endpoints } = this;
    if (at) return [at.endpoint];
    if (endpoints.length < 2 || needs === undefined) return endpoints.slice(0, 1);
    const { trust, registry } = this.#deps;
    const preferred = registry.composition.preferred[needs] ?? [];
    const those = needs === "keys" ? this.#keyed : endpoints;
    const order = sortByPlatform(those, preferred, (endpoint) => endpoint.record.platform);
    const able = order.filter((endpoint) => endpoint.has(needs) && (accepts?.(endpoint) ?? true));
    const own = isConfidential ? able.filter((endpoint) => trust.hasSecrets(endpoint.record)) : [];
    const chosen = own.length > 0 ? own : able;
    return chosen.length > 0 ? chosen : [order.find((endpoint) => endpoint.withholds(needs)) ?? this.leading];
  }

  /**
   * Does something that is one protocol's as a whole, as an app is of its platform: by the first that has the capability, or
   * by the next where nothing of it has reached that one.
   */
  async onOneEndpoint<T>(needs: Capability, work: (at: Route) => Promise<T>): Promise<T> {
    const able = this.#able({ needs });
    for (const endpoint of able.length > 1 ? able : []) {
      try {
        return await work({ endpoint, withoutRecovery: true });
      } catch (error) {
        if (!hasCode(error, "device_unreachable")) throw error;
        // The whole machine sleeps, whichever part of it still answers: it is woken.
        if (hasReason(error, "asleep")) return work({ endpoint });
      }
    }
    return work({ endpoint: able[0] ?? this.leading });
  }

  /** What the registry holds of it over its leading protocol; of a device that was removed, what it held. */
  get record(): Entry {
    return this.leading.record;
  }

  get catalog(): Catalog {
    return this.#deps.catalog;
  }

  /** Milliseconds that one answer of a device may take. */
  get timeoutMs(): number {
    return this.leading.timeoutMs;
  }

  /** What works on it now, over any of its protocols. */
  get capabilities(): readonly Capability[] {
    const { endpoints } = this;
    if (endpoints.length < 2) return this.leading.capabilities;
    return capabilities.filter((one) => endpoints.some((endpoint) => endpoint.has(one)));
  }

  /** What it can do over any of its protocols, told without a connection. */
  get description(): Description {
    const { endpoints } = this;
    if (endpoints.length < 2) return this.leading.description;
    const all = endpoints.map((endpoint) => endpoint.description);
    const has = new Set(all.flatMap((one) => [...one.has]));
    const works = this.capabilities;
    const withheld = new Set([...has].filter((one) => !works.includes(one)));
    return { has, withheld, keys: new Set(this.#keyed.flatMap(({ description }) => [...description.keys])) };
  }

  /** Fails with `unsupported_operation`, under its name, where it lacks a capability. */
  requireCapability(capability: Capability, activity: string): void {
    try {
      this.preferredEndpoint(capability).requireCapability(capability);
    } catch (error) {
      throw withDeviceName(error, this.record, activity);
    }
  }

  /** The words that its user gave it. */
  get labels(): string[] {
    return [...new Set(this.endpoints.flatMap(({ record }) => record.labels ?? []))].toSorted();
  }

  /** As the API shows it. */
  describe(): View {
    const { record, endpoints } = this;
    const records = endpoints.map((endpoint) => endpoint.currentRecord);
    const availabilities = endpoints.map((endpoint) => endpoint.availability);
    const { name, platform, host, port, ports } = record;
    const { labels } = this;
    const known = <K extends keyof Entry>(key: K): Entry[K] | null =>
      records.find((one) => one[key] !== null)?.[key] ?? null;
    const status = (["online", "offline"] as const).find((word) => availabilities.some((one) => one.status === word));
    return {
      id: this.id,
      name,
      platform,
      platforms: records.map((one) => one.platform),
      kind: records.find(({ kind }) => kind !== "unknown")?.kind ?? "unknown",
      manufacturer: known("manufacturer"),
      model: known("model"),
      serial: known("serial"),
      mac: records.find(({ macs }) => macs.length > 0)?.macs[0] ?? null,
      software_version: known("software_version"),
      power: endpoints.find(({ power }) => power !== "unknown")?.power ?? "unknown",
      host,
      port,
      ports,
      status: status ?? "unknown",
      access: known("access"),
      capabilities: [...this.capabilities],
      ...(labels.length > 0 && { labels }),
      withheld: this.#withheld(),
      keys:
        endpoints.length < 2
          ? [...this.leading.keys]
          : keys.filter((key) => this.#keyed.some((one) => one.keys.includes(key))),
      used: this.#isUsed,
      is_default: this.#isDefault,
      lease: this.#lease,
      added_at: (records.find(({ id }) => id === this.id) ?? record).added_at,
      last_seen: availabilities.reduce<string | null>(
        (last, one) => (last === null || (one.last_seen ?? "") > last ? one.last_seen : last),
        null,
      ),
    };
  }

  /** What its settings, or its pairing, keep back, each with what its user does about it. */
  #withheld(): View["withheld"] {
    const { has, withheld } = this.description;
    if (withheld.size === 0) return [];
    return capabilities.flatMap((capability) => {
      if (!has.has(capability) || !withheld.has(capability)) return [];
      const { description, record } = this.endpoints.find((endpoint) => endpoint.withholds(capability)) ?? this.leading;
      return [{ capability, hint: fillHint(description.hint, record) ?? null }];
    });
  }

  /** The payload of an action: the device as it is known after it, the action's name, and what the action adds. */
  actionResult<Name extends string, Payload extends object>(
    action: Name,
    payload: Payload,
  ): { device: View; action: Name } & Payload {
    return { device: this.describe(), action, ...payload };
  }

  /**
   * The live state; callers that ask at the same time share one reading, never one from before their last command. A
   * device that is silent, and whose last word was that it is off, is off.
   */
  async state(signal: AbortSignal): Promise<State> {
    return this.#shared("state", () => this.#readWhole(), signal);
  }

  async #readWhole(): Promise<State> {
    this.#readings++;
    try {
      return await this.#readState();
    } finally {
      if (--this.#readings === 0) this.#tellLater?.();
    }
  }

  /** What its protocols say, put together; those that fail are left out, unless all do. */
  async #readState(parts: readonly StatePart[] | null = null): Promise<State> {
    // One that lets nobody in now may do so again: whoever asks finds it out.
    const all = this.endpoints.filter((endpoint) => endpoint.description.has.has("state"));
    if (all.length < 2) return this.#stateOf({ endpoint: all[0] ?? this.leading }, parts);
    const order = sortByPlatform(
      all,
      this.#deps.registry.composition.preferred.state ?? [],
      (endpoint) => endpoint.record.platform,
    );
    const read = new Map<Endpoint, State>();
    const [leading] = order;
    const isLate = leading !== undefined && this.#unread.has(leading);
    const reading = order.map((endpoint) =>
      this.#stateOf({ endpoint, withoutRecovery: true }, parts).then(
        (state) => {
          this.#unread.delete(endpoint);
          read.set(endpoint, state);
        },
        (error: unknown) => {
          this.#unread.add(endpoint);
          throw error;
        },
      ),
    );
    const over = new AbortController();
    // The one that leads knows the most: it has as long as if it were alone, unless it could not be read the last time.
    const one = Promise.any(reading).then(
      () => Promise.allSettled([isLate ? undefined : reading[0], sleep(othersWithinMs, over.signal)]),
      () => {},
    );
    await Promise.race([Promise.allSettled(reading), one]);
    over.abort();
    const seen = order.flatMap((endpoint) => {
      const state = read.get(endpoint);
      return state ? [{ state, pushed: endpoint.observed.pushed, ...this.#standingOf(endpoint) }] : [];
    });
    const [first, ...others] = seen;
    // None has answered: the first is looked for, and says why.
    return first ? mergeStates(first, ...others) : this.#stateOf({ endpoint: order[0] ?? this.leading });
  }

  async #stateOf(at: Route, parts: readonly StatePart[] | null = null): Promise<State> {
    const task: Task<State> = {
      activity: "reading its state",
      needs: "state",
      timeoutMs: this.timeoutMs + 1_000,
      at,
      work: async (connection, within, endpoint) => {
        const control = requireCapability(connection.state, "state");
        const asked = performance.now();
        const read = await (parts && control.readParts ? control.readParts(parts, within) : control.read(within));
        if (endpoint.saidOffSince(asked)) return this.#shown(offState, endpoint);
        const state = endpoint.withoutOlder(read, asked);
        this.observe(state, "poll", endpoint);
        return this.#shown({ ...unknownState, ...endpoint.observed.state, ...state }, endpoint);
      },
    };
    try {
      return await this.#readAnywhere(task);
    } catch (error) {
      if (hasCode(error, "device_unreachable", "device_timeout") && at.endpoint.isOff)
        return this.#shown(offState, at.endpoint);
      throw error;
    }
  }

  /** A read, shared by all who ask for it at the same time. */
  read<T>(what: string, signal: AbortSignal, task: Task<T>): Promise<T> {
    return this.#shared(`${what} ${task.at?.endpoint.id}`, () => this.#readAnywhere(task), signal);
  }

  async #shared<T>(what: string, work: () => Promise<T>, signal: AbortSignal, isUse = true): Promise<T> {
    const key = `${what} ${this.#commands}`;
    let reading = this.#reads.get(key) as Promise<T> | undefined;
    if (!reading) {
      reading = work().finally(() => this.#reads.delete(key));
      this.#reads.set(key, reading);
    }
    const answer = orAborted(reading, signal);
    return isUse ? this.#using(answer) : answer;
  }

  /** A read: by the next protocol where one does not answer; of a device that has moved, where it is now. */
  async #readAnywhere<T>(task: Task<T>): Promise<T> {
    let missed: { endpoint: Endpoint; before: Entry; error: unknown } | undefined;
    for (const endpoint of this.#able(task)) {
      const before = endpoint.record;
      try {
        if (endpoint.isOff && endpoint.connection.power?.wakesByConnecting)
          throw withDeviceName(inStandby(), endpoint.record, task.activity);
        return await endpoint.attempt(task, neverAborted);
      } catch (error) {
        if (!hasCode(error, "device_unreachable")) throw error;
        missed ??= { endpoint, before, error };
      }
    }
    const { endpoint = this.leading, before = this.record, error } = missed ?? {};
    if (
      task.at?.withoutRecovery ||
      endpoint.isOff ||
      !(await endpoint.searchElsewhere(before, "read", this.timeoutMs, neverAborted))
    )
      throw error;
    return endpoint.attempt(task, neverAborted);
  }

  /** A command: waits for its turn, then runs with its deadline. A device that is asleep is woken first, if it can be. */
  async command<T>(turn: Turn, task: Task<T>): Promise<T> {
    let begun = false;
    try {
      const own = this.#admitted(turn);
      return await this.#queue.run(own, () => {
        // The lease may have ended while it waited.
        this.checkLease(turn.lease);
        begun = true;
        this.#isShown = false;
        this.#action = actionOf(turn, Number.POSITIVE_INFINITY);
        return this.#using(this.#run(task, own.signal));
      });
    } catch (error) {
      throw begun ? error : withDeviceName(error, this.record, task.activity);
    } finally {
      this.#commands++;
      if (begun && this.#action?.id === turn.action) this.#action = actionOf(turn, performance.now());
      // A command that has read its effect back has told it.
      if (begun && !this.#isShown) this.#watch?.afterCommand(task.changes ?? stateParts);
      this.#leaveIfGone();
    }
  }

  /**
   * Runs a command, by the next protocol where nothing of it has reached one; at a device that is asleep, once that is awake;
   * at one that has moved, where it is now.
   */
  async #run<T>(task: Task<T>, signal: AbortSignal): Promise<T> {
    const start = performance.now();
    let missed: { endpoint: Endpoint; before: Entry; error: ZapdError } | undefined;
    for (const endpoint of this.#able(task)) {
      const before = endpoint.record;
      try {
        return await this.#take(endpoint, task, signal);
      } catch (error) {
        if (!hasCode(error, "device_unreachable", "device_timeout") || signal.aborted || task.hasStarted?.())
          throw error;
        if (!hasCode(error, "device_unreachable") || !missed) missed = { endpoint, before, error };
        // The whole machine sleeps, whichever part of it still answers: it is woken.
        if (!hasCode(error, "device_unreachable") || hasReason(error, "asleep")) break;
      }
    }
    if (!missed) throw removedError();
    const { endpoint, before, error } = missed;
    const { whenOff } = task;
    const wakes = whenOff?.wake !== false;
    if (!wakes && endpoint.isOff) return whenOff.result;
    if (task.at?.withoutRecovery) throw error;
    const isWaker = !wakes || endpoint.has("power_on");
    const waker = isWaker ? endpoint : (this.endpoints.find((one) => one.has("power_on")) ?? endpoint);
    const was = waker === endpoint ? before : waker.record;
    const { timeoutMs } = task;
    const met = await waker.recover(was, error, { timeoutMs, waited: performance.now() - start, wakes }, signal);
    if (!whenOff || met !== "awake") return this.#take(endpoint, task, signal);
    this.#taken(endpoint, task);
    return whenOff.result;
  }

  async #take<T>(endpoint: Endpoint, task: Task<T>, signal: AbortSignal): Promise<T> {
    const asked = performance.now();
    const result = await endpoint.attempt(task, signal);
    // It took a command that only one which is on takes: its word that it is off, given before, is an old one.
    const isOld = endpoint.isOff && !endpoint.saidPowerSince(asked);
    if (isOld && task.whenOff?.wake !== false) this.observe({ power: "unknown" }, "command", endpoint);
    this.#taken(endpoint, task);
    return result;
  }

  #taken(endpoint: Endpoint, { resultingState }: Task<unknown>): void {
    if (resultingState) this.observe(resultingState, "command", endpoint);
  }

  /** What a command has brought about, as it was read back from the device. */
  confirmEffect(patch: Partial<PlatformState>, isAsWanted: boolean, endpoint: Endpoint): void {
    this.#isShown = isAsWanted;
    this.observe(patch, "command", endpoint);
  }

  /**
   * Which of its protocols is to be paired: the one that is named, or is being paired, or else the first that wants it, the
   * oldest first, for a new one may be a stranger's. Fails with `invalid_payload` where it is not reached over the named one.
   */
  endpointToPair(platform?: string): Endpoint {
    const { registry, trust, endpointOf } = this.#deps;
    const { endpoints } = this;
    if (platform !== undefined) return this.#over(platform);
    if (endpoints.length < 2) return this.leading;
    if (this.#pairing && endpoints.includes(this.#pairing)) return this.#pairing;
    const oldest = registry.partsOf(this.id).map(endpointOf);
    const wants = ({ record }: Endpoint) => record.access === "unpaired" || trust.doubt(record) !== null;
    return oldest.find(wants) ?? oldest.find(({ record }) => trust.canPair(record)) ?? this.leading;
  }

  /** The reach over a platform; fails with `invalid_payload` where there is none. */
  #over(platform: string): Endpoint {
    const endpoint = this.endpoints.find(({ record }) => record.platform === platform);
    if (endpoint) return endpoint;
    const over = this.endpoints.map(({ record }) => record.platform).join(" and ");
    const problem = `Nothing of ${this.record.name} is reached over ${JSON.stringify(platform)}`;
    throw new ZapdError("invalid_payload", problem, { hint: `It is reached over ${over}`, namesDevice: true });
  }

  /** Pairs with it, or takes part in the pairing that is under way; gives what is to be done next, or `null` at its end. */
  async pair(
    request: PairingRequest,
    signal: AbortSignal,
    at?: FoundDevice,
    endpoint = this.endpointToPair(),
  ): Promise<PairingStep | null> {
    // The code or password is a secret: a device with any protocol on probation gets none.
    if (!at && (request.pin ?? request.password) !== undefined) this.checkTrusted("pairing");
    this.#pairing = endpoint;
    try {
      const next = await this.#using(endpoint.pairing.pair(request, signal, at));
      if (next === null && this.#pairing === endpoint) this.#pairing = undefined;
      return next;
    } finally {
      this.#commands++;
      this.#leaveIfGone();
    }
  }

  /** Gives up the pairing that is under way; whether there was one. */
  cancelPairing(): boolean {
    return this.endpoints.filter((endpoint) => endpoint.pairing.cancel()).length > 0;
  }

  /** Fails with `device_unproven` while it is on probation, over whichever of its protocols, under its name. */
  checkTrusted(activity: string): void {
    for (const endpoint of this.endpoints) endpoint.checkTrusted(activity);
  }

  /**
   * The password of its developer mode: one of its own that it has accepted, or else that of all. Fails, under its name, with
   * `dev_password_missing`, which begins with what is attempted ("Installing on"), or with `device_unproven` while it is on
   * probation, so that none can reach it.
   */
  developerPassword(activity: string, attempt: string): string {
    this.checkTrusted(activity);
    const { credentials, config } = this.#deps;
    const own = credentials.developer(this.preferredEndpoint("dev").id).readAnyway()?.["password"];
    const password = own ?? config().dev.vendor_password;
    if (password !== "") return password;
    const problem = `${attempt} ${this.record.name} needs its developer password, and none is set`;
    throw new ZapdError("dev_password_missing", problem, {
      hint: "Set the one that was chosen on the set: zapd config set dev.vendor_password -",
      namesDevice: true,
    });
  }

  /** Keeps a password that it has accepted, for itself alone. */
  async keepDeveloperPassword(password: string): Promise<void> {
    await this.#deps.credentials.developer(this.preferredEndpoint("dev").id).keep({ password });
  }

  /** Keeps a secret that a caller gives for it out of logs and answers. */
  hideSecret(password: string): void {
    this.#deps.credentials.conceal({ password });
  }

  /** What was last seen of its state, part by part; one that was never seen is missing. */
  get observedParts(): Partial<PlatformState> {
    const [first = this.leading.observed, ...others] = this.#credible.map((endpoint) => ({
      ...endpoint.observed,
      ...this.#standingOf(endpoint),
    }));
    return mergeStates(first, ...others);
  }

  /** Its protocols whose last word still counts: not the word of one that fell silent without saying that it goes off. */
  get #credible(): readonly Endpoint[] {
    const { endpoints } = this;
    if (endpoints.length < 2) return endpoints;
    const credible = endpoints.filter(({ availability, isOff }) => availability.status !== "offline" || isOff);
    return credible.length > 0 ? credible : endpoints;
  }

  /** The one writer of its last state, as one of its protocols shows it. */
  observe(patch: Partial<PlatformState>, cause: Cause, endpoint: Endpoint): void {
    if (!endpoint.isKnown) return;
    endpoint.noteState(patch, cause);
    this.#observedAt = new Date().toISOString();
    const state = this.shownState;
    if (state === null) return;
    // Told now, what has never been seen would read as if there were nothing: no app, nothing that plays.
    const { observedParts } = this;
    const isEarly = this.#readings > 0 && stateParts.some((part) => observedParts[part] === undefined);
    this.#tellLater = isEarly ? () => endpoint.isKnown && this.#tell(cause) : undefined;
    if (!isEarly) this.#tell(cause);
    for (const observer of this.#observers) observer(state);
  }

  #tell(cause: Cause): void {
    this.#tellLater = undefined;
    const state = this.shownState;
    if (state === null) return;
    const { id, endedAt } = this.#action ?? { id: undefined, endedAt: 0 };
    const action = performance.now() - endedAt < effectsWithin ? id : undefined;
    const isNew = this.#deps.feed.publishState(this.id, state, cause, action);
    this.#watch?.stateObserved(isNew);
  }

  /** It may answer again, where it did not: whoever is interested is told soon. */
  reappeared(): void {
    this.#watch?.deviceReappeared();
  }

  /** It does something else than before, and did not say what. */
  hinted(): void {
    this.#watch?.hintReceived();
  }

  /** It lists other apps than before. */
  publishApps(added: readonly string[], removed: readonly string[]): void {
    if (added.length + removed.length > 0) this.#deps.feed.publishApps(this.id, [...added], [...removed]);
  }

  /** How far a package is on its way to it. */
  publishInstall(phase: EventOf<"install.progress">["phase"], bytes: number, total: number | null): void {
    this.#deps.feed.publishInstall(this.id, phase, bytes, total);
  }

  /** Its state as it was last seen, without asking it; `null` where it never was. */
  get shownState(): State | null {
    const { observedParts } = this;
    return Object.keys(observedParts).length > 0 ? this.#known(observedParts) : null;
  }

  /** The same; of one that was never seen, that nothing is known. */
  get lastStateOrUnknown(): State {
    return this.#known(this.observedParts);
  }

  #known(seen: Partial<PlatformState>): State {
    const { power } = this.endpoints.find((endpoint) => endpoint.power !== "unknown") ?? this.leading;
    // An app is known by the catalog of the protocol that tells it, and a position by when that has told it.
    const tellerOf = (part: "app" | "playback") =>
      this.endpoints.find((endpoint) => seen[part] != null && endpoint.observed.state[part] === seen[part]) ??
      this.leading;
    const state = { ...unknownState, power, ...seen };
    return this.#shown(state, tellerOf("app"), this.#observedAt, tellerOf("playback").positionAt);
  }

  #shown(
    { power, app, screensaver, playback, volume, input }: PlatformState,
    { id, positionAt: seenAt }: Endpoint,
    observedAt = new Date().toISOString(),
    positionAt = seenAt,
  ): State {
    const at = playback?.position_ms == null ? null : (positionAt ?? observedAt);
    return {
      power,
      app: app && describeApp(app, this.catalog.apps(id)),
      screensaver,
      playback: playback && {
        ...playback,
        artist: playback.artist ?? null,
        artwork: playback.artwork ?? false,
        position_at: at,
        rate: playback.rate ?? (playback.status === "playing" ? 1 : 0),
      },
      volume,
      input,
      observed_at: observedAt,
    };
  }

  /** Tells every state that is seen from now on; until the answer is called. */
  onState(observer: (state: State) => void): () => void {
    this.#observers.add(observer);
    return () => this.#observers.delete(observer);
  }

  /** Ends with `device_not_found` when it is removed, and with `isPartNow`: nobody waits for it any more. */
  get removed(): AbortSignal {
    return this.#leaving.signal;
  }

  /** One look at what it does, for those who follow; whoever looks uses nothing. */
  async #look(parts: readonly StatePart[] | null): Promise<void> {
    const what = parts ? `state ${parts.join(" ")}` : "state";
    await this.#shared(what, () => (parts ? this.#readState(parts) : this.#readWhole()), neverAborted, false);
  }

  /** Nobody is told what it does any more, and no key of it is held. */
  stop(): void {
    this.#watch?.stop();
    this.heldKey.stop();
  }

  /** It has become a part of another device, which is asked from now on. */
  mergedIntoOther(): void {
    this.stop();
    this.#leave(becamePartOfOther);
    this.#leaveIfGone();
  }

  /** The user says that what answers where it is now is it. */
  async trust(): Promise<void> {
    const { trust } = this.#deps;
    const doubted = this.endpoints.filter((endpoint) => trust.doubt(endpoint.record));
    for (const { record } of doubted.length > 0 ? doubted : [this.leading]) await trust.trust(record);
    this.markUsed();
  }

  /** The device of which it has become a part. */
  get mergedDevice(): Device {
    return this.#deps.deviceOf(this.record);
  }

  #leave(reason: unknown): void {
    this.#leaving.abort(reason);
    this.#leaving = new AbortController();
  }

  /** It is no longer known, with the entries that it had: what is open is closed, and its user need not answer any more. What is under way ends by itself. */
  async remove(parts: readonly Entry[]): Promise<void> {
    this.stop();
    this.#leave(removedError());
    const { credentials } = this.#deps;
    const endpoints = this.#reachesOf(parts);
    this.#endpoints = endpoints;
    for (const endpoint of endpoints) endpoint.forget();
    this.#leaveIfGone();
    for (const { id } of endpoints) {
      await credentials.keeper(id).drop();
      await credentials.developer(id).drop();
      await this.catalog.forget(id);
    }
  }

  /**
   * What is under way keeps its queue, so that nothing overtakes it when the device is added anew. One that has become a part
   * of another device goes, too.
   */
  #leaveIfGone(): void {
    if (this.#queue.isIdle && !this.#isKnown) this.#deps.onRemoved(this);
  }

  /** Marks it as used by a request that it could have fulfilled, even where it failed. */
  async #using<T>(work: Promise<T>): Promise<T> {
    try {
      const result = await work;
      this.markUsed();
      return result;
    } catch (error) {
      if (error instanceof ZapdError && error.status === 500) this.markUsed();
      throw error;
    }
  }

  /** Whether anybody ever drove it, be it just now. */
  get #isUsed(): boolean {
    return this.#isBeingUsed || this.#endpoints.some(({ record }) => record.used !== false);
  }

  /** Somebody drives it: it is no longer one of those that merely were found. Written once. */
  markUsed(): void {
    const { registry, log } = this.#deps;
    const isWritten = this.#endpoints.every(({ id, record }) => id !== this.id || record.used !== false);
    if (isWritten || this.#isBeingUsed || !this.#isKnown) return;
    this.#isBeingUsed = true;
    registry
      .markUsed(this.id)
      .catch((error: unknown) => log.recurring(`That a device is used could not be kept: ${textOf(error)}`))
      .finally(() => {
        this.#isBeingUsed = false;
      });
  }
}

/** Milliseconds after a command within which a change is taken for its effect. */
const effectsWithin = 2_200;

/** The state of a device of which nothing is known. */
const unknownState: PlatformState = { ...offState, power: "unknown" };

function actionOf({ action }: Turn, endedAt: number): { readonly id: string; endedAt: number } | undefined {
  return action === undefined ? undefined : { id: action, endedAt };
}
