/**
 * Turning a device on, from any state: it is asked whether it answers, called by magic packets until it does, told to turn
 * on, and waited for until it says that it is on. What each of these is on its devices a platform says (`Connection.power`).
 */
import { DeviceError, hasReason, ZapdError } from "../api/errors.ts";
import type { Connection } from "../platforms/platform.ts";
import { type Clock, systemClock } from "../system/sleep.ts";

/** What waking a device takes: how it is asked and told, and how it is called. */
export interface WakeParts {
  readonly power: NonNullable<Connection["power"]>;
  /** Network addresses of its hardware; it cannot be called without one. */
  readonly macs: readonly string[];
  /** What its user can set so that it wakes. */
  readonly hint: string | undefined;
  /** Sends a magic packet for each of its addresses, on every path. */
  sendPackets(): Promise<void>;
  /** When it last said by itself that it is on, by the clock. */
  reportedOnAt(): number;
  readonly clock?: Clock;
}

/** How a device is woken. */
export interface WakeOptions {
  /** It has just not answered: asking it for long would only lose time. */
  readonly isSilent: boolean;
  /** Milliseconds that it is called for until it answers. */
  readonly timeoutMs: number;
}

/** A set in deep standby does not refuse, it is silent: one short wait decides. */
const firstAskMs = 2_500;
/** One that was silent a moment ago is not waited for again; a machine that is up refuses at once. */
const refusesWithinMs = 250;
const callEveryMs = 1_000;
/** A set that refuses while it starts is asked again soon. */
const askEveryMs = 200;
/** One that says that it is in standby, or does not prove to be the one that is meant, is not asked again at once. */
const standbyPauseMs = 1_000;
/** One that let us in and hung up is left alone for a moment, doubled each time. */
const shortestPauseMs = 250;
const longestPauseMs = 4_000;
/** How long a device is called that packets can hardly help, because its machine is up: it may just be going down. */
const triedAnywayMs = 5_000;
/** From its first answer, and from the moment that it was told to turn on, until it says that it is on. */
const onWithinMs = 10_000;
/** One field implementation polls a set 8 times, 1 s apart, and repeats its key once at about 5 s. */
const tellAgainAfterMs = 5_000;
const lookEveryMs = 500;

/** Whether a device is on, by its own word; `null`: it answers, but does not say; `undefined`: it does not answer. */
type Answer = boolean | null | undefined;

/**
 * Turns a device on and waits until it says so. Fails with `device_unreachable` when nothing wakes it, with `device_error`
 * when it goes on saying that it is off, and at once when another device answers or when it lets nobody in.
 */
export async function wake(parts: WakeParts, { isSilent, timeoutMs }: WakeOptions, signal: AbortSignal): Promise<void> {
  const { power, clock = systemClock } = parts;
  const asking = new Asking(parts, clock, signal);
  let said = await asking.ask(isSilent ? refusesWithinMs : firstAskMs);
  const isDown = said === undefined && !power.wakesByPacket;
  // A command does not wait for what magic packets cannot do.
  if (isDown && isSilent) throw asking.failure;
  if (!(await takes(power, said, signal)))
    said = await called(parts, asking, isDown ? Math.min(timeoutMs, triedAnywayMs) : timeoutMs, signal);
  if (said === true || !power.on) return;
  const toldAt = clock.now();
  for (let again = false; ; ) {
    said = await asking.ask(firstAskMs);
    // It took what it was told; of one that does not say more cannot be known.
    if (said || said === null || (said === undefined && again)) return;
    const passed = clock.now() - toldAt;
    if (passed > onWithinMs) throw new ZapdError("device_error", "took the power-on key but still says that it is off");
    if (passed > tellAgainAfterMs && !again) {
      again = true;
      await power.on(signal);
    }
    await clock.sleep(lookEveryMs, signal);
  }
}

