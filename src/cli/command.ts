/** Runs one command of the table: its words, its failures, its exit status. */
import { exits } from "../api/errors.ts";
import { type Command, commands } from "./commands.ts";
import { type Context, common, createContext, stderr, stdout, visible } from "./context.ts";
import { CommandError, failureDocument, UsageError } from "./failure.ts";

/** Runs one command and gives its exit status. */
export async function runCommand(given: readonly string[]): Promise<number> {
  const { word, words } = split(given);
  const name = word === "--version" ? "version" : word;
  const command = await commandOf(name);
  let context: Context | undefined;
  try {
    if (!command) return await helpWith(word, words);
    context = createContext(command.hidden ? ["--", ...words] : words, command.options);
    if (context.flag("help")) return await helpWith("help", [name]);
    checkCount(context.words, command);
    return (await (await command.load())(context)) ?? exits.ok;
  } catch (error) {
    return await explain(
      await withNames(error, context, given),
      command && `${name} ${command.use}`.trimEnd(),
      asksForJson(words),
    );
  }
}

/** The command of a word: one of the table, or a key. */
async function commandOf(word: string): Promise<Command | undefined> {
  if (Object.hasOwn(commands, word)) return commands[word];
  if (!/^[a-z]/.test(word)) return undefined;
  return (await import("./key-commands.ts")).keyCommand(word);
}

/** Help, asked for or not; fails with UsageError for a word that is no command. */
async function helpWith(word: string, words: readonly string[]): Promise<number> {
  const [{ help, unknownCommand }, { keyCommand, keyWords }] = await Promise.all([
    import("./help.ts"),
    import("./key-commands.ts"),
  ]);
  const pressable = { words: [...keyWords.keys()], commandOf: keyCommand };
  if (!/^(|help|-h|--help)$/.test(word)) throw unknownCommand(word, pressable.words);
  if (word !== "")
    return help(
      words.find((one) => !one.startsWith("-")),
      pressable,
    );
  createContext(words);
  if (asksForJson(words)) printDocument(failureDocument({ code: "usage", message: "which command?" }));
  help(undefined, pressable, stderr());
  return exits.usage;
}

/** The command, and all that stands before and behind it: options may come first (`zapd -d Bedroom key home`). */
export function split(given: readonly string[]): { word: string; words: string[] } {
  const [first = "", ...others] = given;
  // As nearly always, with which the rest need not be made.
  if (!first.startsWith("-")) return { word: first, words: others };
  const takesValue = Object.entries(common).flatMap(([name, option]) =>
    option.type === "string" ? [`--${name}`, ...("short" in option ? [`-${option.short}`] : [])] : [],
  );
  let at = 0;
  while (/^-./.test(given[at] ?? "") && !/^(-h|--help|--version)$/.test(given[at] ?? ""))
    at += takesValue.includes(given[at] ?? "") ? 2 : 1;
  return { word: given[at] ?? "", words: [...given.slice(0, at), ...given.slice(at + 1)] };
}

/** Who has no default device is told the names, and what to type. */
async function withNames(error: unknown, context: Context | undefined, given: readonly string[]): Promise<unknown> {
  if (!context || !(error instanceof CommandError) || error.code !== "default_device_missing") return error;
  return (await import("./devices.ts")).withNames(error, context, given);
}

function checkCount(words: readonly string[], { most }: Command): void {
  if (most === undefined || words.length <= most) return;
  const advice = most === 0 ? "it takes no words" : "a name that holds spaces stands in quotes";
  throw new UsageError(`${JSON.stringify(words[most])} is one word too many: ${advice}`);
}

function asksForJson(words: readonly string[]): boolean {
  const end = words.indexOf("--");
  return words.slice(0, end === -1 ? words.length : end).includes("--json");
}

/** Text for people on stderr; with `--json` also the one document on stdout. */
async function explain(error: unknown, use: string | undefined, json: boolean): Promise<number> {
  const { failureText } = await import("./print.ts");
  if (error instanceof UsageError) {
    if (json) printDocument(failureDocument({ code: "usage", message: error.message }));
    say(failureText(error, widthOfTalk()));
    if (use !== undefined) say(`use:  zapd ${use}`);
    return exits.usage;
  }
  const failure = error instanceof CommandError ? error : unexpected(error);
  if (json) printDocument(failure.response ?? failureDocument(failure));
  say(failureText(failure, widthOfTalk()));
  return failure.exit;
}

function unexpected(error: unknown): CommandError {
  const text = error instanceof Error ? error.message : String(error);
  return new CommandError(
    `zapd itself failed at this: ${text}`,
    exits.failed,
    "That is a mistake in zapd: please report it",
  );
}

function say(text: string): void {
  stderr().write(`${text}\n`);
}

function printDocument(text: string): void {
  stdout().write(`${visible(text)}\n`);
}

function widthOfTalk(): number {
  return stderr().isTTY ? stderr().columns || 80 : Number.POSITIVE_INFINITY;
}
