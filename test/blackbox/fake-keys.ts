/** What a set does with a key: known ones by name without case, text by the character, the access mode judged second. */
import type { FakeRoku } from "./fake-roku.ts";
import type { Reply } from "./fake-wire.ts";

const everywhere =
  "home rev fwd play select left right down up back instantreplay info backspace search enter poweron power poweroff";
const onTelevisions =
  "volumeup volumedown volumemute channelup channeldown inputtuner inputhdmi1 inputhdmi2 inputhdmi3 inputhdmi4 inputav1";
const inputs: Readonly<Record<string, string>> = { av1: "cvbs", tuner: "dtv" };

export function pressed(set: FakeRoku, key: string, mode: string): Reply {
  const literal = /^lit_(.*)$/is.exec(key)?.[1];
  const name = key.toLowerCase();
  const names = `${everywhere} ${set.identity.kind === "tv" ? onTelevisions : "findremote"}`.split(" ");
  if (literal === undefined ? !names.includes(name) : [...literal].length !== 1) return { status: 400 };
  if (mode === "limited") return { status: 403 };
  if (literal !== undefined) return { status: 200 };
  const input = /^input(hdmi\d|av1|tuner)$/.exec(name)?.[1];
  if (input) set.active = set.apps.find((one) => one.id === `tvinput.${inputs[input] ?? input}`) ?? null;
  if (name === "home") setTimeout(() => set.leave(), set.homeMs);
  if (name === "play" && set.playback) set.playback.state = set.playback.state === "play" ? "pause" : "play";
  if (name === "volumeup") set.volume++;
  if (name === "volumemute") set.muted = !set.muted;
  if (!name.startsWith("power")) return { status: 200 };
  const on = name === "poweron" || (name === "power" && set.facts.get("power-mode") !== "PowerOn");
  set.facts.set("power-mode", on ? "PowerOn" : "Ready");
  return { status: 202 };
}
