/**
 * One device, live: its name, the queue of its commands, the reads that are shared, and its pairing. It gives what is asked
 * of it to its reach, the protocol by which it is driven, or to the one of several that comes first for it. Knows no platform
 * by name.
 */
import { hasCode, hasReason, inStandby, textOf, ZapdError } from "../api/errors.ts";
import type { EventOf } from "../api/events.ts";
import type { State, Device as View } from "../api/schemas.ts";
import type { Finding } from "../discovery/probe-queue.ts";
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
import { inOrder, mergedState } from "./compose.ts";
import type { Entry } from "./entry.ts";
import { filled, named, requireCapability } from "./failures.ts";
import type { Cause, Feed } from "./feed.ts";
import { HeldKey } from "./hold.ts";
import type { Leases } from "./leases.ts";
import { noLongerKnown } from "./names.ts";
import type { PairingRequest, PairingStep } from "./pairing.ts";
import { Queue, type Turn } from "./queue.ts";
import { type At, offState, type Reach, type ReachDependencies, type Task } from "./reach.ts";
import { Watch } from "./watch.ts";

export interface DeviceDependencies extends ReachDependencies {
  readonly catalog: Catalog;
  /** Told what it does, for those who follow. */
  readonly feed: Feed;
  /** Who has it to themselves; without them nobody has. */
  readonly leases?: Leases;
  /** What waits for its turn while the machine sleeps is not sent. */
  readonly sleep?: SleepWatch;
  /** An entry of the registry, live. */
  reachOf(entry: Entry): Reach;
  /** The device that an entry is, or is a part of. */
  deviceOf(entry: Entry): Device;
  /** Told when nothing is under way any more at a device that is no longer known. */
  gone(device: Device): void;
}

/** Why nobody waits for a device any more that has become a part of another. */
export const isPartNow = Symbol("it is a part of another device now");

/** Milliseconds that the other protocols of a device have to say what they know once one of them has. */
const othersWithinMs = 1_000;

