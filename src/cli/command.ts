/** The command line: commands as a table, each loaded when it is asked for. */
import { exits } from "../errors.ts";
import { nearest } from "../nearest.ts";
import { version } from "../version.ts";
import { UsageError } from "./options.ts";

interface Command {
  readonly use: string;
  readonly about: string;
  run(words: readonly string[]): Promise<number>;
}

const commands: Readonly<Record<string, Command>> = {
  serve: {
    use: "serve [--config FILE]",
    about: "run the daemon",
    run: async (words) => (await import("./serve.ts")).serve(words),
  },
  demo: {
    use: "demo [--port PORT]",
    about: "run the daemon with three simulated sets; nothing leaves this machine",
    run: async (words) => (await import("./demo.ts")).demo(words),
  },
  version: {
    use: "version",
    about: "print the version",
    run: async () => {
      process.stdout.write(`zapd ${version}\n`);
      return exits.ok;
    },
  },
};

/** Runs one command and gives its exit status. */
export async function runCommand([word = "", ...words]: readonly string[]): Promise<number> {
  if (/^(|help|-h|--help)$/.test(word)) {
    (word === "" ? process.stderr : process.stdout).write(usage());
    return word === "" ? exits.usage : exits.ok;
  }
  const command = commands[word === "--version" ? "version" : word];
  try {
    if (!command || !Object.hasOwn(commands, word === "--version" ? "version" : word)) {
      const meant = nearest(word, Object.keys(commands));
      throw new UsageError(`there is no command ${JSON.stringify(word)}${meant ? `. Did you mean ${meant}?` : ""}`);
    }
    return await command.run(words);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`zapd: ${error.message}\n${command ? `use: zapd ${command.use}\n` : usage()}`);
    return exits.usage;
  }
}

function usage(): string {
  const lines = Object.values(commands).map(({ use, about }) => `  zapd ${use.padEnd(24)} ${about}`);
  return `zapd drives every TV and media player in the house.\n\n${lines.join("\n")}\n`;
}
