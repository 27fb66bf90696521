/** A remote in some state, for the tests of what it shows and does. */
import type { App, Device, State } from "../../src/api/schemas.ts";
import { begin, type Model } from "../../src/cli/remote/model.ts";
import { device } from "./examined.ts";

export const everything: Device["capabilities"] = ["state", "apps", "launch", "stop", "keys", "text", "power_on"];

export const livingRoom = device("Living Room", {
  manufacturer: "Lumora",
  model: "43L520",
  capabilities: everything,
});
export const bedroom = device("Bedroom", { kind: "player", access: "limited", capabilities: ["state", "launch"] });

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

/** The living room, on, with a second set beside it. */
export function driving(facts: Partial<Model> = {}): Model {
  return { ...begin([livingRoom, bedroom], livingRoom.id), seen: { state: state() }, ...facts };
}
