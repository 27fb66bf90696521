/**
 * The reads of one device: each is shared by the callers that ask for it at the same time, and goes to the next endpoint where
 * one does not answer. Its state is read from all endpoints that report it.
 */
import { hasCode, inStandby } from "../api/errors.ts";
import type { State } from "../api/schemas.ts";
import type { StatePart } from "../platforms/platform.ts";
import { neverAborted } from "../system/never-aborted.ts";
import { orAborted, sleep } from "../system/sleep.ts";
import { mergeStates } from "./compose.ts";
import type { Endpoint } from "./endpoint.ts";
import type { EndpointSet } from "./endpoints.ts";
import { requireCapability, withDeviceName } from "./failures.ts";
import type { LastState } from "./last-state.ts";
import { removedError } from "./names.ts";
import { offState } from "./presence.ts";
import type { DeviceRecord } from "./record.ts";
import type { Route, Task } from "./task.ts";

/** Whether a caller waits for a read by now. */
type IsAwaited = () => boolean;

interface ReadsDependencies {
  endpoints(): EndpointSet;
  /** The endpoints that can do a task, the preferred first. */
  candidates(task: Task<unknown>): readonly Endpoint[];
  readonly lastState: LastState;
  /** Grows with each command that ends: a read that began before is not shared with later callers. */
  commandCount(): number;
}

/** How long a state read waits for the other endpoints once one has answered. */
const otherEndpointsMs = 1_000;

export class Reads {
  readonly #deps: ReadsDependencies;
  readonly #running = new Map<string, Promise<unknown>>();
  /** Those of them that a caller waits for, though a poll may have begun them. */
  readonly #awaited = new Set<string>();
  /** The endpoints whose last state read failed. */
  readonly #failed = new WeakSet<Endpoint>();

  constructor(deps: ReadsDependencies) {
    this.#deps = deps;
  }

  state(signal: AbortSignal, isAwaited = true): Promise<State> {
    const read = (isAwaitedNow: IsAwaited) => this.#deps.lastState.readFully(() => this.#readState(null, isAwaitedNow));
    return this.#shared("state", read, signal, isAwaited);
  }

  /** Reads parts of the state, or all, so that it is observed; fails where the device does not answer, even because it is off. */
  async poll(parts: readonly StatePart[] | null, isAwaited: boolean): Promise<void> {
    if (parts) {
      const read = (isAwaitedNow: IsAwaited) => this.#readState(parts, isAwaitedNow);
      await this.#shared(`state ${parts.join(" ")}`, read, neverAborted, isAwaited);
    } else {
      await this.state(neverAborted, isAwaited);
      for (const { connection } of this.#deps.endpoints().withState) connection.state?.follow?.();
    }
    if (this.#deps.endpoints().all.every(({ presence }) => presence.availability.status !== "online"))
      throw inStandby();
  }

  /** Any other read; `what` tells it from others. */
  read<T>(what: string, signal: AbortSignal, task: Task<T>): Promise<T> {
    return this.#shared(`${what} ${task.route?.endpoint.id}`, () => this.#readAnywhere(task), signal);
  }

  /** Reads the state, or parts of it, from all endpoints and merges it; fails only where no endpoint answers. */
  async #readState(parts: readonly StatePart[] | null, isAwaited: IsAwaited): Promise<State> {
    const endpoints = this.#deps.endpoints();
    const all = endpoints.withState;
    const [first = endpoints.leading] = all;
    if (all.length < 2) return this.#stateOf({ endpoint: first, isAwaited }, parts);
    const states = new Map<Endpoint, State>();
    const hadFailed = this.#failed.has(first);
    const reads = all.map((endpoint) =>
      this.#stateOf({ endpoint, withoutRecovery: true, isAwaited }, parts).then(
        (state) => {
          this.#failed.delete(endpoint);
          states.set(endpoint, state);
        },
        (error: unknown) => {
          this.#failed.add(endpoint);
          throw error;
        },
      ),
    );
    const over = new AbortController();
    // The first endpoint knows the most: it may take its whole time, unless its last read failed.
    const enough = Promise.any(reads).then(
      () => Promise.allSettled([hadFailed ? undefined : reads[0], sleep(otherEndpointsMs, over.signal)]),
      () => {},
    );
    await Promise.race([Promise.allSettled(reads), enough]);
    over.abort();
    const answered = all.flatMap((endpoint) => {
      const state = states.get(endpoint);
      return state ? [[endpoint, state] as const] : [];
    });
    const [preferred, ...others] = endpoints.sourcesOf(answered);
    // Where none has answered, the first is searched for, or gives the error.
    return preferred ? mergeStates(preferred, ...others) : this.#stateOf({ endpoint: first, isAwaited });
  }

  async #stateOf(route: Route, parts: readonly StatePart[] | null = null): Promise<State> {
    const { lastState } = this.#deps;
    const task: Task<State> = {
      activity: "reading its state",
      needs: "state",
      timeoutMs: route.endpoint.timeoutMs + 1_000,
      route,
      work: async (connection, within, endpoint) => {
        const control = requireCapability(connection.state, "state");
        const startedAt = performance.now();
        const read = await (parts && control.readParts ? control.readParts(parts, within) : control.read(within));
        if (endpoint.presence.reportedOffSince(startedAt)) return lastState.show(offState, endpoint);
        lastState.observe(endpoint.presence.withoutOutdated(read, startedAt), "poll", endpoint);
        return lastState.viewOf(endpoint);
      },
    };
    try {
      return await this.#readAnywhere(task);
    } catch (error) {
      const { endpoint } = route;
      if (!hasCode(error, "device_unreachable", "device_timeout") || !endpoint.presence.isOff) throw error;
      lastState.foundOff();
      return lastState.show(offState, endpoint);
    }
  }

  async #shared<T>(
    what: string,
    work: (isAwaitedNow: IsAwaited) => Promise<T>,
    signal: AbortSignal,
    isAwaited = true,
  ): Promise<T> {
    const key = `${what} ${this.#deps.commandCount()}`;
    if (isAwaited) this.#awaited.add(key);
    let read = this.#running.get(key) as Promise<T> | undefined;
    if (!read) {
      read = work(() => this.#awaited.has(key)).finally(() => {
        this.#running.delete(key);
        this.#awaited.delete(key);
      });
      this.#running.set(key, read);
    }
    return orAborted(read, signal);
  }

  /** A read: from the next endpoint where one does not answer, and where the device is now if it has moved. */
  async #readAnywhere<T>(task: Task<T>): Promise<T> {
    let missed: { endpoint: Endpoint; before: DeviceRecord; error: unknown } | undefined;
    for (const endpoint of this.#deps.candidates(task)) {
      const before = endpoint.record;
      try {
        // A read over a connection that is already open wakes nothing.
        const { presence, pushed } = endpoint;
        if (presence.isOff && pushed.size === 0 && endpoint.connection.power?.wakesByConnecting)
          throw withDeviceName(inStandby(), endpoint.record, task.activity);
        return await endpoint.attempt(task, neverAborted);
      } catch (error) {
        if (!hasCode(error, "device_unreachable")) throw error;
        missed ??= { endpoint, before, error };
      }
    }
    if (!missed) throw removedError();
    const { endpoint, before, error } = missed;
    if (task.route?.withoutRecovery || endpoint.presence.isOff) throw error;
    const what = (task.route?.isAwaited?.() ?? true) ? "read" : "poll";
    if (!(await endpoint.recovery.searchElsewhere(before, what, neverAborted))) throw error;
    return endpoint.attempt(task, neverAborted);
  }
}
