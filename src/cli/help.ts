/** `zapd help`: the overview, one command in full, and the exit statuses. */
import { exits } from "../api/errors.ts";
import { keys } from "../platforms/platform.ts";
import { nearest } from "../system/nearest.ts";
import { type Command, commands, groups } from "./commands.ts";
import { common, createContext, type Option, stderr, stdout } from "./context.ts";
import { asksForJson, printDocument } from "./explain.ts";
import { failureDocument, UsageError } from "./failure.ts";
import { keyCommands } from "./key-commands.ts";
import { wrap } from "./print.ts";
import { bindings, commands as remoteCommands } from "./remote/keys.ts";
import { commandIndex } from "./words.ts";

/** What each exit status means, for people. */
export const exitTable: readonly (readonly [number, string])[] = [
  [exits.ok, "done"],
  [exits.failed, "failed"],
  [exits.usage, "wrong use: a word of the command, a key, a name or a value is invalid"],
  [exits.notFound, "no such device, app, package or scene"],
  [exits.unreachable, "the device does not answer, or is off"],
  [exits.refused, "the device refused, or is not paired; a password is missing or wrong"],
  [exits.unsupported, "the device cannot do that"],
  [exits.notRunning, "the daemon is not running"],
];

/** Prints the overview, a command or a topic; fails with UsageError for a word that is none. */
export function help(topic?: string): number {
  stdout().write(helpText(topic));
  return exits.ok;
}

/** Help for `help`, `-h`, or no command at all. Fails with UsageError for an unknown command. */
export async function helpInstead(word: string, words: readonly string[]): Promise<number> {
  if (/^(help|-h|--help)$/.test(word)) {
    const topic = words[commandIndex(words)];
    return help(topic?.startsWith("-") ? undefined : topic);
  }
  if (word !== "") throw unknownCommand(word);
  await createContext(words);
  if (asksForJson(words)) printDocument(failureDocument({ code: "usage", message: "which command?" }));
  stderr().write(overview());
  return exits.usage;
}

function helpText(topic: string | undefined): string {
  if (topic === undefined || topic === "help") return overview();
  if (topic === "exit") return exitHelp();
  const command = known().find(([name]) => name === topic)?.[1];
  if (!command) throw unknownCommand(topic);
  return commandHelp(topic, command, more[topic]?.());
}

/** What the help adds for a command. */
const more: Readonly<Record<string, () => string>> = {
  key: () => `Keys. Each key but stop is also a command, and so are on and off\n${keyRows()}`,
  remote: () => `Its keys, for what the device supports\n${remoteRows()}`,
};

function remoteRows(): string {
  const keys = bindings.map(({ cap, word, key }) => [cap, word || String(key)] as const);
  const own = remoteCommands.map(({ cap, word }) => [cap, word] as const);
  return [...keys, ...own].map(([cap, word]) => `  ${cap.padEnd(12)}${word}`).join("\n");
}

/** Every command by its word; the keys last. */
function known(): (readonly [string, Command])[] {
  return Object.entries({ ...commands, ...keyCommands }).filter(([, command]) => !command.hidden);
}

/** The names of the keys, in lines that fit any terminal. */
function keyRows(): string {
  const lines = wrap(keys.join(" "), 70);
  return lines.map((line) => `  ${line}`).join("\n");
}

/** The failure for an unknown command, with the one that was probably meant. */
function unknownCommand(word: string): UsageError {
  const all = known();
  const names = all.map(([name]) => name);
  const suggestion = all.find(([, { synonyms }]) => synonyms?.includes(word))?.[0] ?? nearest(word, names);
  const instead = suggestion ? `Did you mean ${suggestion}?` : "See: zapd help";
  return new UsageError(`unknown command ${JSON.stringify(word.slice(0, 64))}. ${instead}`);
}

/** One row in place of thirty. */
const keysRow = "  home, on …  any key by its name, and on and off (zapd help key lists them)";

function overview(): string {
  const sections = Object.entries(groups).map(([title, group], at) => {
    const rows = Object.entries(group).map(([name, { about }]) => `  ${name.padEnd(12)}${about}`);
    return [title, ...(at === 0 ? [keysRow] : []), ...rows].join("\n");
  });
  return `zapd drives every TV and media player in the house.

use:  zapd COMMAND [WORDS] [OPTIONS]

${sections.join("\n\n")}

Options of every command
${optionRows(common)}

zapd help COMMAND says more of one; zapd help exit lists the exit statuses.
`;
}

function commandHelp(name: string, { use, about, options, examples }: Command, also?: string): string {
  const parts = [`zapd ${name} ${use}`.trimEnd(), `  ${about}`];
  if (options) parts.push(`Options\n${optionRows(options)}`);
  if (examples) parts.push(`Such as\n${examples.map((example) => `  ${example}`).join("\n")}`);
  if (also !== undefined) parts.push(also);
  return `${parts.join("\n\n")}\n\nOptions of every command: zapd help\n`;
}

function optionRows(options: Readonly<Record<string, Option>>): string {
  const rows = Object.entries(options).map(([name, { short, value, about = "" }]) => {
    const words = `${short ? `-${short}, ` : "    "}--${name}${value ? ` ${value}` : ""}`;
    return { words, about };
  });
  const width = Math.max(22, ...rows.map(({ words }) => words.length + 2));
  return rows.map(({ words, about }) => `  ${words.padEnd(width)}${about}`.trimEnd()).join("\n");
}

function exitHelp(): string {
  const rows = exitTable.map(([status, meaning]) => `  ${status}  ${meaning}`);
  return `Exit statuses of every command, the same as the codes of the API stand for:

${rows.join("\n")}

zapd wait ends with 124 when its time is over, zapd serve with 78 where the config must be mended first, as service managers expect.
With --json a failure is a document as well: its code is one of the API, or usage,
daemon_not_running, file_unreadable, broker_unreachable or, for all else, command_failed.
`;
}
