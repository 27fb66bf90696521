/**
 * Pairing with one device: it begins, waits for what its user does at the set or types here, and ends by itself in time.
 * One at a time; whoever comes second waits for the same prompt. Only success changes anything. A device that may be another
 * than the one that was paired before is paired anew, with nothing of what was kept (SECURITY.md 2.4).
 */
import { DeviceError, hasReason, pairingFailed, textOf, ZapdError } from "../api/errors.ts";
import type { EventOf } from "../api/events.ts";
import type { BodyOf } from "../api/operations.ts";
import type { FoundDevice } from "../discovery/probe-queue.ts";
import type { CodeForm, KeptSecret, Paired, Pairing, Platform, PlatformHost } from "../platforms/platform.ts";
import { stopwatch } from "../system/clock.ts";
import type { Log } from "../system/log.ts";
import { orAborted, sleep } from "../system/sleep.ts";
import { addressText } from "../system/text.ts";
import { type Credentials, typed } from "./credentials.ts";
import type { Endpoint, Task } from "./endpoint.ts";
import { mergeLearned } from "./entry.ts";
import { requireCapability, withDeviceName } from "./failures.ts";
import { asShellWord } from "./names.ts";
import type { Registry } from "./registry.ts";
import { firstMet, isSameAddress } from "./standing.ts";
import type { Trust } from "./trust.ts";

/** What a caller gives: the code that the device shows, or the login that was set on it. */
export type PairingRequest = Pick<BodyOf<"pairDevice">, "begin" | "pin" | "user" | "password">;

/** How a pairing that has begun goes on. What does not belong to its step is `null`. */
export interface PairingStep {
  readonly step: Pairing["step"];
  readonly form: CodeForm | null;
  readonly length: number | null;
  readonly expires_at: string;
}

export interface PairingDependencies {
  readonly registry: Registry;
  readonly credentials: Credentials;
  readonly trust: Trust;
  readonly platformHost: PlatformHost;
  readonly log: Log;
  /** Told how far a pairing has come, once the device waits for it. */
  pairing(entryId: string, news: PairingProgress): void;
}

/** What those are told who follow. */
export type PairingProgress = Pick<EventOf<"pairing.changed">, "status" | "step" | "reason">;

/** A pairing that has begun and is not over. */
class PairingAttempt {
  /** Where its caller said that the device is, and who was met there. */
  readonly at: FoundDevice | undefined;
  readonly anew: boolean;
  /** Aborted with the reason of its end. */
  readonly over = new AbortController();
  /** Calls that wait for it; without any it is over, unless it is `held`. */
  waiting = 0;
  /** A caller was told to come back to it. */
  held = false;
  /** Something that was typed is being tried. */
  entering = false;
  /** It has let us in, which is being written down. */
  taking = false;
  /** The device has ended it by itself. */
  lost = false;
  /** What the device waits for, once it does. */
  step: Pairing["step"] | undefined;

  constructor(at: FoundDevice | undefined, anew: boolean) {
    this.at = at;
    this.anew = anew;
  }
}

/** A pairing for which the device waits. */
interface Opened {
  readonly pairing: Pairing;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  /** Milliseconds until then, whatever becomes of the time of day. */
  leftMs(): number;
  /** The end of one that is accepted at the device. */
  readonly accepted: Promise<void> | undefined;
}

/** Until the device has begun to ask. */
const openTimeoutMs = 20_000;
/** For the device's own part, beside the time that its user takes. */
const answerTimeoutMs = 15_000;
/** For this long a code that is typed after its pairing has ended is told how that ended, and begins no other. */
const endedForMs = 300_000;

export class DevicePairing {
  readonly #deps: PairingDependencies;
  readonly #endpoint: Endpoint;
  #current: (PairingAttempt & { readonly opened: Promise<Opened> }) | undefined;
  /** How the last pairing by a code came to nothing, until somebody was told. */
  #ended: { readonly error: unknown; readonly at: number } | undefined;

  constructor(deps: PairingDependencies, endpoint: Endpoint) {
    this.#deps = deps;
    this.#endpoint = endpoint;
  }

