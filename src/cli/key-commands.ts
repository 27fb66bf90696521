/** The keys as commands: `zapd home` is `zapd key home`. A word of the table of commands stays that command. */
import { type Key, keys } from "../platforms/platform.ts";
import { type Command, commands, type Run, timeout } from "./commands.ts";

/** Keys by the words that people say for them. */
const spoken: Readonly<Record<string, Key>> = { on: "power-on", off: "power-off" };
/** What other tools call these keys. */
const synonyms: Readonly<Record<string, readonly string[]>> = {
  select: ["ok", "enter"],
  on: ["wake"],
  "fast-forward": ["forward"],
};

const keyOf = new Map<string, Key>([...Object.entries(spoken), ...keys.map((key) => [key, key] as const)]);

/** Every key command by its word. */
export const keyCommands: Readonly<Record<string, Command>> = Object.fromEntries(
  [...keyOf].filter(([word]) => !Object.hasOwn(commands, word)).map(([word, key]) => [word, commandOf(word, key)]),
);

function commandOf(word: string, key: Key): Command {
  const load = async (): Promise<Run> => {
    const { pressKey } = await import("./keys.ts");
    return (context) => pressKey(context, key);
  };
  const about = Object.hasOwn(spoken, word) ? `turn a device ${word}` : `press ${key}`;
  return { use: "", about, options: timeout, synonyms: synonyms[word] ?? [], load };
}

export function keyCommand(word: string): Command | undefined {
  return Object.hasOwn(keyCommands, word) ? keyCommands[word] : undefined;
}
