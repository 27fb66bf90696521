/**
 * Who must answer before the key is said (SECURITY.md 2.4). Every set shows the same certificate and says its uuid to
 * anyone (smart-tvs.md 1.3, 2.3): what is asked for is the certificate of the pairing on this very connection, and the uuid.
 */
import { hasCode, hasReason, wrongDevice, ZapdError } from "../../api/errors.ts";
import { sleep } from "../../system/sleep.ts";
import { type PlatformHost, pinOf } from "../platform.ts";
import { isStandIn } from "../query.ts";
import { endpointsOf, type Greeted, openFirst } from "./endpoints.ts";
import { isStranger, unproven } from "./failures.ts";
import type { WebosMemory, WebosTarget } from "./memory.ts";

/** A set that starts may open its plain port first: the secure one is tried again this long. */
const startsWithin = 2_000;
const tryEvery = 300;
/** The plain port is looked at when the secure one has not opened after this, and waited for as long when it has failed. */
const looksAfter = 600;

/** Whether a set says and shows all that it did when it was paired. */
export function isProven({ session, hello }: Greeted, target: WebosTarget, pin: string | null): boolean {
  return pin !== null && session.fingerprint === pin && (hello.uuid === target.identity || mayBeNameless(target));
}

/** What to remember of a pairing: one that was accepted by a set which does not say who it is holds for such a set. */
export function pairedMemory({ hello }: Greeted, { identity, memory }: WebosTarget): WebosMemory {
  if (hello.uuid === null && !isStandIn(identity)) return { nameless: true };
  return memory.nameless ? { nameless: false } : {};
}

/** Whether a set need not say who it is: it never did, or its user accepted one that does not. */
function mayBeNameless({ identity, memory }: WebosTarget): boolean {
  return isStandIn(identity) || memory.nameless === true;
}

/**
 * Enters a set that is to be told its key. Fails with `wrong_device` when another set answers, with `device_unproven` when
 * what answers does not prove to be the one, and with `device_unreachable` when nobody does.
 */
export async function openProven(
  target: WebosTarget,
  platformHost: PlatformHost,
  signal: AbortSignal,
): Promise<Greeted> {
  const pin = pinOf(target);
  const endpoints = endpointsOf(target, target.ports, target.memory.endpoint);
  const prove = (greeted: Greeted) => {
    notAnother(greeted, target);
    const { session, hello } = greeted;
    if (pin !== null && session.fingerprint !== pin)
      throw unproven(session.fingerprint === null ? "plain" : "certificate");
    if (hello.uuid === null && !mayBeNameless(target)) throw unproven("nameless");
  };
  const known = !mayBeNameless(target);
  if (pin === null) return openFirst(endpoints, platformHost, signal, { known, prove });
  const [secure, plain] = [endpoints.filter(({ tls }) => tls), endpoints.filter(({ tls }) => !tls)];
  const until = performance.now() + Math.min(startsWithin, platformHost.requestTimeoutMs() / 2);
  for (;;) {
    const over = new AbortController();
    const look = lookAt(plain, AbortSignal.any([signal, over.signal]));
    try {
      return await openFirst(secure, platformHost, signal, { known, prove });
    } catch (error) {
      if (signal.aborted || isStranger(error)) throw error;
      look.now();
      const found = await Promise.race([look.found, sleep(looksAfter, signal).then(() => null)]);
      if (found === null) throw error;
      const isStarting = hasCode(error, "device_unreachable");
      if (!isStarting || performance.now() >= until || isAnother(found)) throw found;
    } finally {
      over.abort(new ZapdError("device_error", "is looked at no more"));
    }
    await sleep(tryEvery, signal);
  }

  /** What answers at the plain port says who it is, and is told nothing. */
  function lookAt(at: typeof plain, within: AbortSignal): { now(): void; found: Promise<ZapdError | null> } {
    const { promise, resolve } = Promise.withResolvers<void>();
    const later = sleep(looksAfter, within).catch(() => {});
    const look = async () => {
      await Promise.race([promise, later]);
      try {
        const { session } = await openFirst(at, platformHost, within, { known, prove });
        session.destroy();
        return null;
      } catch (error) {
        return isStranger(error) ? error : null;
      }
    };
    return { now: resolve, found: look() };
  }
}

/** Enters a set that is to be paired: over the secure port where there was one, and else by whichever opens. */
export async function openToPair(
  target: WebosTarget,
  platformHost: PlatformHost,
  signal: AbortSignal,
): Promise<Greeted> {
  const endpoints = endpointsOf(target, target.ports, target.memory.endpoint);
  const options = { known: !isStandIn(target.identity), prove: (greeted: Greeted) => notAnother(greeted, target) };
  if (pinOf(target) === null) return openFirst(endpoints, platformHost, signal, options);
  const secure = endpoints.filter(({ tls }) => tls);
  try {
    return await openFirst(secure, platformHost, signal, options);
  } catch (error) {
    if (signal.aborted || isAnother(error)) throw error;
    const plain = endpoints.filter(({ tls }) => !tls);
    return openFirst(plain, platformHost, signal, options).catch((other: unknown) => {
      throw isAnother(other) ? other : error;
    });
  }
}

/** Whether another set answered, by what it says of itself. */
function isAnother(error: unknown): boolean {
  return hasReason(error, "wrong_device") && error.code === "device_unreachable";
}

function notAnother({ hello }: Greeted, { identity, host }: WebosTarget): void {
  if (hello.uuid !== null && !isStandIn(identity) && hello.uuid !== identity) throw wrongDevice(host);
}