/** Whether a device that gave this answer needs no packet: it is on, or took it that it is to turn on. */
async function takes(power: WakeParts["power"], said: Answer, signal: AbortSignal): Promise<boolean> {
  if (said === undefined) return false;
  if (!power.on) return said !== false;
  try {
    await power.on(signal);
    return true;
  } catch (error) {
    if (!hasReason(error, "asleep")) throw error;
    return false;
  }
}

/** Calls a device by magic packets until it answers and is on, or takes it that it is to turn on. */
async function called(parts: WakeParts, asking: Asking, timeoutMs: number, signal: AbortSignal): Promise<Answer> {
  const { power, macs, hint, clock = systemClock } = parts;
  if (macs.length === 0)
    throw unreachable("does not answer, and no network address of its hardware is known to wake it by", hint);
  let end = clock.now() + timeoutMs;
  let nextCall = clock.now();
  let hasAnswered = false;
  while (clock.now() < end) {
    if (clock.now() >= nextCall) {
      nextCall = clock.now() + callEveryMs;
      await parts.sendPackets();
    }
    if (asking.mayAskAt <= clock.now()) {
      const said = await asking.ask(Math.max(1, Math.min(end, nextCall) - clock.now()));
      if (await takes(power, said, signal)) return said;
      if (said !== undefined && !hasAnswered) {
        hasAnswered = true;
        end = Math.max(end, clock.now() + onWithinMs);
      }
    }
    await clock.sleep(Math.max(0, Math.min(askEveryMs, nextCall - clock.now())), signal);
  }
  // What its machine answered, or what was found in its place, says more than that it did not wake.
  if (!power.wakesByPacket || asking.isDoubted) throw asking.failure;
  throw unreachable(`did not wake within ${Math.ceil(timeoutMs / 1_000)} s of being called by magic packets`, hint);
}

const silence = unreachable("did not answer", undefined);

/** Asks a device whether it is on, one time after the other, and not sooner than it is fit to be asked again. */
class Asking {
  readonly #parts: WakeParts;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #askedAt = 0;
  #pauseMs = 0;
  #nextPauseMs = shortestPauseMs;
  /** How it last failed to answer. */
  failure: ZapdError = silence;

  constructor(parts: WakeParts, clock: Clock, signal: AbortSignal) {
    this.#parts = parts;
    this.#clock = clock;
    this.#signal = signal;
  }

  /** When it may be asked again; at once when it says by itself that it is on. */
  get mayAskAt(): number {
    return this.#parts.reportedOnAt() > this.#askedAt ? this.#askedAt : this.#askedAt + this.#pauseMs;
  }

  /** Whether who answered last did not prove to be the one that is meant. */
  get isDoubted(): boolean {
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
      this.#note(error, over.signal.aborted);
      return undefined;
    } finally {
      over.abort();
      this.#askedAt = this.#clock.now();
    }
  }

  #note(error: unknown, isLate: boolean): void {
    if (this.#signal.aborted) throw this.#signal.reason;
    if (!(error instanceof ZapdError) || endsIt(error)) throw error;
    this.failure = error;
    // A set that starts may open another port first, where it cannot prove who it is.
    if (this.isDoubted) this.#pauseMs = standbyPauseMs;
    else if (!isLate && (error.code !== "device_unreachable" || hasReason(error, "closed"))) {
      this.#pauseMs = this.#nextPauseMs;
      this.#nextPauseMs = Math.min(longestPauseMs, 2 * this.#nextPauseMs);
    }
  }
}

/** Whether a failure is one that no waiting mends: another device is there, or it lets nobody in. */
function endsIt(error: ZapdError): boolean {
  if (hasReason(error, "wrong_device")) return true;
  if (error.code === "device_unproven") return !hasReason(error, "protocol");
  return error.code === "pairing_required" || error.code === "pairing_failed";
}

function unreachable(problem: string, hint: string | undefined): DeviceError {
  return new DeviceError("device_unreachable", problem, { phase: "connect", reason: "timeout", hint });
}
