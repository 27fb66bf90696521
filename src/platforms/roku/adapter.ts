/** Roku: found by SSDP, driven over ECP, with the developer installer and console. Facts: protocols/roku.md. */

import { hasCode, ZapdError } from "../../api/errors.ts";
import { sleptSince, unlessSlept } from "../../system/clock.ts";
import { sleep } from "../../system/sleep.ts";
import type { Capability, Connection, Description, Emit, Facts, Key, Platform, PlatformHost } from "../platform.ts";
import { RokuApps } from "./apps.ts";
import { connectControls } from "./controls.ts";
import { connectDeveloper, developerPorts } from "./developer.ts";
import { accessHint, Ecp, ecpPort, identifyRoku, paths } from "./ecp.ts";
import { type RokuMemory, type RokuTarget, readSearchAnswer, rokuMemory } from "./identity.ts";
import { rokuKeys } from "./keys.ts";
import { isRokuAppId, readPlayback } from "./protocol.ts";
import { rokuServices } from "./services.ts";
import { ifReadable, RokuState } from "./state.ts";

/** Some sets lose characters that come faster (RoMote#33; Roku Dev Studio waits 100 ms). */
const characterIntervalMs = 100;

export const roku: Platform<RokuMemory> = {
  name: "roku",
  ports: { control: ecpPort, ...developerPorts, wake: 9 },
  queries: [{ over: "ssdp", target: "roku:ecp", read: readSearchAnswer }],
  services: rokuServices,
  sleepHint:
    "On the Roku: Settings > System > Power > Fast TV Start: Enabled, so that it stays reachable while it is off; or turn it on with its own remote",
  memory: rokuMemory,
  isAppId: isRokuAppId,
  identify: identifyRoku,
  describe: describeRoku,
  connect: connectRoku,
};

/** What needs keys, lists or the player, and so network access that is Enabled (1.2). */
const restricted: readonly Capability[] = [
  "apps",
  "stop",
  "keys",
  "text",
  "power_on",
  "playback",
  "media",
  "icons",
  "volume",
  "mute",
  "inputs",
  "channels",
];

/** The capabilities that each access mode withholds. Launching has been seen to work in limited mode. */
const withheldIn: Partial<Record<string, readonly Capability[]>> = {
  limited: restricted,
  disabled: ["state", "launch", ...restricted],
};

function keysOf({ kind }: Facts, memory: RokuMemory): Set<Key> {
  const has = (key: Key) => {
    const needed = rokuKeys[key]?.needs;
    return needed === undefined || memory[needed] === true || kind === "unknown";
  };
  return new Set((Object.keys(rokuKeys) as Key[]).filter(has));
}

function describeRoku(facts: Facts, memory: RokuMemory): Description {
  const keys = keysOf(facts, memory);
  const has = new Set<Capability>(["state", "apps", "launch", "stop", "keys", "text", "playback", "media", "icons"]);
  if (keys.has("power-on")) has.add("power_on");
  if (keys.has("volume-up")) has.add("volume");
  // A player does not know whether its TV is muted, and the key only toggles.
  if (keys.has("mute") && facts.kind !== "player") has.add("mute");
  if (keys.has("input-hdmi1")) has.add("inputs");
  if (facts.kind === "tv") has.add("channels");
  if (memory.developer !== false) has.add("dev").add("screenshot");
  return { has, keys, withheld: new Set(withheldIn[facts.access ?? "full"] ?? []), hint: accessHint };
}

function connectRoku(target: RokuTarget, platformHost: PlatformHost, emit: Emit<RokuMemory>): Connection {
  const ecp = new Ecp(target, platformHost, emit, () => keysOf(target.facts, target.memory).has("power-on"));
  const apps = new RokuApps(ecp, platformHost, () => target.memory.developer === true);
  const developer = connectDeveloper(target, ecp, apps, platformHost, emit);
  return {
    state: new RokuState(ecp, target),
    apps: {
      list: (signal) => apps.list(signal),
      launch: (id, params, signal) => apps.launch(id, params, signal),
      stop: (signal) => apps.stop(signal),
    },
    keys: { press: (key, signal) => press(ecp, key, signal) },
    text: {
      longestMs: (text) => [...text].length * (characterIntervalMs + platformHost.requestTimeoutMs()),
      type: (text, signal) => type(ecp, text, signal),
    },
    power: {
      isOn: (signal) => isOn(ecp, signal),
      on: (signal) => press(ecp, "power-on", signal),
      wakesByPacket: true,
    },
    ...connectControls(target, ecp, apps, (key, signal) => press(ecp, key, signal)),
    ...developer,
    close() {
      ecp.http.close();
      developer.dev.console.close();
    },
  };
}

/** `null`: a player does not know its TV, and a set in disabled mode does not report it (1.3). */
async function isOn(ecp: Ecp, signal: AbortSignal): Promise<boolean | null> {
  const power = (await ecp.info(signal))?.power ?? "unknown";
  return power === "unknown" ? null : power === "on";
}

/** A set in standby takes these keys, and must not be turned on for `power-off`. */
const powerKeys: ReadonlySet<Key> = new Set(["power", "power-on", "power-off"]);

/** The set has one key, which toggles: it is not pressed where the player is in a wanted state. One that buffers will play. */
const reached: Partial<Record<Key, readonly (string | null)[]>> = { play: ["playing", "buffering"], pause: ["paused"] };

async function press(ecp: Ecp, key: Key, signal: AbortSignal): Promise<void> {
  const check = powerKeys.has(key) ? undefined : ecp.mustBeOn;
  if (reached[key]?.includes(await unlessSlept(playbackStatus(ecp, signal)))) return;
  const word = rokuKeys[key]?.word ?? "";
  try {
    if ((await ecp.command(paths.key(word), `press ${key}`, signal, check)) >= 400)
      throw new ZapdError("unsupported_key", `has no ${key} key`);
  } finally {
    if (!check) ecp.forgetPower();
  }
}

async function playbackStatus(ecp: Ecp, signal: AbortSignal): Promise<string | null> {
  const text = await ecp
    .document(paths.mediaPlayer, "report what is playing", signal, { check: ecp.mustBeOn })
    .catch((error: unknown) => {
      if (ecp.inStandby) throw error;
      return null;
    });
  return ifReadable(text, (document) => readPlayback(document, undefined))?.status ?? null;
}

async function type(ecp: Ecp, text: string, signal: AbortSignal): Promise<void> {
  const hasSlept = sleptSince();
  let sent = 0;
  try {
    for (const character of text) {
      if (sent > 0) await sleep(characterIntervalMs, signal);
      if (hasSlept())
        throw new ZapdError(
          "device_timeout",
          `accepted ${sent} characters; the rest was not sent, because this machine slept`,
        );
      const mustStayOn = () => {
        // Not `device_unreachable`: the set would be turned on, and the text typed again from its start.
        if (ecp.inStandby) throw new ZapdError("device_error", `accepted ${sent} characters, then went to standby`);
      };
      const check = sent === 0 ? ecp.mustBeOn : mustStayOn;
      if ((await ecp.command(paths.character(character), "type text", signal, check)) >= 400) {
        throw new ZapdError("device_error", `refused the character ${JSON.stringify(character)} after ${sent} others`);
      }
      sent++;
    }
  } catch (error) {
    if (sent === 0 || !hasCode(error, "device_unreachable")) throw error;
    // `device_unreachable` would have the text typed again from its start.
    throw new ZapdError("device_error", `${error.message}, after it accepted ${sent} characters`, {
      hint: error.hint,
      cause: error,
    });
  }
}
