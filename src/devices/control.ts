/**
 * The control path: a name becomes a device, a device a connection, and a connection carries one command, with its
 * place in the queue, its deadline and an error that says whose it is. Knows no platform by name.
 */

import { textOf, ZapdError } from "../api/errors.ts";
import type { Device, State } from "../api/operations.ts";
import type { Config } from "../config/config.ts";
import type { Finding } from "../discovery/probe-queue.ts";
import type { Connection, PairingAnswer, Platform, Power } from "../platforms/platform.ts";
import type { SleepWatch } from "../system/clock.ts";
import { type AttemptDependencies, Attempts, type Task } from "./attempts.ts";
import type { Catalog } from "./catalog.ts";
import { describeApp } from "./catalog.ts";
import type { Credentials } from "./credentials.ts";
import type { Entry } from "./entry.ts";
import { aborted, method, named } from "./failures.ts";
import { Links, type LinksDependencies } from "./links.ts";
import { noneKnown, resolveName } from "./names.ts";
import { FreshPairing } from "./pairing.ts";
import { isSilent, offState, powerShown, saysOff } from "./power.ts";
import { Queue, type Turn } from "./queue.ts";
import { Waker } from "./waking.ts";

export interface ControlDependencies extends LinksDependencies, AttemptDependencies {
  readonly catalog: Catalog;
  readonly credentials: Credentials;
  /** What waits for its turn while the machine sleeps is not sent. */
  readonly sleep?: SleepWatch;
  config(): Config;
  /**
   * Looks for a device that did not answer where it was, for so many milliseconds at most; whether it is elsewhere now. A
   * `read` looks less often than a command does.
   */
  seek(entry: Entry, what: "read" | "command", withinMs: number, signal: AbortSignal): Promise<boolean>;
}

/** What a caller said to be let in. */
function wordsOf(given: PairingAnswer): string[] {
  return Object.values(given).filter((word) => typeof word === "string");
}

/** Milliseconds a person has to accept at the device (60 s), and what the device takes for its part. */
const pairsWithin = 75_000;
export class Control {
  readonly #deps: ControlDependencies;
  readonly #links: Links;
  readonly #queues = new Map<string, Queue>();
  readonly #reads = new Map<string, Promise<unknown>>();
  /** Grows with each command that ends: a read that began before is not shared with who asks after. */
  readonly #epochs = new Map<string, number>();
  readonly #pairing = new Map<string, AbortController>();
  readonly #attempts: Attempts;
  readonly #waker: Waker;

