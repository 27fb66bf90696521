/**
 * The control path: a name becomes a device, a device a connection, and a connection carries one command, with its
 * place in the queue, its deadline and an error that says whose it is. Knows no platform by name.
 */
import type { Device, State } from "../api.ts";
import type { Config } from "../config/config.ts";
import { ZapdError } from "../errors.ts";
import type { Log } from "../log.ts";
import {
  type Capability,
  type Connection,
  capabilities,
  type Platform,
  type Surroundings,
} from "../platforms/platform.ts";
import type { Catalog } from "./catalog.ts";
import { describeApp } from "./catalog.ts";
import { type Entry, targetOf } from "./entry.ts";
import { aborted, method, named } from "./failures.ts";
import { noneKnown, resolveName } from "./names.ts";
import { Queue, type Turn } from "./queue.ts";
import type { Registry } from "./registry.ts";

export interface ControlDependencies {
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly platforms: readonly Platform[];
  readonly surroundings: Omit<Surroundings, "learned">;
  readonly log: Log;
  config(): Config;
  /** Told when a device did not answer, so that it may be looked for. */
  lost(entry: Entry): void;
}

/** A timer set for longer would end at once. */
const longestTimer = 2 ** 31 - 1;

/** One command or read of a device. */
export interface Task<T> {
  /** What is attempted, for the error: "pressing home". */
  readonly doing: string;
  /** Milliseconds from its turn to its end. */
  readonly within: number;
  work(connection: Connection, signal: AbortSignal): Promise<T>;
}

export class Control {
  readonly #deps: ControlDependencies;
  readonly #links = new Map<string, { readonly key: string; readonly connection: Connection }>();
  readonly #queues = new Map<string, Queue>();
  readonly #reads = new Map<string, Promise<unknown>>();
  /** Grows with each command that ends: a read that began before is not shared with who asks after. */
  readonly #epochs = new Map<string, number>();
  readonly #ending = new AbortController();

  constructor(deps: ControlDependencies) {
    this.#deps = deps;
  }

