/** Being let in by a Kodi that asks for a name and a password (players.md 7.1), which its user has set on it. */
import { DeviceError, pairingFailed } from "../../api/errors.ts";
import type { Address, Facts, Pairing, Surroundings } from "../platform.ts";
import { KodiDevice } from "./device.ts";
import type { KodiMemory, KodiSecret, KodiTarget } from "./memory.ts";
import { HttpRpc, isLoginWanted, type Login, passwordHint } from "./rpc.ts";

/** It shows nothing, and waits for nobody: a person may look for the password. */
const typedWithin = 180_000;
const usualUser = "kodi";

/** Begins with a call without a login: only one that asks for it, as Kodi does, is told it. */
export async function pairKodi(
  target: KodiTarget,
  surroundings: Surroundings,
  _options: { readonly fresh: boolean },
  signal: AbortSignal,
): Promise<Pairing<KodiMemory, KodiSecret>> {
  if (target.memory.socketOnly === target.port) throw nothingToPair();
  let learned: Partial<Facts> = {};
  const device = new KodiDevice(target, surroundings, (event) => {
    if (event.type === "facts") learned = { ...learned, ...event.facts };
  });
  const open = new HttpRpc({ address: target, surroundings });
  try {
    await open.read("JSONRPC.Ping", {}, signal);
    throw nothingToPair();
  } catch (error) {
    if (!isLoginWanted(error)) {
      device.close();
      throw device.toldOf(error);
    }
  } finally {
    open.close();
  }
  const over = new AbortController();
  return {
    step: "login",
    expiresMs: typedWithin,
    async enter(user = usualUser, password) {
      const login = { user, password };
      await tryLogin(device, target, surroundings, login, over.signal);
      return { secret: { ...login }, facts: { ...learned, access: "full" } };
    },
    cancel() {
      over.abort(pairingFailed("cancelled", "was given up"));
      device.close();
    },
  };
}

/** Proves a name and a password, which go out only after a 401 of Kodi's own from this very address. */
async function tryLogin(
  device: KodiDevice,
  address: Address,
  surroundings: Surroundings,
  login: Login,
  signal: AbortSignal,
): Promise<void> {
  let isAsked = false;
  const vouch = (within: AbortSignal) => {
    isAsked = true;
    return device.vouch(within);
  };
  const locked = new HttpRpc({ address, surroundings, login: () => login, vouch });
  try {
    await locked.read("JSONRPC.Ping", {}, signal);
    if (!isAsked) throw nothingToPair();
  } catch (error) {
    if (!isLoginWanted(error)) throw error;
    throw pairingFailed("wrong", error.message, { hint: passwordHint });
  } finally {
    locked.close();
  }
}

/** One that asks for no login says nothing of one: it is not kept. */
function nothingToPair(): DeviceError {
  return new DeviceError("unsupported_operation", "needs no pairing: it asks for no name and no password", {
    phase: "answered",
    reason: "open",
    hint: "Use it as it is. To have it ask, in Kodi: Settings > Services > Control > Require authentication",
  });
}
