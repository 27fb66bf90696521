/** Kodi: found by mDNS, driven by JSON-RPC over HTTP, followed over its WebSocket. Facts: protocols/players.md 7. */
import { ZapdError } from "../../errors.ts";
import { Elsewhere } from "../elsewhere.ts";
import type {
  Capability,
  Connection,
  DeviceSurroundings,
  Key,
  PairingAnswer,
  Platform,
  Target,
  Waking,
} from "../platform.ts";
import { callUntilAwake } from "../wake.ts";
import { launchApp, listApps, stopApp } from "./apps.ts";
import { httpType, KodiDevice } from "./device.ts";
import { identifyKodi, readService, socketType } from "./identity.ts";
import { kodiKeys } from "./keys.ts";
import { isKodiAppId, takesText } from "./protocol.ts";
import { HttpRpc, passwordHint } from "./rpc.ts";
import { readState, windowOf } from "./state.ts";

export const kodi: Platform = {
  name: "kodi",
  defaultPort: 8_080,
  ports: { websocket: 9_090, wake: 9 },
  finders: [httpType, socketType].map((type) => ({ over: "mdns", type, read: readService })),
  isAppId: isKodiAppId,
  identify: identifyKodi,
  connect: connectKodi,
};

const withPassword: readonly Capability[] = ["state", "apps", "launch", "stop", "keys", "text"];
const sleepHint =
  "Turn on Wake-on-LAN in the settings of the machine that Kodi runs on, and in its BIOS; or turn it on by hand";

function connectKodi(target: Target, surroundings: DeviceSurroundings): Connection {
  const device = new KodiDevice(target, surroundings);
  const canWake = target.macs.length > 0;
  const names = new Set<Key>([...(Object.keys(kodiKeys) as Key[]), ...(canWake ? ["power-on" as const] : [])]);
  const connection: Connection = {
    state: (signal) => readState(device, signal),
    apps: (signal) => listApps(device, signal),
    launch: (id, params, signal) => launchApp(device, id, params, signal),
    stop: (signal) => stopApp(device, signal),
    keys: {
      names,
      async press(key, signal) {
        // One that answers is on.
        if (key === "power-on") return void (await device.players(signal));
        const press = kodiKeys[key];
        if (!press) throw new ZapdError("unsupported_key", `has no ${key} key`);
        await press(device, signal);
      },
    },
    text: { msPerCharacter: 50, type: (text, signal) => type(device, text, signal) },
    pair: (given, signal) => pair(target, surroundings, given, signal),
    withheld: new Set(target.access === "unpaired" ? withPassword : []),
    close: () => device.close(),
  };
  if (canWake) connection.powerOn = (signal, waking) => powerOn(device, surroundings, signal, waking);
  return connection;
}

async function type(device: KodiDevice, text: string, signal: AbortSignal): Promise<void> {
  // It says OK to text without a keyboard, too (7.3).
  if (!takesText(await windowOf(device, signal)))
    throw new ZapdError("device_refused", "shows no keyboard", {
      hint: "Open one in Kodi first, such as a search, then try again",
    });
  await device.command("Input.SendText", { text, done: false }, signal);
}

/** Proves a name and a password, and keeps them. A Kodi that asks for none is paired with already. */
async function pair(
  target: Target,
  surroundings: DeviceSurroundings,
  { user = "kodi", password, pin }: PairingAnswer,
  signal: AbortSignal,
): Promise<void> {
  const { credentials } = surroundings;
  const given = password ?? pin;
  const tried = given === undefined ? null : { user, password: given };
  const keeper = { ...credentials, read: () => tried };
  const rpc = new HttpRpc({ address: target, surroundings, credentials: keeper });
  try {
    await rpc.read("JSONRPC.Ping", {}, signal);
  } catch (error) {
    if (!(error instanceof ZapdError) || error.code !== "pairing_required") throw error;
    if (tried === null) throw new ZapdError("pairing_failed", "asks for a name and a password", { hint: passwordHint });
    throw new ZapdError("pairing_failed", "refused this name and password", { hint: passwordHint });
  } finally {
    rpc.close();
  }
  if (tried) await credentials.keep(tried);
  surroundings.learned({ access: "full" });
}

async function powerOn(
  device: KodiDevice,
  surroundings: DeviceSurroundings,
  signal: AbortSignal,
  { silent, withinMs }: Waking,
): Promise<void> {
  const answers = async (ms: number) => {
    try {
      await device.players(AbortSignal.any([signal, AbortSignal.timeout(ms)]));
      return true;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof Elsewhere) throw error;
      return error instanceof ZapdError && error.code === "pairing_required";
    }
  };
  if (!silent && (await answers(2_500))) return;
  await callUntilAwake({ target: device.target, surroundings, withinMs, answers, hint: sleepHint }, signal);
}