  /** The device that a path segment means; `device_not_found`, `default_device_missing` and their like. */
  find(segment: string): Entry {
    return resolveName(segment, this.#deps.registry.entries) ?? this.#missingDefault();
  }

  /** The default device, or `null`. */
  defaultDevice(): Entry | null {
    const wanted = this.#deps.config().daemon.default_device;
    const { entries } = this.#deps.registry;
    if (wanted === "") return entries.length === 1 ? (entries[0] ?? null) : null;
    try {
      return resolveName(wanted, entries);
    } catch {
      return null;
    }
  }

  /** Every registry entry as the API shows it. */
  describeAll(): Device[] {
    const defaultId = this.defaultDevice()?.id;
    return this.#deps.registry.entries.map((entry) => this.describe(entry, defaultId));
  }

  /** A registry entry as the API shows it. */
  describe(entry: Entry, defaultId = this.defaultDevice()?.id): Device {
    const { macs, added_at, ...known } = entry;
    const { status, last_seen } = this.#deps.registry.contact(entry.id);
    const { id, name, platform, kind, manufacturer, model, serial, software_version, host, port, ports, access } =
      known;
    return {
      ...{ id, name, platform, kind, manufacturer, model, serial, mac: macs[0] ?? null, software_version, host, port },
      ...{ ports, status, access, capabilities: this.#capabilities(entry), is_default: defaultId === id },
      ...{ added_at, last_seen },
    };
  }

  /** The payload of an action: the device as it is known after it, the action's name, and what the action adds. */
  acted<Name extends string, Payload extends object>(
    entry: Entry,
    action: Name,
    payload: Payload,
  ): { device: Device; action: Name } & Payload {
    return { device: this.describe(this.#deps.registry.get(entry.id) ?? entry), action, ...payload };
  }

  platform(entry: Entry): Platform {
    const platform = this.#deps.platforms.find((one) => one.name === entry.platform);
    if (!platform)
      throw new ZapdError(
        "unsupported_operation",
        `${entry.name} is on a platform that this zapd does not know, "${entry.platform}"`,
      );
    return platform;
  }

  /** The live state; callers that ask at the same time share one reading, never one from before their last command. */
  async state(entry: Entry, signal: AbortSignal): Promise<State> {
    const task: Task<State> = {
      ...{ doing: "reading its state", within: this.timeout + 1_000 },
      work: async (connection, within) => {
        const state = await method(connection.state, "state")(within);
        const app = state.app && describeApp(state.app, this.#deps.catalog.apps(entry.id));
        return { ...state, app, observed_at: new Date().toISOString() };
      },
    };
    return this.shared(entry, "state", task, signal);
  }

  /** A read, shared by all who ask for it at the same time. */
  async shared<T>(entry: Entry, what: string, task: Task<T>, signal: AbortSignal): Promise<T> {
    const key = `${entry.id} ${what} ${this.#epochs.get(entry.id) ?? 0}`;
    const reading = (this.#reads.get(key) as Promise<T> | undefined) ?? this.#startReading(key, entry, task);
    return Promise.race([reading, aborted(signal)]);
  }

  /** A command: waits for its turn, then runs with its deadline. */
  async command<T>(entry: Entry, task: Task<T>, turn: Turn): Promise<T> {
    const queue = this.#queues.get(entry.id) ?? new Queue();
    this.#queues.set(entry.id, queue);
    let begun = false;
    try {
      return await queue.run(turn, () => {
        begun = true;
        return this.#perform(entry, task, turn.signal);
      });
    } catch (error) {
      throw begun ? error : named(error, entry, task.doing);
    } finally {
      this.#epochs.set(entry.id, (this.#epochs.get(entry.id) ?? 0) + 1);
    }
  }

  /** Milliseconds that one answer of a device may take. */
  get timeout(): number {
    return this.#deps.config().devices.request_timeout_ms;
  }

  /** Drops what is kept of a device. */
  forget(id: string): void {
    this.#links.get(id)?.connection.close();
    this.#links.delete(id);
    this.#queues.delete(id);
    this.#epochs.delete(id);
  }

  /** Ends what is under way, too: a device that hangs must not hold the process. */
  close(): void {
    this.#ending.abort(new ZapdError("internal_error", "zapd is stopping"));
    for (const id of [...this.#links.keys()]) this.forget(id);
  }

  /** The connection to a device, made anew when what it was made from has changed. */
  connection(entry: Entry): Connection {
    const { registry, surroundings, log } = this.#deps;
    // The caller's entry may be older than what is known by now: it must not bring a past address back.
    const target = targetOf(registry.get(entry.id) ?? entry);
    const key = JSON.stringify(target);
    const linked = this.#links.get(entry.id);
    if (linked?.key === key) return linked.connection;
    linked?.connection.close();
    const learned: Surroundings["learned"] = (facts) => {
      registry
        .learn(entry.id, facts)
        .catch((error: unknown) => log.warn(`${entry.name}: what it told could not be kept: ${String(error)}`));
    };
    const connection = this.platform(entry).connect(target, { ...surroundings, learned });
    this.#links.set(entry.id, { key, connection });
    return connection;
  }

  #startReading<T>(key: string, entry: Entry, task: Task<T>): Promise<T> {
    const reading = this.#perform(entry, task, new AbortController().signal).finally(() => this.#reads.delete(key));
    this.#reads.set(key, reading);
    return reading;
  }

  async #perform<T>(entry: Entry, task: Task<T>, signal: AbortSignal): Promise<T> {
    const { registry, log } = this.#deps;
    const late = new ZapdError("device_timeout", `did not finish within ${Math.round(task.within / 1000)} s`);
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(late), Math.min(task.within, longestTimer));
    try {
      const result = await task.work(
        this.connection(entry),
        AbortSignal.any([signal, controller.signal, this.#ending.signal]),
      );
      registry.noteContact(entry.id, true);
      return result;
    } catch (error) {
      log.debug(
        `${entry.name}: ${task.doing}: ${error instanceof Error ? `${error.message} ${String(error.cause ?? "")}` : String(error)}`,
      );
      // A caller who hung up says nothing of the device.
      if (error instanceof ZapdError && !signal.aborted) this.#noteFailure(entry, error);
      throw named(error, entry, task.doing);
    } finally {
      clearTimeout(timer);
    }
  }

  #noteFailure(entry: Entry, error: ZapdError): void {
    if (error.code === "device_unreachable") {
      this.#deps.registry.noteContact(entry.id, false);
      this.#deps.lost(entry);
    } else if (error.code === "device_refused" || error.code === "unsupported_key") {
      this.#deps.registry.noteContact(entry.id, true);
    }
  }

  #capabilities(entry: Entry): Capability[] {
    if (!this.#deps.platforms.some((one) => one.name === entry.platform)) return [];
    const connection = this.connection(entry);
    const methods: Partial<Record<Capability, unknown>> = { ...connection, power_on: connection.powerOn };
    return capabilities.filter(
      (capability) => methods[capability] !== undefined && !connection.withheld?.has(capability),
    );
  }

  #missingDefault(): Entry {
    const device = this.defaultDevice();
    if (device) return device;
    const wanted = this.#deps.config().daemon.default_device;
    throw new ZapdError(
      "default_device_missing",
      wanted === "" ? "No default device is set" : `The default device, ${JSON.stringify(wanted)}, is not known`,
      { hint: this.#deps.registry.entries.length === 0 ? noneKnown : "Choose one: zapd default NAME" },
    );
  }
}