  /**
   * Pairs, or takes part in the pairing that is under way; gives what is to be done next, or `null` when it has let us in.
   * `at` is where the caller says that the device is: it is paired anew there, and is there from then on.
   */
  async pair(request: PairingRequest, signal: AbortSignal, at?: FoundDevice): Promise<PairingStep | null> {
    const words = wordsIn(request);
    // What the caller says is a secret: on probation it goes to an address that the caller has named, and to no other.
    if (!at && words.length > 0) this.#endpoint.checkTrusted("pairing");
    const before = this.#current;
    if (before && !isMeant(before, at, words.length > 0)) throw this.#busy(before);
    if (!before && request.pin !== undefined && !request.begin) this.#tellEnded();
    const current = before ?? this.#begin(at);
    current.waiting++;
    try {
      const opened = await orAborted(current.opened, signal);
      if (opened.accepted) {
        if (request.begin && !(await isDone(opened.pairing))) return hold(current, opened);
        await orAborted(opened.accepted, signal);
        return null;
      }
      const enter = entryOf(opened.pairing, request);
      if (current.entering || (before && !enter)) throw this.#busy(current);
      if (!enter) return hold(current, opened);
      current.held ||= request.begin === true;
      await orAborted(this.#enter(current, opened, enter, request), signal);
      return null;
    } finally {
      if (--current.waiting === 0 && !current.held) this.#end(current, signal.aborted ? signal.reason : givenUp());
      await this.#dropIfGone();
    }
  }

  /** Gives up what is under way; whether there was anything to give up. */
  cancel(): boolean {
    const current = this.#current;
    if (!current || current.taking) return false;
    this.#end(current, givenUp());
    return true;
  }

  /** Fails with `device_busy` for what may not be done while a pairing is under way: all but reading the state, where it talks to one at a time. */
  checkNotPairing({ needs, isPairing = false }: Pick<Task<unknown>, "needs" | "isPairing">): void {
    const current = this.#current;
    if (!current || isPairing || needs === "state" || !this.#endpoint.platform.oneConversation) return;
    throw this.#busy(current);
  }

  /** Ends what is under way for a reason of the daemon's own. */
  end(reason: ZapdError): void {
    if (this.#current) this.#end(this.#current, reason);
  }

  #begin(at: FoundDevice | undefined): PairingAttempt & { readonly opened: Promise<Opened> } {
    const anew = at !== undefined || this.#deps.trust.doubt(this.#endpoint.record) !== null;
    const underway = new PairingAttempt(at, anew);
    const current = Object.assign(underway, { opened: this.#open(underway) });
    // The callers that wait get the failure.
    current.opened.catch(() => {});
    this.#ended = undefined;
    this.#current = current;
    return current;
  }

  /** Has the device begin to ask. */
  async #open(current: PairingAttempt): Promise<Opened> {
    const { at, anew, over } = current;
    const { platform } = this.#endpoint;
    const target = this.#endpoint.targetAt(at, anew ? nothingKept : undefined);
    const work = async (within: AbortSignal) => {
      // A device that lets everybody in has nothing to pair with: that it was met there is enough.
      const pair: Platform["pair"] = platform.pair ?? (at && (async () => accepted));
      const pairing = await requireCapability(pair, "pair").call(
        platform,
        target,
        this.#deps.platformHost,
        { fresh: anew },
        within,
      );
      if (within.aborted) pairing.cancel();
      within.throwIfAborted();
      return pairing;
    };
    try {
      if (platform.oneConversation) await this.#endpoint.disconnectWhenIdle();
      const pairing = await this.#attempt(current, openTimeoutMs, [], work);
      const expiresAt = Date.now() + pairing.expiresMs;
      const { step } = pairing;
      current.step = step;
      this.#deps.pairing(this.#endpoint.id, { status: "waiting", step });
      const elapsed = stopwatch();
      const leftMs = () => Math.max(0, pairing.expiresMs - elapsed());
      const timer = setTimeout(() => this.#expire(current, pairing), pairing.expiresMs);
      over.signal.addEventListener("abort", () => {
        clearTimeout(timer);
        pairing.cancel();
      });
      const end =
        pairing.step === "confirm"
          ? this.#finish(current, pairing.expiresMs + answerTimeoutMs, [], () => pairing.done)
          : undefined;
      end?.catch(() => {});
      if (pairing.step === "code") pairing.ended?.catch((error: unknown) => this.#endedByDevice(current, error));
      return { pairing, expiresAt, leftMs, accepted: end };
    } catch (error) {
      this.#end(current, error);
      throw error;
    }
  }

  async #enter(
    current: PairingAttempt,
    { leftMs }: Opened,
    enter: () => Promise<Paired>,
    request: PairingRequest,
  ): Promise<void> {
    const secrets = [request.pin, request.password].filter((word) => word !== undefined);
    current.entering = true;
    try {
      await this.#finish(current, leftMs() + answerTimeoutMs, wordsIn(request), () =>
        enter().catch((error: unknown) => {
          throw without(secrets, error);
        }),
      );
    } finally {
      current.entering = false;
    }
  }

  /** Waits for what lets us in, and writes it down. Of all failures, one can be mended by another try. */
  async #finish(
    current: PairingAttempt,
    timeoutMs: number,
    words: readonly string[],
    work: () => Promise<Paired>,
  ): Promise<void> {
    try {
      const paired = await this.#attempt(current, timeoutMs, words, work);
      current.over.signal.throwIfAborted();
      current.taking = true;
      await this.#take(current, paired);
    } catch (error) {
      if (current.lost || !(current.held && hasReason(error, "wrong"))) this.#end(current, error);
      throw error;
    }
    const { step } = current;
    current.step = undefined;
    this.#deps.pairing(this.#endpoint.id, { status: "paired", ...(step && { step }) });
    this.#end(current, new ZapdError("pairing_failed", "has been paired"));
  }

  /** A part of the pairing, which ends with it and for its reason. */
  async #attempt<T>(
    { over, anew }: PairingAttempt,
    timeoutMs: number,
    callerTexts: readonly string[],
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const task = {
      activity: "pairing",
      timeoutMs,
      callerTexts,
      skipsAvailability: anew,
      isPairing: true,
      work: (_connection: unknown, within: AbortSignal) =>
        work(within).catch((error: unknown) => {
          throw over.signal.aborted ? over.signal.reason : error;
        }),
    };
    try {
      return await this.#endpoint.attempt(task, over.signal);
    } catch (error) {
      const { id } = this.#endpoint.record;
      if (!anew && hasReason(error, "open")) await this.#deps.registry.learn(id, { facts: { access: "full" } });
      throw error;
    }
  }

  /**
   * It has let us in: what it gave is written down. First the place, where what was kept is withheld, then what it gave, and
   * at last that it is believed: whatever is cut off in between, no key goes to the wrong one.
   */
  async #take({ at, anew }: PairingAttempt, paired: Paired): Promise<void> {
    const { secret } = paired;
    const { registry, credentials, trust, log } = this.#deps;
    const { record } = this.#endpoint;
    const { id, host, port, standing = firstMet } = record;
    // Removed meanwhile, it leaves no key behind.
    if (!registry.get(id)) return;
    const kept = typed(credentials.keeper(id), this.#endpoint.platform);
    if (anew) {
      await trust.move(record, at?.address ?? { host, port });
      try {
        await (secret ? kept.keep(secret) : kept.drop());
      } catch (error) {
        await registry.setStanding(id, () => ({ host, port, standing })).catch(() => {});
        throw error;
      }
    } else if (secret) await kept.keep(secret);
    if (anew || standing.former) await trust.trust(record);
    await registry
      .learn(id, mergeLearned(at?.sighting ?? {}, paired))
      .catch((error: unknown) => log.debug(textOf(error)));
    // The connection that is open has the key of before.
    this.#endpoint.disconnect();
    this.#endpoint.answered();
    // The next caller is to see what it said when it let us in.
    await registry.settled();
  }

  /** The device has ended it; a code that is being entered fails by itself, and says more. */
  #endedByDevice(current: PairingAttempt, error: unknown): void {
    current.lost = true;
    if (!current.entering && !current.taking) this.#end(current, error);
  }

