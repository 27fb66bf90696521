/**
 * Runs a scene that has been checked, step by step, and tells what each did. It asks for each command as any caller of the
 * API would, and knows no other way to a device.
 */
import { toZapdError, ZapdError } from "../api/errors.ts";
import { type SceneResult, type StepResult, sceneLimits } from "../api/scenes.ts";
import type { Device } from "../devices/device.ts";
import { waitFor } from "../devices/wait.ts";
import { SleepWatch } from "../system/clock.ts";
import { sleep } from "../system/sleep.ts";
import {
  type Act,
  allOf,
  type Command,
  type If,
  type Parallel,
  type Plan,
  type Planned,
  type WaitFor,
} from "./plan.ts";

/** What a command answered. */
export type Answer =
  | { readonly ok: true; readonly data: { readonly confirmed?: boolean | null } }
  | { readonly ok: false; readonly error: ErrorShown };

type ErrorShown = NonNullable<StepResult["error"]>;
type AtDevice = StepResult["devices"][number];

export interface RunOptions {
  /** Asks a device for something, as the API is asked. */
  ask(command: Command, device: Device, signal: AbortSignal): Promise<Answer>;
  /** Told of each step as it ends, in the words of those who follow. */
  told(step: StepResult): void;
  /** Ends when the caller hangs up: no step comes after. */
  readonly signal: AbortSignal;
  readonly totalMs?: number;
}

/** How long a device is asked whether it is so already, and afterwards whether it has become so. */
const look = { beforeMs: 2_000, afterMs: 3_000 } as const;

/** Ends the steps behind one that failed. */
class Stopped extends Error {}

/** Runs it; what each step did, and how it ended. */
export async function runPlan(
  plan: Plan,
  options: RunOptions,
): Promise<Pick<SceneResult, "outcome" | "failed" | "steps" | "took_ms">> {
  return new Run(plan, options).run();
}

/** The result of each step where none is run. */
export function untouched({ steps }: Plan, reason: StepResult["reason"]): StepResult[] {
  return [...allOf(steps)].map((step) => ({ ...blank(step), ...(reason && { reason }) }));
}

function blank({ at, line, name, does, devices }: Planned): StepResult {
  const each = devices.map(
    (device): AtDevice => ({ device: shownDevice(device), status: "not_run", confirmed: null, took_ms: 0 }),
  );
  return { at, line, name, does, status: "not_run", confirmed: null, took_ms: 0, devices: each };
}

function shownDevice(device: Device): AtDevice["device"] {
  return { id: device.id, name: device.record.name };
}

/** What came of a step at a device, that began at `since`. */
function cameOf(
  device: Device,
  since: number,
  status: AtDevice["status"],
  confirmed: boolean | null,
  error?: ErrorShown,
): AtDevice {
  const took_ms = Math.round(performance.now() - since);
  return { device: shownDevice(device), status, confirmed, took_ms, ...(error && { error }) };
}

class Run {
  readonly #plan: Plan;
  readonly #options: RunOptions;
  /** Ends when the caller hangs up, and when it has taken too long. */
  readonly #over: AbortSignal;
  readonly #late: AbortController = new AbortController();
  /** Ends, besides, when a step has failed: waiting ends then. */
  readonly #halt = new AbortController();
  readonly #watch = new SleepWatch();
  readonly #results = new Map<Planned, StepResult>();

  constructor(plan: Plan, options: RunOptions) {
    this.#plan = plan;
    this.#options = options;
    this.#over = AbortSignal.any([options.signal, this.#late.signal]);
  }

