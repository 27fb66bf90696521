import { type Model, type PlayState, powerState } from "./model.ts";
import type { Power } from "./options.ts";
import type { Sockets } from "./sockets.ts";

/** A view of the set at one moment. */
export interface WebosState {
  readonly power: Power;
  /** As `getPowerState` says it; null for a set that is off and says nothing. */
  readonly powerState: string | null;
  /** The id of the app in front; inputs and live TV are apps. Null in standby. */
  readonly activeApp: string | null;
  readonly channel: string | null;
  readonly playback: PlayState | null;
  /** The true level, even where a soundbar hides it. */
  readonly volume: number;
  readonly muted: boolean;
  /** Whether a text field has the focus. */
  readonly focused: boolean;
  /** Whether a pairing prompt is on the screen. */
  readonly prompting: boolean;
  readonly connections: { readonly open: number; readonly registered: number };
  /** Whether searches are answered now. */
  readonly discoverable: boolean;
}

export function snapshot(model: Model, { connections, discovery }: Sockets): WebosState {
  const { behaviour } = model;
  return {
    power: model.power,
    powerState: model.power === "standby" && behaviour.standby !== "active-standby" ? null : powerState(model),
    activeApp: model.power === "on" ? model.active : null,
    channel: model.channel?.number ?? null,
    playback: model.playback?.playState ?? null,
    volume: model.volume,
    muted: model.muted,
    focused: model.focused,
    prompting: model.prompt !== null,
    connections,
    discoverable: discovery.discoverable,
  };
}
