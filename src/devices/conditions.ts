/** Conditions on what a device does, in words that mean the same in a wait, in a scene and for an agent: `power:on`, `app:netflix`. */
import { ZapdError } from "../api/errors.ts";
import type { App, State } from "../api/schemas.ts";
import { playbackStatuses, powers } from "../platforms/platform.ts";

/** One condition, and whether it holds. */
export interface Condition {
  /** As it was written. */
  readonly text: string;
  holds(state: State): boolean;
}

interface Part {
  /** The words it takes; without them it takes any. */
  readonly words?: readonly string[];
  readonly about: string;
  holds(state: State, word: string): boolean;
}

const parts: Readonly<Record<string, Part>> = {
  power: {
    words: powers.filter((power) => power !== "unknown"),
    about: "power:on",
    holds: ({ power }, word) => power === word,
  },
  app: {
    about: "app:netflix, or app:none for the home screen",
    holds: ({ app }, word) => (word === "none" ? app === null : app !== null && isApp(app, word)),
  },
  playback: {
    words: playbackStatuses,
    about: "playback:playing",
    // What plays nothing, and says so by saying nothing, has stopped.
    holds: ({ playback }, word) => (playback?.status ?? "stopped") === word,
  },
  input: { about: "input:hdmi1", holds: ({ input }, word) => input === word },
  muted: {
    words: ["true", "false"],
    about: "muted:true",
    holds: ({ volume }, word) => String(volume?.muted ?? null) === word,
  },
};

const examples = Object.values(parts)
  .map(({ about }) => about)
  .join("; ");

/** Fails with `invalid_payload`, and says what may be waited for. */
export function readCondition(text: string): Condition {
  const [, name = "", word = ""] = /^([a-z]+):(.+)$/s.exec(text.trim()) ?? [];
  const part = Object.hasOwn(parts, name) ? parts[name] : undefined;
  if (!part) throw notOne(text, `Such as ${examples}`);
  const wanted = word.trim();
  if (part.words && !part.words.includes(wanted))
    throw notOne(text, `It may be ${part.words.map((one) => `${name}:${one}`).join(", ")}`);
  return { text, holds: (state) => part.holds(state, wanted) };
}

function notOne(text: string, hint: string): ZapdError {
  return new ZapdError("invalid_payload", `${JSON.stringify(text.slice(0, 64))} is nothing that can be waited for`, {
    hint,
  });
}

function isApp({ id, name, platform_id }: App, word: string): boolean {
  return id === word || platform_id === word || name.toLowerCase() === word.toLowerCase();
}
