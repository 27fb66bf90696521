/** Samsung Tizen, 2016 and newer: found by SSDP and mDNS, asked over HTTP, driven over one WebSocket, paired by a prompt. Facts: protocols/smart-tvs.md 3. */
import { hasCode, hasReason } from "../../api/errors.ts";
import { unlessSlept } from "../../system/clock.ts";
import { neverAborted } from "../../system/sleep.ts";
import { deadline } from "../../transport/http.ts";
import {
  type Capability,
  type Connection,
  type Description,
  type Emit,
  type Facts,
  type Key,
  ofKey,
  type Platform,
  type PlatformHost,
  type PlatformState,
  type StatePart,
  type VolumeControl,
} from "../platform.ts";
import { Apps } from "./apps.ts";
import { pairHint } from "./failures.ts";
import { identifySamsung, queries } from "./identity.ts";
import { allKeys, hasInputs, inputCodeOf, inputsOfSets, keysOf } from "./keys.ts";
import { type SamsungMemory, type SamsungSecret, type SamsungTarget, samsungMemory, samsungSecret } from "./memory.ts";
import { pairSamsung } from "./pairing.ts";
import { powerOf } from "./power.ts";
import { isSamsungAppId } from "./protocol.ts";
import { Rest, securePort } from "./rest.ts";
import { samsungServices } from "./services.ts";
import { type RemoteSession, remoteOf } from "./session.ts";
import { rendererPort, Volume } from "./volume.ts";

export const samsung: Platform<SamsungMemory, SamsungSecret> = {
  name: "samsung",
  ports: { control: securePort, renderer: rendererPort, wake: 9 },
  queries,
  services: samsungServices,
  memory: samsungMemory,
  secret: samsungSecret,
  isAppId: isSamsungAppId,
  oneConversation: true,
  sleepHint:
    "On the TV: Settings > General > Network > Expert Settings > Power On with Mobile; over Wi-Fi packets wake few sets, over a cable most; or turn it on with its own remote",
  identify: identifySamsung,
  describe: describeSamsung,
  pair: pairSamsung,
  connect: connectSamsung,
};

/** What sets do for everybody in their network. */
const open = ["state", "apps", "launch", "stop"] as const;
/** What wants the socket, to which a TV lets those alone whom its user has accepted. */
const pairedOnly = ["keys", "text", "playback"] as const;

function describeSamsung({ macs, access }: Facts, { year, renderer, saysPower }: SamsungMemory): Description {
  const canWake = macs.length > 0 || saysPower === true;
  const levels = renderer !== false;
  const has = new Set<Capability>([...open, "volume", "pair"]);
  if (levels) has.add("mute");
  if (canWake) has.add("power_on");
  const locked: Capability[] = [...pairedOnly, ...(levels ? [] : ["volume" as const])];
  if (hasInputs(year)) locked.push("inputs");
  for (const capability of locked) has.add(capability);
  const withheld = new Set(access === "full" ? [] : locked);
  return { has, withheld, keys: keysOf(year, canWake), hint: pairHint };
}

const asleep = { app: null, screensaver: null, playback: null, volume: null, input: null } as const;

