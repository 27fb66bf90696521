/**
 * One device, live: its connection, the queue of its commands, the reads that are shared, its pairing, and what waking and
 * moving mean for them. Everything that is asked of a device passes here once, with one deadline and an error that says
 * whose it is. Knows no platform by name.
 */
import { failedBy, textOf, ZapdError } from "../api/errors.ts";
import type { State, Device as View } from "../api/schemas.ts";
import type { Config } from "../config/config.ts";
import type { Finding } from "../discovery/probe-queue.ts";
import {
  type Capability,
  type Connection,
  capabilities,
  type DeviceSurroundings,
  type PairingAnswer,
  type Platform,
  type Power,
  type Surroundings,
} from "../platforms/platform.ts";
import type { SleepWatch } from "../system/clock.ts";
import { type Log, redacted } from "../system/log.ts";
import { destinationsFor, sendMagicPackets } from "../transport/wake-on-lan.ts";
import { type Catalog, describeApp } from "./catalog.ts";
import type { Credentials } from "./credentials.ts";
import { type Entry, targetOf } from "./entry.ts";
import { aborted, method, named, subjectOf } from "./failures.ts";
import { FreshPairing } from "./pairing.ts";
import { Queue, type Turn } from "./queue.ts";
import type { Registry } from "./registry.ts";
import type { Trust } from "./trust.ts";
import { type Waking, wake } from "./wake.ts";

export interface DeviceDependencies {
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly credentials: Credentials;
  readonly trust: Trust;
  readonly platforms: readonly Platform[];
  readonly surroundings: Surroundings;
  readonly log: Log;
  /** What waits for its turn while the machine sleeps is not sent. */
  readonly sleep?: SleepWatch;
  config(): Config;
  /** Told when a device did not answer, so that it may be looked for. */
  lost(entry: Entry): void;
  /**
   * Looks for a device that did not answer where it was, for so many milliseconds at most; whether it is elsewhere now. A
   * `read` looks less often than a command does.
   */
  seek(entry: Entry, what: "read" | "command", timeoutMs: number, signal: AbortSignal): Promise<boolean>;
  /** Turns a device on, in a test that has none. */
  readonly wake?: typeof wake;
  /** Told when nothing is under way any more at a device that is no longer known. */
  gone(device: Device): void;
}

/** One command or read of a device. */
export interface Task<T> {
  /** What is attempted, for the error: "pressing home". */
  readonly doing: string;
  /** Milliseconds from its turn to its end. */
  readonly timeoutMs: number;
  /** Words of the caller's that the device is given, and may repeat. */
  readonly given?: readonly string[];
  work(connection: Connection, signal: AbortSignal): Promise<T>;
  /** Drives this in place of the device's own connection: what comes of it says nothing of the device where it is. */
  readonly over?: Connection;
  /** Whether a part of it has been done, so that it cannot be begun again. */
  begun?(): boolean;
  /** What it comes to at a device that is off: at once, or when that is woken. Otherwise it runs once the device is awake. */
  readonly whenOff?: { readonly wake: boolean; readonly result: T };
}

/** A timer set for longer would end at once. */
const longestTimer = 2 ** 31 - 1;
/** A platform that does not let go when its signal ends is left behind after this, or it would hold the queue. */
const letsGoWithin = 1_000;
/** Milliseconds a person has to accept at the device (60 s), and what the device takes for its part. */
const pairingTimeoutMs = 75_000;
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

export class Device {
  readonly id: string;
  readonly #deps: DeviceDependencies;
  readonly #queue: Queue;
  readonly #reads = new Map<string, Promise<unknown>>();
  readonly #running = new Set<AbortController>();
  /** As it was last known. */
  #last: Entry;
  #opened: { record: Entry; readonly key: string; readonly connection: Connection } | undefined;
  #capabilities: { readonly of: Entry; readonly all: readonly Capability[] } | undefined;
  /** Grows with each command that ends: a read that began before is not shared with who asks after. */
  #commands = 0;
  #pairing: AbortController | undefined;
  /** When it last said by itself that it is on. */
  #saidOnAt = Number.NEGATIVE_INFINITY;
  #over: ZapdError | undefined;

  constructor(deps: DeviceDependencies, record: Entry) {
    this.#deps = deps;
    this.#last = record;
    this.id = record.id;
    this.#queue = new Queue(deps.sleep);
  }

  /** What the registry holds of it; of a device that was removed, what it held. */
  get record(): Entry {
    this.#last = this.#deps.registry.get(this.id) ?? this.#last;
    return this.#last;
  }

