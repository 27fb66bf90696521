/**
 * Leases: who has a device to themselves for a while. One holder for each device, the others in order of arrival. They are
 * kept on disk, so that a daemon that is killed gives no device to two; of a token only its digest is kept.
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
import { asShellWord } from "./names.ts";
import { readBy, Store } from "./store.ts";

/** Milliseconds beyond its wait that a caller waits for what is under way at the device to end. */
const settlesWithinMs = 5_000;
/** So many may wait for one device. */
const mostWaiting = 256;
/** So many tokens of one header are looked at: whoever has several devices says them with commas between. */
const mostTokens = 16;

type WantedLease = BodyOf<"takeLease">;

interface GivenLease {
  readonly token: string;
  readonly until: string;
}

type Why = EventOf<"lease.changed">["why"];

/** What leases do to devices, which are named by their ids. */
export interface LeaseHooks {
  /** What the device is called, for failures. */
  nameOf(id: string): string;
  /** Waits until nothing that was asked before is under way at the device. */
  whenIdle(id: string, turn: { readonly signal: AbortSignal; readonly patient: boolean }): Promise<void>;
  /** Lets go of the key that somebody holds at the device. */
  releaseKey(id: string, reason: ZapdError): void;
  /** Hangs up on the device's console. */
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

/** How long a lease lasts, from when it was given or renewed: on clocks that nobody sets, and as it is told. */
interface Term {
  readonly ms: number;
  readonly passed: () => number;
  readonly until: string;
}

/** A device that somebody has. Without a term it is not given yet: what was under way before must end first. */
interface Held {
  readonly id: string;
  readonly digest: Buffer;
  /** Ends with the lease: what its holder has under way ends then. */
  readonly over: AbortController;
  owner: string;
  note: string | null;
  term: Term | null;
  /** Whether it has been told that it is given. */
  isTold: boolean;
  timer: ReturnType<typeof setTimeout> | undefined;
}

export interface LeasesOptions {
  readonly path: string;
  damaged(problem: string): void;
  /** Told of what could not be written where nobody waits for it. */
  failed(error: unknown): void;
}

export class Leases {
  readonly #store: Store<Content>;
  readonly #failed: (error: unknown) => void;
  readonly #held = new Map<string, Held>();
  /** Whether nobody has any device: a command need not ask then. */
  isEmpty = true;
  /** Those who wait for a device, in order of arrival: each is called when its turn has come. */
  readonly #lines = new Map<string, (() => void)[]>();
  /** Ends the waiting when the daemon stops. */
  readonly #stopping = new AbortController();
  #hooks: LeaseHooks = {
    nameOf: (id) => id,
    whenIdle: async () => {},
    releaseKey() {},
    closeConsole() {},
    changed() {},
  };

  private constructor(store: Store<Content>, failed: (error: unknown) => void) {
    this.#store = store;
    this.#failed = failed;
    for (const [id, { owner, note, until, token_sha256 }] of Object.entries(store.value.leases)) {
      const left = Date.parse(until) - Date.now();
      // It is over, or its end is no date.
      if (!(left > 0)) continue;
      const held = this.#hold(id, { owner, note }, Buffer.from(token_sha256, "hex"));
      // A clock that was set back makes no lease longer than one may be.
      this.#begin(held, Math.min(left, leaseLimits.ttlS * 1_000));
      held.isTold = true;
    }
  }

  static async open({ path, damaged, failed }: LeasesOptions): Promise<Leases> {
    const parse = readBy(contentSchema, "leases");
    const empty: Content = { leases: {} };
    return new Leases(await Store.open({ path, damaged, parse, maxBytes: 8 * 1024 * 1024, empty }), failed);
  }

  /** From now on the devices are told. */
  connect(hooks: LeaseHooks): void {
    this.#hooks = hooks;
  }

  /** The lease of a device, as everybody may see it. */
  get(id: string): Lease | null {
    const held = this.#current(id);
    return held?.term ? leaseOf(held, held.term) : null;
  }

