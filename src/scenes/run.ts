/**
 * Runs a checked scene step by step, and reports the result of each. It sends commands only through the API, as any caller.
 */
import { toZapdError, ZapdError } from "../api/errors.ts";
import { type SceneResult, type StepResult, sceneLimits } from "../api/scenes.ts";
import { FailureSummary } from "../api/schemas.ts";
import type { Condition } from "../devices/conditions.ts";
import type { Device } from "../devices/device.ts";
import { waitFor } from "../devices/wait.ts";
import { sleptSince } from "../system/clock.ts";
import { sleep } from "../system/sleep.ts";
import {
  type Act,
  allSteps,
  type Command,
  type If,
  type Parallel,
  type Plan,
  type Planned,
  type WaitFor,
} from "./plan.ts";

export type Answer =
  | { readonly ok: true; readonly data: { readonly confirmed?: boolean | null } }
  | { readonly ok: false; readonly error: StepError };

type StepError = NonNullable<StepResult["error"]>;
type DeviceResult = StepResult["devices"][number];

export interface RunOptions {
  /** Sends a command to a device over the API. */
  send(command: Command, device: Device, signal: AbortSignal): Promise<Answer>;
  /** Called with the result of each step, as in its event. */
  onStep(step: StepResult): void;
  /** Aborted when the caller disconnects: no further step begins. */
  readonly signal: AbortSignal;
  readonly totalMs?: number;
}

/** How long the state is read before a command, and waited for after it. */
const readMs = { before: 2_000, after: 3_000 } as const;

const slept: StepError = {
  code: "device_timeout",
  message: "The rest of the scene was not run: this machine slept",
};

/** Ends the run after a step that failed. */
class Stopped extends Error {}

type RunResult = Pick<SceneResult, "outcome" | "failed" | "steps" | "took_ms">;

export async function runPlan(plan: Plan, options: RunOptions): Promise<RunResult> {
  return new Run(options).run(plan.steps);
}

export function dryResults({ steps }: Plan): StepResult[] {
  return [...allSteps(steps)].map((step) => ({ ...emptyResult(step), reason: "dry_run" }));
}

function emptyResult({ at, line, name, does, devices }: Planned): StepResult {
  const each = devices.map(
    (device): DeviceResult => ({ device: deviceOf(device), status: "not_run", confirmed: null, took_ms: 0 }),
  );
  return { at, line, name, does, status: "not_run", confirmed: null, took_ms: 0, devices: each };
}

function deviceOf(device: Device): DeviceResult["device"] {
  return { id: device.id, name: device.record.name };
}

/** The result of a step at a device, begun at `since`. */
function resultAt(
  device: Device,
  since: number,
  status: DeviceResult["status"],
  confirmed: boolean | null,
  error?: StepError,
): DeviceResult {
  const took_ms = Math.round(performance.now() - since);
  return { device: deviceOf(device), status, confirmed, took_ms, ...(error && { error }) };
}

class Run {
  readonly #options: RunOptions;
  /** Aborted when the caller disconnects, and when the run takes too long. */
  readonly #abortSignal: AbortSignal;
  readonly #timeout = new AbortController();
  /** Aborted when a step has failed, which ends the waits of parallel steps. */
  readonly #halt = new AbortController();
  readonly #hasSlept = sleptSince();
  readonly #results = new Map<Planned, StepResult>();

  constructor(options: RunOptions) {
    this.#options = options;
    this.#abortSignal = AbortSignal.any([options.signal, this.#timeout.signal]);
  }

  async run(steps: readonly Planned[]): Promise<RunResult> {
    const since = performance.now();
    const { totalMs = sceneLimits.totalMs } = this.#options;
    const timer = setTimeout(() => this.#timeout.abort(tooLong(totalMs)), totalMs);
    let outcome: SceneResult["outcome"] = "done";
    try {
      await this.#sequence(steps);
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
      outcome = this.#options.signal.aborted ? "cancelled" : "stopped";
    } finally {
      clearTimeout(timer);
    }
    const results = [...allSteps(steps)].map(
      (step): StepResult =>
        this.#results.get(step) ?? { ...emptyResult(step), reason: outcome === "cancelled" ? "cancelled" : "stopped" },
    );
    const failed = results.filter(({ status }) => status === "failed").length;
    return { outcome, failed, steps: results, took_ms: Math.round(performance.now() - since) };
  }

  /** Runs steps one after another; whether all of them were skipped. */
  async #sequence(steps: readonly Planned[]): Promise<boolean> {
    let isAllSkipped = true;
    let isSkipped = false;
    for (const step of steps) {
      if (step.kind === "wait" && isSkipped) {
        this.#ended(step, performance.now(), { status: "skipped", reason: "nothing_before" });
        continue;
      }
      isSkipped = await this.#step(step);
      isAllSkipped &&= isSkipped;
    }
    return isAllSkipped;
  }

