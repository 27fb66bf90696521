/** What every command works with: its words and options, the device that is meant, and where its output goes. */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { configPath, socketPath, stateFolder } from "../config/paths.ts";
import { UsageError } from "./failure.ts";

/** An option of one command: what it is called, and whether it takes a value. */
export interface Option {
  readonly type: "string" | "boolean";
  readonly short?: string;
}

/** Options that every command takes. */
const common = {
  json: { type: "boolean" },
  device: { type: "string", short: "d" },
  socket: { type: "string" },
  config: { type: "string" },
  help: { type: "boolean", short: "h" },
  "no-color": { type: "boolean" },
} as const satisfies Record<string, Option>;

export interface Context {
  readonly words: readonly string[];
  /** The options given, by name. */
  readonly options: Readonly<Record<string, string | boolean | undefined>>;
  /** The response as it is, instead of text for people. */
  readonly json: boolean;
  /** The device of `-d`, or `default`. */
  readonly device: string;
  /** Whether stdout takes colour. */
  readonly colour: boolean;
  /** Columns of the terminal; unlimited when stdout is none. */
  readonly width: number;
  /** The control socket to call. */
  socket(): string;
  /** Data, on stdout. */
  print(text: string): void;
  /** Talk, on stderr. */
  say(text: string): void;
}

/** Reads a command's words; fails with UsageError. */
export function createContext(given: readonly string[], own: Readonly<Record<string, Option>> = {}): Context {
  const { values, positionals } = parse(given, { ...own, ...common });
  const text = (name: string) => (typeof values[name] === "string" ? values[name] : undefined);
  const terminal = process.stdout.isTTY === true;
  const { NO_COLOR, FORCE_COLOR, TERM } = process.env;
  return {
    words: positionals,
    options: values,
    json: values["json"] === true,
    device: text("device") ?? "default",
    colour: values["no-color"] !== true && !NO_COLOR && (Boolean(FORCE_COLOR) || (terminal && TERM !== "dumb")),
    width: terminal ? (process.stdout.columns ?? 80) : Number.POSITIVE_INFINITY,
    socket: () =>
      text("socket") ?? process.env["ZAPD_SOCKET"] ?? configuredSocket(configPath(process.env, text("config"))),
    print: (line) => void process.stdout.write(`${line}\n`),
    say: (line) => void process.stderr.write(`${line}\n`),
  };
}

type Values = Record<string, string | boolean | undefined>;

function parse(args: readonly string[], options: Record<string, Option>): { values: Values; positionals: string[] } {
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
    return { values: values as Values, positionals };
  } catch (error) {
    // The first sentence is enough: the others explain how to pass arguments that begin with a dash.
    throw new UsageError(String(error instanceof Error ? error.message : error).split(". ")[0] ?? "");
  }
}

/** `daemon.socket` of the config, or the usual place. The whole schema is not loaded for one line. */
function configuredSocket(config: string): string {
  const state = stateFolder(process.env);
  const text = readText(config);
  const line = /^\s*(?:daemon\.)?socket\s*=\s*(?:"([^"\\]*)"|'([^']*)')\s*(?:#.*)?$/m.exec(text);
  return socketPath(state, line?.[1] ?? line?.[2] ?? "");
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