  /** What ends with the lease of a device, for whoever carries its token; `null` for all others. */
  signalFor(id: string, carried: string | undefined): AbortSignal | null {
    if (carried === undefined) return null;
    const held = this.#current(id);
    return held?.term && digestsIn(carried).some((one) => isOf(one, held)) ? held.over.signal : null;
  }

  /**
   * Whether a caller may change a device now, by the tokens that it carries (the header `zapd-lease`). Gives what ends with its
   * lease, or `null` where nobody has the device. Fails with `device_leased` where another has it, or where a lease that it
   * carries has ended: somebody else may have had the device since.
   */
  check(id: string, carried: string | undefined): AbortSignal | null {
    const digests = digestsIn(carried);
    const own = this.signalFor(id, carried);
    if (own) return own;
    const held = this.#current(id);
    if (held) throw this.#leased(held);
    this.#checkEach(id, digests);
    return null;
  }

  /**
   * Gives a device to its caller, once its turn has come and what was under way has ended; or goes on with the lease of whoever
   * carries its token. Fails with `device_leased` when the wait is over, and `storage_error` where it cannot be kept.
   */
  async take(id: string, wanted: WantedLease, carried: string | undefined, signal: AbortSignal): Promise<GivenLease> {
    const tokens = tokensIn(carried);
    const own = this.#current(id);
    const token = own?.term ? tokens.find((one) => isOf(digestOf(one), own)) : undefined;
    if (own && token !== undefined) return { token, until: await this.#renew(own, wanted) };
    // A caller who believes that it still has the device must learn that it has not.
    this.#checkEach(id, tokens.map(digestOf));
    const waiting = AbortSignal.any([signal, this.#stopping.signal]);
    waiting.throwIfAborted();
    return this.#give(await this.#turn(id, wanted, waiting), wanted, waiting);
  }

  /** Its holder gives a device back; whether there was something to give. With `force` anybody takes it away from whom it is. */
  async release(id: string, carried: string | undefined, force: boolean): Promise<boolean> {
    const held = this.#current(id);
    if (!held?.term) return false;
    const isHolder = digestsIn(carried).some((one) => isOf(one, held));
    if (!isHolder && !force) throw this.#leased(held, id, () => "Its holder frees it, with its token in $ZAPD_LEASE");
    this.#end(held, isHolder ? "freed" : "broken");
    // Where this cannot be written and the daemon is killed, the lease is back with the next, and ends in its time.
    await this.#save().catch(this.#failed);
    return true;
  }

  /** The device is no longer known, or is a part of another. */
  drop(id: string): void {
    const held = this.#held.get(id);
    if (held) this.#forget(held, "removed");
  }

  /** The daemon stops: nobody waits any more. Leases are kept for when it is back. */
  close(): void {
    this.#stopping.abort(new ZapdError("internal_error", "zapd is stopping", { namesDevice: true }));
    for (const { timer } of this.#held.values()) clearTimeout(timer);
  }

  settled(): Promise<void> {
    return this.#store.settled();
  }

  /** Who has a device, if their time is not over. */
  #current(id: string): Held | undefined {
    const held = this.#held.get(id);
    // A machine that slept wakes before its timers do.
    if (held?.term && held.term.passed() >= held.term.ms) this.#forget(held, "expired");
    return this.#held.get(id);
  }

  /** Fails where one of the tokens is of no lease, whatever the device. */
  #checkEach(id: string, digests: readonly Buffer[]): void {
    if (digests.length === 0) return;
    for (const each of [...this.#held.keys()]) this.#current(each);
    const all = [...this.#held.values()];
    if (digests.every((one) => all.some((held) => isOf(one, held)))) return;
    const held = this.#held.get(id);
    if (held) throw this.#leased(held);
    const name = this.#hooks.nameOf(id);
    throw new ZapdError("device_leased", `${name} was not asked: the lease that was given with the call has ended`, {
      hint: `Nobody has ${name} now. Take it anew, without the old token (unset ZAPD_LEASE): zapd lease -d ${asShellWord(name)}`,
      namesDevice: true,
      details: { lease: null },
    });
  }

  /** Waits for its turn; whoever hangs up, or has waited long enough, leaves the line. */
  #turn(id: string, wanted: WantedLease, signal: AbortSignal): Promise<Claim> {
    const claim = () => this.#claim(id, wanted);
    const line = this.#lines.get(id) ?? [];
    const held = this.#current(id);
    if (!held && line.length === 0) return Promise.resolve(claim());
    if (wanted.wait_s === 0 || line.length >= mostWaiting) return Promise.reject(this.#leased(held, id));
    this.#lines.set(id, line);
    return new Promise((resolve, reject) => {
      const settle = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", aborted);
      };
      const leave = (error: unknown) => {
        settle();
        line.splice(line.indexOf(called), 1);
        if (line.length === 0 && this.#lines.get(id) === line) this.#lines.delete(id);
        reject(error);
      };
      const aborted = () => leave(signal.reason);
      const called = () => {
        settle();
        resolve(claim());
      };
      const timer = setTimeout(() => leave(this.#leased(this.#held.get(id), id)), wanted.wait_s * 1_000);
      signal.addEventListener("abort", aborted, { once: true });
      line.push(called);
    });
  }

  /** From now on nobody else changes the device. */
  #claim(id: string, { owner, note }: WantedLease): Claim {
    const token = `${tokenForm.prefix}${randomBytes(24).toString("base64url")}`;
    return { token, held: this.#hold(id, { owner, note: note ?? null }, digestOf(token)) };
  }

  #hold(id: string, said: Pick<Held, "owner" | "note">, digest: Buffer): Held {
    const held: Held = {
      id,
      digest,
      over: new AbortController(),
      ...said,
      term: null,
      isTold: false,
      timer: undefined,
    };
    this.#held.set(id, held);
    this.isEmpty = false;
    return held;
  }

  async #give({ token, held }: Claim, { ttl_s, wait_s }: WantedLease, signal: AbortSignal): Promise<GivenLease> {
    const { id } = held;
    try {
      this.#hooks.releaseKey(id, this.#leased(held));
      await this.#settled(id, wait_s, signal);
      signal.throwIfAborted();
      const { until } = this.#begin(held, ttl_s * 1_000);
      await this.#save();
      // Nobody is there any more to be told the token.
      signal.throwIfAborted();
      this.#tell(held, "taken");
      return { token, until };
    } catch (error) {
      this.#forget(held, "freed");
      throw error;
    }
  }

  async #settled(id: string, wait_s: number, signal: AbortSignal): Promise<void> {
    const late = new AbortController();
    const busy = () =>
      new ZapdError("device_busy", `${this.#hooks.nameOf(id)} is still busy with what was asked of it before`, {
        hint: "Ask again, with a longer wait",
        namesDevice: true,
      });
    const timer = setTimeout(() => late.abort(busy()), wait_s * 1_000 + settlesWithinMs);
    try {
      await this.#hooks.whenIdle(id, { signal: AbortSignal.any([signal, late.signal]), patient: wait_s > 0 });
    } finally {
      clearTimeout(timer);
    }
  }

  async #renew(held: Held, { owner, note, ttl_s }: WantedLease): Promise<string> {
    const before = { owner: held.owner, note: held.note };
    const left = held.term ? held.term.ms - held.term.passed() : 0;
    Object.assign(held, { owner, note: note ?? held.note });
    const { until } = this.#begin(held, ttl_s * 1_000);
    try {
      await this.#save();
    } catch (error) {
      Object.assign(held, before);
      if (this.#held.get(held.id) === held) this.#begin(held, left);
      throw error;
    }
    if (this.#held.get(held.id) !== held) this.#checkEach(held.id, [held.digest]);
    this.#tell(held, "renewed");
    return until;
  }

  /** Its time runs from now on. */
  #begin(held: Held, ms: number): Term {
    clearTimeout(held.timer);
    held.term = { ms, passed: stopwatch(), until: new Date(Date.now() + ms).toISOString() };
    held.timer = setTimeout(() => this.#forget(held, "expired"), ms);
    held.timer.unref?.();
    return held.term;
  }

  #tell(held: Held, why: Why): void {
    held.isTold = true;
    if (held.term) this.#hooks.changed(held.id, leaseOf(held, held.term), why, held.owner);
  }

  /** Ends a lease where nobody waits for that to be on disk. */
  #forget(held: Held, why: Why): void {
    this.#end(held, why);
    if (held.term) this.#save().catch(this.#failed);
  }

  /** Nobody has the device any more: what was held is let go, and the next one has its turn. */
  #end(held: Held, why: Why): void {
    const { id, owner, isTold, timer, over } = held;
    if (this.#held.get(id) !== held) return;
    clearTimeout(timer);
    this.#held.delete(id);
    this.isEmpty = this.#held.size === 0;
    const reason = this.#ended(id, why);
    over.abort(reason);
    this.#hooks.releaseKey(id, reason);
    this.#hooks.closeConsole(id);
    if (isTold) this.#hooks.changed(id, null, why, owner);
    const line = this.#lines.get(id);
    line?.shift()?.();
    if (line?.length === 0) this.#lines.delete(id);
  }

  #save(): Promise<void> {
    return this.#store.update(() => {
      const all = [...this.#held.values()].flatMap(({ id, owner, note, term, digest }) =>
        term ? [[id, { owner, note, until: term.until, token_sha256: digest.toString("hex") }] as const] : [],
      );
      return { next: { leases: Object.fromEntries(all) }, result: undefined };
    });
  }

