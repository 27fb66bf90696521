/** Being let in by a set (smart-tvs.md 2.3): with the key that it gave, or by its user, who accepts a prompt. */
import { DeviceError, failedBy, ZapdError } from "../../api/errors.ts";
import type { KeptSecret } from "../platform.ts";
import { hungUp, SetFailure } from "./failures.ts";
import type { WebosSecret } from "./memory.ts";
import { registration } from "./protocol.ts";
import type { WebosSession } from "./session.ts";

/** A prompt that nobody answers is given up after this (SECURITY.md 4). */
const answeredWithin = 60_000;
/** Some firmware shows its prompt and then lets the known key in by itself, within a second. */
const letsInWithin = 1_200;

const pairHint = "Run zapd pair {device}, and accept the request that the TV shows";

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
 * Registers anew: the set shows a prompt, and its user has a minute. Keeps what it gives. `known` is the key to begin
 * with, `null` wherever the set does not prove to be the one that gave it.
 */
export async function askToPair(
  session: WebosSession,
  keeper: KeptSecret<WebosSecret>,
  known: string | null,
  signal: AbortSignal,
): Promise<void> {
  const late = AbortSignal.timeout(answeredWithin);
  const within = AbortSignal.any([signal, late]);
  try {
    const key = await registered(session, keeper, known, within);
    // An empty key that is kept makes the set ask every time.
    if (key === null) throw new ZapdError("pairing_failed", "let zapd in, but gave it no key to come back with");
    const { fingerprint } = session;
    await keeper.keep({ key, ...(fingerprint !== null && { certificate: fingerprint }) });
  } catch (error) {
    session.destroy();
    if (signal.aborted) throw signal.reason;
    if (late.aborted) {
      const problem = `was not answered: nobody accepted the request on it within ${answeredWithin / 1_000} s`;
      throw new ZapdError("pairing_failed", problem, { hint: "Run zapd pair {device} again, and look at the TV" });
    }
    throw pairingFailure(error);
  }
}

/** The key that the set gives, or lets us in with. */
async function registered(
  session: WebosSession,
  keeper: KeptSecret<WebosSecret>,
  known: string | null,
  signal: AbortSignal,
): Promise<string | null> {
  let prompted = false;
  const onPrompt = () => {
    prompted = true;
  };
  try {
    return (await session.register(registration(known), onPrompt, signal)) ?? known;
  } catch (error) {
    // It refuses the key itself, and nobody was asked.
    if (known === null || prompted || !isRefusal(error) || !session.alive) throw error;
    await keeper.drop();
    return session.register(registration(null), onPrompt, signal);
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
    return new ZapdError("pairing_failed", `refuses how zapd presents itself: its firmware blocks it ("${words}")`, {
      hint: "Look for a newer zapd, and check Settings > Support > IP control settings on the TV",
    });
  }
  if (isBusy(error)) {
    return new ZapdError("pairing_failed", `is busy: it shows the request of another already ("${words}")`, {
      hint: "Answer what it shows, then run zapd pair {device} again",
    });
  }
  if (!isRefusal(error)) return error;
  return new ZapdError("pairing_failed", `was denied: somebody refused the request on it ("${words}")`, {
    hint: pairHint,
  });
}

function hungUpOnUs(error: unknown): unknown {
  if (!failedBy(error, "closed") || error.phase !== "sent") return error;
  return new ZapdError("pairing_failed", "hung up while it was asked", {
    hint: "If it was just turned on or off, wait a few seconds, then run zapd pair {device} again",
    cause: error,
  });
}
