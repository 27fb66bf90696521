/**
 * Being let in by a TV (smart-tvs.md 3.2): there is no message to ask by. The socket is opened without a token, the TV shows
 * its request, and what it says first is the answer: allowed, denied, or that nobody answered.
 */
import { hasReason, inStandby, pairingFailed, ZapdError } from "../../api/errors.ts";
import { stopwatch } from "../../system/clock.ts";
import type { Paired, Pairing, PlatformHost } from "../platform.ts";
import { crowdedHint, deniedHint, noPopupHint, promptHint } from "./failures.ts";
import { askWho } from "./identity.ts";
import type { SamsungMemory, SamsungSecret, SamsungTarget } from "./memory.ts";
import { encrypted, type Info } from "./protocol.ts";
import { isSecure, mustBe } from "./rest.ts";
import { RemoteSession } from "./session.ts";

/** The TV waits for about 30 s (3.2), and its own word comes first. */
const answeredWithin = 35_000;
/** Who is refused sooner was refused by a list, and not by a person. */
const nobodyWithin = 1_000;
/** A request that was on the screen is not over sooner; some firmware shows none (3.4). */
const shownFor = 5_000;

/** Asks the set to let us in. No token of before is said: whoever answers, nothing can be had of us here. */
export async function pairSamsung(
  target: SamsungTarget,
  platformHost: PlatformHost,
  _options: { readonly fresh: boolean },
  signal: AbortSignal,
): Promise<Pairing<SamsungMemory, SamsungSecret>> {
  const tls = isSecure(target);
  const { info } = await askWho(target, tls, platformHost, signal);
  mustBe(target, info);
  if (info.power === "standby") throw inStandby("It can show its request only while it is on: {wake}");
  const session = new RemoteSession({ address: target, tls, certificate: null, token: null }, platformHost);
  const over = new AbortController();
  try {
    await session.open(signal);
  } catch (error) {
    session.destroy();
    throw error;
  }
  const done = letIn(session, info, over.signal);
  done.catch(() => {});
  const cancel = () => {
    over.abort(new ZapdError("pairing_failed", "was given up"));
    session.destroy();
  };
  return { step: "confirm", expiresMs: answeredWithin, done, cancel };
}

async function letIn(
  session: RemoteSession,
  { facts, memory }: Info,
  signal: AbortSignal,
): Promise<Paired<SamsungMemory, SamsungSecret>> {
  const elapsed = stopwatch();
  try {
    const admission = await session.admission(signal);
    if (admission.by === "unauthorized") throw denied(elapsed());
    if (admission.by === "timeOut") throw late(elapsed());
    if (admission.by === "error") throw encrypted();
    const { token = null } = admission;
    const { fingerprint } = session;
    if (memory.token && token === null)
      throw pairingFailed("protocol", "let zapd in, but gave it no token to come back with", { hint: promptHint });
    return {
      secret: token === null ? null : { token, ...(fingerprint !== null && { certificate: fingerprint }) },
      facts: { ...facts, access: "full" },
      memory: { ...memory, prompted: 0 },
    };
  } catch (error) {
    throw reasonOf(error);
  } finally {
    // The first command opens its own, with the token.
    session.close();
  }
}

function denied(afterMs: number): ZapdError {
  const problem =
    afterMs < nobodyWithin
      ? "refused without asking its user: zapd was denied there before"
      : "was denied: somebody refused the request on it";
  return pairingFailed("denied", problem, { hint: deniedHint });
}

function late(afterMs: number): ZapdError {
  const problem =
    afterMs < shownFor
      ? "ended its request at once, as some firmware does that shows none"
      : "was not answered: nobody accepted the request on it";
  return pairingFailed("late", problem, { hint: noPopupHint });
}

function reasonOf(error: unknown): unknown {
  if (hasReason(error, "busy"))
    return pairingFailed("busy", "is talking to too many apps at a time", { hint: crowdedHint, cause: error });
  if (!hasReason(error, "closed")) return error;
  return pairingFailed("closed", "hung up while it was asked", {
    hint: "If it was just turned on or off, wait a few seconds, then run zapd pair {device} again",
    cause: error,
  });
}
