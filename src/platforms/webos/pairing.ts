/** Registration (smart-tvs.md 2.3): with a client key, or by a prompt that the user accepts. */
import { DeviceError, hasReason, pairingFailed, pairingRequired } from "../../api/errors.ts";
import { sleep } from "../../system/sleep.ts";
import { deadline } from "../../transport/http.ts";
import { type KeptSecret, type Paired, type Pairing, type PlatformHost, pairingCancelled } from "../platform.ts";
import { closedDuringPairing, pairHint, turningOffOrStarting } from "../prompts.ts";
import type { Greeting } from "./endpoints.ts";
import { WebosError } from "./failures.ts";
import { readWhenRegistered } from "./identity.ts";
import type { WebosMemory, WebosSecret, WebosTarget } from "./memory.ts";
import { isProven, openToPair, pairedMemory } from "./proof.ts";
import { registration } from "./protocol.ts";
import type { WebosSession } from "./session.ts";

/** A prompt that nobody answers is cancelled after this (SECURITY.md 4). */
const promptTimeoutMs = 60_000;
/** A TV that has neither shown its prompt nor answered by then is assumed to show one. */
const promptDelayMs = 1_500;
/** Some firmware shows its prompt and still accepts the known key within a second. */
const promptGraceMs = 1_200;

export function notPaired(): DeviceError {
  return pairingRequired("accepts no commands: it is not paired with zapd", pairHint, "connect");
}

/** The TV showed its prompt for a key that it had given: it may have forgotten the key, or not have loaded it yet. */
export function promptedAgain(): DeviceError {
  return pairingRequired("asks again whether zapd may control it, as if it had forgotten the pairing", pairHint);
}

/**
 * Registers with the stored key. A prompt that appears is removed from the screen, and `onPrompt` is called. The key
 * is kept until the TV refuses it. Fails with `pairing_required` when the TV does not accept it.
 */
export async function register(
  session: WebosSession,
  secret: KeptSecret<WebosSecret>,
  onPrompt: () => void,
  signal: AbortSignal,
): Promise<void> {
  const kept = secret.read();
  const key = kept?.key;
  if (!key) throw notPaired();
  let prompted: ReturnType<typeof setTimeout> | undefined;
  // Closing the connection removes the prompt.
  const closeSoon = () => {
    prompted ??= setTimeout(() => session.destroy(), promptGraceMs);
  };
  try {
    const within = deadline(session.timeoutMs, signal);
    const newKey = await session.register(registration(key), closeSoon, within);
    // Commands go on also where it cannot be saved, as on a full disk (SECURITY.md R9).
    if (newKey !== null && newKey !== key) await secret.keep({ ...kept, key: newKey }).catch(() => {});
  } catch (error) {
    if (isRefusal(error)) {
      // Where it cannot be dropped, as on a full disk, the user still has to pair.
      await secret.drop().catch(() => {});
      throw pairingRequired("no longer accepts the pairing with zapd", pairHint);
    }
    if (error instanceof WebosError) throw pairingFailure(error, "device_refused");
    if (prompted !== undefined) {
      onPrompt();
      throw promptedAgain();
    }
    if (signal.aborted) throw signal.reason;
    if (!session.alive) throw turningOffOrStarting();
    throw error;
  } finally {
    clearTimeout(prompted);
  }
}

/**
 * Registers again: the TV shows a prompt, and the user has a minute. A TV that is not proven to be the paired one does
 * not get the old key.
 */
export async function pairWebos(
  target: WebosTarget,
  platformHost: PlatformHost,
  signal: AbortSignal,
): Promise<Pairing<WebosMemory, WebosSecret>> {
  const known = target.secret.read()?.key ?? null;
  const greeted = await openToPair(target, platformHost, signal);
  const over = new AbortController();
  const prompt = Promise.withResolvers<void>();
  const key = isProven(greeted, target) ? known : null;
  const done = awaitConsent(greeted, target, key, prompt.resolve, over.signal);
  const cancel = () => {
    over.abort(pairingCancelled());
    greeted.session.destroy();
  };
  done.catch(() => {}).finally(prompt.resolve);
  // Its timer ends with the pairing.
  await Promise.race([prompt.promise, sleep(promptDelayMs, AbortSignal.any([signal, over.signal]))]).catch(
    (error: unknown) => {
      cancel();
      throw error;
    },
  );
  return { step: "confirm", expiresMs: promptTimeoutMs, done, cancel };
}

/** Waits until the user has accepted, then reads what the TV reports to registered clients. */
async function awaitConsent(
  greeted: Greeting,
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
    const newKey = await session.register(registration(known), prompts, signal).catch(async (error: unknown) => {
      // The TV refused the key itself, without asking its user.
      if (known === null || prompted || !isRefusal(error) || !session.alive) throw error;
      await target.secret.drop();
      return (await session.register(registration(null), prompts, signal)) ?? "";
    });
    const key = newKey ?? known;
    // With an empty key the TV would show its prompt each time.
    if (!key) throw pairingFailed("protocol", "accepted the pairing, but gave no key for later connections");
    const { fingerprint } = session;
    const { facts, memory } = await readWhenRegistered(session, hello, target, signal);
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

/** Whether the TV refuses this key, rather than zapd as such or only for now. */
function isRefusal(error: unknown): error is WebosError {
  if (!(error instanceof WebosError) || (error.tvStatus !== 403 && error.tvStatus !== 401)) return false;
  return !isBlocked(error) && !isBusy(error);
}

/** The TV refuses the manifest. No TV is known to refuse an unsigned one like that of zapd. Only the text shows it (2.3). */
function isBlocked({ words }: WebosError): boolean {
  return /blacklisted/i.test(words);
}

function isBusy({ tvStatus, words }: WebosError): boolean {
  return tvStatus === 409 || /too many|already in progress/i.test(words);
}

/** `code`: of a TV that admits no client now. A command has no `pairing_failed`. */
function pairingFailure(error: unknown, code: "pairing_failed" | "device_refused" = "pairing_failed"): unknown {
  if (!(error instanceof WebosError)) return explainClosed(error);
  const { words } = error;
  if (isBlocked(error)) {
    return new DeviceError(code, `refused the pairing request: its firmware blocks zapd ("${words}")`, {
      phase: "answered",
      reason: "denied",
      hint: "Update zapd, and check Settings > Support > IP control settings on the TV",
    });
  }
  if (isBusy(error)) {
    return new DeviceError(code, `is busy with other pairing requests ("${words}")`, {
      phase: "answered",
      reason: "busy",
      // A TV that shows none may refuse every client until then (klattimer/LGWebOSRemote#158).
      hint: "Answer the request on the TV, or unplug the TV for a minute if it shows none; then run zapd pair {device} again",
    });
  }
  if (!isRefusal(error)) return error;
  return pairingFailed("denied", `refused the pairing: somebody declined the request on the TV ("${words}")`, {
    hint: pairHint,
  });
}

function explainClosed(error: unknown): unknown {
  if (!hasReason(error, "closed") || error.phase !== "sent") return error;
  return closedDuringPairing(error);
}
