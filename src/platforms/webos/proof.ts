/**
 * What must be proven before the client key is sent (SECURITY.md 2.4). Every LG TV has the same certificate and reports its uuid
 * to anyone (smart-tvs.md 1.3, 2.3): this connection must show the certificate of the pairing, and the uuid.
 */
import { hasCode, hasReason, wrongDevice, type ZapdError } from "../../api/errors.ts";
import { sleep } from "../../system/sleep.ts";
import { deadline } from "../../transport/http.ts";
import { type PlatformHost, pinOf } from "../platform.ts";
import { isAddressIdentity } from "../query.ts";
import { endpointsOf, type Greeting, openFirst } from "./endpoints.ts";
import { failedProof, unproven } from "./failures.ts";
import type { WebosMemory, WebosTarget } from "./memory.ts";

/** A TV that starts may open its plain port first: the secure one is tried again for this long. */
const securePortTimeoutMs = 2_000;
const retryEveryMs = 300;
const plainPortTimeoutMs = 600;

/** Whether a TV shows the certificate and the uuid that it was paired with. */
export function isProven({ session, hello }: Greeting, target: WebosTarget): boolean {
  const pin = pinOf(target);
  return pin !== null && session.fingerprint === pin && (hello.uuid === target.identity || mayLackUuid(target));
}

/** What to remember of a pairing: whether the TV that accepted it reported no uuid. */
export function pairedMemory({ hello }: Greeting, { identity, memory }: WebosTarget): WebosMemory {
  if (hello.uuid === null && !isAddressIdentity(identity)) return { nameless: true };
  return memory.nameless ? { nameless: false } : {};
}

/** Whether a TV may connect without reporting its uuid: it never reported one, or its user paired it without one. */
function mayLackUuid({ identity, memory }: WebosTarget): boolean {
  return isAddressIdentity(identity) || memory.nameless === true;
}

/**
 * Connects to a paired TV and checks that it is the one. Fails with `wrong_device` when another TV answers, with
 * `device_unproven` when what answers cannot be checked, and with `device_unreachable` when nothing answers.
 */
export async function openProven(
  target: WebosTarget,
  platformHost: PlatformHost,
  signal: AbortSignal,
): Promise<Greeting> {
  const pin = pinOf(target);
  const endpoints = endpointsOf(target, target.ports, target.memory.endpoint);
  const prove = (greeted: Greeting) => {
    requireUuid(greeted, target);
    const { session, hello } = greeted;
    if (pin !== null && session.fingerprint !== pin)
      throw unproven(session.fingerprint === null ? "plain" : "certificate");
    if (hello.uuid === null && !mayLackUuid(target)) throw unproven("nameless");
  };
  const tellsUuid = !mayLackUuid(target);
  if (pin === null) return openFirst(endpoints, platformHost, signal, { tellsUuid, prove });
  const [secure, plain] = [endpoints.filter(({ tls }) => tls), endpoints.filter(({ tls }) => !tls)];
  const giveUpAt = performance.now() + Math.min(securePortTimeoutMs, platformHost.requestTimeoutMs() / 2);
  for (;;) {
    try {
      return await openFirst(secure, platformHost, signal, { tellsUuid, prove });
    } catch (error) {
      if (signal.aborted || failedProof(error)) throw error;
      const plainError = await proofErrorAt(plain);
      if (plainError === null) throw error;
      const isStarting = hasCode(error, "device_unreachable");
      if (!isStarting || performance.now() >= giveUpAt || isOtherTv(plainError)) throw plainError;
    }
    await sleep(retryEveryMs, signal);
  }

  /** Why the device at the plain port is not proven; `null` where nothing answers. It is sent nothing secret. */
  async function proofErrorAt(at: typeof plain): Promise<ZapdError | null> {
    try {
      const { session } = await openFirst(at, platformHost, deadline(plainPortTimeoutMs, signal), { tellsUuid, prove });
      session.destroy();
      return null;
    } catch (error) {
      signal.throwIfAborted();
      return failedProof(error) ? error : null;
    }
  }
}

/** Connects to a TV to pair with it: over the secure port where it had one, else over whichever port opens. */
export async function openToPair(
  target: WebosTarget,
  platformHost: PlatformHost,
  signal: AbortSignal,
): Promise<Greeting> {
  const endpoints = endpointsOf(target, target.ports, target.memory.endpoint);
  const options = {
    tellsUuid: !isAddressIdentity(target.identity),
    prove: (greeted: Greeting) => requireUuid(greeted, target),
  };
  if (pinOf(target) === null) return openFirst(endpoints, platformHost, signal, options);
  const secure = endpoints.filter(({ tls }) => tls);
  try {
    return await openFirst(secure, platformHost, signal, options);
  } catch (error) {
    if (signal.aborted || isOtherTv(error)) throw error;
    const plain = endpoints.filter(({ tls }) => !tls);
    return openFirst(plain, platformHost, signal, options).catch((other: unknown) => {
      throw isOtherTv(other) ? other : error;
    });
  }
}

/** Whether another TV answered, by its uuid. */
function isOtherTv(error: unknown): boolean {
  return hasReason(error, "wrong_device") && error.code === "device_unreachable";
}

function requireUuid({ hello }: Greeting, { identity, host }: WebosTarget): void {
  if (hello.uuid !== null && !isAddressIdentity(identity) && hello.uuid !== identity) throw wrongDevice(host);
}
