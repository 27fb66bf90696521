/** The keys as commands: `zapd home` is `zapd key home`. A word that is a command already stays what it is. */
import { keys } from "../platforms/platform.ts";
import { type Command, commands, timeout } from "./commands.ts";

/** Other words for keys, as people say them. */
const otherWords: Readonly<Record<string, string>> = { on: "power-on", off: "power-off" };

/** Every key command by its word, and the key that it presses. */
export const keyWords: ReadonlyMap<string, string> = new Map(
  [...Object.entries(otherWords), ...keys.map((key) => [key, key] as const)].filter(
    ([word]) => !Object.hasOwn(commands, word),
  ),
);

/** The command of a word that is a key; none for any other. */
export function keyCommand(word: string): Command | undefined {
  const key = keyWords.get(word);
  if (key === undefined) return undefined;
  return {
    use: "",
    about: aboutOf(word, key),
    most: 0,
    options: timeout,
    async load() {
      const { pressKey } = await import("./keys.ts");
      return (context) => pressKey(context, key);
    },
  };
}

function aboutOf(word: string, key: string): string {
  if (Object.hasOwn(otherWords, word)) return `turn a device ${word}`;
  return `press ${key}`;
}
