/** Being let in by a Kodi that asks for a name and a password (players.md 7.1), which its user has set on it. */
import { DeviceError, pairingFailed } from "../../api/errors.ts";
import type { Facts, Pairing, PlatformHost } from "../platform.ts";
import { KodiDevice } from "./device.ts";
import type { KodiMemory, KodiSecret, KodiTarget } from "./memory.ts";
import { HttpRpc, isLoginWanted, type Login, passwordHint, usualUser } from "./rpc.ts";

/** It shows nothing, and waits for nobody: a person may look for the password. */
const typedWithin = 180_000;

/**
 * Begins with a call without a login: only one that asks for it, as Kodi does, is told it, and only after a 401 of its own
 * from this very address.
 */
export async function pairKodi(
  target: KodiTarget,
  platformHost: PlatformHost,
  _options: { readonly fresh: boolean },
  signal: AbortSignal,
): Promise<Pairing<KodiMemory, KodiSecret>> {
  if (target.memory.socketOnly === target.port) throw nothingToPair();
  let learned: Partial<Facts> = {};
  const device = new KodiDevice(target, platformHost, (event) => {
    if (event.type === "facts") learned = { ...learned, ...event.facts };
  });
  const over = new AbortController();
  /** Whether it let us in without a login. */
  const isOpen = async (within: AbortSignal, login?: () => Login): Promise<boolean> => {
    let isAsked = false;
    const vouch = (until: AbortSignal) => {
      isAsked = true;
      return device.vouch(until);
    };
    const rpc = new HttpRpc({ address: target, platformHost, vouch, ...(login && { login }) });
    try {
      await rpc.read("JSONRPC.Ping", {}, within);
      return !isAsked;
    } finally {
      rpc.close();
    }
  };
  const refusal: unknown = await isOpen(signal).then(nothingToPair, (error: unknown) => error);
  if (!isLoginWanted(refusal)) {
    device.close();
    throw device.toldOf(refusal);
  }
  return {
    step: "login",
    expiresMs: typedWithin,
    async enter(user = usualUser, password) {
      const login = { user, password };
      const isNeedless = await isOpen(over.signal, () => login).catch((error: unknown) => {
        throw isLoginWanted(error) ? pairingFailed("wrong", error.message, { hint: passwordHint }) : error;
      });
      if (isNeedless) throw nothingToPair();
      return { secret: login, facts: { ...learned, access: "full" } };
    },
    cancel() {
      over.abort(pairingFailed("cancelled", "was given up"));
      device.close();
    },
  };
}

/** One that asks for no login says nothing of one: it is not kept. */
function nothingToPair(): DeviceError {
  return new DeviceError("unsupported_operation", "needs no pairing: it asks for no name and no password", {
    phase: "answered",
    reason: "open",
    hint: "Use it as it is. To have it ask, in Kodi: Settings > Services > Control > Require authentication",
  });
}
