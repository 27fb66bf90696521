/**
 * Turning a device on from any state: asks it whether it is on, sends magic packets until it answers, sends power-on, and waits
 * until it reports that it is on. The platform says how each of these is done (`Connection.power`).
 */
import { DeviceError, hasCode, hasReason, ZapdError } from "../api/errors.ts";
import { type Connection, noEffect } from "../platforms/platform.ts";
import { type Clock, systemClock } from "../system/sleep.ts";

/** How one device is asked, turned on and woken. */
export interface WakeParts {
  readonly power: NonNullable<Connection["power"]>;
  /** Its hardware addresses; without one it cannot be woken by packets. */
  readonly macs: readonly string[];
  /** What the user can set so that it wakes. */
  readonly hint: string | undefined;
  /** Sends a magic packet for each hardware address to each broadcast address. */
  sendPackets(): Promise<void>;
  /** When it last pushed that it is on. */
  reportedOnAt(): number;
  readonly clock?: Clock;
  /** Called before packets and before power-on: fails once this machine has slept. */
  checkAwake?(): void;
}

export interface WakeOptions {
  /** It did not answer a moment ago, so the first question is short. */
  readonly isSilent: boolean;
  /** How long packets are sent until it answers. */
  readonly timeoutMs: number;
}

/** A device in deep standby does not refuse a connection, it does not answer: one short wait decides. */
const askTimeoutMs = 2_500;
/** For a device that did not answer a moment ago: a host that is up refuses a connection at once. */
const refusalTimeoutMs = 250;
const packetIntervalMs = 1_000;
/** A device that refuses while it starts is asked again soon. */
const askIntervalMs = 200;
/** The pause after a device reports standby, or does not prove its identity. */
const standbyPauseMs = 1_000;
/** The pause after a device accepts a connection and closes it; doubled each time. */
const shortestPauseMs = 250;
const longestPauseMs = 4_000;
/** How long packets are sent to a device whose host is up: it may just be shutting down. */
const hostUpTimeoutMs = 5_000;
/** How much longer packets are sent from the first answer. */
const afterAnswerMs = 10_000;
/** From power-on until the device reports that it is on: an earlier report may be wrong (protocols/roku.md 1.8). */
const reportTimeoutMs = 20_000;
/** When power-on is repeated (protocols/roku.md 1.8). */
const repeatAfterMs = 5_000;
const pollIntervalMs = 500;

/** Whether a device reports that it is on; `null`: it answers without saying; `undefined`: it does not answer. */
type Answer = boolean | null | undefined;

/**
 * Turns a device on and waits until it reports that. Fails with `device_unreachable` where nothing wakes it, with
 * `device_error` where it goes on reporting off, and at once where another device answers or pairing is required.
 */
export async function wake(parts: WakeParts, { isSilent, timeoutMs }: WakeOptions, signal: AbortSignal): Promise<void> {
  const { power, clock = systemClock } = parts;
  const asking = new Asking(parts, clock, signal);
  let answer = await asking.ask(isSilent ? refusalTimeoutMs : askTimeoutMs);
  const isHostUp = answer === undefined && !power.wakesByPacket;
  // A command does not wait where magic packets cannot help.
  if (isHostUp && isSilent) throw asking.failure;
  if (!(await turnsOn(parts, answer, signal)))
    answer = await sendPackets(parts, asking, isHostUp ? Math.min(timeoutMs, hostUpTimeoutMs) : timeoutMs, signal);
  if (answer === true || !power.on) return;
  const turnedOnAt = clock.now();
  for (let again = false; ; ) {
    answer = await asking.ask(askTimeoutMs);
    // It took power-on; where it does not report its power, no more can be known.
    if (answer || answer === null || (answer === undefined && again)) return;
    const elapsedMs = clock.now() - turnedOnAt;
    if (elapsedMs > reportTimeoutMs) throw noEffect("accepted the power-on key, but still reports that it is off");
    if (elapsedMs > repeatAfterMs && !again) {
      again = true;
      parts.checkAwake?.();
      await power.on(signal).catch((error: unknown) => {
        // It took the first one; its network may start again with it.
        if (answer !== undefined || !hasCode(error, "device_unreachable") || isFinal(error)) throw error;
      });
    }
    await clock.sleep(pollIntervalMs, signal);
  }
}

/** Whether a device that gave this answer needs no packets: it is on, or has taken power-on. */
async function turnsOn({ power, macs, checkAwake }: WakeParts, answer: Answer, signal: AbortSignal): Promise<boolean> {
  if (answer === undefined) return false;
  if (!power.on) return answer !== false;
  checkAwake?.();
  try {
    await power.on(signal);
    return true;
  } catch (error) {
    // Some answer in standby over one connection, and let nobody open the one that takes commands.
    const mayBeCalled = macs.length > 0 && hasCode(error, "device_unreachable") && !isFinal(error);
    if (!hasReason(error, "asleep") && !mayBeCalled) throw error;
    return false;
  }
}

