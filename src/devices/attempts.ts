/** One attempt at a device: with its deadline, its caller who may hang up, and what the outcome says of the device. */
import { failedBy, ZapdError } from "../api/errors.ts";
import type { Connection } from "../platforms/platform.ts";
import { type Log, redacted } from "../system/log.ts";
import type { Entry } from "./entry.ts";
import { named } from "./failures.ts";
import type { Links } from "./links.ts";
import { saysOff } from "./power.ts";
import type { Registry } from "./registry.ts";

/** A timer set for longer would end at once. */
const longestTimer = 2 ** 31 - 1;
/** A platform that does not let go when its signal ends is left behind after this, or it would hold the queue. */
const letsGoWithin = 1_000;

/** One command or read of a device. */
export interface Task<T> {
  /** What is attempted, for the error: "pressing home". */
  readonly doing: string;
  /** Milliseconds from its turn to its end. */
  readonly within: number;
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

export interface AttemptDependencies {
  readonly registry: Registry;
  readonly log: Log;
  /** Told when a device did not answer, so that it may be looked for. */
  lost(entry: Entry): void;
}

export class Attempts {
  readonly #deps: AttemptDependencies;
  readonly #links: Links;
  readonly #running = new Set<AbortController>();
  #over: ZapdError | undefined;

  constructor(deps: AttemptDependencies, links: Links) {
    this.#deps = deps;
    this.#links = links;
  }

  /** Runs a task once; a failure gets the device's name, and what was attempted. */
  async make<T>(entry: Entry, task: Task<T>, signal: AbortSignal): Promise<T> {
    if (this.#over) throw this.#over;
    const controller = new AbortController();
    const leave = () => controller.abort(signal.reason);
    if (signal.aborted) leave();
    signal.addEventListener("abort", leave, { once: true });
    this.#running.add(controller);
    const timer = setTimeout(() => controller.abort(tooLate(task)), Math.min(task.within, longestTimer));
    try {
      const work = task.work(task.over ?? this.#links.connection(entry), controller.signal);
      const result = await heldTo(controller.signal, work);
      if (!task.over) this.#deps.registry.noteContact(entry.id, true);
      return result;
    } catch (error) {
      this.#deps.log.debug(`${entry.name}: ${task.doing}: ${wordsOf(error)}`);
      // A caller who hung up says nothing of the device.
      if (error instanceof ZapdError && !signal.aborted && !task.over) this.#noteFailure(entry, error);
      // What a device says may hold a secret; what the caller said is the caller's.
      const told = error instanceof ZapdError ? redacted(error, this.#deps.log, task.given) : error;
      throw named(told, this.#links.subject(entry), task.doing);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", leave);
      this.#running.delete(controller);
    }
  }

  /** Ends all that is under way, and begins nothing any more. */
  end(reason: ZapdError): void {
    this.#over = reason;
    for (const controller of this.#running) controller.abort(reason);
  }

  #noteFailure(entry: Entry, error: ZapdError): void {
    const { registry, lost } = this.#deps;
    if (error.code === "device_unreachable") {
      registry.noteContact(entry.id, false);
      // One that is off is where it was; where a machine refuses, nothing of the device runs any more, and it may have moved.
      if (!saysOff(registry.contact(entry.id).power) || failedBy(error, "refused")) lost(entry);
    } else if (answeredBy.has(error.code)) {
      registry.noteContact(entry.id, true);
    }
  }
}

/** Failures that only a device which is there can give. */
const answeredBy: ReadonlySet<string> = new Set([
  ...["device_refused", "unsupported_key", "pairing_required", "pairing_failed"],
]);

function wordsOf(error: unknown): string {
  return error instanceof Error ? `${error.message} ${String(error.cause ?? "")}` : String(error);
}

function tooLate({ within }: { within: number }): ZapdError {
  return new ZapdError("device_timeout", `did not finish within ${Math.round(within / 1000)} s`);
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
