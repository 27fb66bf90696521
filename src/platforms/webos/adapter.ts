/** LG webOS: found by SSDP, driven over one WebSocket that pushes, paired by a prompt. Facts: protocols/smart-tvs.md 2. */
import { inStandby, ZapdError } from "../../api/errors.ts";
import { unlessSlept } from "../../system/clock.ts";
import {
  type Capability,
  type Connection,
  type Description,
  type Emit,
  emptySet,
  type Facts,
  type Key,
  ofKey,
  type Platform,
  type PlatformHost,
} from "../platform.ts";
import { pairHint } from "../prompts.ts";
import { launchApp, stopApp } from "./apps.ts";
import { type RegisteredSession, readyForCommand, sessionWith } from "./connection.ts";
import { controlPlayer, controlsOf } from "./controls.ts";
import { plainPort, readSearchAnswer, searchTarget, securePort } from "./endpoints.ts";
import { asUnsupportedKey } from "./failures.ts";
import { identifyWebos } from "./identity.ts";
import { inputIdOf, keysOf, webosKeys } from "./keys.ts";
import { type WebosMemory, type WebosSecret, type WebosTarget, webosMemory, webosSecret } from "./memory.ts";
import { pairWebos } from "./pairing.ts";
import { powerOf } from "./power.ts";
import { isWebosAppId, uris } from "./protocol.ts";
import { type Topic, topicsOf } from "./state.ts";

export const webos: Platform<WebosMemory, WebosSecret> = {
  name: "webos",
  ports: { control: securePort, plain: plainPort, wake: 9 },
  queries: [{ over: "ssdp", target: searchTarget, read: readSearchAnswer }],
  memory: webosMemory,
  secret: webosSecret,
  isAppId: isWebosAppId,
  sleepHint:
    "On the TV: Settings > General > Devices > External devices > Turn on via Wi-Fi, or TV On With Mobile, and Quick Start+; on TVs of 2025 and newer: Settings > Support > IP control settings > Wake on LAN; or turn it on with its own remote",
  identify: identifyWebos,
  describe: describeWebos,
  pair: pairWebos,
  connect: connectWebos,
};

/** What works once the TV is paired. Waking needs no pairing. */
const pairedOnly = [
  ...(["state", "apps", "launch", "stop", "keys", "text"] as const),
  ...(["volume", "mute", "playback", "media", "inputs", "channels", "icons", "notify"] as const),
];

function describeWebos({ macs, access }: Facts, { inputs = [] }: WebosMemory, paired: boolean): Description {
  const canWake = macs.length > 0;
  const has = new Set<Capability>([...pairedOnly, "pair", ...(canWake ? ["power_on" as const] : [])]);
  const withheld = new Set(paired && access === "full" ? [] : pairedOnly);
  return { has, keys: keysOf(inputs, canWake), withheld, hint: pairHint };
}

function connectWebos(target: WebosTarget, platformHost: PlatformHost, emit: Emit<WebosMemory>): Connection {
  const reconnecting = sessionWith(target, platformHost, emit);
  /** Runs a command on a TV that is on. One that answers in standby must be woken first, like one that is silent. */
  const command = async <T>(signal: AbortSignal, work: (registered: RegisteredSession) => Promise<T>) => {
    const registered = await unlessSlept(readyForCommand(reconnecting, signal));
    if (registered.state.isOff) throw target.facts.macs.length > 0 ? inStandby() : cannotBeWoken();
    return registered.track(() => work(registered));
  };
  const readState = async (signal: AbortSignal, topics?: readonly Topic[]) => {
    const registered = await reconnecting.use(signal);
    await registered.state.refresh(signal, topics);
    const { app } = registered.state;
    if (app !== null) await registered.learnTitleSoon(app, signal);
    return registered.state.describe();
  };
  return {
    state: {
      read: (signal) => readState(signal),
      readParts: (parts, signal) => readState(signal, topicsOf(parts)),
      get pushes() {
        return reconnecting.current?.state.pushes ?? emptySet;
      },
      get showsPlayback() {
        return reconnecting.current?.state.reports("media") ?? true;
      },
    },
    apps: {
      list: async (signal) => (await reconnecting.use(signal)).apps(signal),
      launch: (id, params, signal) => command(signal, (registered) => launchApp(registered, id, params, signal)),
      stop: (signal) => command(signal, (registered) => stopApp(registered, signal)),
    },
    keys: {
      press: (key, signal) =>
        command(signal, (registered) => pressOn(registered, key, signal)).catch((error: unknown) => {
          throw asUnsupportedKey(key, error);
        }),
    },
    power: powerOf(reconnecting, target, emit),
    text: {
      longestMs: (text) => 50 * text.length,
      type: (text, signal) => command(signal, (registered) => type(registered, text, signal)),
    },
    ...controlsOf(reconnecting, command, target, platformHost),
    close: () => reconnecting.close(),
  };
}

function cannotBeWoken(): ZapdError {
  const problem = "is in standby, and zapd knows no hardware address to wake it with";
  const hint = "Turn it on with its own remote; zapd learns its hardware address while it is on";
  return new ZapdError("device_refused", problem, { hint });
}

async function pressOn(registered: RegisteredSession, key: Key, signal: AbortSignal): Promise<void> {
  const { state } = registered;
  if (key === "mute") {
    await unlessSlept(state.refresh(signal, ["volume"]));
    return registered.command(uris.setMute, { mute: !state.volume?.muted }, signal);
  }
  if (key === "play-pause") return controlPlayer(registered, "toggle", signal);
  if (key === "play" || key === "pause") return controlPlayer(registered, key, signal);
  if (key.startsWith("input-") && key !== "input-tuner") {
    const ids = (await unlessSlept(registered.inputs(signal))).map(({ id }) => id);
    const inputId = inputIdOf(key, ids);
    if (inputId === undefined) throw new ZapdError("unsupported_key", `has no input for ${key}`);
    return registered.command(uris.switchInput, { inputId }, signal);
  }
  const press = ofKey(webosKeys, key);
  state.invalidate();
  if ("button" in press) return registered.pointer.press(press.button, signal).finally(() => state.invalidate());
  if ("step" in press) return registered.stepVolume(press.step, signal);
  await registered.command(press.uri, press.payload ?? {}, signal);
}

async function type(registered: RegisteredSession, text: string, signal: AbortSignal): Promise<void> {
  if (registered.focus === false) {
    throw new ZapdError("device_refused", "has no text field open", {
      hint: "Open a text field on the TV first, such as the search of an app, then try again",
    });
  }
  await registered.command(uris.insertText, { text, replace: 0 }, signal);
}
