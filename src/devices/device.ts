/**
 * One device, live: its name, the queue of its commands, the reads that are shared, and its pairing. It gives what is asked
 * of it to its reach, the one protocol by which it is driven. Knows no platform by name.
 */
import { textOf, ZapdError } from "../api/errors.ts";
import type { State, Device as View } from "../api/schemas.ts";
import type { Finding } from "../discovery/probe-queue.ts";
import type { Capability, Connection, Description, Platform, PlatformState } from "../platforms/platform.ts";
import type { SleepWatch } from "../system/clock.ts";
import { type Catalog, describeApp } from "./catalog.ts";
import type { Entry } from "./entry.ts";
import { aborted, named, requireCapability } from "./failures.ts";
import { DevicePairing, type PairingRequest, type PairingStep } from "./pairing.ts";
import { Queue, type Turn } from "./queue.ts";
import { isSilent, Reach, type ReachDependencies, type Task } from "./reach.ts";

export interface DeviceDependencies extends ReachDependencies {
  readonly catalog: Catalog;
  /** What waits for its turn while the machine sleeps is not sent. */
  readonly sleep?: SleepWatch;
  /** Told when nothing is under way any more at a device that is no longer known. */
  gone(device: Device): void;
}

export class Device {
  readonly id: string;
  readonly reach: Reach;
  readonly #deps: DeviceDependencies;
  readonly #queue: Queue;
  readonly #reads = new Map<string, Promise<unknown>>();
  /** Grows with each command that ends: a read that began before is not shared with who asks after. */
  #commands = 0;
  readonly #pairing: DevicePairing;
  #lastState: Partial<PlatformState> = {};

  constructor(deps: DeviceDependencies, record: Entry) {
    this.#deps = deps;
    this.reach = new Reach(deps, record, (patch, cause) => this.observe(patch, cause));
    this.#pairing = new DevicePairing(deps, this.reach);
    this.id = record.id;
    this.#queue = new Queue(deps.sleep);
  }

  /** What the registry holds of it; of a device that was removed, what it held. */
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

  get platform(): Platform {
    return this.reach.platform;
  }

  get capabilities(): readonly Capability[] {
    return this.reach.capabilities;
  }

  /** What it can do, told without a connection. */
  get description(): Description {
    return this.reach.description;
  }

  /** Fails with `unsupported_operation`, under its name, where it lacks a capability. */
  require(capability: Capability, doing: string): void {
    try {
      this.reach.require(capability);
    } catch (error) {
      throw named(error, this.record, doing);
    }
  }

  get connection(): Connection {
    return this.reach.connection;
  }

  /** As the API shows it. */
  describe(isDefault = this.#deps.registry.defaultEntry?.id === this.id): View {
    const { record } = this;
    const { power, contact } = this.reach;
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
      power,
      host,
      port,
      ports,
      status: contact.status,
      access,
      capabilities: [...this.capabilities],
      used: this.#deps.registry.isUsed(record),
      is_default: isDefault,
      added_at,
      last_seen: contact.last_seen,
    };
  }

  /** The payload of an action: the device as it is known after it, the action's name, and what the action adds. */
  acted<Name extends string, Payload extends object>(
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
    const task: Task<State> = {
      doing: "reading its state",
      needs: "state",
      timeoutMs: this.timeoutMs + 1_000,
      work: async (connection, within) => {
        const state = await requireCapability(connection.state, "state")(within);
        this.observe(state, "poll");
        const app = state.app && describeApp(state.app, this.catalog.apps(this.id));
        return { ...state, app, observed_at: new Date().toISOString() };
      },
    };
    try {
      return await this.read("state", task, signal);
    } catch (error) {
      if (isSilent(error) && this.reach.isOff) return { ...offState, observed_at: new Date().toISOString() };
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
      return await this.reach.attempt(task, nobody);
    } catch (error) {
      const isGone = error instanceof ZapdError && error.code === "device_unreachable";
      if (!isGone || this.reach.isOff) throw error;
      if (!(await this.reach.seek(before, "read", this.timeoutMs, nobody))) throw error;
      return this.reach.attempt(task, nobody);
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
      const result = await this.reach.attempt(task, signal);
      // It took a command that only one which is on takes: its word that it is off is an old one.
      if (this.reach.isOff && task.whenOff?.wake !== false) this.observe({ power: "unknown" }, "command");
      return result;
    } catch (error) {
      if (!isSilent(error) || signal.aborted || task.begun?.()) throw error;
      const { whenOff } = task;
      if (whenOff?.wake === false && this.reach.isOff) return whenOff.result;
      const met = await this.reach.recover(before, error, task.timeoutMs, performance.now() - start, signal);
      return whenOff && met === "awake" ? whenOff.result : this.reach.attempt(task, signal);
    }
  }

  /** Pairs with it, or takes part in the pairing that is under way; gives what is to be done next, or `null` at its end. */
  async pair(request: PairingRequest, signal: AbortSignal, at?: Finding): Promise<PairingStep | null> {
    try {
      return await this.#using(this.#pairing.pair(request, signal, at));
    } finally {
      this.#commands++;
      this.#leaveIfGone();
    }
  }

  /** Gives up the pairing that is under way; whether there was one. */
  cancelPairing(): boolean {
    return this.#pairing.cancel();
  }

  /** Fails with `device_unproven` while it is on probation, under its name. */
  checkTrusted(doing: string): void {
    this.reach.checkTrusted(doing);
  }

  /** What was last seen of its state, part by part; one that was never seen is missing. */
  get lastState(): Partial<PlatformState> {
    return this.#lastState;
  }

  /**
   * The one writer of its last state. Power that is `unknown` after a command may be either by now; read, it says nothing
   * new. What says by itself that it is off will not answer.
   */
  observe(patch: Partial<PlatformState>, cause: "push" | "poll" | "command"): void {
    if (!this.#deps.registry.get(this.id)) return;
    const { power } = patch;
    if (power === "off" && cause === "push") this.reach.silent(power);
    else if (power === "unknown") this.reach.answered(cause === "command" ? null : undefined);
    else this.reach.answered(power);
    this.#lastState = { ...this.#lastState, ...(power === "off" && offState), ...patch };
  }

  /** The user says that what answers where it is now is it. */
  async trust(): Promise<void> {
    await this.#deps.trust.trust(this.record);
    this.#use();
  }

  /** It is no longer known: what is open is closed, and its user need not answer any more. What is under way ends by itself. */
  async remove(): Promise<void> {
    this.reach.forget();
    // The same device, added anew, can be paired at once.
    this.#pairing.end(new ZapdError("device_not_found", "was removed while it was being paired"));
    this.#leaveIfGone();
    await this.#deps.credentials.forget(this.id);
    await this.catalog.forget(this.id);
  }

  /** What is under way keeps its queue, so that nothing overtakes it when the device is added anew. */
  #leaveIfGone(): void {
    if (this.#queue.idle && !this.#deps.registry.get(this.id)) this.#deps.gone(this);
  }

  /** Ends what is under way, and begins nothing any more. */
  close(reason: ZapdError): void {
    this.#pairing.end(reason);
    this.reach.close(reason);
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
}

/** The state of a device that is off. */
const offState: PlatformState & { readonly app: null } = {
  power: "off",
  app: null,
  screensaver: null,
  playback: null,
  volume: null,
  input: null,
};
