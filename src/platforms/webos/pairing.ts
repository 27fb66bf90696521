/** Being let in by a set (smart-tvs.md 2.3): with the key that it gave, or by its user, who accepts a prompt. */
import { type DeviceError, hasReason, pairingFailed, pairingRequired, ZapdError } from "../../api/errors.ts";
import { sleep } from "../../system/sleep.ts";
import { deadline } from "../../transport/http.ts";
import { type KeptSecret, type Paired, type Pairing, type PlatformHost, pinOf } from "../platform.ts";
import type { Greeted } from "./endpoints.ts";
import { hungUp, SetFailure } from "./failures.ts";
import { toldWhenIn } from "./identity.ts";
import type { WebosMemory, WebosSecret, WebosTarget } from "./memory.ts";
import { isProven, openToPair, pairedMemory } from "./proof.ts";
import { registration } from "./protocol.ts";
import type { WebosSession } from "./session.ts";

/** A prompt that nobody answers is given up after this (SECURITY.md 4). */
const answeredWithin = 60_000;
/** A set that has neither shown its prompt nor answered after this is taken to ask its user. */
const promptsWithin = 1_500;
/** Some firmware shows its prompt and then lets the known key in by itself, within a second. */
const letsInWithin = 1_200;

export const pairHint = "Run zapd pair {device}, and accept the request that the TV shows";

export function notPaired(): DeviceError {
  return pairingRequired("takes no commands: it is not paired with zapd", pairHint, "connect");
}

/** The set showed its prompt for a key that it had given: it may have forgotten it, or not know it just now. */
export function askedAgain(): DeviceError {
  return pairingRequired("asks its user anew whether zapd may drive it, as if it had forgotten", pairHint);
}

/**
 * Registers with the key that is kept, and never leaves a prompt that nobody asked for on the screen: `onPrompt` is told
 * that there was one. The key is kept until the set refuses it. Fails with `pairing_required` when it does not let us in.
 */
export async function admit(
  session: WebosSession,
  secret: KeptSecret<WebosSecret>,
  onPrompt: () => void,
  signal: AbortSignal,
): Promise<void> {
  const kept = secret.read();
  const key = kept?.key;
  if (!key) throw notPaired();
  let prompted: ReturnType<typeof setTimeout> | undefined;
  // Hanging up takes the prompt from the screen.
  const hangUpSoon = () => {
    prompted ??= setTimeout(() => session.destroy(), letsInWithin);
  };
  try {
    const within = deadline(session.timeoutMs, signal);
    const given = await session.register(registration(key), hangUpSoon, within);
    if (given !== null && given !== key) await secret.keep({ ...kept, key: given });
  } catch (error) {
    if (isRefusal(error)) {
      await secret.drop();
      throw pairingRequired("no longer lets zapd in", pairHint);
    }
    if (error instanceof SetFailure) throw pairingFailure(error);
    if (prompted !== undefined) {
      onPrompt();
      throw askedAgain();
    }
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
  platformHost: PlatformHost,
  { fresh }: { readonly fresh: boolean },
  signal: AbortSignal,
): Promise<Pairing<WebosMemory, WebosSecret>> {
  const known = fresh ? null : (target.secret.read()?.key ?? null);
  const greeted = await openToPair(target, platformHost, signal);
  const over = new AbortController();
  const prompt = Promise.withResolvers<void>();
  const key = isProven(greeted, target, pinOf(target)) ? known : null;
  const done = letIn(greeted, target, key, prompt.resolve, over.signal);
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

/** Waits until its user has let us in, with the key that it may be told, and asks for what the set says to those it knows. */
async function letIn(
  greeted: Greeted,
  target: WebosTarget,
  known: string | null,
  onPrompt: () => void,
  signal: AbortSignal,
): Promise<Paired<WebosMemory, WebosSecret>> {
  const { session, hello } = greeted;
  let prompted = false;
  const prompts = () => {
    prompted = true;
    onPrompt();
  };
  try {
    const given = await session.register(registration(known), prompts, signal).catch(async (error: unknown) => {
      // It refuses the key itself, and nobody was asked.
      if (known === null || prompted || !isRefusal(error) || !session.alive) throw error;
      await target.secret.drop();
      return (await session.register(registration(null), prompts, signal)) ?? "";
    });
    const key = given ?? known;
    // An empty key that is kept makes the set ask every time.
    if (!key) throw pairingFailed("protocol", "let zapd in, but gave it no key to come back with");
    const { fingerprint } = session;
    const { facts, memory } = await toldWhenIn(session, hello, target, signal);
    session.close();
    return {
      secret: { key, ...(fingerprint !== null && { certificate: fingerprint }) },
      facts,
      memory: { ...memory, ...pairedMemory(greeted, target) },
    };
  } catch (error) {
    session.destroy();
    throw pairingFailure(error);
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
  if (!hasReason(error, "closed") || error.phase !== "sent") return error;
  return pairingFailed("closed", "hung up while it was asked", {
    hint: "If it was just turned on or off, wait a few seconds, then run zapd pair {device} again",
    cause: error,
  });
}
