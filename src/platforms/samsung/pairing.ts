/**
 * Pairing (smart-tvs.md 3.2). There is no request message: opening the socket without a token makes the TV show its
 * prompt, and its first event is the answer.
 */
import { hasReason, inStandby, pairingFailed, type ZapdError } from "../../api/errors.ts";
import { stopwatch } from "../../system/clock.ts";
import { type Paired, type Pairing, type PlatformHost, pairingCancelled } from "../platform.ts";
import { closedDuringPairing } from "../prompts.ts";
import { deniedHint, noPopupHint, promptHint, takesNoKeys, tooManyClientsHint } from "./failures.ts";
import { requestInfoAt } from "./identity.ts";
import type { SamsungMemory, SamsungSecret, SamsungTarget } from "./memory.ts";
import type { Info } from "./protocol.ts";
import { isSecure, requireIdentity } from "./rest.ts";
import { RemoteSession } from "./session.ts";

/** The TV waits about 30 s (3.2), so its own answer comes first. */
const promptTimeoutMs = 35_000;
/** A refusal that is faster than this comes from the TV's list, not from a person. */
const listRefusalMs = 1_000;
/** A prompt that was shown lasts longer than this; some firmware shows none (3.4). */
const shortestPromptMs = 5_000;

/** Makes the TV show its prompt. No old token is sent: another device at the address learns no secret. */
export async function pairSamsung(
  target: SamsungTarget,
  platformHost: PlatformHost,
  signal: AbortSignal,
): Promise<Pairing<SamsungMemory, SamsungSecret>> {
  const tls = isSecure(target);
  const { info } = await requestInfoAt(target, tls, platformHost, signal);
  requireIdentity(target, info);
  if (info.power === "standby") throw inStandby("It can show the request only while it is on: {wake}");
  const options = { address: target, tls, certificate: null, token: null };
  const session = await new RemoteSession(options, platformHost).open(signal);
  const over = new AbortController();
  const done = awaitConsent(session, info, over.signal);
  done.catch(() => {});
  const cancel = () => {
    over.abort(pairingCancelled());
    session.destroy();
  };
  return { step: "confirm", expiresMs: promptTimeoutMs, done, cancel };
}

async function awaitConsent(
  session: RemoteSession,
  { facts, memory }: Info,
  signal: AbortSignal,
): Promise<Paired<SamsungMemory, SamsungSecret>> {
  const elapsed = stopwatch();
  try {
    const admission = await session.admission(signal);
    if (admission.by === "unauthorized") throw denied(elapsed());
    if (admission.by === "timeOut") throw expired(elapsed());
    if (admission.by === "error") throw takesNoKeys();
    const { token = null } = admission;
    const { fingerprint } = session;
    if (memory.token && token === null)
      throw pairingFailed("protocol", "accepted the pairing, but gave no token for later connections", {
        hint: promptHint,
      });
    return {
      secret: token === null ? null : { token, ...(fingerprint !== null && { certificate: fingerprint }) },
      facts: { ...facts, access: "full" },
      memory: { ...memory, prompted: 0 },
    };
  } catch (error) {
    throw explain(error);
  } finally {
    // The first command opens a new socket, with the token.
    session.close();
  }
}

function denied(afterMs: number): ZapdError {
  const problem =
    afterMs < listRefusalMs
      ? "refused the pairing without asking: zapd was denied on the TV before"
      : "refused the pairing: somebody declined the request on the TV";
  return pairingFailed("denied", problem, { hint: deniedHint });
}

function expired(afterMs: number): ZapdError {
  const problem =
    afterMs < shortestPromptMs
      ? "ended the pairing at once: some firmware does not show the request"
      : "ended the pairing: nobody accepted the request on the TV";
  return pairingFailed("late", problem, { hint: noPopupHint });
}

function explain(error: unknown): unknown {
  if (hasReason(error, "busy"))
    return pairingFailed("busy", "has too many remote control apps connected", {
      hint: tooManyClientsHint,
      cause: error,
    });
  if (!hasReason(error, "closed")) return error;
  return closedDuringPairing(error);
}
