/** Runs one command of the table: its words, its options, its exit status. */
import { exits } from "../api/errors.ts";
import { type Command, commands } from "./commands.ts";
import { type Context, createContext } from "./context.ts";
import { UsageError } from "./failure.ts";

/** Runs one command and gives its exit status. What only failures and help need is loaded for them. */
export async function runCommand(given: readonly string[]): Promise<number> {
  const { word, words } = await split(given);
  const name = word === "--version" ? "version" : word;
  const command = await commandOf(name);
  let context: Context | undefined;
  try {
    if (!command) return await (await import("./help.ts")).helpInstead(word, words);
    // Of commands that programs call, no word is an option.
    const parsed = command.hidden ? ["--", ...words] : words;
    context = await createContext(parsed, command.options, command.takesNumbers);
    if (context.flag("help")) return (await import("./help.ts")).help(name);
    checkCount(context.words, command);
    return (await (await command.load())(context)) ?? exits.ok;
  } catch (error) {
    const { explain } = await import("./explain.ts");
    return explain(error, { given, context, use: command && `${name} ${command.use}`.trimEnd() });
  }
}

/** The command of a word: one of the table, or a key. */
async function commandOf(word: string): Promise<Command | undefined> {
  if (Object.hasOwn(commands, word)) return commands[word];
  if (!/^[a-z]/.test(word)) return undefined;
  return (await import("./key-commands.ts")).keyCommand(word);
}

/** The command, and the words before and behind it: options may come first (`zapd -d Bedroom key home`). */
export async function split(given: readonly string[]): Promise<{ word: string; words: string[] }> {
  const [first = "", ...others] = given;
  // The usual case needs no parser.
  if (!first.startsWith("-")) return { word: first, words: others };
  const at = (await import("./words.ts")).commandIndex(given);
  return { word: given[at] ?? "", words: given.filter((_, index) => index !== at) };
}

function checkCount(words: readonly string[], { maxWords = 0 }: Command): void {
  if (words.length <= maxWords) return;
  const advice =
    maxWords === 0 ? "the command takes none; if it is for a device, -d names it" : "put a name with spaces in quotes";
  throw new UsageError(`${JSON.stringify(words[maxWords])} is an extra word: ${advice}`);
}