  #ended(id: string, why: Why): ZapdError {
    const name = this.#hooks.nameOf(id);
    return new ZapdError("device_leased", `What was under way at ${name} has ended with its lease, which is ${why}`, {
      hint: `Renew a lease before its end. Take it anew: zapd lease -d ${asShellWord(name)}`,
      namesDevice: true,
      details: { lease: null },
    });
  }

  #leased(held: Held | undefined, id = held?.id ?? "", otherwise = toWait): ZapdError {
    const name = this.#hooks.nameOf(id);
    const word = asShellWord(name);
    const { owner, note, term } = held ?? {};
    const until = term ? ` until ${term.until}` : "";
    const holder =
      owner === undefined ? "The next in line gets it" : `${owner} has it${until}${note ? ` (${note})` : ""}`;
    return new ZapdError("device_leased", `${name} is leased${owner === undefined ? "" : ` to ${owner}`}`, {
      hint: `${holder}. ${otherwise(word)}; to take it away: zapd lease break -d ${word}`,
      namesDevice: true,
      // Whoever is about to get it is not known to others yet.
      details: held?.term ? { lease: leaseOf(held, held.term) } : undefined,
    });
  }
}

function toWait(name: string): string {
  return `To wait for it: zapd lease -d ${name} --wait 60s`;
}

/** A device that is to be given, with the token that its holder will have. */
interface Claim {
  readonly token: string;
  readonly held: Held;
}

function leaseOf({ owner, note }: Held, { until }: Term): Lease {
  return { owner, until, note };
}

function tokensIn(carried: string | undefined): string[] {
  if (carried === undefined) return [];
  return carried
    .split(",", mostTokens)
    .map((one) => one.trim())
    .filter((one) => one !== "");
}

function digestsIn(carried: string | undefined): Buffer[] {
  return tokensIn(carried).map(digestOf);
}

function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** In the same time, whatever the token. */
function isOf(digest: Buffer, { digest: own }: Held): boolean {
  return timingSafeEqual(digest, own);
}
