/**
 * Pairing with one endpoint: it waits for what the user does at the device or types here, and ends by itself in time. One
 * attempt runs at a time; a second caller takes part in it. Only success changes anything. A device that may not be the one
 * that was paired before is paired afresh, without its kept secrets (SECURITY.md 2.4).
 */
import { DeviceError, hasReason, pairingFailed, textOf, ZapdError } from "../api/errors.ts";
import type { EventOf } from "../api/events.ts";
import type { BodyOf } from "../api/operations.ts";
import type { FoundDevice } from "../discovery/probe-queue.ts";
import {
  type Address,
  type CodeForm,
  type KeptSecret,
  type Paired,
  type Pairing,
  type Platform,
  type PlatformHost,
  pairingCancelled,
} from "../platforms/platform.ts";
import type { Log } from "../system/log.ts";
import { orAborted, sleep } from "../system/sleep.ts";
import { addressText, shellQuote } from "../system/text.ts";
import { type Credentials, typedSecrets } from "./credentials.ts";
import type { Endpoint } from "./endpoint.ts";
import { masked, requireCapability, withDeviceName } from "./failures.ts";
import { removedError } from "./names.ts";
import { mergeLearned, placeIn } from "./record.ts";
import type { Registry } from "./registry.ts";
import { isSameAddress } from "./standing.ts";
import type { Task } from "./task.ts";
import type { Trust } from "./trust.ts";

/** The code that the device shows, or the login that was set on it. With `begin` its caller waits for the next step only. */
export type PairingRequest = Pick<BodyOf<"pairDevice">, "begin" | "pin" | "user" | "password">;

/** The next step of a pairing; fields that do not belong to the step are `null`. */
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
  /** Publishes the progress of a pairing, once the device waits for the user. */
  onPairing(recordId: string, progress: PairingProgress): void;
}

type PairingProgress = Pick<EventOf<"pairing.changed">, "status" | "step" | "reason">;

class PairingAttempt {
  /** The device as it was found at the address that the caller gave. */
  readonly foundAt: FoundDevice | undefined;
  /** Without the secrets that are kept. */
  readonly isFresh: boolean;
  /** Where it is paired. */
  readonly at: Address;
  /** Settles once the device waits for the user, or fails. */
  opened!: Promise<OpenPairing>;
  /** Aborted with the reason of its end. */
  readonly end = new AbortController();
  /** Calls that wait for it; without any it ends, unless it is kept open. */
  callers = 0;
  /** A caller was told to come back to it. */
  isKeptOpen = false;
  /** A code or login is being tried; then the device has accepted, and its secret is being saved. */
  phase: "waiting" | "entering" | "saving" = "waiting";
  hasDeviceEnded = false;
  /** What the device waits for, once it does. */
  step: Pairing["step"] | undefined;

  constructor(foundAt: FoundDevice | undefined, isFresh: boolean, at: Address) {
    this.foundAt = foundAt;
    this.isFresh = isFresh;
    this.at = at;
  }
}

/** A pairing for which the device waits. */
interface OpenPairing {
  readonly pairing: Pairing;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  /** Settles when the user accepts or denies at the device. */
  readonly accepted: Promise<void> | undefined;
}

/** Until the device asks its user. */
const openTimeoutMs = 20_000;
/** For the device's own answer, beside the time that its user has: that ends sooner, in `#expire`. */
const answerTimeoutMs = 15_000;
/** A code typed within this time after its pairing has ended fails as that did, and begins no new one. */
const lateCodeMs = 300_000;

export class EndpointPairing {
  readonly #deps: PairingDependencies;
  readonly #endpoint: Endpoint;
  #current: PairingAttempt | undefined;
  /** How the last pairing by a code failed, until a caller was told. */
  #lastFailure: { readonly error: unknown; readonly at: number } | undefined;

  constructor(deps: PairingDependencies, endpoint: Endpoint) {
    this.#deps = deps;
    this.#endpoint = endpoint;
  }

