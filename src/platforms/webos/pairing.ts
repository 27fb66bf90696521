/** Being let in by a set (smart-tvs.md 2.3): with the key that it gave, or by its user, who accepts a prompt. */
import { ZapdError } from "../../errors.ts";
import type { CredentialKeeper } from "../platform.ts";
import { registration } from "./protocol.ts";
import type { WebosSession } from "./session.ts";

/** A prompt that nobody answers is given up after this (SECURITY.md 4). */
const answeredWithin = 60_000;

const pairHint = "Run zapd pair, and accept the request that the TV shows";

export function pairingRequired(problem: string): ZapdError {
  return new ZapdError("pairing_required", problem, { hint: pairHint });
}

/** Registers with the key that is kept, and never makes the set show a prompt that nobody asked for. */
export async function admit(session: WebosSession, keeper: CredentialKeeper, signal: AbortSignal): Promise<void> {
  const kept = keeper.read();
  const key = kept?.["key"];
  if (!key) throw pairingRequired("takes no commands: it is not paired with zapd");
  const pin = kept["certificate"];
  if (session.fingerprint !== null && pin !== undefined && pin !== session.fingerprint)
    throw pairingRequired("shows another certificate than when it was paired: it may be another device");
  let prompted = false;
  const onPrompt = () => {
    prompted = true;
    // Hanging up takes the prompt from the screen.
    session.destroy();
  };
  try {
    await session.register(registration(key), onPrompt, signal);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (prompted) {
      await keeper.drop();
      throw pairingRequired("has forgotten that it is paired with zapd");
    }
    if (error instanceof ZapdError && error.code === "pairing_failed") throw refused(error);
    // As sets do on their way off, and while they start (2.5).
    if (!session.alive) throw new ZapdError("device_unreachable", "hung up: it is turning off, or still starting");
    throw error;
  }
}

/** Registers anew: the set shows a prompt, and its user has a minute. Keeps what it gives. */
export async function askToPair(session: WebosSession, keeper: CredentialKeeper, signal: AbortSignal): Promise<void> {
  const late = AbortSignal.timeout(answeredWithin);
  const known = keeper.read()?.["key"] ?? null;
  try {
    const key = await session.register(registration(known), () => {}, AbortSignal.any([signal, late]));
    const kept = key ?? known;
    // An empty key that is kept makes the set ask every time.
    if (kept === null) throw new ZapdError("pairing_failed", "let zapd in, but gave it no key to come back with");
    const { fingerprint } = session;
    await keeper.keep({ key: kept, ...(fingerprint !== null && { certificate: fingerprint }) });
  } catch (error) {
    session.destroy();
    if (signal.aborted) throw signal.reason;
    if (late.aborted) {
      const problem = `was not answered: nobody accepted the request on it within ${answeredWithin / 1_000} s`;
      throw new ZapdError("pairing_failed", problem, { hint: "Run zapd pair again, and look at the TV" });
    }
    throw pairingFailure(error);
  }
}

function pairingFailure(error: unknown): unknown {
  if (!(error instanceof ZapdError) || error.code === "storage_error") return error;
  const words = String(error.cause ?? "");
  if (/blacklisted/i.test(words)) return refused(error);
  if (/^409|already in progress|busy/i.test(words))
    return new ZapdError("pairing_failed", "is busy: it shows the request of another already", {
      hint: "Answer what it shows, then run zapd pair again",
      cause: words,
    });
  if (error.code === "pairing_failed")
    return new ZapdError("pairing_failed", "was denied: somebody refused the request on it", {
      hint: pairHint,
      cause: words,
    });
  if (error.code === "device_error" && words === "")
    return new ZapdError("pairing_failed", "hung up while it was asked", {
      hint: "If it was just turned on or off, wait a few seconds, then run zapd pair again",
    });
  return error;
}

/** The set refuses the manifest itself; zapd's is unsigned, which none has been seen to refuse. */
function refused(error: ZapdError): ZapdError {
  const words = String(error.cause ?? "");
  if (!/blacklisted/i.test(words)) return pairingRequired("no longer lets zapd in");
  return new ZapdError("pairing_failed", "refuses how zapd presents itself: its firmware blocks it", {
    hint: "Look for a newer zapd, and check Settings > Support > IP control settings on the TV",
    cause: words,
  });
}