  /** Runs one step; whether it was skipped. Fails with `Stopped` where no step may follow. */
  async #step(step: Planned): Promise<boolean> {
    if (this.#abortSignal.aborted || this.#halt.signal.aborted) throw new Stopped();
    const since = performance.now();
    if (this.#hasSlept()) return this.#failed(step, since, slept, true);
    switch (step.kind) {
      case "act":
        return this.#act(step, since);
      case "wait":
        await this.#untilHalted((signal) => sleep(step.ms, signal), step, since);
        this.#ended(step, since, { status: "did" });
        return false;
      case "wait_for":
        return this.#waitFor(step, since);
      case "if":
        return this.#if(step, since);
      case "parallel":
        return this.#parallel(step, since);
    }
  }

  /** Runs a wait, which fails only by its signal: that aborts also when a parallel step has failed. */
  async #untilHalted<T>(wait: (signal: AbortSignal) => Promise<T>, step: Planned, since: number): Promise<T> {
    const signal = AbortSignal.any([this.#abortSignal, this.#halt.signal]);
    try {
      return await wait(signal);
    } catch {
      if (this.#timeout.signal.aborted) this.#failed(step, since, this.#timeoutError(), true);
      throw new Stopped();
    }
  }

  /** Records and reports the result of a step that began at `since`. */
  #ended(step: Planned, since: number, ended: Partial<StepResult> & Pick<StepResult, "status">): void {
    const took_ms = Math.round(performance.now() - since);
    const result: StepResult = { ...emptyResult(step), ...ended, took_ms };
    this.#results.set(step, result);
    this.#options.onStep(step.kind === "act" && step.isTyped ? withoutTyped(result) : result);
  }

  /** Records a failed step; with `isEnd`, or once the run was aborted, the scene ends. */
  #failed(
    step: Planned,
    since: number,
    error: StepError | undefined,
    isEnd: boolean,
    more: Partial<StepResult> = {},
  ): boolean {
    this.#ended(step, since, { ...more, status: "failed", ...(error && { error }) });
    if (!isEnd && !this.#abortSignal.aborted) return false;
    this.#halt.abort();
    throw new Stopped();
  }

  async #act(step: Act, since: number): Promise<boolean> {
    const devices = await Promise.all(step.devices.map((device) => this.#runAt(step, device)));
    const failed = devices.find(({ status }) => status === "failed");
    const seen = devices.filter(({ status }) => status === "did").map((one) => one.confirmed);
    const confirmed = seen.includes(false) ? false : seen.length === 0 || seen.includes(null) ? null : true;
    if (failed) return this.#failed(step, since, failed.error, step.onError === "stop", { devices, confirmed });
    const isSkipped = seen.length === 0;
    this.#ended(step, since, { ...didOr(isSkipped), devices, confirmed: isSkipped ? true : confirmed });
    return isSkipped;
  }

  /** Runs a step at one device. Never rejects. */
  async #runAt(step: Act, device: Device): Promise<DeviceResult> {
    const since = performance.now();
    const result = (status: DeviceResult["status"], confirmed: boolean | null, error?: StepError) =>
      resultAt(device, since, status, confirmed, error);
    try {
      const { hasEffect, readsBack } = step;
      if (hasEffect && (await this.#hasAlready(device.mergedDevice, hasEffect))) return result("skipped", true);
      let confirmed: boolean | null = null;
      for (const [index, command] of step.commands.entries()) {
        if (index > 0) await sleep(step.delayMs, this.#abortSignal);
        this.#abortSignal.throwIfAborted();
        if (this.#hasSlept()) return result("failed", null, slept);
        const answer = await this.#options.send(command, device, this.#abortSignal);
        if (!answer.ok)
          return result(
            "failed",
            null,
            this.#timeout.signal.aborted ? this.#timeoutError() : FailureSummary.parse(answer.error),
          );
        confirmed = answer.data.confirmed ?? null;
      }
      if (readsBack) confirmed = await this.#hasBecome(device.mergedDevice, readsBack);
      return result("did", confirmed);
    } catch (error) {
      return result("failed", null, stepErrorOf(error));
    }
  }

  #timeoutError(): StepError {
    return stepErrorOf(this.#timeout.signal.reason);
  }

  /** Whether the device has the effect already; `false` where it does not answer soon. */
  async #hasAlready(device: Device, hasEffect: NonNullable<Act["hasEffect"]>): Promise<boolean> {
    if (!device.capabilities.includes("state")) return false;
    try {
      return hasEffect(await device.state(AbortSignal.any([this.#abortSignal, AbortSignal.timeout(readMs.before)])));
    } catch {
      return false;
    }
  }

  /** Whether the device meets a condition within a while; `null` where it reports no power. */
  async #hasBecome(device: Device, condition: Condition): Promise<boolean | null> {
    if (!device.capabilities.includes("state")) return null;
    const { state, matched } = await waitFor(device, [condition], readMs.after, this.#abortSignal).catch(() => {
      this.#abortSignal.throwIfAborted();
      return { state: device.lastState.viewOrUnknown, matched: false };
    });
    return matched || (state.power === "unknown" ? null : false);
  }

  async #waitFor(step: WaitFor, since: number): Promise<boolean> {
    const { conditions, timeoutMs } = step;
    const devices = await this.#untilHalted(
      (signal) =>
        Promise.all(
          step.devices.map(async (device): Promise<DeviceResult> => {
            const began = performance.now();
            const failed = (error: StepError) => resultAt(device, began, "failed", false, error);
            try {
              const { matched } = await waitFor(device, conditions, timeoutMs, signal);
              return matched ? resultAt(device, began, "did", true) : failed(notInTime(device, step));
            } catch (error) {
              if (signal.aborted) throw error;
              return failed(stepErrorOf(error));
            }
          }),
        ),
      step,
      since,
    );
    const failed = devices.find(({ status }) => status === "failed");
    const isEnd = step.orElse === "stop";
    if (failed) return this.#failed(step, since, failed.error, isEnd, { devices, matched: false, confirmed: false });
    this.#ended(step, since, { status: "did", matched: true, confirmed: true, devices });
    return false;
  }

  async #if(step: If, since: number): Promise<boolean> {
    const { conditions, branches } = step;
    let matched: boolean;
    try {
      const states = await Promise.all(step.devices.map((device) => device.mergedDevice.state(this.#abortSignal)));
      matched = states.every((state) => conditions.every((one) => one.holds(state)));
    } catch (error) {
      for (const branch of [branches.yes, branches.no]) this.#passOver(branch);
      return this.#failed(step, since, stepErrorOf(error), step.onError === "stop");
    }
    const [taken, other] = matched ? [branches.yes, branches.no] : [branches.no, branches.yes];
    this.#passOver(other);
    const hasMatch = taken.length > 0;
    const devices = emptyResult(step).devices.map((one): DeviceResult => ({ ...one, status: "did" }));
    this.#ended(step, since, {
      ...(hasMatch ? { status: "did" } : { status: "skipped", reason: "no_match" }),
      matched,
      devices,
    });
    return this.#sequence(taken);
  }

  /** Records the steps of the branch that is not taken; they have no events. */
  #passOver(steps: readonly Planned[]): void {
    for (const step of allSteps(steps)) this.#results.set(step, { ...emptyResult(step), reason: "other_branch" });
  }

  async #parallel(step: Parallel, since: number): Promise<boolean> {
    const ends = await Promise.allSettled(step.branches.map((branch) => this.#sequence(branch)));
    const failure = ends.find((one) => one.status === "rejected");
    if (failure) {
      // As in a wait that is cancelled, nothing has failed.
      if (!this.#options.signal.aborted) this.#ended(step, since, { status: "failed" });
      throw failure.reason;
    }
    const isSkipped = ends.every((one) => one.status === "fulfilled" && one.value);
    this.#ended(step, since, didOr(isSkipped));
    return isSkipped;
  }
}

function didOr(isSkipped: boolean): Pick<StepResult, "status" | "reason"> {
  return isSkipped ? { status: "skipped", reason: "already_so" } : { status: "did" };
}

function tooLong(totalMs: number): ZapdError {
  return new ZapdError("device_timeout", `The scene was stopped: it ran for ${Math.round(totalMs / 1_000)} s`, {
    hint: "Split the scene into two, or set a shorter timeout_ms",
    namesDevice: true,
  });
}

function notInTime(device: Device, { does, timeoutMs, orElse }: WaitFor): StepError {
  const message = `${device.record.name} did not reach the condition within ${timeoutMs / 1_000} s (${does})`;
  const otherwise = orElse === "stop" ? ', or continue with else = "continue"' : "";
  return { code: "device_timeout", message, hint: `Give it more time with timeout_ms${otherwise}` };
}

function stepErrorOf(thrown: unknown): StepError {
  const { code, message, hint } = toZapdError(thrown);
  return { code, message, ...(hint !== undefined && { hint }) };
}

/** For events: a failure about typed text may repeat the text. */
function withoutTyped(result: StepResult): StepResult {
  const hidden = (error: StepError | undefined) =>
    error && { error: { code: error.code, message: "The text was not typed" } };
  const devices = result.devices.map(({ error, ...rest }) => ({ ...rest, ...hidden(error) }));
  const { error, ...rest } = result;
  return { ...rest, ...hidden(error), devices };
}
