/** What every command works with: its words and options, the device that is meant, and where its output goes. */
import { readFileSync, writeSync } from "node:fs";
import { exits, systemCode } from "../api/errors.ts";
import { configPath, socketPath, stateFolder } from "../config/paths.ts";
import { printable, unprintable } from "../system/printable.ts";
import { UsageError } from "./failure.ts";

/** An option of one command: what it is called, and whether it takes a value. */
export interface Option {
  readonly type: "string" | "boolean";
  readonly short?: string;
  /** What the help calls its value. */
  readonly value?: string;
  readonly about?: string;
}

/** Options that every command takes. */
export const common = {
  device: {
    type: "string",
    short: "d",
    value: "NAME",
    about: "the device, by name or id (else $ZAPD_DEVICE, or the default device)",
  },
  json: { type: "boolean", about: "the response of the daemon, unchanged: exactly one document" },
  socket: {
    type: "string",
    value: "PATH",
    about: "the daemon's socket (else $ZAPD_SOCKET, that of the config, or the one that runs)",
  },
  config: { type: "string", value: "FILE", about: "the config (else $ZAPD_CONFIG, or the usual place)" },
  "no-color": { type: "boolean", about: "no colour, as with $NO_COLOR" },
  help: { type: "boolean", short: "h", about: "how the command is used" },
} as const satisfies Record<string, Option>;

/** Options by their names, and the words between them. */
export interface Parsed {
  readonly values: Readonly<Record<string, string | true>>;
  readonly positionals: readonly string[];
}

/** Reads a command's words; fails with UsageError. */
export async function createContext(
  given: readonly string[],
  own: Readonly<Record<string, Option>> = {},
): Promise<Context> {
  // A key press mostly has no option, and need not load what parses them.
  if (!given.some((word) => word.startsWith("-"))) return new Context({ values: {}, positionals: given });
  const { parseDuration, parseWords } = await import("./words.ts");
  const parsed = parseWords(given, { ...own, ...common });
  const { timeout } = parsed.values;
  const context = new Context(parsed, typeof timeout === "string" ? parseDuration("--timeout", timeout) : undefined);
  if (context.device.trim() === "") throw new UsageError("--device takes the name of a device, and it is empty");
  return context;
}

export class Context {
  readonly words: readonly string[];
  /** The response as it is, instead of text for people. */
  readonly json: boolean;
  /** The device of `-d`, or of $ZAPD_DEVICE, or `default`. */
  readonly device: string;
  /** The time of `--timeout`, in milliseconds; none without that option. */
  readonly timeoutMs: number | undefined;
  readonly #values: Parsed["values"];
  #otherSocket: string | undefined;
  #deadline: AbortSignal | undefined;

  constructor({ values, positionals }: Parsed, timeoutMs?: number) {
    this.words = positionals;
    this.timeoutMs = timeoutMs;
    this.#values = values;
    this.json = this.flag("json");
    this.device = this.option("device") ?? (process.env["ZAPD_DEVICE"] || "default");
  }

  /** The value of an option. */
  option(name: string): string | undefined {
    const value = this.#values[name];
    return typeof value === "string" ? value : undefined;
  }

  /** Whether an option without a value was given. */
  flag(name: string): boolean {
    return this.#values[name] === true;
  }

  /** Whether stdout takes colour. */
  get colour(): boolean {
    return usesColour(stdout().isTTY === true, this.flag("no-color"), process.env);
  }

  /** Columns of the terminal; unlimited when stdout is none. */
  get width(): number {
    return stdout().isTTY ? stdout().columns || 80 : Number.POSITIVE_INFINITY;
  }

  /** Ends when the time of `--timeout` is over, counted from its first use; none without that option. */
  deadline(): AbortSignal | undefined {
    if (this.timeoutMs !== undefined) this.#deadline ??= AbortSignal.timeout(this.timeoutMs);
    return this.#deadline;
  }

  /** Whether that time is over. */
  get isTimedOut(): boolean {
    return this.#deadline?.aborted === true;
  }

  /** The control socket to call. */
  socket(): string {
    const said = this.#otherSocket || this.option("socket") || process.env["ZAPD_SOCKET"];
    return said || configuredSocket(configPath(process.env, this.option("config")));
  }

