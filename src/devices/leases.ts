/**
 * Leases: one caller has a device to itself for a while; others wait in order of arrival. Leases are kept on disk, so that a
 * daemon that was killed does not give a leased device away. Of a token only its digest is kept.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { ZapdError } from "../api/errors.ts";
import type { EventOf } from "../api/events.ts";
import { leaseLimits } from "../api/limits.ts";
import type { BodyOf } from "../api/operations.ts";
import type { Lease } from "../api/schemas.ts";
import { stopwatch } from "../system/clock.ts";
import { tokenForm } from "../system/log.ts";
import { instant } from "../system/schemas.ts";
import { shellQuote, splitCommas } from "../system/text.ts";
import type { Turn } from "./queue.ts";
import { parserFor, type StateFile, Store } from "./store.ts";

/** How much longer than its wait a caller waits for running commands to end. */
const idleTimeoutMs = 5_000;
/** Callers that may wait for one device. */
const maxWaiting = 256;
/** Tokens that are read from one header, separated by commas: more than a runtime takes in the head of a request (64 KiB). */
const maxTokens = 2_048;

type WantedLease = BodyOf<"takeLease">;

interface GivenLease {
  readonly token: string;
  readonly until: string;
}

type Why = EventOf<"lease.changed">["why"];

/** What leases need of devices, by their ids. */
export interface LeaseHooks {
  /** The device's name, for errors. */
  nameOf(id: string): string;
  /** Waits until the commands that were queued before have ended. */
  whenIdle(id: string, turn: Pick<Turn, "signal" | "waitsForLongCommands">): Promise<void>;
  /** Lets go of the key that a caller holds down. */
  releaseKey(id: string, reason: ZapdError): void;
  /** Disconnects from the device's developer console. */
  closeConsole(id: string): void;
  changed(id: string, lease: Lease | null, why: Why, owner: string): void;
}

const contentSchema = z.object({
  leases: z.record(
    z.string(),
    z.object({
      owner: z.string().max(leaseLimits.owner),
      note: z.string().max(leaseLimits.note).nullable(),
      until: instant,
      token_sha256: z.string().regex(/^[0-9a-f]{64}$/),
    }),
  ),
});

type Content = z.infer<typeof contentSchema>;

/** How long a lease lasts since it was given or renewed: on the monotonic clock, and as callers are told. */
interface Term {
  readonly ms: number;
  readonly elapsedMs: () => number;
  readonly until: string;
}

/** A lease. Without a term it is not given yet, since running commands must end first. */
interface HeldLease {
  readonly id: string;
  readonly digest: Buffer;
  /** Aborts when the lease ends, and with it its holder's commands. */
  readonly end: AbortController;
  owner: string;
  note: string | null;
  term: Term | null;
  isPublished: boolean;
  timer: ReturnType<typeof setTimeout> | undefined;
}

export class Leases {
  readonly #store: Store<Content>;
  /** Called with a failed write for which no caller waits. */
  readonly #failed: (error: unknown) => void;
  readonly #held = new Map<string, HeldLease>();
  /** Whether there is no lease, so that a command need not be checked. */
  isEmpty = true;
  /** The callers that wait for each device, in order of arrival. */
  readonly #queues = new Map<string, (() => void)[]>();
  /** Ends all waits when the daemon stops. */
  readonly #stopping = new AbortController();
  #hooks!: LeaseHooks;

  private constructor(store: Store<Content>, failed: (error: unknown) => void) {
    this.#store = store;
    this.#failed = failed;
    for (const [id, { owner, note, until, token_sha256 }] of Object.entries(store.value.leases)) {
      const left = Date.parse(until) - Date.now();
      // It has ended, or `until` is no date.
      if (!(left > 0)) continue;
      const held = this.#create(id, { owner, note }, Buffer.from(token_sha256, "hex"));
      // A clock that was set back makes no lease too long.
      this.#startTerm(held, Math.min(left, leaseLimits.ttlS * 1_000));
      held.isPublished = true;
    }
  }