  /**
   * Begins a pairing, or takes part in the one that runs; gives the next step, or `null` once it is paired. With `foundAt` the
   * device is paired afresh at that address, and stays there.
   */
  async pair(request: PairingRequest, signal: AbortSignal, foundAt?: FoundDevice): Promise<PairingStep | null> {
    const hasSecret = textsIn(request).length > 0;
    const before = this.#current;
    if (before && !isMeant(before, foundAt, hasSecret)) throw this.#busy(before);
    if (request.pin !== undefined && !request.begin) this.#throwLastFailure();
    const current = before ?? this.#begin(foundAt);
    current.callers++;
    try {
      const opened = await orAborted(current.opened, signal);
      if (opened.accepted) {
        if (request.begin && !(await isDone(opened.pairing))) return keepOpen(current, opened);
        await orAborted(opened.accepted, signal);
        return null;
      }
      const enter = enterWith(opened.pairing, request);
      if (current.phase !== "waiting" || (before && !enter)) throw this.#busy(current);
      if (!enter) return keepOpen(current, opened);
      current.isKeptOpen ||= request.begin === true;
      await orAborted(this.#enter(current, opened.pairing, enter, request), signal);
      return null;
    } finally {
      // Once the device's secret is being saved, it is paired: nothing is told to have failed.
      if (--current.callers === 0 && !current.isKeptOpen && current.phase !== "saving")
        this.#end(current, signal.reason);
    }
  }

  get isRunning(): boolean {
    return this.#current !== undefined;
  }

  /** Whether a code that comes now is for it: it runs, or its caller was not yet told how it failed. */
  get takesCode(): boolean {
    return this.isRunning || this.#recentFailure !== undefined;
  }

  /** How the last pairing failed, as long as a code may still come for it. */
  get #recentFailure(): { readonly error: unknown } | undefined {
    const last = this.#lastFailure;
    return last && performance.now() - last.at < lateCodeMs ? last : undefined;
  }

  /** Cancels the pairing that runs; whether there was one. */
  cancel(): boolean {
    const current = this.#current;
    if (!current || current.phase === "saving") return false;
    this.#end(current, pairingCancelled());
    return true;
  }

  /** Fails with `device_busy` while a pairing runs, where the device holds one conversation; its state may still be read. */
  checkNotPairing({ needs, isPairing = false }: Pick<Task<unknown>, "needs" | "isPairing">): void {
    const current = this.#current;
    if (!current || isPairing || needs === "state" || !this.#endpoint.platform.oneConversation) return;
    throw this.#busy(current);
  }

  /** Ends the pairing that runs, for a reason of the daemon's own. */
  end(reason: ZapdError): void {
    if (this.#current) this.#end(this.#current, reason);
  }

  #begin(foundAt: FoundDevice | undefined): PairingAttempt {
    const { record } = this.#endpoint;
    const isFresh = foundAt !== undefined || this.#deps.trust.doubt(record) !== null;
    const current = new PairingAttempt(foundAt, isFresh, foundAt?.address ?? record);
    current.opened = this.#open(current);
    // The callers get the failure.
    current.opened.catch(() => {});
    this.#lastFailure = undefined;
    this.#current = current;
    return current;
  }

  /** Has the device begin to ask. */
  async #open(current: PairingAttempt): Promise<OpenPairing> {
    const { foundAt, isFresh, end } = current;
    const { platform } = this.#endpoint;
    const target = this.#endpoint.targetAt(foundAt, isFresh ? noSecret : undefined);
    const work = async (within: AbortSignal) => {
      // A device without pairing is accepted where it was found.
      const pair: Platform["pair"] = platform.pair ?? (foundAt && (async () => openToAll));
      const pairing = await requireCapability(pair, "pair").call(platform, target, this.#deps.platformHost, within);
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
      this.#deps.onPairing(this.#endpoint.id, { status: "waiting", step });
      const timer = setTimeout(() => this.#expire(current, pairing), pairing.expiresMs);
      end.signal.addEventListener("abort", () => {
        clearTimeout(timer);
        pairing.cancel();
      });
      const accepted = pairing.step === "confirm" ? this.#finish(current, pairing, [], () => pairing.done) : undefined;
      // The callers get the failure.
      accepted?.catch(() => {});
      if (pairing.step === "code") pairing.ended?.catch((error: unknown) => this.#endedByDevice(current, error));
      return { pairing, expiresAt, accepted };
    } catch (error) {
      this.#end(current, error);
      throw error;
    }
  }

  async #enter(
    current: PairingAttempt,
    pairing: Pairing,
    enter: () => Promise<Paired>,
    request: PairingRequest,
  ): Promise<void> {
    const secrets = [request.pin, request.password].filter((word) => word !== undefined);
    current.phase = "entering";
    try {
      await this.#finish(current, pairing, textsIn(request), () =>
        enter().catch((error: unknown) => {
          const shown = masked(secrets, error);
          // With this call the pairing ends, and with it the code that the device shows.
          const isOver = !current.isKeptOpen && pairing.step === "code" && hasReason(shown, "wrong");
          throw isOver ? shown.reworded(shown.message, { hint: expiredTexts.code.hint }) : shown;
        }),
      );
    } finally {
      current.phase = "waiting";
    }
  }

  /** Waits until the device accepts, and saves its secret. After a wrong code, one kept open may be tried again. */
  async #finish(
    current: PairingAttempt,
    { expiresMs, step }: Pairing,
    callerTexts: readonly string[],
    work: () => Promise<Paired>,
  ): Promise<void> {
    try {
      const paired = await this.#attempt(current, expiresMs + answerTimeoutMs, callerTexts, work);
      current.end.signal.throwIfAborted();
      current.phase = "saving";
      await this.#save(current, paired);
      // Its removal, during the writes, has told how it ended.
      current.end.signal.throwIfAborted();
    } catch (error) {
      const mayTryAgain = current.isKeptOpen && !current.hasDeviceEnded && hasReason(error, "wrong");
      if (!mayTryAgain) this.#end(current, error);
      throw error;
    }
    current.step = undefined;
    // First: while it is being paired, the device is asked nothing else.
    this.#end(current, new ZapdError("pairing_failed", "has been paired"));
    this.#deps.onPairing(this.#endpoint.id, { status: "paired", step });
  }