function connectSamsung(target: SamsungTarget, platformHost: PlatformHost, emit: Emit<SamsungMemory>): Connection {
  const rest = new Rest(target, platformHost);
  const remote = remoteOf(target, rest, platformHost, emit);
  const volume = new Volume(target, platformHost, emit);
  const apps = new Apps(target, rest, emit);
  const { reconnecting } = remote;
  let lastMedia: "play" | "pause" = "play";

  /** Runs a command on a TV that is on, and has proven to be the one that is meant. */
  async function command<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    try {
      await unlessSlept(rest.mustBeOn(signal));
    } catch (error) {
      // What is silent or asleep must not be driven over a socket that it has left open.
      if (hasCode(error, "device_unreachable")) reconnecting.drop();
      throw error;
    }
    return work();
  }

  const session = (signal: AbortSignal) => command(signal, () => reconnecting.use(signal, { eager: true }));

  async function driven<T>(signal: AbortSignal, work: (remote: RemoteSession) => Promise<T>): Promise<T> {
    const current = await session(signal);
    try {
      return await work(current);
    } catch (error) {
      // It let us in, and takes nothing all the same (3.4).
      if (hasReason(error, "denied") && error.code === "pairing_required") {
        emit({ type: "facts", facts: { access: "unpaired" } });
        reconnecting.drop();
      }
      throw error;
    }
  }

  async function readParts(parts: ReadonlySet<StatePart>, signal: AbortSignal): Promise<Partial<PlatformState>> {
    const { power, facts, memory } = await rest.info(signal);
    const isPaired = target.secret.readAnyway()?.token !== undefined;
    emit({ type: "facts", facts: { ...facts, access: target.facts.access ?? (isPaired ? "full" : null) }, memory });
    if (power === "standby") {
      reconnecting.drop();
      return { power, ...asleep };
    }
    // A part that is slow is not known, and keeps the others from nobody.
    const within = deadline(platformHost.requestTimeoutMs() / 2, signal);
    const [app, level] = await Promise.all([
      parts.has("app") ? apps.current(within).catch(unlessOver(signal)) : undefined,
      parts.has("volume") ? volume.read(within).catch(unlessOver(signal)) : undefined,
    ]);
    // One that does not say whether it is on answers while it is.
    return { power: "on", ...(app !== undefined && { app }), ...(level !== undefined && { volume: level }) };
  }

  const press = (key: Key, signal: AbortSignal) =>
    driven(signal, (one) => {
      const wanted = key === "play-pause" ? (lastMedia === "play" ? "pause" : "play") : key;
      if (wanted === "play" || wanted === "pause") lastMedia = wanted;
      return one.press(ofKey(allKeys, wanted), "Click", signal);
    });

  return {
    state: {
      read: async (signal) => ({ power: "unknown", ...asleep, ...(await readParts(allParts, signal)) }),
      readParts: (parts, signal) => readParts(new Set(parts), signal),
    },
    apps: {
      list: (signal) =>
        command(signal, async () => {
          // Those that it does not let in, or not just now, can ask for each that is known.
          const isIn = target.facts.access === "full";
          const socket = isIn ? await reconnecting.use(signal).catch(unlessOver(signal)) : null;
          return apps.list(socket, signal);
        }),
      launch: (id, link, signal) => command(signal, () => apps.launch(id, link, () => session(signal), signal)),
      stop: (signal) => command(signal, () => apps.stop(signal)),
    },
    keys: {
      press,
      down: (key, signal) =>
        driven(signal, async (one) => {
          const code = ofKey(allKeys, key === "play-pause" ? "play" : key);
          const letGo = () => one.press(code, "Release", neverAborted);
          try {
            await one.press(code, "Press", signal);
          } catch (error) {
            // It may be down all the same.
            await letGo().catch(() => {});
            throw error;
          }
          return letGo;
        }),
    },
    text: {
      longestMs: () => 1_000,
      type: (text, signal) => driven(signal, (one) => one.type(text, signal)),
    },
    power: powerOf(remote, rest, target, emit, session),
    playback: {
      does: new Set(["play", "pause", "stop"]),
      isShown: false,
      do: (what, signal) => press(what === "play" || what === "pause" ? what : "stop", signal),
    },
    // That it has a renderer may be learned while this connection lives.
    get volume(): VolumeControl {
      return {
        step: (by, signal) => press(by > 0 ? "volume-up" : "volume-down", signal),
        ...(target.memory.renderer !== false && {
          set: (level, signal) => command(signal, () => volume.set(level, signal)),
          mute: (muted, signal) => command(signal, () => volume.mute(muted, signal)),
        }),
      };
    },
    ...(hasInputs(target.memory.year) && {
      inputs: {
        list: async () => [...inputsOfSets],
        select: (id, signal) => driven(signal, (one) => one.press(inputCodeOf(id), "Click", signal)),
        isShown: false,
      },
    }),
    close() {
      reconnecting.close();
      rest.close();
      volume.close();
    },
  };
}

const allParts: ReadonlySet<StatePart> = new Set(["app", "volume"]);

/** A part that the TV refuses is not known; a caller who has hung up is told so. */
function unlessOver(signal: AbortSignal): () => null {
  return () => {
    signal.throwIfAborted();
    return null;
  };
}
