/** A remote in some state, for the tests of what it shows and does. */
import type { App, Device, State } from "../../src/api/schemas.ts";
import { begin, type DeviceView, type Model } from "../../src/cli/remote/model.ts";
import { keys } from "../../src/platforms/platform.ts";
import { device } from "./examined.ts";

export const everything: Device["capabilities"] = [
  ...(["state", "apps", "launch", "stop", "keys", "hold", "text", "power_on", "power_off"] as const),
  ...(["volume", "mute", "seek", "inputs", "channels", "playback"] as const),
];

export const livingRoom = device("Living Room", {
  manufacturer: "Lumora",
  model: "43L520",
  capabilities: everything,
  keys: [...keys],
});
export const accessHint = "On the set: Network access: Enabled";
export const bedroom = device("Bedroom", {
  kind: "player",
  access: "limited",
  capabilities: ["state", "launch"],
  withheld: (["keys", "text", "apps"] as const).map((capability) => ({ capability, hint: accessHint })),
  keys: [],
});

export function app(name: string, facts: Partial<App> = {}): App {
  return { id: name, name, platform_id: `id-${name}`, type: "app", version: null, installed: true, ...facts };
}

export function state(facts: Partial<State> = {}): State {
  return {
    power: "on",
    app: null,
    screensaver: null,
    playback: null,
    volume: { level: 18, muted: false },
    input: null,
    observed_at: "2026-07-30T07:12:00.000Z",
    ...facts,
  };
}

/** Playing at 12:04 of 31:20 at that moment. */
export function playing(at: Date, facts: Partial<NonNullable<State["playback"]>> = {}): State {
  const playback = {
    status: "playing" as const,
    position_ms: 724_000,
    duration_ms: 1_880_000,
    live: false,
    title: null,
    artist: null,
    artwork: false,
    position_at: at.toISOString(),
    rate: 1,
    ...facts,
  };
  return state({ app: app("YouTube"), playback });
}

/** The living room, on, with a second set beside it. */
export function driving(facts: Partial<Model> = {}, living: Partial<DeviceView> = {}): Model {
  const devices = [
    { device: livingRoom, state: state(), ...living },
    { device: bedroom, state: state() },
  ];
  return { ...begin(livingRoom.id), hasSnapshot: true, devices, ...facts };
}