  #expire(current: PairingAttempt, { step, expiresMs }: Pairing): void {
    if (current.taking) return;
    const { problem, hint } = lateWords[step];
    this.#end(current, pairingFailed("late", `${problem} within ${Math.round(expiresMs / 1_000)} s`, { hint }));
  }

  #end(current: PairingAttempt, reason: unknown): void {
    if (current.over.signal.aborted) return;
    const error = withDeviceName(reason, this.#endpoint.record, "pairing");
    current.over.abort(error);
    const { step } = current;
    if (step) this.#deps.pairing(this.#endpoint.id, { status: "failed", step, reason: whyOf(reason) });
    if (this.#current !== current) return;
    this.#current = undefined;
    if (current.held && hasReason(reason, "late", "cancelled", "denied"))
      this.#ended = { error, at: performance.now() };
  }

  /** A code that is typed too late is for no other pairing than the one that showed it. */
  #tellEnded(): void {
    const ended = this.#ended;
    this.#ended = undefined;
    if (ended && performance.now() - ended.at < endedForMs) throw ended.error;
  }

  #busy({ at }: PairingAttempt): ZapdError {
    const { name } = this.#endpoint.record;
    const where = at ? ` at ${addressText(at.address)}` : "";
    return new ZapdError("device_busy", `${name} is being paired already${where}`, {
      namesDevice: true,
      hint: `Answer what it asks for, or give it up: zapd pair ${asShellWord(name)} --cancel`,
    });
  }

  /** A device that was removed while it was being paired leaves no key behind. */
  async #dropIfGone(): Promise<void> {
    const { registry, credentials } = this.#deps;
    const { id, name } = this.#endpoint.record;
    if (registry.get(id)) return;
    await credentials.keeper(id).drop();
    throw new ZapdError("device_not_found", `${name} was removed while it was being paired`, { namesDevice: true });
  }
}