  /** Whether an option or the environment says which daemon is meant. */
  get isDaemonChosen(): boolean {
    if (this.option("socket") !== undefined || this.option("config") !== undefined) return true;
    return ["ZAPD_SOCKET", "ZAPD_CONFIG", "ZAPD_STATE_DIR"].some((variable) => process.env[variable]);
  }

  /** Calls another socket from now on: that of the one daemon that runs. */
  useSocket(socket: string): void {
    this.#otherSocket = socket;
  }

  /** Data, on stdout. */
  print(line: string): void {
    stdout().write(`${this.json ? escapeInvisible(line) : line}\n`);
  }

  /** Talk, on stderr. */
  say(line: string): void {
    stderr().write(`${line}\n`);
  }

  /** What was asked for, on stdout: the response where `--json` asks for it, or else its data as a text for people. */
  printResult<Data>(
    { data, text }: { readonly data: Data; readonly text: string },
    textOf: (data: Data) => string,
  ): void {
    this.print(this.json ? text : textOf(data));
  }

  /** What was done: the response where `--json` asks for it, or else a sentence on stderr, if there is something to say. */
  reportDone(response: { readonly text: string }, sentence?: string | false): void {
    if (this.json) this.print(response.text);
    else if (sentence) this.say(printable(sentence));
  }
}

/**
 * The same JSON, with what a terminal would obey or not show written as JSON's own escapes: it parses to the same texts.
 * Through a pipe as well, which may end at a terminal (SECURITY.md T12).
 */
export function escapeInvisible(json: string): string {
  if (/^[\x20-\x7e]*$/.test(json)) return json;
  return json
    .replace(unprintable, (found) => (/[\t\n\r]/.test(found) ? found : escaped(found)))
    .replace(/[\u2028\u2029]/g, escaped);
}

function escaped(text: string): string {
  const units = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}

/** `daemon.socket` of the config, in a row of its own or in an inline table, or the usual place. Without loading the whole schema for it. */
function configuredSocket(config: string): string {
  const state = stateFolder(process.env);
  let text = "";
  try {
    text = readFileSync(config, "utf8");
  } catch {
    // There need be none.
  }
  const line = /^[^#\n]*?\bsocket["']?\s*=\s*(?:"([^"\\]*)"|'([^']*)')/m.exec(text);
  return socketPath(state, line?.[1] ?? line?.[2] ?? "");
}

/** Whether an output takes colour: `--no-color` and $NO_COLOR turn it off, $FORCE_COLOR on, and a terminal has it unless it is dumb. */
export function usesColour(
  terminal: boolean,
  refused: boolean,
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = env;
  if (refused || NO_COLOR || FORCE_COLOR === "0" || FORCE_COLOR === "false") return false;
  return Boolean(FORCE_COLOR) || (terminal && TERM !== "dumb");
}

/**
 * The two streams of a command, made when something is first written: making them takes as long as a key press over the
 * socket, and a key press writes nothing.
 */

const handled = new WeakSet<NodeJS.WriteStream>();

/** Data. Where it is read no further (`zapd devices | head -1`), the command ends. */
export function stdout(): NodeJS.WriteStream {
  return onWriteError(process.stdout, exitOnWriteError);
}

/** Talk. */
export function stderr(): NodeJS.WriteStream {
  return onWriteError(process.stderr, exitOnWriteError);
}

/** The log of a daemon, which goes on when nothing reads it any more. */
export function logStream(): NodeJS.WriteStream {
  return onWriteError(process.stderr, () => {});
}

function exitOnWriteError(error: NodeJS.ErrnoException): void {
  if (error.code === "EPIPE") process.exit();
  try {
    writeSync(2, `zapd: the output could not be written (${systemCode(error)}).\n`);
  } catch {
    // On that disk, too.
  }
  process.exit(exits.failed);
}

function onWriteError(stream: NodeJS.WriteStream, failed: (error: NodeJS.ErrnoException) => void): NodeJS.WriteStream {
  if (!handled.has(stream)) stream.on("error", failed);
  handled.add(stream);
  return stream;
}
