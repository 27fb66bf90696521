/**
 * Android TV and Google TV over the service of Google's own remote: found by mDNS, paired by a code, driven over TLS
 * with a client certificate. It pushes its state. Facts: protocols/players.md 4.
 */
import {
  type Capability,
  type Connection,
  type Description,
  type Emit,
  emptySet,
  type Facts,
  ofKey,
  type Platform,
  type PlatformHost,
  type PlaybackCommand,
  type StatePart,
} from "../platform.ts";
import { AndroidTv, describeState } from "./device.ts";
import { pairHint, serviceHint } from "./failures.ts";
import { identifyAndroid, isStreamingBox, readService, serviceType } from "./identity.ts";
import { allCodes, codes, keyCodes, keysOf } from "./keys.ts";
import {
  type AndroidMemory,
  type AndroidSecret,
  type AndroidTarget,
  androidMemory,
  androidSecret,
  remotePort,
} from "./memory.ts";
import { pairAndroid } from "./pairing.ts";
import { features, ours } from "./protocol.ts";
import { androidServices, isAndroidAppId } from "./services.ts";

export const androidtv: Platform<AndroidMemory, AndroidSecret> = {
  name: "androidtv",
  ports: { control: remotePort, pairing: remotePort + 1, wake: 9 },
  queries: [{ over: "mdns", type: serviceType, read: readService }],
  sleepHint:
    "On the TV: Settings > Network, allow turning it on over the network (it wakes most TVs on a network cable, but few on Wi-Fi); or turn it on with its own remote",
  services: androidServices,
  memory: androidMemory,
  secret: androidSecret,
  isAppId: isAndroidAppId,
  identify: identifyAndroid,
  describe: describeAndroid,
  pair: pairAndroid,
  connect: connectAndroid,
};

function describeAndroid(facts: Facts, memory: AndroidMemory, paired: boolean): Description {
  const { features: offered = ours } = memory;
  const offers = (feature: keyof typeof features) => (offered & features[feature]) !== 0;
  const byKeys = new Set<Capability>(["keys", "hold", "stop", "playback"]);
  // The keys stay: a box that leaves the volume to the TV passes them on to it (home-assistant/core#179902, #91677).
  if (memory.volume !== false) byKeys.add("volume").add("mute");
  const own = new Set<Capability>(["state", "power_on", ...byKeys]);
  if (offers("ime")) own.add("text");
  if (offers("appLink")) own.add("launch");
  const isPaired = paired && facts.access !== "unpaired";
  // No TV lacks keys by design: one that offers none gets them back (home-assistant/core#98756, #117957).
  const withheld = offers("key") ? emptySet : byKeys;
  return {
    has: new Set<Capability>([...own, "pair"]),
    withheld: isPaired ? withheld : own,
    keys: keysOf(isStreamingBox(facts)),
    hint: isPaired ? serviceHint : pairHint,
  };
}

const pushed: ReadonlySet<StatePart> = new Set(["power", "app", "volume"]);

const commandCodes: Readonly<Record<PlaybackCommand, number>> = {
  play: keyCodes.play,
  pause: keyCodes.pause,
  stop: keyCodes.stop,
  next: codes.next,
  previous: codes.previous,
};

function connectAndroid(target: AndroidTarget, platformHost: PlatformHost, emit: Emit<AndroidMemory>): Connection {
  const device = new AndroidTv(target, platformHost, emit);
  return {
    state: {
      read: async (signal) => describeState((await device.session(signal)).state),
      get pushes() {
        return device.current ? pushed : emptySet;
      },
      showsPlayback: false,
    },
    apps: {
      launch: (id, params, signal) => device.launch(id, params, signal),
      stop: (signal) => device.stop(signal),
    },
    keys: {
      press: async (key, signal) => device.press(ofKey(allCodes, key), signal),
      down: async (key, signal) => device.down(ofKey(allCodes, key), signal),
    },
    text: { longestMs: () => 1_000, type: (text, signal) => device.type(text, signal) },
    power: {
      isOn: (signal) => device.isOn(signal),
      on: (signal) => device.turnOn(signal),
      off: (signal) => device.turnOff(signal),
      wakesByPacket: true,
      // Each new connection turns some TVs on (players.md 4.3).
      wakesByConnecting: true,
    },
    volume: {
      step: (by, signal) => device.press(keyCodes[by > 0 ? "volume-up" : "volume-down"], signal),
      mute: (muted, signal) => device.mute(muted, signal),
    },
    playback: {
      does: new Set(["play", "pause", "stop", "next", "previous"]),
      do: (what, signal) => device.press(commandCodes[what], signal),
    },
    close: () => device.close(),
  };
}
