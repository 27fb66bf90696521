/** Wake, wait, act: a command to a device that is asleep wakes it first. */
import type { ZapdError } from "../errors.ts";
import type { Connection } from "../platforms/platform.ts";
import type { Attempts, Task } from "./attempts.ts";
import type { Entry } from "./entry.ts";
import { isSilent, saysOff } from "./power.ts";
import type { Registry } from "./registry.ts";

/** A device that is called by magic packets answers within this, or not at all. */
const wakesWithin = 30_000;
/** From the moment that it answers until it says that it is on. */
const onWithin = 15_000;

export interface WakerDependencies {
  readonly registry: Registry;
  readonly attempts: Attempts;
  connection(entry: Entry): Connection;
  /** Milliseconds that one answer of a device may take. */
  patience(): number;
}

export class Waker {
  readonly #deps: WakerDependencies;

  constructor(deps: WakerDependencies) {
    this.#deps = deps;
  }

  /** Runs a command; at a device that is asleep, once that is awake. */
  async run<T>(entry: Entry, task: Task<T>, signal: AbortSignal): Promise<T> {
    const { attempts } = this.#deps;
    const start = performance.now();
    try {
      const result = await attempts.make(entry, task, signal);
      // It took a command: its word that it is off is an old one.
      if (this.#isOff(entry)) this.#said(entry, null);
      return result;
    } catch (error) {
      if (!isSilent(error) || signal.aborted || task.begun?.()) throw error;
      const { whenOff } = task;
      if (whenOff?.wake === false && this.#isOff(entry)) return whenOff.result;
      await this.#wake(entry, error, performance.now() - start, signal);
      return whenOff ? whenOff.result : attempts.make(entry, task, signal);
    }
  }

  /**
   * Who is known to be asleep is called for as long as waking takes. Anyone else who does not answer is called only while
   * the caller would have waited for one answer, for it may as well be unplugged; it fails for the first reason then.
   */
  async #wake(entry: Entry, error: ZapdError, waited: number, signal: AbortSignal): Promise<void> {
    const { attempts, connection, patience } = this.#deps;
    const isOff = this.#isOff(entry);
    const withinMs = isOff ? wakesWithin : patience() - waited;
    const { powerOn, withheld } = connection(entry);
    if (error.code !== "device_unreachable" || !powerOn || withheld?.has("power_on") || withinMs <= 0) throw error;
    const task: Task<void> = {
      ...{ doing: "waking it", within: withinMs + onWithin },
      work: (_connection, within) => powerOn(within, { silent: true, withinMs }),
    };
    await attempts.make(entry, task, signal).catch((unwoken: unknown) => {
      throw isOff || signal.aborted ? unwoken : error;
    });
    this.#said(entry, "on");
  }

  #isOff(entry: Entry): boolean {
    return saysOff(this.#deps.registry.contact(entry.id).power);
  }

  #said(entry: Entry, power: "on" | null): void {
    if (this.#deps.registry.get(entry.id)) this.#deps.registry.noteContact(entry.id, true, power);
  }
}
