/** Wake, wait, act: a command to a device that is asleep wakes it first; one to a device that has moved follows it. */
import { ZapdError } from "../api/errors.ts";
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
  /** Whether its settings let it be turned on from here. */
  canWake(entry: Entry): boolean;
  /** Milliseconds that one answer of a device may take. */
  patience(): number;
  /** Looks for a device that did not answer where it was, for so many milliseconds at most; whether it is elsewhere now. */
  seek(entry: Entry, withinMs: number, signal: AbortSignal): Promise<boolean>;
}

export class Waker {
  readonly #deps: WakerDependencies;

  constructor(deps: WakerDependencies) {
    this.#deps = deps;
  }

  /** Runs a command; at a device that is asleep, once that is awake; at one that has moved, where it is now. */
  async run<T>(entry: Entry, task: Task<T>, signal: AbortSignal): Promise<T> {
    const { attempts } = this.#deps;
    const start = performance.now();
    try {
      const result = await attempts.make(entry, task, signal);
      // It took a command that only one which is on takes: its word that it is off is an old one.
      if (this.#isOff(entry) && task.whenOff?.wake !== false) this.#said(entry, null);
      return result;
    } catch (error) {
      if (!isSilent(error) || signal.aborted || task.begun?.()) throw error;
      const { whenOff } = task;
      if (whenOff?.wake === false && this.#isOff(entry)) return whenOff.result;
      const met = await this.#reach(entry, error, performance.now() - start, task.within, signal);
      return whenOff && met === "awake" ? whenOff.result : attempts.make(entry, task, signal);
    }
  }

  /**
   * Who is known to be asleep is called for as long as waking takes. Anyone else who does not answer is called, and looked
   * for elsewhere, only while the caller would have waited for one answer, for it may as well be unplugged; it fails for the
   * first reason then.
   */
  async #reach(
    entry: Entry,
    error: ZapdError,
    waited: number,
    within: number,
    signal: AbortSignal,
  ): Promise<"awake" | "elsewhere"> {
    if (error.code !== "device_unreachable") throw error;
    if (this.#isOff(entry)) {
      await this.#wake(entry, error, wakesWithin, signal);
      return "awake";
    }
    const over = new AbortController();
    const both = AbortSignal.any([signal, over.signal]);
    const found = this.#deps
      .seek(entry, Math.min(this.#deps.patience(), within - waited), both)
      .then((isElsewhere): "elsewhere" => {
        if (!isElsewhere) throw error;
        return "elsewhere";
      });
    const woken = this.#wake(entry, error, this.#deps.patience() - waited, both).then((): "awake" => "awake");
    try {
      return await Promise.any([found, woken]);
    } catch {
      throw signal.aborted ? signal.reason : error;
    } finally {
      over.abort(new ZapdError("device_error", "was reached otherwise"));
    }
  }

  async #wake(entry: Entry, error: ZapdError, withinMs: number, signal: AbortSignal): Promise<void> {
    const { attempts, connection } = this.#deps;
    const isOff = this.#isOff(entry);
    const { powerOn } = connection(entry);
    if (!powerOn || !this.#deps.canWake(entry) || withinMs <= 0) throw error;
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
