/** Parses the words of `zapd fleet run`, which are those of commands for one device, into operations for the sites. */
import { volumeIn } from "../api/client-words.ts";
import { nearest } from "../system/nearest.ts";
import { deepLinkOf } from "./apps.ts";
import { UsageError } from "./failure.ts";

/** The request to each site, without the id of the device. */
export interface Request {
  readonly op: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** The operation needs a lease, which is taken first. */
  readonly leased?: boolean;
}

type Parser = (words: readonly string[]) => Request;

/** Parses exactly one word. */
function one(what: string, request: (word: string) => Request): Parser {
  return (words) => {
    const [word] = words;
    if (word === undefined || word === "") throw new UsageError(`which ${what}?`);
    if (words.length > 1) throw new UsageError(`one ${what} only: put a name with spaces in quotes`);
    return request(word);
  };
}

const none =
  (op: string, args: Request["args"] = {}): Parser =>
  (words) => {
    if (words.length > 0) throw new UsageError("it takes no further words");
    return { op, args };
  };

const onOff = (word: string): boolean => {
  if (word !== "on" && word !== "off") throw new UsageError(`${JSON.stringify(word)} is neither on nor off`);
  return word === "on";
};

const parsers: Readonly<Record<string, Parser>> = {
  key: one("key", (key) => ({ op: "press_key", args: { key } })),
  keys(words) {
    if (words.length === 0) throw new UsageError("which keys?");
    return { op: "press_keys", args: { keys: words } };
  },
  text(words) {
    if (words.join("") === "") throw new UsageError("which text?");
    return { op: "press_key", args: { key: `literal:${words.join(" ")}` } };
  },
  launch([app, ...pairs]) {
    if (!app) throw new UsageError("which app?");
    const params = deepLinkOf(pairs);
    return { op: "launch_app", args: { app, ...(params && { params }) } };
  },
  stop: none("stop_app"),
  power: one("power", (word) => ({ op: "press_key", args: { key: onOff(word) ? "power-on" : "power-off" } })),
  on: none("press_key", { key: "power-on" }),
  off: none("press_key", { key: "power-off" }),
  volume: one("volume", (word) => {
    const change = volumeIn(word);
    if (!change) throw new UsageError("give a level from 0 to 100, or a step such as +5 or -5");
    return { op: "set_volume", args: change };
  }),
  mute: one("word", (word) => ({ op: "set_volume", args: { muted: onOff(word) } })),
  input: one("input", (input) => ({ op: "select_input", args: { input } })),
  channel: one("channel", (channel) => ({ op: "select_channel", args: { channel } })),
  play: none("control_playback", { do: "play" }),
  pause: none("control_playback", { do: "pause" }),
  scene: one("scene", (scene) => ({ op: "run_scene", args: { scene } })),
  notify(words) {
    if (words.join("") === "") throw new UsageError("which message?");
    return { op: "notify", args: { message: words.join(" ") } };
  },
};

/** The request for the words behind `zapd fleet run`. Fails with UsageError. */
export function requestOf([word = "", ...words]: readonly string[]): Request {
  const reader = Object.hasOwn(parsers, word) ? parsers[word] : undefined;
  if (reader) return reader(words);
  const known = Object.keys(parsers);
  const suggestion = nearest(word, known);
  const message = `${JSON.stringify(word)} is not a command for many devices. The commands are: ${known.join(", ")}`;
  throw new UsageError(suggestion ? `${message}. Did you mean ${suggestion}?` : message);
}