  static async open({ failed, ...file }: StateFile & { failed(error: unknown): void }): Promise<Leases> {
    const parse = parserFor(contentSchema, "leases");
    const empty: Content = { leases: {} };
    return new Leases(await Store.open({ ...file, parse, maxBytes: 8 * 1024 * 1024, empty }), failed);
  }

  /** Connects the leases to the devices, before the first call. */
  connect(hooks: LeaseHooks): void {
    this.#hooks = hooks;
  }

  /** The lease of a device, as any caller may see it. */
  get(id: string): Lease | null {
    const held = this.#current(id);
    return held?.term ? publicLease(held, held.term) : null;
  }

  /** A signal that aborts when the lease of a device ends, for a caller with its token; `null` for all others. */
  signalFor(id: string, carried: string | undefined): AbortSignal | null {
    if (carried === undefined) return null;
    const held = this.#current(id);
    return held && digestsIn(carried).some((one) => isTokenOf(one, held)) ? held.end.signal : null;
  }

  /**
   * Whether a caller may change a device now, by the tokens in its header `zapd-lease`. Gives a signal that aborts when its
   * lease ends, or `null` where the device is not leased. Fails with `device_leased` where another caller has it, or where one
   * of the caller's leases has ended, since another may have had the device meanwhile.
   */
  check(id: string, carried: string | undefined): AbortSignal | null {
    const own = this.signalFor(id, carried);
    if (own) return own;
    const held = this.#current(id);
    if (held) throw this.#leasedError(held);
    this.#checkTokens(id, digestsIn(carried));
    return null;
  }

