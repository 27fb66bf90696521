/** The keys of an LG TV (smart-tvs.md 8). */
import { type Key, keysIn } from "../platform.ts";
import { liveTv, type Payload, uris } from "./protocol.ts";

/** A button of the pointer socket, a step of the volume, or another request. */
type Press =
  | { readonly button: string }
  | { readonly step: 1 | -1 }
  | { readonly uri: string; readonly payload?: Payload };

const control = (name: string): Press => ({ uri: `ssap://media.controls/${name}` });

/** Keys that are one message each; the others depend on the TV's state (adapter.ts). */
export const webosKeys: Readonly<Partial<Record<Key, Press>>> = {
  home: { button: "HOME" },
  back: { button: "BACK" },
  up: { button: "UP" },
  down: { button: "DOWN" },
  left: { button: "LEFT" },
  right: { button: "RIGHT" },
  select: { button: "ENTER" },
  stop: control("stop"),
  rewind: control("rewind"),
  "fast-forward": control("fastForward"),
  // Unverified, as that table says.
  replay: { button: "GOTOPREV" },
  skip: { button: "GOTONEXT" },
  "volume-up": { step: 1 },
  "volume-down": { step: -1 },
  "channel-up": { uri: "ssap://tv/channelUp" },
  "channel-down": { uri: "ssap://tv/channelDown" },
  info: { button: "INFO" },
  options: { button: "QMENU" },
  "input-tuner": { uri: uris.launch, payload: { id: liveTv } },
};

/** Keys that depend on the TV's state. */
const stateKeys = ["play", "pause", "play-pause", "mute", "power", "power-off"] as const satisfies readonly Key[];

/** The key of each input, by the pattern of the TV's id for it. */
const inputKeys: ReadonlyMap<Key, RegExp> = new Map([
  ["input-hdmi1", /^HDMI_1$/],
  ["input-hdmi2", /^HDMI_2$/],
  ["input-hdmi3", /^HDMI_3$/],
  ["input-hdmi4", /^HDMI_4$/],
  ["input-av", /^(AV|COMP|SCART)/],
]);

/** The TV's id of the input that a key selects. */
export function inputIdOf(key: Key, inputs: readonly string[]): string | undefined {
  const pattern = inputKeys.get(key);
  return pattern && inputs.find((id) => pattern.test(id));
}

/** The keys of a TV with these inputs. Before its inputs are known, it may have any. */
export function keysOf(inputs: readonly string[], canWake: boolean): ReadonlySet<Key> {
  const all = [...keysIn(webosKeys), ...stateKeys, ...inputKeys.keys()];
  const own = all.filter((key) => inputs.length === 0 || !inputKeys.has(key) || inputIdOf(key, inputs) !== undefined);
  return new Set<Key>([...own, ...(canWake ? ["power-on" as const] : [])]);
}
