/** Being let in by a set (smart-tvs.md 2.3): with the key that it gave, or by its user, who accepts a prompt. */
import { DeviceError, failedBy, pairingFailed, ZapdError } from "../../api/errors.ts";
import { sleep } from "../../system/sleep.ts";
import type { KeptSecret, Paired, Pairing, Surroundings } from "../platform.ts";
import type { Greeted } from "./endpoints.ts";
import { hungUp, SetFailure } from "./failures.ts";
import { toldWhenIn } from "./identity.ts";
import type { WebosMemory, WebosSecret, WebosTarget } from "./memory.ts";
import { Prompted } from "./prompted.ts";
import { isProven, openToPair, pairedMemory, pinOf } from "./proof.ts";
import { registration } from "./protocol.ts";
import type { WebosSession } from "./session.ts";

/** A prompt that nobody answers is given up after this (SECURITY.md 4). */
const answeredWithin = 60_000;
/** A set that has neither shown its prompt nor answered after this is taken to ask its user. */
const promptsWithin = 1_500;
/** Some firmware shows its prompt and then lets the known key in by itself, within a second. */
const letsInWithin = 1_200;

export const pairHint = "Run zapd pair {device}, and accept the request that the TV shows";

export function pairingRequired(problem: string): DeviceError {
  return new DeviceError("pairing_required", problem, { phase: "answered", reason: "denied", hint: pairHint });
}

/** The set showed its prompt for a key that it had given: it may have forgotten it, or not know it just now. */
export class AskedAgain extends ZapdError {
  constructor() {
    super("pairing_required", "asks its user anew whether zapd may drive it, as if it had forgotten", {
      hint: pairHint,
    });
  }
}

/**
 * Registers with the key that is kept, and never leaves a prompt that nobody asked for on the screen. The key is kept
 * until the set refuses it. Fails with `AskedAgain`, or with `pairing_required` when there is no key (any more).
 */
export async function admit(
  session: WebosSession,
  keeper: KeptSecret<WebosSecret>,
  signal: AbortSignal,
): Promise<void> {
  const kept = keeper.read();
  const key = kept?.key;
  if (!key) throw pairingRequired("takes no commands: it is not paired with zapd");
  let prompted: ReturnType<typeof setTimeout> | undefined;
  const onPrompt = () => {
    // Hanging up takes the prompt from the screen.
    prompted ??= setTimeout(() => session.destroy(), letsInWithin);
  };
  try {
    const given = await session.register(registration(key), onPrompt, signal);
    if (given !== null && given !== key) await keeper.keep({ ...kept, key: given });
  } catch (error) {
    if (isRefusal(error)) {
      await keeper.drop();
      throw pairingRequired("no longer lets zapd in");
    }
    if (error instanceof SetFailure) throw pairingFailure(error);
    // Whether or not somebody still waits: it must be remembered.
    if (prompted !== undefined) throw new AskedAgain();
    if (signal.aborted) throw signal.reason;
    // As sets do on their way off, and while they start (2.5).
    if (!session.alive) throw hungUp();
    throw error;
  } finally {
    clearTimeout(prompted);
  }
}

/**
 * Registers anew: the set shows a prompt, and its user has a minute. Whoever does not prove to be the set that was paired is
 * not told the key of before: it begins as if there were none.
 */
export async function pairWebos(
  target: WebosTarget,
  surroundings: Surroundings,
  { fresh }: { readonly fresh: boolean },
  signal: AbortSignal,
): Promise<Pairing<WebosMemory, WebosSecret>> {
  const { secret } = target;
  const greeted = await openToPair(target, surroundings, signal);
  const isKnown = !fresh && isProven(greeted, target, pinOf(target));
  const over = new AbortController();
  const prompt = Promise.withResolvers<void>();
  const done = letIn(greeted, target, over.signal, prompt.resolve, {
    key: isKnown ? (secret.read()?.key ?? null) : null,
    refused: () => secret.drop(),
  });
  const cancel = () => {
    over.abort(new ZapdError("pairing_failed", "was given up"));
    greeted.session.destroy();
  };
  done.catch(() => {}).finally(prompt.resolve);
  await Promise.race([prompt.promise, sleep(promptsWithin, signal)]).catch((error: unknown) => {
    cancel();
    throw error;
  });
  return { step: "confirm", expiresMs: answeredWithin, done, cancel };
}

