/** The command line: commands as a table. What starts a daemon is given by main.ts, which builds it. */
import type { configPath, stateFolder } from "../config/paths.ts";
import { exits } from "../errors.ts";
import type { createLog } from "../log.ts";
import type { Daemon, DaemonOptions } from "../main.ts";
import { nearest } from "../nearest.ts";
import { UsageError } from "./options.ts";

/** What main.ts gives. */
export interface Program {
  readonly version: string;
  readonly configPath: typeof configPath;
  readonly stateFolder: typeof stateFolder;
  readonly createLog: typeof createLog;
  startDaemon(options: DaemonOptions): Promise<Daemon>;
}

interface Command {
  readonly use: string;
  readonly about: string;
  run(words: readonly string[], program: Program): Promise<number>;
}

const commands: Readonly<Record<string, Command>> = {
  serve: {
    use: "serve [--config FILE]",
    about: "run the daemon",
    run: async (words, program) => (await import("./serve.ts")).serve(words, program),
  },
  demo: {
    use: "demo [--port PORT]",
    about: "run the daemon with three simulated sets; nothing leaves this machine",
    run: async (words, program) => (await import("./demo.ts")).demo(words, program),
  },
  version: {
    use: "version",
    about: "print the version",
    run: async (_words, program) => {
      process.stdout.write(`zapd ${program.version}\n`);
      return exits.ok;
    },
  },
};

/** Runs one command and gives its exit status. */
export async function runCommand([word = "", ...words]: readonly string[], program: Program): Promise<number> {
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
    return await command.run(words, program);
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