  /** A part of the pairing, which ends with it and for the same reason. */
  async #attempt<T>(
    { end, isFresh }: PairingAttempt,
    timeoutMs: number,
    callerTexts: readonly string[],
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const task = {
      activity: "pairing",
      timeoutMs,
      callerTexts,
      skipsAvailability: isFresh,
      isPairing: true,
      work: (_connection: unknown, within: AbortSignal) =>
        work(within).catch((error: unknown) => {
          throw end.signal.aborted ? end.signal.reason : error;
        }),
    };
    try {
      return await this.#endpoint.attempt(task, end.signal);
    } catch (error) {
      const { id } = this.#endpoint.record;
      if (!isFresh && hasReason(error, "open")) await this.#deps.registry.learn(id, { facts: { access: "full" } });
      throw error;
    }
  }

  /**
   * Saves what the device gave: first its place, so that the old secret is withheld, then the new secret, and last that it is
   * trusted. Wherever that is interrupted, no secret goes to the wrong device.
   */
  async #save({ foundAt, isFresh, at, end }: PairingAttempt, paired: Paired): Promise<void> {
    const { secret } = paired;
    const { registry, credentials, trust, log } = this.#deps;
    const { record } = this.#endpoint;
    const { id } = record;
    const before = placeIn(record);
    // A device removed meanwhile leaves no secret behind.
    if (!registry.get(id)) throw removedError();
    // The secret is for the address where it was paired, and for none to which the device was followed meanwhile.
    if (!foundAt && !isSameAddress(record, at)) {
      const hint = "Run zapd pair {device} again";
      const problem = "was not paired: it was found at another address meanwhile";
      throw withDeviceName(pairingFailed("cancelled", problem, { hint }), record);
    }
    const kept = typedSecrets(credentials.keeper(id), this.#endpoint.platform);
    if (isFresh) {
      await trust.move(record, at);
      try {
        // The device may have been removed during the write, which ends the pairing.
        end.signal.throwIfAborted();
        await (secret ? kept.keep(secret) : kept.drop());
      } catch (error) {
        // The caller gets the first failure.
        await registry.setStanding(id, () => before).catch(() => {});
        throw error;
      }
    } else if (secret) await kept.keep(secret);
    if (isFresh || before.standing.former) await trust.trust(record);
    await registry
      .learn(id, mergeLearned(foundAt?.sighting ?? {}, paired))
      .catch((error: unknown) => log.debug(textOf(error)));
    // The open connection has the old secret.
    this.#endpoint.disconnect();
    const { presence } = this.#endpoint;
    // It has asked its user: what it reported before no longer counts.
    presence.noteAnswer(presence.isOff ? null : undefined);
  }

  /** The device has ended the pairing; a code that is being entered fails by itself, with a better error. */
  #endedByDevice(current: PairingAttempt, error: unknown): void {
    current.hasDeviceEnded = true;
    if (current.phase === "waiting") this.#end(current, error);
  }

  #expire(current: PairingAttempt, { step, expiresMs }: Pairing): void {
    if (current.phase === "saving") return;
    const { problem, hint } = expiredTexts[step];
    this.#end(current, pairingFailed("late", `${problem} within ${Math.round(expiresMs / 1_000)} s`, { hint }));
  }

  #end(current: PairingAttempt, reason: unknown): void {
    if (current.end.signal.aborted) return;
    const error = withDeviceName(reason, this.#endpoint.record, "pairing");
    current.end.abort(error);
    const { step } = current;
    if (step) this.#deps.onPairing(this.#endpoint.id, { status: "failed", step, reason: reasonWord(reason) });
    this.#current = undefined;
    if (current.isKeptOpen && hasReason(reason, "late", "cancelled", "denied"))
      this.#lastFailure = { error, at: performance.now() };
  }

  /** A code that is typed too late is not tried with another pairing than its own. */
  #throwLastFailure(): void {
    const last = this.#recentFailure;
    this.#lastFailure = undefined;
    if (last) throw last.error;
  }

  #busy({ foundAt }: PairingAttempt): ZapdError {
    const { name } = this.#endpoint.record;
    const where = foundAt ? ` at ${addressText(foundAt.address)}` : "";
    return new ZapdError("device_busy", `${name} is already being paired${where}`, {
      namesDevice: true,
      hint: `Finish that pairing, or cancel it: zapd pair ${shellQuote(name)} --cancel`,
    });
  }
}

