/** Pairing with a Kodi that requires the user name and the password set in it (players.md 7.1). */
import { DeviceError, pairingFailed } from "../../api/errors.ts";
import { asJson } from "../../transport/json.ts";
import { type Facts, type Pairing, type PlatformHost, pairingCancelled } from "../platform.ts";
import type { Ask } from "./announced.ts";
import { KodiDevice } from "./device.ts";
import type { KodiMemory, KodiSecret, KodiTarget } from "./memory.ts";
import { HttpRpc, isLoginWanted, type Login, passwordHint, usualUser } from "./rpc.ts";
import { saysTuner } from "./tuner.ts";

/** Time for a person to look up the password. */
const loginTimeoutMs = 180_000;

/** Begins with a call without a login: a login is sent only after Kodi's own 401 from this address (SECURITY.md 2.4). */
export async function pairKodi(
  target: KodiTarget,
  platformHost: PlatformHost,
  signal: AbortSignal,
): Promise<Pairing<KodiMemory, KodiSecret>> {
  if (target.memory.socketOnly === target.port) throw nothingToPair();
  let learned: Partial<Facts> = {};
  let hasTuner = false;
  const device = new KodiDevice(target, platformHost, (event) => {
    if (event.type === "facts") learned = { ...learned, ...event.facts };
  });
  const cancelled = new AbortController();
  /** Asks it something, with `login` where it wants one; whether it answered without. */
  const letsInWithoutLogin = async (callSignal: AbortSignal, login?: () => Login): Promise<boolean> => {
    let isLoginSent = false;
    const verify = (verifySignal: AbortSignal) => {
      isLoginSent = true;
      return device.verifyBeforeLogin(verifySignal);
    };
    const rpc = new HttpRpc({ address: target, platformHost, verify, ...(login && { login }) });
    try {
      await rpc.read("JSONRPC.Ping", {}, callSignal);
      const ask: Ask = async (method, params) => asJson(await rpc.read(method, params, callSignal));
      if (isLoginSent) hasTuner = await saysTuner(ask).catch(() => false);
      return !isLoginSent;
    } finally {
      rpc.close();
    }
  };
  const refusal: unknown = await letsInWithoutLogin(signal).then(nothingToPair, (error: unknown) => error);
  if (!isLoginWanted(refusal)) {
    device.close();
    throw device.explainFailure(refusal);
  }
  return {
    step: "login",
    expiresMs: loginTimeoutMs,
    async enter(user = usualUser, password) {
      const login = { user, password };
      const isOpen = await letsInWithoutLogin(cancelled.signal, () => login).catch((error: unknown) => {
        throw isLoginWanted(error) ? pairingFailed("wrong", error.message, { hint: passwordHint }) : error;
      });
      if (isOpen) throw nothingToPair();
      return { secret: login, facts: { ...learned, access: "full" }, ...(hasTuner && { memory: { tuner: true } }) };
    },
    cancel() {
      cancelled.abort(pairingCancelled());
      device.close();
    },
  };
}

/** A login that was not asked for cannot be checked, so it is not kept. */
function nothingToPair(): DeviceError {
  return new DeviceError("unsupported_operation", "needs no pairing: it requires no user name and no password", {
    phase: "answered",
    reason: "open",
    hint: "Use it as it is. To protect it with a password, in Kodi: Settings > Services > Control > Require authentication",
  });
}