/** For pairing anew: what is kept is not for a device that may be another, and nothing is written before it succeeds. */
const nothingKept: KeptSecret<unknown> = {
  read: () => null,
  readAnyway: () => null,
  keep: async () => {},
  drop: async () => {},
};

/** A pairing that needs nothing. */
const accepted: Pairing = {
  step: "confirm",
  expiresMs: answerTimeoutMs,
  done: Promise.resolve({ secret: null }),
  cancel() {},
};

const lateWords: Readonly<Record<Pairing["step"], { readonly problem: string; readonly hint: string }>> = {
  confirm: {
    problem: "was not answered: nobody accepted the request on it",
    hint: "Run zapd pair {device} again, and look at its screen",
  },
  code: { problem: "was not given the code that it showed", hint: "It shows another: run zapd pair {device} again" },
  login: { problem: "was not given its name and password", hint: "Run zapd pair {device} again" },
};

/** Why a pairing has ended, in one word; one whose callers have hung up was given up. */
function whyOf(reason: unknown): string {
  if (reason instanceof DeviceError) return reason.code === "pairing_failed" ? reason.reason : reason.code;
  return reason instanceof ZapdError ? reason.code : "cancelled";
}

function givenUp(): ZapdError {
  return pairingFailed("cancelled", "was not paired: it was given up", { hint: "To begin again: zapd pair {device}" });
}

/** Keeps it for its caller to come back to; gives what is to be done next. */
function hold(current: PairingAttempt, { pairing, expiresAt }: Opened): PairingStep {
  current.held = true;
  const { form = null, length = null } = pairing.step === "code" ? pairing : {};
  return { step: pairing.step, form, length, expires_at: new Date(expiresAt).toISOString() };
}

/** Whether nobody need be waited for: it let us in, or refused, as soon as it was asked. */
function isDone(pairing: Pairing): Promise<boolean> {
  if (pairing.step !== "confirm") return Promise.resolve(false);
  const settled = () => true;
  const soon = sleep(0).then(() => false);
  return Promise.race([pairing.done.then(settled, settled), soon]);
}

/** Whether a caller means the pairing that is under way: what is typed goes to no address that its caller has not named. */
function isMeant(current: PairingAttempt, at: FoundDevice | undefined, isTyped: boolean): boolean {
  if (at) return current.at !== undefined && isSameAddress(current.at.address, at.address);
  return !(current.at && isTyped);
}

function wordsIn({ pin, user, password }: PairingRequest): string[] {
  return [pin, user, password].filter((word) => word !== undefined);
}

/** What is to be tried with a device; `null` where the caller has not given what it wants. */
function entryOf(pairing: Pairing, { pin, user, password = pin }: PairingRequest): (() => Promise<Paired>) | null {
  if (pairing.step === "code" && pin !== undefined) return async () => pairing.enter(codeIn(pin, pairing));
  if (pairing.step === "login" && password !== undefined) return async () => pairing.enter(user, password);
  return null;
}

/** A code as the device shows it; what cannot be one is not tried, since some devices count. */
function codeIn(pin: string, { form, length }: { readonly form: CodeForm; readonly length: number }): string {
  const code = pin.replace(/[\s-]/g, "").toUpperCase();
  if (code.length === length && (form === "digits" ? /^[0-9]*$/ : /^[0-9A-F]*$/).test(code)) return code;
  const shape = form === "digits" ? `${length} digits` : `${length} characters, 0 to 9 and A to F`;
  throw pairingFailed("wrong", `shows a code of ${shape}, and this is none`, { hint: "Look at its screen again" });
}

/** A shorter one is a part of other words. */
const maskedFrom = 4;

/** A failure in which no code and no password stands that was typed, whether it was right or not (SECURITY.md T31). */
function without(secrets: readonly string[], error: unknown): unknown {
  if (!(error instanceof ZapdError)) return error;
  const typed = secrets.filter((word) => word.length >= maskedFrom);
  const masked = (text: string) => typed.reduce((rest, word) => rest.replaceAll(word, "…"), text);
  const message = masked(error.message);
  const hint = error.hint && masked(error.hint);
  return message === error.message && hint === error.hint ? error : error.reworded(message, { hint, cause: undefined });
}