export class Device {
  /** The id of its oldest entry; those of the others mean it, too. */
  readonly id: string;
  readonly #deps: DeviceDependencies;
  readonly #queue: Queue;
  readonly #reads = new Map<string, Promise<unknown>>();
  /** Those of several protocols whose state could not be read the last time. */
  readonly #unread = new WeakSet<Reach>();
  /** Grows with each command that ends: a read that began before is not shared with who asks after. */
  #commands = 0;
  /** Where the last pairing was begun, until it has succeeded. */
  #pairing: Reach | undefined;
  #reaches: readonly Reach[];
  /** Whether the registry holds it, as a device of its own. */
  #isKnown = true;
  #isDefault = false;
  /** That it is used is being written down. */
  #isBeingUsed = false;
  #watch: Watch | undefined;
  /** The key that somebody holds down. */
  readonly held = new HeldKey();
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
    this.#reaches = this.#reachesOf(parts);
    this.#queue = new Queue(deps.sleep);
    this.update();
  }

  /** Takes what the registry holds of it now. */
  update(): void {
    const { registry } = this.#deps;
    const parts = registry.partsOf(this.id);
    this.#isKnown = parts[0]?.id === this.id;
    this.#isDefault = registry.defaultEntry?.id === this.id;
    if (parts.length > 0) this.#reaches = this.#reachesOf(parts);
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
      look: (parts) => this.#look(parts),
    });
    return this.#watch;
  }

  /** Lets go of whatever key is held. */
  letGo(reason?: ZapdError): void {
    this.held.stop(reason);
  }

  /** Hangs up on its console: who reads on is connected anew. */
  detach(): void {
    for (const reach of this.#reaches) reach.detach();
  }

  /** Waits until what has been asked of it so far has ended. */
  async settled(turn: Pick<Turn, "signal" | "patient">): Promise<void> {
    try {
      await this.#queue.run(turn, async () => {});
    } catch (error) {
      throw named(error, this.record, "being leased");
    }
  }

  /**
   * Whether a caller may change it, by the tokens of leases that it carries; what ends with its lease, or `null` where nobody
   * has it. Fails with `device_leased`.
   */
  admit(lease: string | undefined): AbortSignal | null {
    const { leases } = this.#deps;
    return !leases || (leases.none && lease === undefined) ? null : leases.admit(this.id, lease);
  }

  get #lease(): View["lease"] {
    const { leases } = this.#deps;
    return !leases || leases.none ? null : leases.shown(this.id);
  }

  /** A turn that ends with the lease of its caller, too. */
  #admitted(turn: Turn): Turn {
    const over = this.admit(turn.lease);
    return over === null ? turn : { ...turn, signal: AbortSignal.any([turn.signal, over]) };
  }

  /** Every protocol by which it is reached, the leading one first; of a device that was removed, those that it had. */
  get reaches(): readonly Reach[] {
    return this.#reaches;
  }

  #reachesOf(parts: readonly Entry[]): readonly Reach[] {
    const { registry, reachOf } = this.#deps;
    return inOrder(parts, registry.composition.leading, (entry) => entry.platform).map(reachOf);
  }

  /** The leading one. */
  get reach(): Reach {
    const [first] = this.reaches;
    if (!first) throw noLongerKnown();
    return first;
  }

  /** Those that drive it as a whole; where there are none, all of them. */
  get #leaders(): readonly Reach[] {
    const { reaches } = this;
    if (reaches.length < 2) return reaches;
    const whole = reaches.filter((reach) => !this.#isPartial(reach));
    return whole.length > 0 ? whole : reaches;
  }

  #isPartial({ record: { platform } }: Reach): boolean {
    return this.#deps.registry.composition.partial?.includes(platform) === true;
  }

  /** Whether, or for which parts, the word of a reach on the state counts only where no other has one. */
  #standingOf(reach: Reach): { readonly isPartial: boolean; readonly behind: readonly StatePart[] } {
    const { behind = {} } = this.#deps.registry.composition;
    return { isPartial: this.#isPartial(reach), behind: behind[reach.record.platform] ?? [] };
  }

  /** Those whose keys are the keys of the whole device, where there are such: a part has keys that mean another thing. */
  get #keyed(): readonly Reach[] {
    const leaders = this.#leaders;
    return leaders.some(({ description }) => description.has.has("keys")) ? leaders : this.reaches;
  }

  /** The reach that takes a press: the usual one, if it can, or else the first that can. */
  taker(task: Pick<Task<unknown>, "needs" | "fits" | "confidential">, usual: Reach): Reach {
    const able = this.#able(task);
    return able.includes(usual) ? usual : (able[0] ?? usual);
  }

  /** The reach that comes first for a capability. */
  first(needs: Capability): Reach {
    return this.#able({ needs })[0] ?? this.reach;
  }

  /** Those that can do something, the preferred first; where none can, one that can say why. */
  #able({
    needs,
    fits,
    confidential,
    at,
  }: Pick<Task<unknown>, "needs" | "fits" | "confidential" | "at">): readonly Reach[] {
    const { reaches } = this;
    if (at) return [at.reach];
    if (reaches.length < 2 || needs === undefined) return reaches.slice(0, 1);
    const { trust, registry } = this.#deps;
    const preferred = registry.composition.preferred[needs] ?? [];
    const those = needs === "keys" ? this.#keyed : reaches;
    const order = inOrder(those, preferred, (reach) => reach.record.platform);
    const able = order.filter((reach) => reach.has(needs) && (fits?.(reach) ?? true));
    const own = confidential ? able.filter((reach) => trust.hasSecrets(reach.record)) : [];
    const chosen = own.length > 0 ? own : able;
    return chosen.length > 0 ? chosen : [order.find((reach) => reach.withholds(needs)) ?? this.reach];
  }

  /**
   * Does something that is one protocol's as a whole, as an app is of its platform: by the first that has the capability, or
   * by the next where nothing of it has reached that one.
   */
  async byOne<T>(needs: Capability, work: (at: At) => Promise<T>): Promise<T> {
    const able = this.#able({ needs });
    for (const reach of able.length > 1 ? able : []) {
      try {
        return await work({ reach, asIs: true });
      } catch (error) {
        if (!hasCode(error, "device_unreachable")) throw error;
        // The whole machine sleeps, whichever part of it still answers: it is woken.
        if (hasReason(error, "asleep")) return work({ reach });
      }
    }
    return work({ reach: able[0] ?? this.reach });
  }

  /** What the registry holds of it over its leading protocol; of a device that was removed, what it held. */
  get record(): Entry {
    return this.reach.record;
  }

  get catalog(): Catalog {
    return this.#deps.catalog;
  }

  /** Milliseconds that one answer of a device may take. */
  get timeoutMs(): number {
    return this.reach.timeoutMs;
  }

  /** What works on it now, over any of its protocols. */
  get capabilities(): readonly Capability[] {
    const { reaches } = this;
    if (reaches.length < 2) return this.reach.capabilities;
    return capabilities.filter((one) => reaches.some((reach) => reach.has(one)));
  }

  /** What it can do over any of its protocols, told without a connection. */
  get description(): Description {
    const { reaches } = this;
    if (reaches.length < 2) return this.reach.description;
    const all = reaches.map((reach) => reach.description);
    const has = new Set(all.flatMap((one) => [...one.has]));
    const works = this.capabilities;
    const withheld = new Set([...has].filter((one) => !works.includes(one)));
    return { has, withheld, keys: new Set(this.#keyed.flatMap(({ description }) => [...description.keys])) };
  }

  /** Fails with `unsupported_operation`, under its name, where it lacks a capability. */
  require(capability: Capability, doing: string): void {
    try {
      this.first(capability).require(capability);
    } catch (error) {
      throw named(error, this.record, doing);
    }
  }

  /** The words that its user gave it. */
  get labels(): string[] {
    return [...new Set(this.reaches.flatMap(({ record }) => record.labels ?? []))].toSorted();
  }

  /** As the API shows it. */
  describe(): View {
    const { record, reaches } = this;
    const records = reaches.map((reach) => reach.known);
    const contacts = reaches.map((reach) => reach.contact);
    const { name, platform, host, port, ports } = record;
    const { labels } = this;
    const known = <K extends keyof Entry>(key: K): Entry[K] | null =>
      records.find((one) => one[key] !== null)?.[key] ?? null;
    const status = (["online", "offline"] as const).find((word) => contacts.some((one) => one.status === word));
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
      power: reaches.find(({ power }) => power !== "unknown")?.power ?? "unknown",
      host,
      port,
      ports,
      status: status ?? "unknown",
      access: known("access"),
      capabilities: [...this.capabilities],
      ...(labels.length > 0 && { labels }),
      withheld: this.#withheld(),
      keys:
        reaches.length < 2
          ? [...this.reach.keys]
          : keys.filter((key) => this.#keyed.some((one) => one.keys.includes(key))),
      used: this.#isUsed,
      is_default: this.#isDefault,
      lease: this.#lease,
      added_at: (records.find(({ id }) => id === this.id) ?? record).added_at,
      last_seen: contacts.reduce<string | null>(
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
      const { description, record } = this.reaches.find((reach) => reach.withholds(capability)) ?? this.reach;
      return [{ capability, hint: filled(description.hint, record) ?? null }];
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
    const all = this.reaches.filter((reach) => reach.description.has.has("state"));
    if (all.length < 2) return this.#stateOf({ reach: all[0] ?? this.reach }, parts);
    const order = inOrder(all, this.#deps.registry.composition.preferred.state ?? [], (reach) => reach.record.platform);
    const read = new Map<Reach, State>();
    const [leading] = order;
    const isLate = leading !== undefined && this.#unread.has(leading);
    const reading = order.map((reach) =>
      this.#stateOf({ reach, asIs: true }, parts).then(
        (state) => {
          this.#unread.delete(reach);
          read.set(reach, state);
        },
        (error: unknown) => {
          this.#unread.add(reach);
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
    const seen = order.flatMap((reach) => {
      const state = read.get(reach);
      return state ? [{ state, pushed: reach.seen.pushed, ...this.#standingOf(reach) }] : [];
    });
    const [first, ...others] = seen;
    // None has answered: the first is looked for, and says why.
    return first ? mergedState(first, ...others) : this.#stateOf({ reach: order[0] ?? this.reach });
  }

  async #stateOf(at: At, parts: readonly StatePart[] | null = null): Promise<State> {
    const task: Task<State> = {
      doing: "reading its state",
      needs: "state",
      timeoutMs: this.timeoutMs + 1_000,
      at,
      work: async (connection, within, reach) => {
        const control = requireCapability(connection.state, "state");
        const asked = performance.now();
        const read = await (parts && control.readParts ? control.readParts(parts, within) : control.read(within));
        if (reach.saidOffSince(asked)) return this.#shown(offState, reach);
        const state = reach.withoutOlder(read, asked);
        this.observe(state, "poll", reach);
        return this.#shown({ ...unknownState, ...reach.seen.state, ...state }, reach);
      },
    };
    try {
      return await this.#readAnywhere(task);
    } catch (error) {
      if (hasCode(error, "device_unreachable", "device_timeout") && at.reach.isOff)
        return this.#shown(offState, at.reach);
      throw error;
    }
  }

  /** A read, shared by all who ask for it at the same time. */
  read<T>(what: string, signal: AbortSignal, task: Task<T>): Promise<T> {
    return this.#shared(`${what} ${task.at?.reach.id}`, () => this.#readAnywhere(task), signal);
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
    let missed: { reach: Reach; before: Entry; error: unknown } | undefined;
    for (const reach of this.#able(task)) {
      const before = reach.record;
      try {
        if (reach.isOff && reach.connection.power?.wakesByConnecting)
          throw named(inStandby(), reach.record, task.doing);
        return await reach.attempt(task, neverAborted);
      } catch (error) {
        if (!hasCode(error, "device_unreachable")) throw error;
        missed ??= { reach, before, error };
      }
    }
    const { reach = this.reach, before = this.record, error } = missed ?? {};
    if (task.at?.asIs || reach.isOff || !(await reach.seek(before, "read", this.timeoutMs, neverAborted))) throw error;
    return reach.attempt(task, neverAborted);
  }

  /** A command: waits for its turn, then runs with its deadline. A device that is asleep is woken first, if it can be. */
  async command<T>(turn: Turn, task: Task<T>): Promise<T> {
    let begun = false;
    try {
      const own = this.#admitted(turn);
      return await this.#queue.run(own, () => {
        // The lease may have ended while it waited.
        this.admit(turn.lease);
        begun = true;
        this.#isShown = false;
        this.#action = actionOf(turn, Number.POSITIVE_INFINITY);
        return this.#using(this.#run(task, own.signal));
      });
    } catch (error) {
      throw begun ? error : named(error, this.record, task.doing);
    } finally {
      this.#commands++;
      if (begun && this.#action?.id === turn.action) this.#action = actionOf(turn, performance.now());
      // A command that has read its effect back has told it.
      if (begun && !this.#isShown) this.#watch?.commanded(task.changes ?? stateParts);
      this.#leaveIfGone();
    }
  }

  /**
   * Runs a command, by the next protocol where nothing of it has reached one; at a device that is asleep, once that is awake;
   * at one that has moved, where it is now.
   */
  async #run<T>(task: Task<T>, signal: AbortSignal): Promise<T> {
    const start = performance.now();
    let missed: { reach: Reach; before: Entry; error: ZapdError } | undefined;
    for (const reach of this.#able(task)) {
      const before = reach.record;
      try {
        return await this.#take(reach, task, signal);
      } catch (error) {
        if (!hasCode(error, "device_unreachable", "device_timeout") || signal.aborted || task.begun?.()) throw error;
        if (!hasCode(error, "device_unreachable") || !missed) missed = { reach, before, error };
        // The whole machine sleeps, whichever part of it still answers: it is woken.
        if (!hasCode(error, "device_unreachable") || hasReason(error, "asleep")) break;
      }
    }
    if (!missed) throw noLongerKnown();
    const { reach, before, error } = missed;
    const { whenOff } = task;
    const wakes = whenOff?.wake !== false;
    if (!wakes && reach.isOff) return whenOff.result;
    if (task.at?.asIs) throw error;
    const isWaker = !wakes || reach.has("power_on");
    const waker = isWaker ? reach : (this.reaches.find((one) => one.has("power_on")) ?? reach);
    const was = waker === reach ? before : waker.record;
    const { timeoutMs } = task;
    const met = await waker.recover(was, error, { timeoutMs, waited: performance.now() - start, wakes }, signal);
    if (!whenOff || met !== "awake") return this.#take(reach, task, signal);
    this.#taken(reach, task);
    return whenOff.result;
  }

  async #take<T>(reach: Reach, task: Task<T>, signal: AbortSignal): Promise<T> {
    const asked = performance.now();
    const result = await reach.attempt(task, signal);
    // It took a command that only one which is on takes: its word that it is off, given before, is an old one.
    const isOld = reach.isOff && !reach.saidPowerSince(asked);
    if (isOld && task.whenOff?.wake !== false) this.observe({ power: "unknown" }, "command", reach);
    this.#taken(reach, task);
    return result;
  }

  #taken(reach: Reach, { makes }: Task<unknown>): void {
    if (makes) this.observe(makes, "command", reach);
  }

  /** What a command has brought about, as it was read back from the device. */
  shows(patch: Partial<PlatformState>, isAsWanted: boolean, reach: Reach): void {
    this.#isShown = isAsWanted;
    this.observe(patch, "command", reach);
  }

  /**
   * Which of its protocols is to be paired: the one that is named, or is being paired, or else the first that wants it, the
   * oldest first, for a new one may be a stranger's. Fails with `invalid_payload` where it is not reached over the named one.
   */
  pairingReach(platform?: string): Reach {
    const { registry, trust, reachOf } = this.#deps;
    const { reaches } = this;
    if (platform !== undefined) return this.#over(platform);
    if (reaches.length < 2) return this.reach;
    if (this.#pairing && reaches.includes(this.#pairing)) return this.#pairing;
    const oldest = registry.partsOf(this.id).map(reachOf);
    const wants = ({ record }: Reach) => record.access === "unpaired" || trust.doubt(record) !== null;
    return oldest.find(wants) ?? oldest.find(({ record }) => trust.canPair(record)) ?? this.reach;
  }

  /** The reach over a platform; fails with `invalid_payload` where there is none. */
  #over(platform: string): Reach {
    const reach = this.reaches.find(({ record }) => record.platform === platform);
    if (reach) return reach;
    const over = this.reaches.map(({ record }) => record.platform).join(" and ");
    const problem = `Nothing of ${this.record.name} is reached over ${JSON.stringify(platform)}`;
    throw new ZapdError("invalid_payload", problem, { hint: `It is reached over ${over}`, namesDevice: true });
  }

  /** Pairs with it, or takes part in the pairing that is under way; gives what is to be done next, or `null` at its end. */
  async pair(
    request: PairingRequest,
    signal: AbortSignal,
    at?: Finding,
    reach = this.pairingReach(),
  ): Promise<PairingStep | null> {
    // The code or password is a secret: a device with any protocol on probation gets none.
    if (!at && (request.pin ?? request.password) !== undefined) this.checkTrusted("pairing");
    this.#pairing = reach;
    try {
      const next = await this.#using(reach.pairing.pair(request, signal, at));
      if (next === null && this.#pairing === reach) this.#pairing = undefined;
      return next;
    } finally {
      this.#commands++;
      this.#leaveIfGone();
    }
  }

  /** Gives up the pairing that is under way; whether there was one. */
  cancelPairing(): boolean {
    return this.reaches.filter((reach) => reach.pairing.cancel()).length > 0;
  }

  /** Fails with `device_unproven` while it is on probation, over whichever of its protocols, under its name. */
  checkTrusted(doing: string): void {
    for (const reach of this.reaches) reach.checkTrusted(doing);
  }

  /**
   * The password of its developer mode: one of its own that it has accepted, or else that of all. Fails, under its name, with
   * `dev_password_missing`, which begins with what is attempted ("Installing on"), or with `device_unproven` while it is on
   * probation, so that none can reach it.
   */
  developerPassword(doing: string, attempt: string): string {
    this.checkTrusted(doing);
    const { credentials, config } = this.#deps;
    const own = credentials.developer(this.first("dev").id).readAnyway()?.["password"];
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
    await this.#deps.credentials.developer(this.first("dev").id).keep({ password });
  }

  /** Keeps a secret that a caller gives for it out of logs and answers. */
  conceal(password: string): void {
    this.#deps.credentials.conceal({ password });
  }

  /** What was last seen of its state, part by part; one that was never seen is missing. */
  get lastState(): Partial<PlatformState> {
    const [first = this.reach.seen, ...others] = this.#credible.map((reach) => ({
      ...reach.seen,
      ...this.#standingOf(reach),
    }));
    return mergedState(first, ...others);
  }

  /** Its protocols whose last word still counts: not the word of one that fell silent without saying that it goes off. */
  get #credible(): readonly Reach[] {
    const { reaches } = this;
    if (reaches.length < 2) return reaches;
    const credible = reaches.filter(({ contact, isOff }) => contact.status !== "offline" || isOff);
    return credible.length > 0 ? credible : reaches;
  }

  /** The one writer of its last state, as one of its protocols shows it. */
  observe(patch: Partial<PlatformState>, cause: Cause, reach: Reach): void {
    if (!reach.isKnown) return;
    reach.note(patch, cause);
    this.#observedAt = new Date().toISOString();
    const state = this.shownState;
    if (state === null) return;
    // Told now, what has never been seen would read as if there were nothing: no app, nothing that plays.
    const { lastState } = this;
    const isEarly = this.#readings > 0 && stateParts.some((part) => lastState[part] === undefined);
    this.#tellLater = isEarly ? () => reach.isKnown && this.#tell(cause) : undefined;
    if (!isEarly) this.#tell(cause);
    for (const observer of this.#observers) observer(state);
  }

  #tell(cause: Cause): void {
    this.#tellLater = undefined;
    const state = this.shownState;
    if (state === null) return;
    const { id, endedAt } = this.#action ?? { id: undefined, endedAt: 0 };
    const action = performance.now() - endedAt < effectsWithin ? id : undefined;
    const isNew = this.#deps.feed.state(this.id, state, cause, action);
    this.#watch?.seen(isNew);
  }

  /** It may answer again, where it did not: whoever is interested is told soon. */
  appeared(): void {
    this.#watch?.appeared();
  }

  /** It does something else than before, and did not say what. */
  hinted(): void {
    this.#watch?.hinted();
  }

  /** It lists other apps than before. */
  tellApps(added: readonly string[], removed: readonly string[]): void {
    if (added.length + removed.length > 0) this.#deps.feed.apps(this.id, [...added], [...removed]);
  }

  /** How far a package is on its way to it. */
  tellInstall(phase: EventOf<"install.progress">["phase"], bytes: number, total: number | null): void {
    this.#deps.feed.install(this.id, phase, bytes, total);
  }

  /** Its state as it was last seen, without asking it; `null` where it never was. */
  get shownState(): State | null {
    const { lastState } = this;
    return Object.keys(lastState).length > 0 ? this.#known(lastState) : null;
  }

  /** The same; of one that was never seen, that nothing is known. */
  get stateNow(): State {
    return this.#known(this.lastState);
  }

  #known(seen: Partial<PlatformState>): State {
    const { power } = this.reaches.find((reach) => reach.power !== "unknown") ?? this.reach;
    // An app is known by the catalog of the protocol that tells it, and a position by when that has told it.
    const tellerOf = (part: "app" | "playback") =>
      this.reaches.find((reach) => seen[part] != null && reach.seen.state[part] === seen[part]) ?? this.reach;
    const state = { ...unknownState, power, ...seen };
    return this.#shown(state, tellerOf("app"), this.#observedAt, tellerOf("playback").positionAt);
  }

  #shown(
    { power, app, screensaver, playback, volume, input }: PlatformState,
    { id, positionAt: seenAt }: Reach,
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
  get leaving(): AbortSignal {
    return this.#leaving.signal;
  }

  /** One look at what it does, for those who follow; whoever looks uses nothing. */
  async #look(parts: readonly StatePart[] | null): Promise<void> {
    const what = parts ? `state ${parts.join(" ")}` : "state";
    await this.#shared(what, () => (parts ? this.#readState(parts) : this.#readWhole()), neverAborted, false);
  }

  /** Nobody is told what it does any more, and no key of it is held. */
  end(): void {
    this.#watch?.end();
    this.held.stop();
  }

  /** It has become a part of another device, which is asked from now on. */
  absorbed(): void {
    this.end();
    this.#leave(isPartNow);
    this.#leaveIfGone();
  }

  /** The user says that what answers where it is now is it. */
  async trust(): Promise<void> {
    const { trust } = this.#deps;
    const doubted = this.reaches.filter((reach) => trust.doubt(reach.record));
    for (const { record } of doubted.length > 0 ? doubted : [this.reach]) await trust.trust(record);
    this.use();
  }

  /** The device of which it has become a part. */
  get whole(): Device {
    return this.#deps.deviceOf(this.record);
  }

  #leave(reason: unknown): void {
    this.#leaving.abort(reason);
    this.#leaving = new AbortController();
  }

  /** It is no longer known, with the entries that it had: what is open is closed, and its user need not answer any more. What is under way ends by itself. */
  async remove(parts: readonly Entry[]): Promise<void> {
    this.end();
    this.#leave(noLongerKnown());
    const { credentials } = this.#deps;
    const reaches = this.#reachesOf(parts);
    this.#reaches = reaches;
    for (const reach of reaches) reach.forget();
    this.#leaveIfGone();
    for (const { id } of reaches) {
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
    if (this.#queue.idle && !this.#isKnown) this.#deps.gone(this);
  }

  /** Marks it as used by a request that it could have fulfilled, even where it failed. */
  async #using<T>(work: Promise<T>): Promise<T> {
    try {
      const result = await work;
      this.use();
      return result;
    } catch (error) {
      if (error instanceof ZapdError && error.status === 500) this.use();
      throw error;
    }
  }

  /** Whether anybody ever drove it, be it just now. */
  get #isUsed(): boolean {
    return this.#isBeingUsed || this.#reaches.some(({ record }) => record.used !== false);
  }

  /** Somebody drives it: it is no longer one of those that merely were found. Written once. */
  use(): void {
    const { registry, log } = this.#deps;
    const isWritten = this.#reaches.every(({ id, record }) => id !== this.id || record.used !== false);
    if (isWritten || this.#isBeingUsed || !this.#isKnown) return;
    this.#isBeingUsed = true;
    registry
      .use(this.id)
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
