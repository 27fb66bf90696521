/** Conditions on a device's state, the same in waits, scenes and MCP tools: `power:on`, `app:netflix`. */
import { ZapdError } from "../api/errors.ts";
import type { State } from "../api/schemas.ts";
import { playbackStatuses, powers, type StatePart } from "../platforms/platform.ts";
import { isApp } from "./catalog.ts";
import { areAlike } from "./names.ts";
import { isPowerOff } from "./presence.ts";

export interface Condition {
  readonly part: StatePart;
  holds(state: State): boolean;
}

interface Part {
  readonly part: StatePart;
  /** The values it takes; by default any. */
  readonly words?: readonly string[];
  readonly example: string;
  holds(state: State, word: string): boolean;
}

const parts: Readonly<Record<string, Part>> = {
  power: {
    part: "power",
    words: powers.filter((power) => power !== "unknown"),
    example: "power:on",
    // `power-off` leads to standby on most sets, so `power:off` holds in both.
    holds: ({ power }, word) => power === word || (word === "off" && isPowerOff(power)),
  },
  app: {
    part: "app",
    example: "app:netflix, or app:none for the home screen",
    holds: ({ app }, word) => (word === "none" ? app === null : app !== null && isApp(app, word)),
  },
  playback: {
    part: "playback",
    words: playbackStatuses,
    example: "playback:playing",
    // No playback means stopped.
    holds: ({ playback }, word) => (playback?.status ?? "stopped") === word,
  },
  input: { part: "input", example: "input:hdmi1", holds: isInput },
  muted: {
    part: "volume",
    words: ["true", "false"],
    example: "muted:true",
    holds: ({ volume }, word) => String(volume?.muted) === word,
  },
};

const examples = Object.values(parts)
  .map(({ example }) => example)
  .join("; ");

/** Reads a condition; fails with `invalid_payload`, with a hint at what there is. */
export function readCondition(text: string): Condition {
  const [, name = "", word = ""] = /^([a-z]+):\s*(.+)$/s.exec(text.trim()) ?? [];
  const part = Object.hasOwn(parts, name) ? parts[name] : undefined;
  if (!part) throw notOne(text, `Examples: ${examples}`);
  if (part.words && !part.words.includes(word))
    throw notOne(text, `It can be ${part.words.map((one) => `${name}:${one}`).join(", ")}`);
  return { part: part.part, holds: (state) => part.holds(state, word) };
}

function notOne(text: string, hint: string): ZapdError {
  return new ZapdError("invalid_payload", `${JSON.stringify(text.slice(0, 64))} is not a condition`, {
    hint,
  });
}

/** Whether a text means the input that is shown: its id, or its name, which is that of the app where an input is one. */
export function isInput({ input, app }: State, text: string): boolean {
  return input !== null && (areAlike(input, text) || (app?.id === input && areAlike(app.name, text)));
}