  constructor(deps: ControlDependencies) {
    this.#deps = deps;
    this.#links = new Links(deps);
    this.#attempts = new Attempts(deps, this.#links);
    this.#waker = new Waker({
      ...{ registry: deps.registry, attempts: this.#attempts },
      connection: (entry) => this.connection(entry),
      canWake: (entry) => this.#links.capabilities(entry).includes("power_on"),
      patience: () => this.timeout,
      seek: (entry, withinMs, signal) => deps.seek(entry, "command", withinMs, signal),
    });
  }

  /** The device that a path segment means; `device_not_found`, `default_device_missing` and their like. */
  find(segment: string): Entry {
    return resolveName(segment, this.#deps.registry.entries) ?? this.#missingDefault();
  }

  /** The default device, or `null`. */
  defaultDevice(): Entry | null {
    return this.#deps.registry.defaultEntry ?? null;
  }

  /** Every registry entry as the API shows it. */
  describeAll(): Device[] {
    const defaultId = this.defaultDevice()?.id;
    return this.#deps.registry.entries.map((entry) => this.describe(entry, defaultId));
  }

  /** A registry entry as the API shows it. */
  describe(known: Entry, defaultId = this.defaultDevice()?.id): Device {
    // The caller's may be older than what has been learned or done meanwhile.
    const entry = this.#deps.registry.get(known.id) ?? known;
    const { status, last_seen, power } = this.#deps.registry.contact(entry.id);
    const { id, name, platform, kind, manufacturer, model, serial, macs, software_version, added_at } = entry;
    const { host, port, ports, access } = entry;
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
      capabilities: [...this.#links.capabilities(entry)],
      used: this.#deps.registry.isUsed(entry),
      is_default: defaultId === id,
      added_at,
      last_seen,
    };
  }

  /** The payload of an action: the device as it is known after it, the action's name, and what the action adds. */
  acted<Name extends string, Payload extends object>(
    entry: Entry,
    action: Name,
    payload: Payload,
  ): { device: Device; action: Name } & Payload {
    return { device: this.describe(entry), action, ...payload };
  }

  platform(entry: Entry): Platform {
    return this.#links.platform(entry);
  }

  /** The connection to a device, made anew when what it was made from has changed. */
  connection(entry: Entry): Connection {
    return this.#links.connection(entry);
  }

  /**
   * The live state; callers that ask at the same time share one reading, never one from before their last command. A
   * device that is silent, and whose last word was that it is off, is off.
   */
  async state(entry: Entry, signal: AbortSignal): Promise<State> {
    const { registry } = this.#deps;
    const task: Task<State> = {
      ...{ doing: "reading its state", within: this.timeout + 1_000 },
      work: async (connection, within) => {
        const state = await method(connection.state, "state")(within);
        if (state.power !== "unknown") this.said(entry, state.power);
        const app = state.app && describeApp(state.app, this.#deps.catalog.apps(entry.id));
        return { ...state, app, observed_at: new Date().toISOString() };
      },
    };
    try {
      return await this.shared(entry, "state", task, signal);
    } catch (error) {
      if (isSilent(error) && saysOff(registry.contact(entry.id).power)) return offState();
      throw error;
    }
  }

  /** A read, shared by all who ask for it at the same time. */
  async shared<T>(entry: Entry, what: string, task: Task<T>, signal: AbortSignal): Promise<T> {
    const key = `${entry.id} ${what} ${this.#epochs.get(entry.id) ?? 0}`;
    const reading = (this.#reads.get(key) as Promise<T> | undefined) ?? this.#startReading(key, entry, task);
    return this.#using(entry, Promise.race([reading, aborted(signal)]));
  }

  /** A command: waits for its turn, then runs with its deadline. A device that is asleep is woken first, if it can be. */
  async command<T>(entry: Entry, task: Task<T>, turn: Turn): Promise<T> {
    const queue = this.#queues.get(entry.id) ?? new Queue(this.#deps.sleep);
    this.#queues.set(entry.id, queue);
    let begun = false;
    try {
      return await queue.run(turn, () => {
        begun = true;
        return this.#using(entry, this.#waker.run(entry, task, turn.signal));
      });
    } catch (error) {
      throw begun ? error : named(error, entry, task.doing);
    } finally {
      this.#epochs.set(entry.id, (this.#epochs.get(entry.id) ?? 0) + 1);
      if (queue.idle && !this.#deps.registry.get(entry.id)) this.#drop(entry.id);
    }
  }

  /**
   * Pairs with a device; waits until its user has accepted. One at a time per device. One that is on probation, and one
   * that is said to be elsewhere (`at`, where it was met), is paired anew, without what was kept: see FreshPairing.
   */
  async pair(entry: Entry, given: PairingAnswer, signal: AbortSignal, at?: Finding): Promise<void> {
    if (this.#pairing.has(entry.id)) {
      const problem = "is being paired already: its user is asked once";
      throw named(new ZapdError("pairing_failed", problem, { hint: "Answer what it shows" }), entry, "pairing");
    }
    const forgotten = new AbortController();
    this.#pairing.set(entry.id, forgotten);
    const until = AbortSignal.any([signal, forgotten.signal]);
    try {
      const { registry, trust } = this.#deps;
      // What the caller says is a secret: on probation it goes to an address that the caller has named, and to no other.
      if (!at && wordsOf(given).length > 0) this.checkTrusted(entry, "pairing");
      if (at || trust.doubt(entry)) await this.#using(entry, this.#pairAnew(entry, given, until, at));
      else {
        const work: Task<void>["work"] = (connection, within) => method(connection.pair, "pair")(given, within);
        const task = { doing: "pairing", within: pairsWithin, given: wordsOf(given), work };
        await this.#using(entry, this.#attempts.make(entry, task, until));
        if (registry.get(entry.id)?.standing?.former) await trust.trust(entry);
      }
      // What it said when it let us in is to be seen by who asks next.
      await registry.settled();
    } finally {
      if (this.#pairing.get(entry.id) === forgotten) this.#pairing.delete(entry.id);
      await this.#dropIfGone(entry);
      this.#epochs.set(entry.id, (this.#epochs.get(entry.id) ?? 0) + 1);
    }
  }

  async #pairAnew(entry: Entry, given: PairingAnswer, signal: AbortSignal, at?: Finding): Promise<void> {
    const now = this.#deps.registry.get(entry.id) ?? entry;
    const { registry, credentials, trust } = this.#deps;
    const surroundings = this.#links.surroundingsOf(now);
    const fresh = new FreshPairing({ registry, credentials, trust, surroundings }, this.platform(now), now, at);
    try {
      const { pair } = fresh.connection;
      // One that lets everybody in has nothing to pair with: that it was met there is all there is.
      if (pair || !at) {
        const work: Task<void>["work"] = (connection, within) =>
          method(connection.pair, "pair")({ ...given, fresh: true }, within);
        const task = { doing: "pairing", within: pairsWithin, given: wordsOf(given), over: fresh.connection, work };
        await this.#attempts.make(now, task, signal);
      }
      signal.throwIfAborted();
      await fresh.take();
    } finally {
      fresh.close();
    }
    // What was open before knows the key of before.
    this.#links.forget(now.id);
    registry.noteContact(now.id, true);
  }

  /** Fails with `device_unproven` while a device is on probation, under its name. */
  checkTrusted(entry: Entry, doing: string): void {
    const doubt = this.#deps.trust.doubt(entry);
    if (doubt) throw named(doubt, entry, doing);
  }

  /** The user says that what answers where a device is now is it. */
  async trust(entry: Entry): Promise<Entry> {
    const trusted = await this.#deps.trust.trust(entry);
    this.#use(trusted);
    return trusted;
  }

  /** Notes what a device's power is, by its own word or because it took a command. */
  said(entry: Entry, power: Power | null): void {
    if (this.#deps.registry.get(entry.id)) this.#deps.registry.noteContact(entry.id, true, power);
  }

  /** Milliseconds that one answer of a device may take. */
  get timeout(): number {
    return this.#deps.config().devices.request_timeout_ms;
  }

  /** Drops what is kept of a device, and what lets us in there. */
  async forget(id: string): Promise<void> {
    this.#links.forget(id);
    // Its user need not answer any more, and the same device, added anew, can be paired at once.
    this.#pairing.get(id)?.abort(new ZapdError("device_not_found", "was removed while it was being paired"));
    this.#pairing.delete(id);
    // What is under way keeps its queue, so that nothing overtakes it.
    if (this.#queues.get(id)?.idle !== false) this.#drop(id);
    await this.#deps.credentials.forget(id);
  }

  /** Ends what is under way, too: a device that hangs must not hold the process. */
  close(): void {
    this.#attempts.end(new ZapdError("internal_error", "zapd is stopping"));
    this.#links.close();
  }

  /** A device that was removed while it was being paired leaves no key behind. */
  async #dropIfGone(entry: Entry): Promise<void> {
    if (this.#deps.registry.get(entry.id)) return;
    await this.#deps.credentials.forget(entry.id);
    throw new ZapdError("device_not_found", `${entry.name} was removed while it was being paired`, { named: true });
  }

  #drop(id: string): void {
    this.#queues.delete(id);
    this.#epochs.delete(id);
  }

  #startReading<T>(key: string, entry: Entry, task: Task<T>): Promise<T> {
    const reading = this.#read(entry, task).finally(() => this.#reads.delete(key));
    this.#reads.set(key, reading);
    return reading;
  }

  /** A read; of a device that has moved, where it is now. */
  async #read<T>(entry: Entry, task: Task<T>): Promise<T> {
    const { registry, seek } = this.#deps;
    const nobody = new AbortController().signal;
    try {
      return await this.#attempts.make(entry, task, nobody);
    } catch (error) {
      const isGone = error instanceof ZapdError && error.code === "device_unreachable";
      if (!isGone || saysOff(registry.contact(entry.id).power)) throw error;
      if (!(await seek(entry, "read", this.timeout, nobody))) throw error;
      return this.#attempts.make(entry, task, nobody);
    }
  }

  /** Whoever was asked for something that it could have done is used, though it failed at it. */
  async #using<T>(entry: Entry, work: Promise<T>): Promise<T> {
    try {
      const result = await work;
      this.#use(entry);
      return result;
    } catch (error) {
      if (error instanceof ZapdError && error.status === 500) this.#use(entry);
      throw error;
    }
  }

  /** Somebody drives it: it is no longer one of those that merely were found. */
  #use(entry: Entry): void {
    this.#deps.registry
      .use(entry.id)
      .catch((error: unknown) => this.#deps.log.recurring(`That a device is used could not be kept: ${textOf(error)}`));
  }

  #missingDefault(): Entry {
    const device = this.defaultDevice();
    if (device) return device;
    const { registry } = this.#deps;
    const wanted = this.#deps.config().daemon.default_device;
    throw new ZapdError(
      "default_device_missing",
      wanted === "" ? "No default device is set" : `The default device, ${JSON.stringify(wanted)}, is not known`,
      { hint: registry.entries.length === 0 ? noneKnown : "Choose one: zapd default NAME" },
    );
  }
}
