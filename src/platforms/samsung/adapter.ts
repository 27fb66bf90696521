/**
 * Samsung Tizen, 2016 and newer: found by SSDP and mDNS, read over HTTP, driven over one WebSocket, paired by a prompt.
 * Facts: protocols/smart-tvs.md 3.
 */
import { hasCode } from "../../api/errors.ts";
import { unlessSlept } from "../../system/clock.ts";
import { neverAborted } from "../../system/never-aborted.ts";
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
import { pairHint } from "../prompts.ts";
import { Apps } from "./apps.ts";
import { identifySamsung, queries } from "./identity.ts";
import { allInputs, allKeys, hasInputs, inputCodeOf, keysOf } from "./keys.ts";
import { type SamsungMemory, type SamsungSecret, type SamsungTarget, samsungMemory, samsungSecret } from "./memory.ts";
import { pairSamsung } from "./pairing.ts";
import { powerOf } from "./power.ts";
import { isSamsungAppId } from "./protocol.ts";
import { Rest, securePort } from "./rest.ts";
import { samsungServices } from "./services.ts";
import { remoteOf, type WithRemote } from "./session.ts";
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
    "On the TV: Settings > General > Network > Expert Settings > Power On with Mobile (it wakes most TVs on a network cable, but few on Wi-Fi); or turn it on with its own remote",
  identify: identifySamsung,
  describe: describeSamsung,
  pair: pairSamsung,
  connect: connectSamsung,
};

/** What a TV allows everybody in its network. */
const open = ["state", "apps", "launch", "stop"] as const;
/** What requires the WebSocket, which a TV opens only to clients that its user has accepted. */
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

const nothing = { app: null, screensaver: null, playback: null, volume: null, input: null } as const;

function connectSamsung(target: SamsungTarget, platformHost: PlatformHost, emit: Emit<SamsungMemory>): Connection {
  const rest = new Rest(target, platformHost);
  const remote = remoteOf(target, rest, platformHost, emit);
  const volume = new Volume(target, platformHost, emit);
  const apps = new Apps(target, rest, emit);
  const { reconnecting } = remote;
  let lastMedia: "play" | "pause" = "play";

  /** Runs a command on a TV that is on and has proven its identity. */
  async function command<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    try {
      await unlessSlept(rest.requireOn(signal));
    } catch (error) {
      // A TV that is silent or asleep must not be controlled over a socket that it has left open.
      if (hasCode(error, "device_unreachable")) remote.leave();
      throw error;
    }
    return work();
  }

  const openRemote = (signal: AbortSignal) =>
    command(signal, () => {
      // The TV may have left it while this machine slept, and nothing tells that of a TV that answers no ping (3.4).
      if (reconnecting.current?.hasSlept()) reconnecting.drop();
      return unlessSlept(reconnecting.use(signal, { eager: true }));
    });

  /** The TV accepted the connection, and still refuses what comes over it (3.4). */
  const noteRefusal = (error: unknown): never => {
    if (hasCode(error, "pairing_required")) {
      emit({ type: "facts", facts: { access: "unpaired" } });
      reconnecting.drop();
    }
    throw error;
  };

  const withRemote: WithRemote = async (signal, work) => work(await openRemote(signal)).catch(noteRefusal);

  async function readParts(parts: readonly StatePart[], signal: AbortSignal): Promise<Partial<PlatformState>> {
    const { power, facts, memory } = await rest.info(signal);
    const isPaired = target.secret.readAnyway()?.token !== undefined;
    emit({ type: "facts", facts: { ...facts, access: target.facts.access ?? (isPaired ? "full" : null) }, memory });
    if (power === "standby") {
      remote.leave();
      return { power, ...nothing };
    }
    // A slow part is unknown, and does not delay the others.
    const within = deadline(platformHost.requestTimeoutMs() / 2, signal);
    const [app, level] = await Promise.all([
      parts.includes("app") ? apps.current(within).catch(nullUnlessAborted(signal)) : undefined,
      parts.includes("volume") ? volume.read(within).catch(nullUnlessAborted(signal)) : undefined,
    ]);
    // A TV that does not report its power answers only while it is on.
    return { power: "on", ...(app !== undefined && { app }), ...(level !== undefined && { volume: level }) };
  }

  const press = (key: Key, signal: AbortSignal) =>
    withRemote(signal, async (session) => {
      const sent = key === "play-pause" ? (lastMedia === "play" ? "pause" : "play") : key;
      await session.press(ofKey(allKeys, sent), "Click", signal);
      if (sent === "play" || sent === "pause") lastMedia = sent;
    });

  return {
    state: {
      read: async (signal) => ({ power: "unknown", ...nothing, ...(await readParts(["app", "volume"], signal)) }),
      readParts,
      showsPlayback: false,
    },
    apps: {
      list: (signal) =>
        command(signal, async () => {
          // A TV that is not paired, or not reachable by WebSocket now, is asked for each known app instead.
          const isPaired = target.facts.access === "full";
          const session = isPaired ? await reconnecting.use(signal).catch(nullUnlessAborted(signal)) : null;
          return apps.list(session, signal).catch(noteRefusal);
        }),
      launch: (id, link, signal) => command(signal, () => apps.launch(id, link, withRemote, signal)),
      stop: (signal) => command(signal, () => apps.stop(signal)),
    },
    keys: {
      press,
      down: (key, signal) =>
        withRemote(signal, async (session) => {
          const code = ofKey(allKeys, key === "play-pause" ? "play" : key);
          const release = () => session.press(code, "Release", neverAborted);
          try {
            await session.press(code, "Press", signal);
          } catch (error) {
            // The key may be down all the same.
            await release().catch(() => {});
            throw error;
          }
          return release;
        }),
    },
    text: {
      longestMs: () => 1_000,
      type: (text, signal) => withRemote(signal, (session) => session.type(text, signal)),
    },
    power: powerOf(remote, rest, target, emit, withRemote),
    playback: {
      does: new Set(["play", "pause", "stop"]),
      // No other command than these comes.
      do: (what, signal) => press(what === "play" || what === "pause" ? what : "stop", signal),
    },
    // Whether it has a renderer may be learned while this connection lives.
    get volume(): VolumeControl {
      return {
        step: (by, signal) => press(by > 0 ? "volume-up" : "volume-down", signal),
        // With a receiver or a soundbar it reports 0 for ever (home-assistant/core#134401), and setting a level does nothing; its
        // keys work (#153671).
        stepsAtZero: target.facts.access === "full",
        ...(target.memory.renderer !== false && {
          set: (level, signal) => command(signal, () => volume.set(level, signal)),
          mute: (muted, signal) => command(signal, () => volume.mute(muted, signal)),
        }),
      };
    },
    ...(hasInputs(target.memory.year) && {
      inputs: {
        list: async () => [...allInputs],
        select: (id, signal) => withRemote(signal, (session) => session.press(inputCodeOf(id), "Click", signal)),
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

/** Treats a part that the TV refuses as unknown; rethrows when the caller has gone. */
function nullUnlessAborted(signal: AbortSignal): () => null {
  return () => {
    signal.throwIfAborted();
    return null;
  };
}