  /**
   * Leases a device to a caller, once its turn has come and running commands have ended; renews the lease of a caller with its
   * token. Fails with `device_leased` when the wait is over, and with `storage_error` where the lease cannot be saved.
   */
  async take(id: string, wanted: WantedLease, carried: string | undefined, signal: AbortSignal): Promise<GivenLease> {
    const tokens = tokensIn(carried);
    const own = this.#current(id);
    const token = own && tokens.find((one) => isTokenOf(digestOf(one), own));
    if (own && token !== undefined) return { token, until: await this.#renew(own, wanted) };
    // A caller whose lease has ended must learn that, and not be given another.
    this.#checkTokens(id, tokens.map(digestOf));
    const waiting = AbortSignal.any([signal, this.#stopping.signal]);
    waiting.throwIfAborted();
    return this.#give(await this.#claimInTurn(id, wanted, waiting), wanted, waiting);
  }

  /** Ends the lease of a device, for its holder or with `force` for anybody; whether there was one. */
  async release(id: string, carried: string | undefined, force: boolean): Promise<boolean> {
    const held = this.#current(id);
    // One that waits for running commands keeps all others out, too.
    if (!held || (!held.term && !force)) return false;
    const isHolder = digestsIn(carried).some((one) => isTokenOf(one, held));
    if (!isHolder && !force)
      throw this.#leasedError(held, id, () => "Its holder frees it with the token in $ZAPD_LEASE");
    this.#end(held, isHolder ? "freed" : "broken");
    // If this is not saved and the daemon is killed, the next daemon has the lease until it expires.
    await this.#save().catch(this.#failed);
    return true;
  }

  /** The device was removed, or became a part of another. */
  drop(id: string): void {
    const held = this.#held.get(id);
    if (held) this.#endUnattended(held, "removed");
  }

  /** Ends all waits; the leases are kept for the next start. */
  close(): void {
    this.#stopping.abort(new ZapdError("internal_error", "zapd is stopping", { namesDevice: true }));
    for (const { timer } of this.#held.values()) clearTimeout(timer);
  }

  settled(): Promise<void> {
    return this.#store.settled();
  }

  /** The lease of a device, unless it has expired. */
  #current(id: string): HeldLease | undefined {
    const held = this.#held.get(id);
    // After the machine slept, the timer may be late.
    if (held?.term && held.term.elapsedMs() >= held.term.ms) this.#endUnattended(held, "expired");
    return this.#held.get(id);
  }

  /** Fails where one of the tokens belongs to no lease of any device. */
  #checkTokens(id: string, digests: readonly Buffer[]): void {
    if (digests.length === 0) return;
    for (const each of [...this.#held.keys()]) this.#current(each);
    const all = [...this.#held.values()];
    if (digests.every((one) => all.some((held) => isTokenOf(one, held)))) return;
    const held = this.#held.get(id);
    if (held) throw this.#leasedError(held);
    const name = this.#hooks.nameOf(id);
    throw new ZapdError("device_leased", `${name} got no command: the lease of this call has ended`, {
      hint: `Nobody leases ${name} now. Lease it again, without the old token (unset ZAPD_LEASE): zapd lease -d ${shellQuote(name)}`,
      namesDevice: true,
      details: { lease: null },
    });
  }

  /** Waits for the caller's turn, until its wait is over or it hangs up; then claims the device. */
  #claimInTurn(id: string, { owner, note, wait_s }: WantedLease, signal: AbortSignal): Promise<Claim> {
    // From then on no other caller changes the device.
    const claim = (): Claim => {
      const token = `${tokenForm.prefix}${randomBytes(24).toString("base64url")}`;
      return { token, held: this.#create(id, { owner, note: note ?? null }, digestOf(token)) };
    };
    const queue = this.#queues.get(id) ?? [];
    const held = this.#current(id);
    if (!held) return Promise.resolve(claim());
    if (wait_s === 0 || queue.length >= maxWaiting) return Promise.reject(this.#leasedError(held, id));
    this.#queues.set(id, queue);
    return new Promise((resolve, reject) => {
      const settle = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", aborted);
      };
      const leave = (error: unknown) => {
        settle();
        queue.splice(queue.indexOf(take), 1);
        if (queue.length === 0) this.#queues.delete(id);
        reject(error);
      };
      const aborted = () => leave(signal.reason);
      const take = () => {
        settle();
        resolve(claim());
      };
      const timer = setTimeout(() => leave(this.#leasedError(this.#held.get(id), id)), wait_s * 1_000);
      signal.addEventListener("abort", aborted, { once: true });
      queue.push(take);
    });
  }

  #create(id: string, holder: Pick<HeldLease, "owner" | "note">, digest: Buffer): HeldLease {
    const held: HeldLease = {
      id,
      digest,
      end: new AbortController(),
      ...holder,
      term: null,
      isPublished: false,
      timer: undefined,
    };
    this.#held.set(id, held);
    this.isEmpty = false;
    return held;
  }

  async #give({ token, held }: Claim, { ttl_s, wait_s }: WantedLease, caller: AbortSignal): Promise<GivenLease> {
    const { id } = held;
    // The device may be removed, or the lease broken, before it is given.
    const signal = AbortSignal.any([caller, held.end.signal]);
    try {
      this.#hooks.releaseKey(id, this.#leasedError(held));
      await this.#waitUntilIdle(id, wait_s, signal);
      const { until } = this.#startTerm(held, ttl_s * 1_000);
      await this.#save();
      // A caller that has hung up cannot get the token.
      signal.throwIfAborted();
      this.#publish(held, "taken");
      return { token, until };
    } catch (error) {
      this.#endUnattended(held, "freed");
      throw error;
    }
  }

  async #waitUntilIdle(id: string, wait_s: number, signal: AbortSignal): Promise<void> {
    const late = new AbortController();
    const busy = () =>
      new ZapdError("device_busy", `${this.#hooks.nameOf(id)} is still busy with an earlier request`, {
        hint: "Try again with a longer wait",
        namesDevice: true,
      });
    const timer = setTimeout(() => late.abort(busy()), wait_s * 1_000 + idleTimeoutMs);
    try {
      const waitsForLongCommands = wait_s > 0;
      await this.#hooks.whenIdle(id, { signal: AbortSignal.any([signal, late.signal]), waitsForLongCommands });
    } finally {
      clearTimeout(timer);
    }
  }

  async #renew(held: HeldLease, { owner, note, ttl_s }: WantedLease): Promise<string> {
    const before = { owner: held.owner, note: held.note };
    const left = held.term ? held.term.ms - held.term.elapsedMs() : 0;
    Object.assign(held, { owner, note: note ?? held.note });
    const { until } = this.#startTerm(held, ttl_s * 1_000);
    try {
      await this.#save();
    } catch (error) {
      Object.assign(held, before);
      if (this.#held.get(held.id) === held) this.#startTerm(held, left);
      throw error;
    }
    if (this.#held.get(held.id) !== held) this.#checkTokens(held.id, [held.digest]);
    this.#publish(held, "renewed");
    return until;
  }

  #startTerm(held: HeldLease, ms: number): Term {
    clearTimeout(held.timer);
    held.term = { ms, elapsedMs: stopwatch(), until: new Date(Date.now() + ms).toISOString() };
    held.timer = setTimeout(() => this.#endUnattended(held, "expired"), ms);
    held.timer.unref?.();
    return held.term;
  }

  #publish(held: HeldLease, why: Why): void {
    held.isPublished = true;
    if (held.term) this.#hooks.changed(held.id, publicLease(held, held.term), why, held.owner);
  }

  /** Ends a lease where no caller waits for the write. */
  #endUnattended(held: HeldLease, why: Why): void {
    this.#end(held, why);
    if (held.term) this.#save().catch(this.#failed);
  }

  /** Ends a lease with its holder's commands, key and console; the next caller has its turn. */
  #end(held: HeldLease, why: Why): void {
    const { id, owner, isPublished, timer, end } = held;
    if (this.#held.get(id) !== held) return;
    clearTimeout(timer);
    this.#held.delete(id);
    this.isEmpty = this.#held.size === 0;
    const reason = this.#endedError(held, why);
    end.abort(reason);
    this.#hooks.releaseKey(id, reason);
    this.#hooks.closeConsole(id);
    if (isPublished) this.#hooks.changed(id, null, why, owner);
    const queue = this.#queues.get(id);
    queue?.shift()?.();
    if (queue?.length === 0) this.#queues.delete(id);
  }

  #save(): Promise<void> {
    return this.#store.update(() => {
      const all = [...this.#held.values()].flatMap(({ id, owner, note, term, digest }) =>
        term ? [[id, { owner, note, until: term.until, token_sha256: digest.toString("hex") }] as const] : [],
      );
      return { next: { leases: Object.fromEntries(all) }, result: undefined };
    });
  }