/** The key of before, where the set may be told it. */
interface Known {
  readonly key: string | null;
  /** The set does not take it any more. */
  refused(): Promise<void>;
}

/** Waits until its user has let us in, and asks for what the set says to those it knows. */
async function letIn(
  greeted: Greeted,
  target: WebosTarget,
  signal: AbortSignal,
  onPrompt: () => void,
  known: Known,
): Promise<Paired<WebosMemory, WebosSecret>> {
  const { session, hello } = greeted;
  try {
    const key = await registered(session, onPrompt, known, signal);
    // An empty key that is kept makes the set ask every time.
    if (key === null) throw pairingFailed("protocol", "let zapd in, but gave it no key to come back with");
    const { fingerprint } = session;
    const { facts, memory } = await toldWhenIn(session, hello, target, signal);
    session.close();
    return {
      secret: { key, ...(fingerprint !== null && { certificate: fingerprint }) },
      facts,
      memory: { ...memory, ...new Prompted(target).over(), ...pairedMemory(greeted, target) },
    };
  } catch (error) {
    session.destroy();
    throw pairingFailure(error);
  }
}

/** The key that the set gives, or lets us in with. */
async function registered(
  session: WebosSession,
  onPrompt: () => void,
  known: Known,
  signal: AbortSignal,
): Promise<string | null> {
  let prompted = false;
  const prompts = () => {
    prompted = true;
    onPrompt();
  };
  try {
    return (await session.register(registration(known.key), prompts, signal)) ?? known.key;
  } catch (error) {
    // It refuses the key itself, and nobody was asked.
    if (known.key === null || prompted || !isRefusal(error) || !session.alive) throw error;
    await known.refused();
    return session.register(registration(null), prompts, signal);
  }
}

/** Whether the set refuses the key, and not zapd as such, or just now. */
function isRefusal(error: unknown): error is SetFailure {
  if (!(error instanceof SetFailure) || (error.statusSaid !== 403 && error.statusSaid !== 401)) return false;
  return !isBlocked(error) && !isBusy(error);
}

/** The set refuses the manifest; zapd's is unsigned, which none has been seen to refuse. Said in words alone (2.3). */
function isBlocked({ words }: SetFailure): boolean {
  return /blacklisted/i.test(words);
}

function isBusy({ statusSaid, words }: SetFailure): boolean {
  return statusSaid === 409 || /too many|already in progress/i.test(words);
}

function pairingFailure(error: unknown): unknown {
  if (!(error instanceof SetFailure)) return hungUpOnUs(error);
  const { words } = error;
  if (isBlocked(error)) {
    return pairingFailed("denied", `refuses how zapd presents itself: its firmware blocks it ("${words}")`, {
      hint: "Look for a newer zapd, and check Settings > Support > IP control settings on the TV",
    });
  }
  if (isBusy(error)) {
    return pairingFailed("busy", `is busy: it shows the request of another already ("${words}")`, {
      hint: "Answer what it shows, then run zapd pair {device} again",
    });
  }
  if (!isRefusal(error)) return error;
  return pairingFailed("denied", `was denied: somebody refused the request on it ("${words}")`, { hint: pairHint });
}

function hungUpOnUs(error: unknown): unknown {
  if (!failedBy(error, "closed") || error.phase !== "sent") return error;
  return pairingFailed("closed", "hung up while it was asked", {
    hint: "If it was just turned on or off, wait a few seconds, then run zapd pair {device} again",
    cause: error,
  });
}
