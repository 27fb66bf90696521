/** Google Cast: found by mDNS, driven over CASTV2, which pushes its state. Facts: protocols/players.md 3. */
import { ZapdError } from "../../api/errors.ts";
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
  type StatePart,
  volumeKeys,
} from "../platform.ts";
import { playerKeys } from "../player-keys.ts";
import { CastDevice } from "./device.ts";
import { identifyCast, readService, serviceType } from "./identity.ts";
import { type CastMemory, type CastTarget, castMemory } from "./memory.ts";
import { describeState, isCastAppId, type Receiver } from "./protocol.ts";
import { castServices } from "./services.ts";

export const cast: Platform<CastMemory> = {
  name: "cast",
  ports: { control: 8_009 },
  queries: [{ over: "mdns", type: serviceType, read: readService }],
  services: castServices,
  memory: castMemory,
  isAppId: isCastAppId,
  identify: identifyCast,
  describe: describeCast,
  connect: connectCast,
};

function stepped({ level, step }: Receiver, by: 1 | -1): { readonly level: number } {
  if (level === null) throw new ZapdError("device_error", "does not report its volume");
  return { level: Math.max(0, Math.min(1, level + by * step)) };
}

async function press(device: CastDevice, key: Key, signal: AbortSignal): Promise<void> {
  if (key === "home") return void (await device.stop(signal));
  const does = ofKey(playerKeys, key);
  if ("tell" in does) return device.control(does.tell, signal);
  if ("by" in does) return device.seek(does, signal);
  if ("louder" in does) return device.setVolume((now) => stepped(now, does.louder), signal);
  return device.setVolume(({ muted }) => ({ muted: muted !== true }), signal);
}

const always: readonly Capability[] = ["state", "launch", "stop", "keys", "seek", "media", "playback", "artwork"];

function describeCast(_facts: Facts, { volume }: CastMemory): Description {
  const isFixed = volume === "fixed";
  const has = new Set<Capability>([...always, ...(isFixed ? [] : (["volume", "mute"] as const))]);
  const keys = keysIn(playerKeys).filter((key) => !isFixed || !volumeKeys.has(key));
  return { has, withheld: emptySet, keys: new Set<Key>(["home", ...keys]) };
}

const pushed: ReadonlySet<StatePart> = new Set(["power", "app", "playback", "volume"]);

function connectCast(target: CastTarget, platformHost: PlatformHost, emit: Emit<CastMemory>): Connection {
  const device = new CastDevice(target, platformHost, emit);
  return {
    state: {
      async read(signal) {
        const session = await device.session(signal);
        const receiver = await session.refresh(signal);
        return describeState(receiver, session.media);
      },
      get pushes() {
        return device.current ? pushed : emptySet;
      },
    },
    apps: {
      launch: (id, params, signal) => device.launch(id, params, signal),
      stop: (signal) => device.stop(signal),
    },
    keys: { press: (key, signal) => press(device, key, signal) },
    volume: {
      set: (level, signal) => device.setVolume(() => ({ level: level / 100 }), signal),
      step: (by, signal) => device.setVolume((now) => stepped(now, by), signal),
      // To those of the system: an Android TV may have 15.
      rounds: true,
      mute: (muted, signal) => device.setVolume(() => ({ muted }), signal),
    },
    playback: {
      does: new Set(["play", "pause", "stop", "next", "previous"]),
      do: (what, signal) => device.control(what, signal),
      seek: (positionMs, signal) => device.seek({ at: positionMs }, signal),
    },
    media: { play: (item, signal) => device.play(item, signal) },
    artwork: (signal) => device.artwork(signal),
    close: () => device.close(),
  };
}
