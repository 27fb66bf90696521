/** Kodi: found by mDNS, driven by JSON-RPC over HTTP, followed over its WebSocket. Facts: protocols/players.md 7. */
import { hasCode, hasReason, ZapdError } from "../../api/errors.ts";
import { unlessSlept } from "../../system/clock.ts";
import {
  type Capability,
  type Connection,
  type Description,
  type Emit,
  emptySet,
  type Facts,
  type Key,
  keysIn,
  ofKey,
  type Platform,
  type PlatformHost,
  type PowerControl,
  type StatePart,
} from "../platform.ts";
import { defaultSocketPort, httpType, socketType } from "./announced.ts";
import { launchApp, listApps, stopApp } from "./apps.ts";
import { kodiControls } from "./controls.ts";
import { KodiDevice } from "./device.ts";
import { identifyKodi, readService } from "./identity.ts";
import { kodiKeys, turnOff } from "./keys.ts";
import { type KodiMemory, type KodiSecret, type KodiTarget, kodiMemory, kodiSecret } from "./memory.ts";
import { pairKodi } from "./pairing.ts";
import { artworkOf, iconOf, screenshotHint, takeScreenshot } from "./pictures.ts";
import { isKodiAppId, takesText } from "./protocol.ts";
import { isLoginWanted } from "./rpc.ts";
import { readState, windowOf } from "./state.ts";

export const kodi: Platform<KodiMemory, KodiSecret> = {
  name: "kodi",
  ports: { control: 8_080, websocket: defaultSocketPort, wake: 9 },
  queries: [httpType, socketType].map((type) => ({ over: "mdns", type, read: readService })),
  memory: kodiMemory,
  secret: kodiSecret,
  isAppId: isKodiAppId,
  sleepHint:
    "Turn on Wake-on-LAN in the settings of the machine that Kodi runs on, and in its BIOS; or turn it on by hand",
  identify: identifyKodi,
  describe: describeKodi,
  pair: pairKodi,
  connect: connectKodi,
};

const basic: readonly Capability[] = ["state", "apps", "launch", "stop", "keys", "text"];
const controls: readonly Capability[] = ["volume", "mute", "seek", "media", "playback", "notify"];
/** Only its web server gives pictures. */
const pictures: readonly Capability[] = ["icons", "artwork", "screenshot"];
const pairHint = "Run zapd pair {device}: it requires a user name and a password";

function describeKodi({ macs, access }: Facts, memory: KodiMemory): Description {
  // Without the login nobody knows whether it has a tuner.
  const { tuner = access === "unpaired", screenshots = false, socketOnly = null } = memory;
  const canWake = macs.length > 0;
  const hasWeb = socketOnly === null;
  const needLogin = [...basic, ...controls, ...(tuner ? ["channels" as const] : []), ...(hasWeb ? pictures : [])];
  const has = new Set<Capability>([...needLogin, "pair", ...(canWake ? ["power_on" as const] : [])]);
  const powerKeys: readonly Key[] = canWake ? ["power", "power-off", "power-on"] : ["power", "power-off"];
  const keys = new Set([...keysIn(kodiKeys), ...powerKeys]);
  if (access === "unpaired") return { has, keys, withheld: new Set(needLogin), hint: pairHint };
  return { has, keys, withheld: new Set(hasWeb && !screenshots ? ["screenshot"] : []), hint: screenshotHint };
}

/** The parts of the state that its notifications contain or hint at. */
const pushed: ReadonlySet<StatePart> = new Set(["power", "playback", "volume", "screensaver"]);

function connectKodi(target: KodiTarget, platformHost: PlatformHost, emit: Emit<KodiMemory>): Connection {
  const device = new KodiDevice(target, platformHost, emit);
  return {
    state: {
      read: (signal) => readState(device, signal),
      get pushes() {
        return device.isFollowed ? pushed : emptySet;
      },
    },
    apps: {
      list: (signal) => listApps(device, signal),
      launch: (id, params, signal) => launchApp(device, id, params, signal),
      stop: (signal) => stopApp(device, signal),
    },
    keys: {
      press: async (key, signal) => void (await ofKey(kodiKeys, key)(device, signal)),
    },
    text: { longestMs: (text) => 50 * text.length, type: (text, signal) => type(device, text, signal) },
    ...kodiControls(device),
    icon: (id, signal) => iconOf(device, id, signal),
    artwork: (signal) => artworkOf(device, signal),
    screenshot: (signal) => takeScreenshot(device, signal),
    power: powerOf(device),
    close: () => device.close(),
  };
}

async function type(device: KodiDevice, text: string, signal: AbortSignal): Promise<void> {
  // A notification reports when the keyboard closes.
  device.follow();
  const window = await unlessSlept(windowOf(device, signal));
  // Kodi answers OK to text without a keyboard as well (7.3).
  if (!takesText(window)) {
    device.field.forget();
    throw new ZapdError("device_refused", "has no on-screen keyboard open", {
      hint: "Open a text field in Kodi first, such as its search, then try again",
    });
  }
  await device.field.type(device, window, text, signal);
}

/** A Kodi that answers is on, also where it requires a login. */
function powerOf(device: KodiDevice): PowerControl {
  let isMachineUp = false;
  return {
    async isOn(signal) {
      isMachineUp = false;
      try {
        await device.players(signal);
        return true;
      } catch (error) {
        if (isLoginWanted(error) || hasCode(error, "device_unproven")) return true;
        // A refused connection means that the machine is up, unless it is on its way to sleep.
        isMachineUp = hasReason(error, "refused") && !device.isAsleep;
        throw error;
      }
    },
    off: (signal) => turnOff(device, signal),
    get wakesByPacket() {
      return !isMachineUp;
    },
  };
}