/** Sends magic packets until a device is on, or takes power-on. */
async function sendPackets(parts: WakeParts, asking: Asking, timeoutMs: number, signal: AbortSignal): Promise<Answer> {
  const { power, macs, hint, clock = systemClock } = parts;
  if (macs.length === 0)
    throw unreachable(
      "does not answer",
      ["zapd knows no hardware address to wake it with", hint].filter(Boolean).join(". "),
    );
  let end = clock.now() + timeoutMs;
  let nextPackets = clock.now();
  let hasAnswered = false;
  while (clock.now() < end) {
    if (clock.now() >= nextPackets) {
      nextPackets = clock.now() + packetIntervalMs;
      parts.checkAwake?.();
      await parts.sendPackets();
    }
    if (asking.mayAskAt <= clock.now()) {
      const answer = await asking.ask(Math.max(1, Math.min(end, nextPackets) - clock.now()));
      if (await turnsOn(parts, answer, signal)) return answer;
      if (answer !== undefined && !hasAnswered) {
        hasAnswered = true;
        end = Math.max(end, clock.now() + afterAnswerMs);
      }
    }
    await clock.sleep(Math.max(0, Math.min(askIntervalMs, nextPackets - clock.now())), signal);
  }
  // A host that answered, or another device in its place, says more than that it did not wake.
  if (!power.wakesByPacket || asking.isUnproven) throw asking.failure;
  throw unreachable(`did not wake within ${Math.ceil(timeoutMs / 1_000)} s of the first magic packet`, hint);
}

const silence = unreachable("did not answer", undefined);

/** Asks a device again and again whether it is on, with a pause that depends on its last answer. */
class Asking {
  readonly #parts: WakeParts;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #askedAt = 0;
  #pauseMs = 0;
  #nextPauseMs = shortestPauseMs;
  /** Its last failure to answer. */
  failure: ZapdError = silence;

  constructor(parts: WakeParts, clock: Clock, signal: AbortSignal) {
    this.#parts = parts;
    this.#clock = clock;
    this.#signal = signal;
  }

  /** When it may be asked again: at once where it pushes that it is on. */
  get mayAskAt(): number {
    return this.#parts.reportedOnAt() > this.#askedAt ? this.#askedAt : this.#askedAt + this.#pauseMs;
  }

  /** Whether what answered last did not prove its identity. */
  get isUnproven(): boolean {
    return this.failure.code === "device_unproven";
  }

  async ask(timeoutMs: number): Promise<Answer> {
    const over = new AbortController();
    const within = AbortSignal.any([this.#signal, over.signal]);
    this.#clock.sleep(timeoutMs, within).then(
      () => over.abort(unreachable(`did not answer within ${Math.ceil(timeoutMs / 1_000)} s`, this.#parts.hint)),
      () => {},
    );
    this.#pauseMs = 0;
    try {
      const isOn = await this.#parts.power.isOn(within);
      this.failure = silence;
      if (isOn === false) this.#pauseMs = standbyPauseMs;
      return isOn;
    } catch (error) {
      this.#noteFailure(error, over.signal.aborted);
      return undefined;
    } finally {
      over.abort();
      this.#askedAt = this.#clock.now();
    }
  }

  #noteFailure(error: unknown, isLate: boolean): void {
    if (this.#signal.aborted) throw this.#signal.reason;
    if (!(error instanceof ZapdError) || isFinal(error)) throw error;
    // That our own limit cut an ask short says less than an earlier answer, which did not prove who gave it.
    if (!isLate || !this.isUnproven) this.failure = error;
    // A device that starts may first open a port on which it cannot prove its identity.
    if (this.isUnproven) this.#pauseMs = standbyPauseMs;
    else if (!isLate && (error.code !== "device_unreachable" || hasReason(error, "closed"))) {
      this.#pauseMs = this.#nextPauseMs;
      this.#nextPauseMs = Math.min(longestPauseMs, 2 * this.#nextPauseMs);
    }
  }
}

/** Whether waiting cannot help: another device is there, or pairing is required. */
function isFinal(error: ZapdError): boolean {
  if (hasReason(error, "wrong_device")) return true;
  if (error.code === "device_unproven") return !hasReason(error, "protocol");
  return error.code === "pairing_required" || error.code === "pairing_failed";
}

function unreachable(problem: string, hint: string | undefined): DeviceError {
  return new DeviceError("device_unreachable", problem, { phase: "connect", reason: "timeout", hint });
}
