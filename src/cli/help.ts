/** What `zapd help` says: the overview, one command in full, and the exit statuses. */
import { exits } from "../api/errors.ts";
import { nearest } from "../system/nearest.ts";
import { type Command, commands } from "./commands.ts";
import { common, type Option, stdout } from "./context.ts";
import { UsageError } from "./failure.ts";
import { wrap } from "./print.ts";

/** The commands as they belong together; one that is in no group is listed with the last. */
const groups: Readonly<Record<string, readonly string[]>> = {
  "The remote": ["key", "keys", "text", "launch", "stop", "state", "remote"],
  Devices: ["devices", "discover", "device", "add", "pair", "trust", "rename", "forget", "default", "apps", "refresh"],
  "For developers": ["install", "reload", "logs", "openapi"],
  "The daemon": ["serve", "demo", "status", "doctor", "config", "service", "completion", "version"],
};

/** Words of other tools, for those who come from them. */
const otherWords: Readonly<Record<string, readonly string[]>> = {
  devices: ["list", "ls"],
  discover: ["scan", "find"],
  forget: ["remove", "delete", "rm"],
  key: ["press", "send"],
  text: ["type"],
  launch: ["open"],
  serve: ["start", "run", "daemon"],
  logs: ["log"],
  install: ["sideload"],
  default: ["use"],
  select: ["ok", "enter"],
  on: ["wake"],
  mute: ["volume-mute"],
  "fast-forward": ["forward"],
};

/** The keys that are commands of their own. */
interface Pressable {
  readonly words: readonly string[];
  commandOf(word: string): Command | undefined;
}

/** What each exit status means, for people. */
export const exitTable: readonly (readonly [number, string])[] = [
  [exits.ok, "done"],
  [exits.failed, "failed"],
  [exits.usage, "wrong use: the words of the command, a key, a name or a value"],
  [exits.notFound, "no such device, app or package"],
  [exits.unreachable, "the device does not answer, or is off"],
  [exits.refused, "the device refused, or is not paired; a password is missing or wrong"],
  [exits.unsupported, "the device cannot do that"],
  [exits.notRunning, "the daemon is not running"],
];

/** Prints the overview, a command or a topic; fails with UsageError for a word that is none. */
export function help(topic: string | undefined, keys: Pressable, to: NodeJS.WriteStream = stdout()): number {
  to.write(helpText(topic, keys));
  return exits.ok;
}

function helpText(topic: string | undefined, keys: Pressable): string {
  if (topic === undefined) return overview();
  if (topic === "exit") return exitHelp();
  const command = listed().find(([name]) => name === topic)?.[1] ?? keys.commandOf(topic);
  if (!command) throw unknownCommand(topic, keys.words);
  const pressed = topic === "key" ? `Keys, each of which is a command too\n${keyRows(keys.words)}` : undefined;
  return commandHelp(topic, command, pressed);
}

/** In lines that any terminal takes. */
function keyRows(words: readonly string[]): string {
  return wrap(words.join(" "), 70)
    .map((line) => `  ${line}`)
    .join("\n");
}

/** That there is no such command, and what may have been meant. */
export function unknownCommand(word: string, keys: readonly string[]): UsageError {
  const names = [...listed().map(([name]) => name), ...keys];
  const known = Object.keys(otherWords).find((meant) => otherWords[meant]?.includes(word));
  const meant = known ?? nearest(word, names);
  const instead = meant ? `Did you mean ${meant}?` : "See: zapd help";
  return new UsageError(`there is no command ${JSON.stringify(word.slice(0, 64))}. ${instead}`);
}

function listed(): (readonly [string, Command])[] {
  return Object.entries(commands).filter(([, command]) => !command.hidden);
}

/** What thirty rows would say. */
const keysRow = "  home, on …  any key by its own name, and on and off (zapd help key lists them)";

function overview(): string {
  const grouped = new Set(Object.values(groups).flat());
  const rest = listed().flatMap(([name]) => (grouped.has(name) ? [] : [name]));
  const sections = Object.entries(groups).map(([title, names], at) => {
    const all = at === Object.keys(groups).length - 1 ? [...names, ...rest] : names;
    const rows = all.flatMap((name) => {
      const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
      return command ? [`  ${name.padEnd(12)}${command.about}`] : [];
    });
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

function commandHelp(name: string, { use, about, options, examples }: Command, more?: string): string {
  const parts = [`zapd ${name} ${use}`.trimEnd(), `  ${about}`];
  if (options) parts.push(`Options\n${optionRows(options)}`);
  if (examples) parts.push(`Such as\n${examples.map((example) => `  ${example}`).join("\n")}`);
  if (more !== undefined) parts.push(more);
  return `${parts.join("\n\n")}\n\nOptions of every command: zapd help\n`;
}

function optionRows(options: Readonly<Record<string, Option>>): string {
  return Object.entries(options)
    .map(([name, { short, value, about }]) => {
      const words = `${short ? `-${short}, ` : "    "}--${name}${value ? ` ${value}` : ""}`;
      return `  ${words.padEnd(22)}${about ?? ""}`.trimEnd();
    })
    .join("\n");
}

function exitHelp(): string {
  const rows = exitTable.map(([status, meaning]) => `  ${status}  ${meaning}`);
  return `Exit statuses of every command, the same as the codes of the API stand for:

${rows.join("\n")}

zapd serve ends with 78 where the config must be mended first, as service managers expect.
With --json a failure is a document as well: its code is one of the API, daemon_not_running, or usage.
`;
}
