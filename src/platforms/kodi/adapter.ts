/** Kodi: found by mDNS, driven by JSON-RPC over HTTP, followed over its WebSocket. Facts: protocols/players.md 7. */
import { failedBy, ZapdError } from "../../api/errors.ts";
import { callUntilAwake } from "../../transport/wake-on-lan.ts";
import type {
  Capability,
  Connection,
  Description,
  Emit,
  Facts,
  Key,
  PairingAnswer,
  Platform,
  Surroundings,
  Waking,
} from "../platform.ts";
import { httpType, socketType } from "./announced.ts";
import { launchApp, listApps, stopApp } from "./apps.ts";
import { KodiDevice } from "./device.ts";
import { identifyKodi, readService } from "./identity.ts";
import { kodiKeys } from "./keys.ts";
import { type KodiMemory, type KodiSecret, type KodiTarget, kodiMemory, kodiSecret } from "./memory.ts";
import { isKodiAppId, takesText } from "./protocol.ts";
import { AsksLogin, HttpRpc, passwordHint } from "./rpc.ts";
import { readState, windowOf } from "./state.ts";

export const kodi: Platform<KodiMemory, KodiSecret> = {
  name: "kodi",
  ports: { control: 8_080, websocket: 9_090, wake: 9 },
  queries: [httpType, socketType].map((type) => ({ over: "mdns", type, read: readService })),
  memory: kodiMemory,
  secret: kodiSecret,
  isAppId: isKodiAppId,
  identify: identifyKodi,
  describe: describeKodi,
  connect: connectKodi,
};

const withPassword = ["state", "apps", "launch", "stop", "keys", "text"] as const;

function describeKodi({ macs, access }: Facts): Description {
  const canWake = macs.length > 0;
  const has = new Set<Capability>([...withPassword, "pair", ...(canWake ? ["power_on" as const] : [])]);
  const keys = new Set<Key>([...(Object.keys(kodiKeys) as Key[]), ...(canWake ? ["power-on" as const] : [])]);
  return { has, keys, withheld: new Set(access === "unpaired" ? withPassword : []) };
}

const sleepHint =
  "Turn on Wake-on-LAN in the settings of the machine that Kodi runs on, and in its BIOS; or turn it on by hand";

function connectKodi(target: KodiTarget, surroundings: Surroundings, emit: Emit<KodiMemory>): Connection {
  const device = new KodiDevice(target, surroundings, emit);
  return {
    state: (signal) => readState(device, signal),
    apps: (signal) => listApps(device, signal),
    launch: (id, params, signal) => launchApp(device, id, params, signal),
    stop: (signal) => stopApp(device, signal),
    keys: {
      async press(key, signal) {
        // One that answers is on.
        if (key === "power-on") return void (await device.players(signal));
        const press = kodiKeys[key];
        if (!press) throw new ZapdError("unsupported_key", `has no ${key} key`);
        await press(device, signal);
      },
    },
    text: { longestMs: (text) => 50 * text.length, type: (text, signal) => type(device, text, signal) },
    pair: (given, signal) => pair(device, surroundings, emit, given, signal),
    powerOn: (signal, waking) => powerOn(device, surroundings, signal, waking),
    close: () => device.close(),
  };
}

async function type(device: KodiDevice, text: string, signal: AbortSignal): Promise<void> {
  // What closes the keyboard is pushed.
  device.follow();
  const window = await windowOf(device, signal);
  // It says OK to text without a keyboard, too (7.3).
  if (!takesText(window)) {
    device.field.forget();
    throw new ZapdError("device_refused", "shows no keyboard", {
      hint: "Open one in Kodi first, such as a search, then try again",
    });
  }
  await device.field.type(device, window, text, signal);
}

/**
 * Proves a name and a password, and keeps them. They go out only after a 401 of Kodi's own from this very address. One that
 * asks for none says nothing of them: they are not kept.
 */
async function pair(
  device: KodiDevice,
  surroundings: Surroundings,
  emit: Emit<KodiMemory>,
  { user = "kodi", password, pin }: PairingAnswer,
  signal: AbortSignal,
): Promise<void> {
  const { target } = device;
  const given = password ?? pin;
  const login = () => {
    if (given === undefined || given === "") throw new AsksLogin();
    return { user, password: given };
  };
  if (target.memory.socketOnly === target.port) throw nothingToPair();
  const open = new HttpRpc({ address: target, surroundings });
  const locked = new HttpRpc({ address: target, surroundings, login, vouch: (within) => device.vouch(within) });
  try {
    const isOpen = await open.read("JSONRPC.Ping", {}, signal).then(
      () => true,
      (error: unknown) => {
        if (error instanceof AsksLogin) return false;
        throw device.toldOf(error);
      },
    );
    if (isOpen) {
      emit({ type: "facts", facts: { access: "full" } });
      throw nothingToPair();
    }
    await locked.read("JSONRPC.Ping", {}, signal);
  } catch (error) {
    if (!(error instanceof AsksLogin)) throw error;
    throw new ZapdError("pairing_failed", error.message, { hint: passwordHint });
  } finally {
    open.close();
    locked.close();
  }
  if (given !== undefined) await target.secret.keep({ user, password: given });
  emit({ type: "facts", facts: { access: "full" } });
}

function nothingToPair(): ZapdError {
  return new ZapdError("unsupported_operation", "needs no pairing: it asks for no name and no password", {
    hint: "Use it as it is. To have it ask, in Kodi: Settings > Services > Control > Require authentication",
  });
}

/** How long magic packets are tried on a machine that is up, where they can hardly help: it may just be going down. */
const triedAnyway = 5_000;
const refusesWithin = 250;

async function powerOn(
  device: KodiDevice,
  surroundings: Surroundings,
  signal: AbortSignal,
  { silent, withinMs }: Waking,
): Promise<void> {
  let refusal: unknown = null;
  const answers = async (ms: number) => {
    try {
      await device.players(AbortSignal.any([signal, AbortSignal.timeout(ms)]));
      return true;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (failedBy(error, "wrong_device")) throw error;
      refusal = failedBy(error, "refused") ? error : null;
      return error instanceof AsksLogin || (error instanceof ZapdError && error.code === "device_unproven");
    }
  };
  // A machine that is up refuses at once; one that has just been silent is not waited for again.
  if (await answers(silent ? refusesWithin : 2_500)) return;
  const isUp = refusal !== null && !device.asleep;
  // A command does not wait for what magic packets cannot do.
  if (isUp && silent) throw refusal;
  const within = isUp ? Math.min(withinMs, triedAnyway) : withinMs;
  const call = { target: device.target, surroundings, withinMs: within, answers, hint: sleepHint };
  await callUntilAwake(call, signal).catch((error: unknown) => {
    throw refusal ?? error;
  });
}