  #endedError({ id, isPublished }: HeldLease, why: Why): ZapdError {
    const name = this.#hooks.nameOf(id);
    const [what, advice] = isPublished
      ? [`What was running on ${name} ended with its lease`, "Renew a lease before it ends. "]
      : [`${name} was not leased: its lease ended before it began`, ""];
    return new ZapdError("device_leased", `${what} (${why})`, {
      hint: `${advice}Lease it again: zapd lease -d ${shellQuote(name)}`,
      namesDevice: true,
      details: { lease: null },
    });
  }

  #leasedError(held: HeldLease | undefined, id = held?.id ?? "", otherwise = waitHint): ZapdError {
    const name = this.#hooks.nameOf(id);
    const word = shellQuote(name);
    const { owner, note, term } = held ?? {};
    const until = term ? ` until ${term.until}` : "";
    const holder =
      owner === undefined ? "The next caller that waits gets it" : `${owner} has it${until}${note ? ` (${note})` : ""}`;
    return new ZapdError("device_leased", `${name} is leased${owner === undefined ? "" : ` to ${owner}`}`, {
      hint: `${holder}. ${otherwise(word)}; to take it away: zapd lease break -d ${word}`,
      namesDevice: true,
      // A claim that is not given yet is not shown to others.
      details: held?.term ? { lease: publicLease(held, held.term) } : undefined,
    });
  }
}

function waitHint(name: string): string {
  return `To wait for it: zapd lease -d ${name} --wait 60s`;
}

/** A reserved device, with the token for its holder. */
interface Claim {
  readonly token: string;
  readonly held: HeldLease;
}

function publicLease({ owner, note }: HeldLease, { until }: Term): Lease {
  return { owner, until, note };
}

function tokensIn(carried = ""): string[] {
  return splitCommas(carried).slice(0, maxTokens);
}

function digestsIn(carried: string | undefined): Buffer[] {
  return tokensIn(carried).map(digestOf);
}

function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** Compares in constant time. */
function isTokenOf(digest: Buffer, { digest: own }: HeldLease): boolean {
  return timingSafeEqual(digest, own);
}
