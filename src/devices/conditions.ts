/** Conditions on what a device does, in words that mean the same in a wait, in a scene and for an agent: `power:on`, `app:netflix`. */
import { ZapdError } from "../api/errors.ts";
import type { App, State } from "../api/schemas.ts";
import { playbackStatuses, powers, type StatePart, stateParts } from "../platforms/platform.ts";
import { isPowerOff } from "./endpoint.ts";

/** One condition, and whether it holds. */
export interface Condition {
  /** As it was written. */
  readonly text: string;
  /** The part of the state that it is about; without it, all of it. */
  readonly part?: StatePart;
  holds(state: State): boolean;
}

/** Whether enough has been seen of a device to judge by: what was never seen reads as if there were nothing. */
export function hasSeenEnough(
  conditions: readonly Condition[],
  seen: Readonly<Partial<Record<StatePart, unknown>>>,
): boolean {
  const has = (part: StatePart) => seen[part] !== undefined;
  return conditions.every(({ part }) => (part === undefined ? stateParts.every(has) : has(part)));
}

interface Part {
  readonly part: StatePart;
  /** The words it takes; without them it takes any. */
  readonly words?: readonly string[];
  readonly about: string;
  holds(state: State, word: string): boolean;
}

const parts: Readonly<Record<string, Part>> = {
  power: {
    part: "power",
    words: powers.filter((power) => power !== "unknown"),
    about: "power:on",
    // `power-off` leads to standby on most sets, so `power:off` holds in both.
    holds: ({ power }, word) => power === word || (word === "off" && isPowerOff(power)),
  },
  app: {
    part: "app",
    about: "app:netflix, or app:none for the home screen",
    holds: ({ app }, word) => (word === "none" ? app === null : app !== null && isApp(app, word)),
  },
  playback: {
    part: "playback",
    words: playbackStatuses,
    about: "playback:playing",
    // A device that tells of no playback has stopped.
    holds: ({ playback }, word) => (playback?.status ?? "stopped") === word,
  },
  input: { part: "input", about: "input:hdmi1", holds: ({ input }, word) => input === word },
  muted: {
    part: "volume",
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
  return { text, part: part.part, holds: (state) => part.holds(state, wanted) };
}

function notOne(text: string, hint: string): ZapdError {
  return new ZapdError("invalid_payload", `${JSON.stringify(text.slice(0, 64))} is nothing that can be waited for`, {
    hint,
  });
}

function isApp({ id, name, platform_id }: App, word: string): boolean {
  return id === word || platform_id === word || name.toLowerCase() === word.toLowerCase();
}