/** For a fresh pairing: another device must not get the kept secret, and nothing is saved before the pairing succeeds. */
const noSecret: KeptSecret<unknown> = {
  read: () => null,
  readAnyway: () => null,
  keep: async () => {},
  drop: async () => {},
};

/** The pairing of a device that accepts everybody. */
const openToAll: Pairing = {
  step: "confirm",
  expiresMs: answerTimeoutMs,
  done: Promise.resolve({ secret: null }),
  cancel() {},
};

const expiredTexts: Readonly<Record<Pairing["step"], { readonly problem: string; readonly hint: string }>> = {
  confirm: {
    problem: "was not paired: nobody accepted the request on its screen",
    hint: "Run zapd pair {device} again, and accept the request on its screen",
  },
  code: {
    problem: "was not paired: nobody entered the code that it showed",
    hint: "Run zapd pair {device} again: it shows a new code",
  },
  login: { problem: "was not paired: nobody entered its user name and password", hint: "Run zapd pair {device} again" },
};

/** Why a pairing has ended, in one word; `cancelled` where its callers have hung up. */
function reasonWord(reason: unknown): string {
  if (reason instanceof DeviceError) return reason.code === "pairing_failed" ? reason.reason : reason.code;
  return reason instanceof ZapdError ? reason.code : "cancelled";
}

/** Keeps a pairing open for its caller to come back to; gives the next step. */
function keepOpen(current: PairingAttempt, { pairing, expiresAt }: OpenPairing): PairingStep {
  current.isKeptOpen = true;
  const { form = null, length = null } = pairing.step === "code" ? pairing : {};
  return { step: pairing.step, form, length, expires_at: new Date(expiresAt).toISOString() };
}

/** Whether the device accepted or refused at once, without asking its user. */
function isDone(pairing: Pairing): Promise<boolean> {
  if (pairing.step !== "confirm") return Promise.resolve(false);
  const settled = () => true;
  const soon = sleep(0).then(() => false);
  return Promise.race([pairing.done.then(settled, settled), soon]);
}

/** Whether a caller means the pairing that runs: a secret goes to no address that its caller has not named. */
function isMeant(current: PairingAttempt, foundAt: FoundDevice | undefined, hasSecret: boolean): boolean {
  if (foundAt) return current.foundAt !== undefined && isSameAddress(current.foundAt.address, foundAt.address);
  return !(current.foundAt && hasSecret);
}

function textsIn({ pin, user, password }: PairingRequest): string[] {
  return [pin, user, password].filter((word) => word !== undefined);
}

/** Enters the caller's code or login; `null` where the caller has not given what the device asks for. */
function enterWith(pairing: Pairing, { pin, user, password = pin }: PairingRequest): (() => Promise<Paired>) | null {
  if (pairing.step === "code" && pin !== undefined) return async () => pairing.enter(codeIn(pin, pairing));
  if (pairing.step === "login" && password !== undefined) return async () => pairing.enter(user, password);
  return null;
}

/** A code as the device shows it; anything else is not tried, since some devices count the tries. */
function codeIn(pin: string, { form, length }: { readonly form: CodeForm; readonly length: number }): string {
  const code = pin.replace(/[\s-]/g, "").toUpperCase();
  if (code.length === length && (form === "digits" ? /^[0-9]*$/ : /^[0-9A-F]*$/).test(code)) return code;
  const shape = form === "digits" ? `${length} digits` : `${length} characters, 0 to 9 and A to F`;
  throw pairingFailed("wrong", `shows a code of ${shape}, and this is not one`, { hint: "Look at its screen again" });
}
