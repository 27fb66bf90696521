/** Runs one command of the table: its words, its failures, its exit status. */
import { exits } from "../errors.ts";
import { nearest } from "../nearest.ts";
import { type Command, commands } from "./commands.ts";
import { createContext } from "./context.ts";
import { CommandError, failureText, UsageError } from "./failure.ts";

/** Runs one command and gives its exit status. */
export async function runCommand([word = "", ...words]: readonly string[]): Promise<number> {
  if (/^(|help|-h|--help)$/.test(word)) return showHelp(words[0], word === "");
  const name = word === "--version" ? "version" : word;
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) {
    const meant = nearest(word, Object.keys(commands));
    process.stderr.write(
      `zapd: there is no command ${JSON.stringify(word)}.${meant ? ` Did you mean ${meant}?` : " See: zapd help"}\n`,
    );
    return exits.usage;
  }
  try {
    const context = createContext(words, command.options);
    if (context.options["help"] === true) return showHelp(name, false);
    return (await (await command.load())(context)) ?? exits.ok;
  } catch (error) {
    return explain(error, name, command);
  }
}

function explain(error: unknown, name: string, command: Command): number {
  if (error instanceof UsageError) {
    process.stderr.write(`zapd: ${error.message}\nuse:  zapd ${name} ${command.use}\n`);
    return exits.usage;
  }
  if (!(error instanceof CommandError)) throw error;
  process.stderr.write(`${failureText(error.message, error.hint)}\n`);
  return error.exit;
}

function showHelp(name: string | undefined, asked: boolean): number {
  const command = name !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined;
  const text = command ? `zapd ${name} ${command.use}\n\n  ${command.about}\n` : overview();
  (asked ? process.stderr : process.stdout).write(text);
  return asked ? exits.usage : exits.ok;
}

function overview(): string {
  const rows = Object.entries(commands).map(([name, { use, about }]) => `  ${`${name} ${use}`.padEnd(52)} ${about}`);
  return `zapd drives every TV and media player in the house.\n\n${rows.join("\n")}\n
  -d, --device NAME    the device (else the default device)
  --json               the response, unchanged
  --socket PATH        the daemon's control socket (else $ZAPD_SOCKET, or that of the config)
  --config FILE        the config (else $ZAPD_CONFIG, or the usual place)
`;
}