  get catalog(): Catalog {
    return this.#deps.catalog;
  }

  /** Milliseconds that one answer of a device may take. */
  get timeoutMs(): number {
    return this.#deps.config().devices.request_timeout_ms;
  }

  get platform(): Platform {
    const platform = this.#platform;
    if (platform) return platform;
    const { name, platform: unknown } = this.record;
    const problem = `${name} is on a platform that this zapd does not know, "${unknown}"`;
    throw new ZapdError("unsupported_operation", problem, { named: true });
  }

  get #platform(): Platform | undefined {
    return this.#deps.platforms.find((one) => one.name === this.record.platform);
  }

  /** What works on it now, told without a connection; nothing where its platform is not known. */
  get capabilities(): readonly Capability[] {
    const { record } = this;
    if (this.#capabilities?.of === record) return this.#capabilities.all;
    const described = this.#platform?.describe(targetOf(record));
    const all = capabilities.filter((one) => described?.has.has(one) && !described.withheld.has(one));
    this.#capabilities = { of: record, all };
    return all;
  }

  /** As the API shows it. */
  describe(isDefault = this.#deps.registry.defaultEntry?.id === this.id): View {
    const { record } = this;
    const { status, last_seen, power } = this.#deps.registry.contact(this.id);
    const { id, name, platform, kind, manufacturer, model, serial, macs, software_version, added_at } = record;
    const { host, port, ports, access } = record;
    return {
      id,
      name,
      platform,
      kind,
      manufacturer,
      model,
      serial,
      mac: macs[0] ?? null,
      software_version,
      power: powerShown(status, power),
      host,
      port,
      ports,
      status,
      access,
      capabilities: [...this.capabilities],
      used: this.#deps.registry.isUsed(record),
      is_default: isDefault,
      added_at,
      last_seen,
    };
  }

  /** The payload of an action: the device as it is known after it, the action's name, and what the action adds. */
  acted<Name extends string, Payload extends object>(
    action: Name,
    payload: Payload,
  ): { device: View; action: Name } & Payload {
    return { device: this.describe(), action, ...payload };
  }

  /** The connection to it, made when it is first wanted, and anew when what it was made from has changed. */
  get connection(): Connection {
    const { record } = this;
    const opened = this.#opened;
    if (opened?.record === record) return opened.connection;
    const key = connectionKey(record);
    if (opened?.key === key) {
      opened.record = record;
      return opened.connection;
    }
    opened?.connection.close();
    const connection = this.platform.connect(targetOf(record), this.#surroundings());
    this.#opened = { record, key, connection };
    return connection;
  }

  #disconnect(): void {
    this.#opened?.connection.close();
    this.#opened = undefined;
  }

  /**
   * The live state; callers that ask at the same time share one reading, never one from before their last command. A
   * device that is silent, and whose last word was that it is off, is off.
   */
  async state(signal: AbortSignal): Promise<State> {
    const task: Task<State> = {
      doing: "reading its state",
      timeoutMs: this.timeoutMs + 1_000,
      work: async (connection, within) => {
        const state = await method(connection.state, "state")(within);
        if (state.power !== "unknown") this.notePower(state.power);
        const app = state.app && describeApp(state.app, this.catalog.apps(this.id));
        return { ...state, app, observed_at: new Date().toISOString() };
      },
    };
    try {
      return await this.read("state", task, signal);
    } catch (error) {
      if (isSilent(error) && this.#isOff) return offState();
      throw error;
    }
  }

  /** A read, shared by all who ask for it at the same time. */
  async read<T>(what: string, task: Task<T>, signal: AbortSignal): Promise<T> {
    const key = `${what} ${this.#commands}`;
    let reading = this.#reads.get(key) as Promise<T> | undefined;
    if (!reading) {
      reading = this.#readAnywhere(task).finally(() => this.#reads.delete(key));
      this.#reads.set(key, reading);
    }
    return this.#using(Promise.race([reading, aborted(signal)]));
  }

  /** A read; of a device that has moved, where it is now. */
  async #readAnywhere<T>(task: Task<T>): Promise<T> {
    const nobody = new AbortController().signal;
    const before = this.record;
    try {
      return await this.#attempt(task, nobody);
    } catch (error) {
      const isGone = error instanceof ZapdError && error.code === "device_unreachable";
      if (!isGone || this.#isOff) throw error;
      if (!(await this.#deps.seek(before, "read", this.timeoutMs, nobody))) throw error;
      return this.#attempt(task, nobody);
    }
  }

  /** A command: waits for its turn, then runs with its deadline. A device that is asleep is woken first, if it can be. */
  async command<T>(task: Task<T>, turn: Turn): Promise<T> {
    let begun = false;
    try {
      return await this.#queue.run(turn, () => {
        begun = true;
        return this.#using(this.#run(task, turn.signal));
      });
    } catch (error) {
      throw begun ? error : named(error, this.record, task.doing);
    } finally {
      this.#commands++;
      this.#leaveIfGone();
    }
  }

  /** Runs a command; at a device that is asleep, once that is awake; at one that has moved, where it is now. */
  async #run<T>(task: Task<T>, signal: AbortSignal): Promise<T> {
    const start = performance.now();
    const before = this.record;
    try {
      const result = await this.#attempt(task, signal);
      // It took a command that only one which is on takes: its word that it is off is an old one.
      if (this.#isOff && task.whenOff?.wake !== false) this.notePower(null);
      return result;
    } catch (error) {
      if (!isSilent(error) || signal.aborted || task.begun?.()) throw error;
      const { whenOff } = task;
      if (whenOff?.wake === false && this.#isOff) return whenOff.result;
      const met = await this.#reach(before, error, task.timeoutMs, performance.now() - start, signal);
      return whenOff && met === "awake" ? whenOff.result : this.#attempt(task, signal);
    }
  }

  /**
   * Who is known to be asleep is called for as long as waking takes. Anyone else who does not answer is called, and looked
   * for elsewhere, only while the caller would have waited for one answer, for it may as well be unplugged; it fails for the
   * first reason then.
   */
  async #reach(
    before: Entry,
    error: ZapdError,
    timeoutMs: number,
    waited: number,
    signal: AbortSignal,
  ): Promise<"awake" | "elsewhere"> {
    if (error.code !== "device_unreachable") throw error;
    if (this.#isOff) {
      await this.#wake(error, wakeTimeoutMs, signal);
      return "awake";
    }
    const over = new AbortController();
    const both = AbortSignal.any([signal, over.signal]);
    const found = this.#deps
      .seek(before, "command", Math.min(this.timeoutMs, timeoutMs - waited), both)
      .then((isElsewhere): "elsewhere" => {
        if (!isElsewhere) throw error;
        return "elsewhere";
      });
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
    const wasOff = this.#isOff;
    if (!this.capabilities.includes("power_on") || timeoutMs <= 0) throw error;
    const task: Task<void> = {
      doing: "waking it",
      timeoutMs: timeoutMs + powerOnTimeoutMs,
      work: (connection, within) => this.turnOn(connection, within, { silent: !failedBy(error, "asleep"), timeoutMs }),
    };
    await this.#attempt(task, signal).catch((unwoken: unknown) => {
      throw wasOff || signal.aborted ? unwoken : error;
    });
    this.notePower("on");
  }

  /** Turns it on and waits until it is: one that may as well be on, unless it is said how it is. */
  async turnOn(
    connection: Connection,
    signal: AbortSignal,
    waking: Waking = { silent: false, timeoutMs: wakeTimeoutMs },
  ): Promise<void> {
    const { surroundings } = this.#deps;
    const { host, macs, ports, name } = this.record;
    const parts = {
      power: method(connection.power, "power_on"),
      macs,
      hint: this.#platform?.sleepHint,
      saidOnAt: () => this.#saidOnAt,
      call: () => {
        const destinations = destinationsFor(host, surroundings.broadcasts());
        surroundings.debug(`${name}: magic packets for ${macs.join(", ")} to ${destinations.join(", ")}`);
        return sendMagicPackets(macs, destinations, ports["wake"] ?? 9);
      },
    };
    await (this.#deps.wake ?? wake)(parts, waking, signal);
  }

  /**
   * Runs a task once, with its deadline, which is made here and nowhere else. A failure gets the device's name, and what was
   * attempted; what the outcome says of the device is noted.
   */
  async #attempt<T>(task: Task<T>, signal: AbortSignal): Promise<T> {
    if (this.#over) throw this.#over;
    const { registry, log } = this.#deps;
    const controller = new AbortController();
    const leave = () => controller.abort(signal.reason);
    if (signal.aborted) leave();
    signal.addEventListener("abort", leave, { once: true });
    this.#running.add(controller);
    const timer = setTimeout(() => controller.abort(tooLate(task)), Math.min(task.timeoutMs, longestTimer));
    try {
      const work = task.work(task.over ?? this.connection, controller.signal);
      const result = await heldTo(controller.signal, work);
      if (!task.over) registry.noteContact(this.id, true);
      return result;
    } catch (error) {
      const { record } = this;
      log.debug(`${record.name}: ${task.doing}: ${wordsOf(error)}`);
      // A caller who hung up says nothing of the device.
      if (error instanceof ZapdError && !signal.aborted && !task.over) this.#noteFailure(error);
      // What a device says may hold a secret; what the caller said is the caller's.
      const told = error instanceof ZapdError ? redacted(error, log, task.given) : error;
      throw named(told, subjectOf(record, this.#platform), task.doing);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", leave);
      this.#running.delete(controller);
      // Removed in the midst of it, it may have been connected to anew.
      if (this.#running.size === 0 && !registry.get(this.id)) this.#disconnect();
    }
  }

  #noteFailure(error: ZapdError): void {
    const { registry, lost } = this.#deps;
    if (error.code === "device_unreachable") {
      registry.noteContact(this.id, false);
      // One that is off is where it was; where a machine refuses, nothing of the device runs any more, and it may have moved.
      if (!this.#isOff || failedBy(error, "refused")) lost(this.record);
    } else if (answeredBy.has(error.code)) {
      registry.noteContact(this.id, true);
    }
  }

  get #isOff(): boolean {
    return saysOff(this.#deps.registry.contact(this.id).power);
  }

  /** Notes what its power is, by its own word or because it took a command. */
  notePower(power: Power | null): void {
    const { registry } = this.#deps;
    if (registry.get(this.id)) registry.noteContact(this.id, true, power);
  }

  /**
   * Pairs with it; waits until its user has accepted. One at a time. One that is on probation, and one that is said to be
   * elsewhere (`at`, where it was met), is paired anew, without what was kept: see FreshPairing.
   */
  async pair(given: PairingAnswer, signal: AbortSignal, at?: Finding): Promise<void> {
    const { registry, trust } = this.#deps;
    if (this.#pairing) {
      const problem = "is being paired already: its user is asked once";
      throw named(new ZapdError("pairing_failed", problem, { hint: "Answer what it shows" }), this.record, "pairing");
    }
    const words = Object.values(given).filter((word) => typeof word === "string");
    // What the caller says is a secret: on probation it goes to an address that the caller has named, and to no other.
    if (!at && words.length > 0) this.checkTrusted("pairing");
    const removed = new AbortController();
    this.#pairing = removed;
    const until = AbortSignal.any([signal, removed.signal]);
    const task = (fresh: boolean): Task<void> => ({
      doing: "pairing",
      timeoutMs: pairingTimeoutMs,
      given: words,
      work: (connection, within) => method(connection.pair, "pair")(fresh ? { ...given, fresh } : given, within),
    });
    try {
      if (at || trust.doubt(this.record)) await this.#using(this.#pairAnew(task(true), until, at));
      else {
        await this.#using(this.#attempt(task(false), until));
        if (this.record.standing?.former && registry.get(this.id)) await trust.trust(this.record);
      }
      // What it said when it let us in is to be seen by who asks next.
      await registry.settled();
    } finally {
      if (this.#pairing === removed) this.#pairing = undefined;
      this.#commands++;
      await this.#dropIfGone();
    }
  }

  async #pairAnew(task: Task<void>, signal: AbortSignal, at?: Finding): Promise<void> {
    const { registry, credentials, trust } = this.#deps;
    const deps = { registry, credentials, trust, surroundings: this.#surroundings() };
    const fresh = new FreshPairing(deps, this.platform, this.record, at);
    try {
      // One that lets everybody in has nothing to pair with: that it was met there is all there is.
      if (fresh.connection.pair || !at) await this.#attempt({ ...task, over: fresh.connection }, signal);
      signal.throwIfAborted();
      await fresh.take();
    } finally {
      fresh.close();
    }
    // What was open before knows the key of before.
    this.#disconnect();
    registry.noteContact(this.id, true);
  }

  /** A device that was removed while it was being paired leaves no key behind. */
  async #dropIfGone(): Promise<void> {
    const { registry, credentials } = this.#deps;
    if (registry.get(this.id)) return;
    await credentials.forget(this.id);
    this.#leaveIfGone();
    const problem = `${this.record.name} was removed while it was being paired`;
    throw new ZapdError("device_not_found", problem, { named: true });
  }

  /** Fails with `device_unproven` while it is on probation, under its name. */
  checkTrusted(doing: string): void {
    const doubt = this.#deps.trust.doubt(this.record);
    if (doubt) throw named(doubt, this.record, doing);
  }

  /** The user says that what answers where it is now is it. */
  async trust(): Promise<void> {
    await this.#deps.trust.trust(this.record);
    this.#use();
  }

  /** It is no longer known: what is open is closed, and its user need not answer any more. What is under way ends by itself. */
  async remove(): Promise<void> {
    this.#disconnect();
    // The same device, added anew, can be paired at once.
    this.#pairing?.abort(new ZapdError("device_not_found", "was removed while it was being paired"));
    this.#pairing = undefined;
    this.#leaveIfGone();
    await this.#deps.credentials.forget(this.id);
    await this.catalog.forget(this.id);
  }

  /** What is under way keeps its queue, so that nothing overtakes it when the device is added anew. */
  #leaveIfGone(): void {
    if (this.#queue.idle && !this.#deps.registry.get(this.id)) this.#deps.gone(this);
  }

  /** Ends what is under way, too, and begins nothing any more: a device that hangs must not hold the process. */
  close(reason: ZapdError): void {
    this.#over = reason;
    for (const controller of this.#running) controller.abort(reason);
    this.#disconnect();
  }

  /** Whoever was asked for something that it could have done is used, though it failed at it. */
  async #using<T>(work: Promise<T>): Promise<T> {
    try {
      const result = await work;
      this.#use();
      return result;
    } catch (error) {
      if (error instanceof ZapdError && error.status === 500) this.#use();
      throw error;
    }
  }

  /** Somebody drives it: it is no longer one of those that merely were found. */
  #use(): void {
    const { registry, log } = this.#deps;
    registry
      .use(this.id)
      .catch((error: unknown) => log.recurring(`That a device is used could not be kept: ${textOf(error)}`));
  }

  /** What the daemon gives to a connection of it. */
  #surroundings(): DeviceSurroundings {
    const { registry, trust, surroundings, log } = this.#deps;
    const { id } = this;
    return {
      ...surroundings,
      credentials: trust.keeper(this.record),
      learned: (facts) => {
        registry
          .learn(id, facts)
          .catch((error: unknown) => log.recurring(`What a device told could not be kept: ${textOf(error)}`));
      },
      heard: (power) => {
        if (power === "on") this.#saidOnAt = performance.now();
        if (registry.get(id)) registry.noteContact(id, power !== "off", power ?? undefined);
      },
      fellSilent: () => {
        if (registry.get(id)) registry.noteContact(id, false);
      },
    };
  }
}

/** A new name or software version is no reason to hang up, nor is the realm that has just taken a password. */
function connectionKey({ identity, kind, macs, access, traits, host, port, ports }: Entry): string {
  const { dev_realm: _kept, ...had } = traits;
  return JSON.stringify([identity, kind, macs, access, had, host, port, ports]);
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? `${error.message} ${String(error.cause ?? "")}` : String(error);
}

function tooLate({ timeoutMs }: { timeoutMs: number }): ZapdError {
  return new ZapdError("device_timeout", `did not finish within ${Math.round(timeoutMs / 1000)} s`);
}

/** What work comes to, or the reason of the signal when it does not let go of it by itself. */
function heldTo<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ended = () => {
      timer = setTimeout(() => reject(signal.reason), letsGoWithin);
    };
    const settle = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", ended);
    };
    if (signal.aborted) ended();
    else signal.addEventListener("abort", ended, { once: true });
    work.then(
      (result) => {
        settle();
        resolve(result);
      },
      (error: unknown) => {
        settle();
        reject(error);
      },
    );
  });
}

// Off is a state, not an error: what the last word of a device and its silence say together.

/** Whether a device's last word was that it is off, or on its way to be: silent then, it is asleep rather than gone. */
function saysOff(power: Power | null): boolean {
  return power === "off" || power === "standby";
}

/** What is known of a device's power without asking it: of one that is silent, and was on, nothing. */
function powerShown(status: "online" | "offline" | "unknown", last: Power | null): Power {
  if (status === "online") return last ?? "unknown";
  if (status === "offline" && saysOff(last)) return "off";
  return saysOff(last) ? (last ?? "unknown") : "unknown";
}

/** Whether a failure is that nobody answered. */
function isSilent(error: unknown): error is ZapdError {
  return error instanceof ZapdError && (error.code === "device_unreachable" || error.code === "device_timeout");
}

/** The state of a device that is off. */
function offState(): State {
  return {
    ...{ power: "off", app: null, screensaver: null, playback: null, volume: null, input: null },
    observed_at: new Date().toISOString(),
  };
}