  async run(): Promise<Pick<SceneResult, "outcome" | "failed" | "steps" | "took_ms">> {
    const { steps } = this.#plan;
    const since = performance.now();
    const { totalMs = sceneLimits.totalMs } = this.#options;
    const timer = setTimeout(() => this.#late.abort(tooLong(totalMs)), totalMs);
    let outcome: SceneResult["outcome"] = "done";
    try {
      await this.#sequence(steps);
    } catch (error) {
      if (!(error instanceof Stopped) && !this.#over.aborted) throw error;
      outcome = this.#options.signal.aborted ? "cancelled" : "stopped";
    } finally {
      clearTimeout(timer);
      this.#watch.end();
    }
    const results = [...allOf(steps)].map(
      (step): StepResult =>
        this.#results.get(step) ?? { ...blank(step), reason: outcome === "cancelled" ? "cancelled" : "stopped" },
    );
    const failed = results.filter(({ status }) => status === "failed").length;
    return { outcome, failed, steps: results, took_ms: Math.round(performance.now() - since) };
  }

  /** Runs steps one after another; whether none of them had anything to do. */
  async #sequence(steps: readonly Planned[]): Promise<boolean> {
    let isAllSkipped = true;
    let isSkipped = false;
    for (const step of steps) {
      if (step.kind === "wait" && isSkipped) {
        this.#ended(step, { status: "skipped", reason: "nothing_before" });
        continue;
      }
      isSkipped = await this.#step(step);
      isAllSkipped &&= isSkipped;
    }
    return isAllSkipped;
  }

  /** Runs one step; whether it had nothing to do. Fails with `Stopped` where nothing may come after it. */
  async #step(step: Planned): Promise<boolean> {
    this.#over.throwIfAborted();
    if (this.#halt.signal.aborted) throw new Stopped();
    const since = performance.now();
    if (this.#watch.sleepCount > 0) {
      const message = "The rest of the scene was not run: this machine slept";
      return this.#failed(step, since, { code: "device_timeout", message }, true);
    }
    switch (step.kind) {
      case "act":
        return this.#act(step, since);
      case "wait":
        await this.#untilHalted((signal) => sleep(step.ms, signal), step, since);
        this.#ended(step, { status: "did", took_ms: since });
        return false;
      case "wait_for":
        return this.#waitFor(step, since);
      case "if":
        return this.#if(step, since);
      case "parallel":
        return this.#parallel(step, since);
    }
  }

  /** A wait ends with a failure elsewhere, too. */
  async #untilHalted<T>(wait: (signal: AbortSignal) => Promise<T>, step: Planned, since: number): Promise<T> {
    const signal = AbortSignal.any([this.#over, this.#halt.signal]);
    try {
      return await wait(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      if (this.#late.signal.aborted) this.#failed(step, since, this.#lateError(), true);
      throw new Stopped();
    }
  }

  #ended(step: Planned, { took_ms: since, ...rest }: Partial<StepResult> & Pick<StepResult, "status">): void {
    const took_ms = since === undefined ? 0 : Math.round(performance.now() - since);
    const result: StepResult = { ...blank(step), ...rest, took_ms };
    this.#results.set(step, result);
    this.#options.told(isTyped(step) ? withoutTyped(result) : result);
  }

  /** Notes that a step failed; with `isEnd` the scene ends there. */
  #failed(
    step: Planned,
    since: number,
    error: ErrorShown | undefined,
    isEnd: boolean,
    more: Partial<StepResult> = {},
  ): boolean {
    this.#ended(step, { ...more, status: "failed", ...(error && { error }), took_ms: since });
    if (!isEnd) return false;
    this.#halt.abort(new Stopped());
    throw new Stopped();
  }

  async #act(step: Act, since: number): Promise<boolean> {
    const devices = await Promise.all(step.devices.map((device) => this.#atDevice(step, device)));
    const failed = devices.find(({ status }) => status === "failed");
    const confirmed = devices.filter(({ status }) => status === "did").map((one) => one.confirmed);
    const all = confirmed.includes(false) ? false : confirmed.length === 0 || confirmed.includes(null) ? null : true;
    if (failed) {
      const isEnd = step.onError === "stop" || this.#over.aborted;
      return this.#failed(step, since, failed.error, isEnd, { devices, confirmed: all });
    }
    const isSkipped = confirmed.length === 0;
    this.#ended(step, { ...didOr(isSkipped), devices, confirmed: isSkipped ? true : all, took_ms: since });
    return isSkipped;
  }

  /** Everything that a step asks of one device; it does not fail. */
  async #atDevice(step: Act, device: Device): Promise<AtDevice> {
    const since = performance.now();
    const came = (status: AtDevice["status"], confirmed: boolean | null, error?: ErrorShown) =>
      cameOf(device, since, status, confirmed, error);
    try {
      const { isSo } = step;
      if (isSo && (await this.#isAlready(device, isSo))) return came("skipped", true);
      let confirmed: boolean | null = null;
      for (const [index, command] of step.commands.entries()) {
        if (index > 0) await sleep(step.delayMs, this.#over);
        this.#over.throwIfAborted();
        const answer = await this.#options.ask(command, device, this.#over);
        if (!answer.ok) return came("failed", null, this.#late.signal.aborted ? this.#lateError() : answer.error);
        confirmed = answer.data.confirmed ?? null;
      }
      if (isSo && step.isLookedAt) confirmed = await this.#hasBecome(step, device);
      return came("did", confirmed);
    } catch (error) {
      return came("failed", null, errorShown(error));
    }
  }

  #lateError(): ErrorShown {
    return errorShown(this.#late.signal.reason);
  }

  /** Whether it is so, as far as it says so at once. */
  async #isAlready(device: Device, isSo: NonNullable<Act["isSo"]>): Promise<boolean> {
    if (!device.capabilities.includes("state")) return false;
    try {
      return isSo(await device.state(AbortSignal.any([this.#over, AbortSignal.timeout(look.beforeMs)])));
    } catch {
      this.#over.throwIfAborted();
      return false;
    }
  }

  /** Whether it shows, after a while, what it was told; `null` where it does not say. */
  async #hasBecome({ isSo = () => false }: Act, device: Device): Promise<boolean | null> {
    if (!device.capabilities.includes("state")) return null;
    const condition = { text: "", holds: isSo };
    const { state, matched } = await waitFor(device, [condition], look.afterMs, this.#over).catch(() => {
      this.#over.throwIfAborted();
      return { state: device.lastStateOrUnknown, matched: false };
    });
    return matched || (state.power === "unknown" ? null : false);
  }

  async #waitFor(step: WaitFor, since: number): Promise<boolean> {
    const { conditions, timeoutMs } = step;
    const devices = await this.#untilHalted(
      (signal) =>
        Promise.all(
          step.devices.map(async (device): Promise<AtDevice> => {
            const began = performance.now();
            const failed = (error: ErrorShown) => cameOf(device, began, "failed", false, error);
            try {
              const { matched } = await waitFor(device, conditions, timeoutMs, signal);
              return matched ? cameOf(device, began, "did", true) : failed(notInTime(device, step));
            } catch (error) {
              if (signal.aborted) throw error;
              return failed(errorShown(error));
            }
          }),
        ),
      step,
      since,
    );
    const failed = devices.find(({ status }) => status === "failed");
    const matched = failed === undefined;
    if (failed)
      return this.#failed(step, since, failed.error, step.orElse === "stop", { devices, matched, confirmed: false });
    this.#ended(step, { status: "did", matched, confirmed: true, devices, took_ms: since });
    return false;
  }

  async #if(step: If, since: number): Promise<boolean> {
    const { conditions, branches } = step;
    let matched: boolean;
    try {
      const states = await Promise.all(step.devices.map((device) => device.state(this.#over)));
      matched = states.every((state) => conditions.every((one) => one.holds(state)));
    } catch (error) {
      const isEnd = step.onError === "stop" || this.#over.aborted;
      const shown = this.#late.signal.aborted ? this.#lateError() : errorShown(error);
      for (const branch of [branches.yes, branches.no]) this.#passOver(branch);
      return this.#failed(step, since, shown, isEnd);
    }
    const [taken, other] = matched ? [branches.yes, branches.no] : [branches.no, branches.yes];
    this.#passOver(other);
    const hasMatch = taken.length > 0;
    const devices = blank(step).devices.map((one): AtDevice => ({ ...one, status: "did" }));
    this.#ended(step, {
      ...(hasMatch ? { status: "did" } : { status: "skipped", reason: "no_match" }),
      matched,
      devices,
      took_ms: since,
    });
    return this.#sequence(taken);
  }

  /** Steps of the branch that is not taken: they are told in the answer alone. */
  #passOver(steps: readonly Planned[]): void {
    for (const step of allOf(steps)) this.#results.set(step, { ...blank(step), reason: "other_branch" });
  }

  async #parallel(step: Parallel, since: number): Promise<boolean> {
    const ends = await Promise.allSettled(step.branches.map((branch) => this.#sequence(branch)));
    const failure = ends.find((one) => one.status === "rejected");
    if (failure) {
      this.#ended(step, { status: "failed", took_ms: since });
      throw failure.reason;
    }
    const isSkipped = ends.every((one) => one.status === "fulfilled" && one.value);
    this.#ended(step, { ...didOr(isSkipped), took_ms: since });
    return isSkipped;
  }
}

function didOr(isSkipped: boolean): Pick<StepResult, "status" | "reason"> {
  return isSkipped ? { status: "skipped", reason: "already_so" } : { status: "did" };
}

function tooLong(totalMs: number): ZapdError {
  return new ZapdError("device_timeout", `The scene was ended: it ran for ${Math.round(totalMs / 1_000)} s`, {
    hint: "Make two scenes of it, or give up waiting sooner with timeout_ms",
    namesDevice: true,
  });
}

function notInTime(device: Device, { does, timeoutMs }: WaitFor): ErrorShown {
  const message = `${device.record.name} was not so within ${timeoutMs / 1_000} s (${does})`;
  return {
    code: "device_timeout",
    message,
    hint: 'Give it more time with timeout_ms, or go on with else = "continue"',
  };
}

function errorShown(thrown: unknown): ErrorShown {
  const { code, message, hint } = toZapdError(thrown);
  return { code, message, ...(hint !== undefined && { hint }) };
}

function isTyped(step: Planned): boolean {
  return step.kind === "act" && step.isTyped;
}

/** For those who follow the events: a failure about typed text may repeat it. */
function withoutTyped(result: StepResult): StepResult {
  const hidden = (error: ErrorShown | undefined) =>
    error && { error: { code: error.code, message: "The text was not typed" } };
  const devices = result.devices.map(({ error, ...rest }) => ({ ...rest, ...hidden(error) }));
  const { error, ...rest } = result;
  return { ...rest, ...hidden(error), devices };
}
