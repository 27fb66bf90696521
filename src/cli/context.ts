/** What every command works with: its words and options, the device it is for, and its output. */
import { readFileSync, statSync, writeSync } from "node:fs";
import { exits, systemCode } from "../api/errors.ts";
import type { Caller, doctorCaller } from "../api/events.ts";
import { configPath, socketPath, stateFolder } from "../config/paths.ts";
import { printable, unprintable } from "../system/printable.ts";
import { UsageError } from "./failure.ts";

/** An option of a command. */
export interface Option {
  readonly type: "string" | "boolean";
  readonly short?: string;
  /** The name of its value in the help. */
  readonly value?: string;
  readonly about?: string;
}

/** Options that every command takes. */
export const common = {
  device: {
    type: "string",
    short: "d",
    value: "NAME",
    about: "the device, by name or id (default: $ZAPD_DEVICE, or the default device)",
  },
  json: { type: "boolean", about: "print the daemon's answer as one JSON document" },
  socket: {
    type: "string",
    value: "PATH",
    about: "the daemon's socket (default: $ZAPD_SOCKET, the config's, or that of the running daemon)",
  },
  config: { type: "string", value: "FILE", about: "the config file (default: $ZAPD_CONFIG, or the usual place)" },
  "no-color": { type: "boolean", about: "print without colours, as with $NO_COLOR" },
  help: { type: "boolean", short: "h", about: "show how to use the command" },
} as const satisfies Record<string, Option>;

/** The options and words of a command line. */
export interface Parsed {
  readonly values: Readonly<Record<string, string | true>>;
  readonly positionals: readonly string[];
}

/** Parses the words of a command. Fails with UsageError. */
export async function createContext(
  given: readonly string[],
  own: Readonly<Record<string, Option>> = {},
  takesNumbers = false,
): Promise<Context> {
  // Most key presses have no option, and need not load the parser.
  if (!given.some((word) => word.startsWith("-"))) return new Context({ values: {}, positionals: given });
  const { parseDuration, parseWords } = await import("./words.ts");
  const parsed = parseWords(given, { ...own, ...common }, takesNumbers);
  const { timeout } = parsed.values;
  const context = new Context(parsed, typeof timeout === "string" ? parseDuration("--timeout", timeout) : undefined);
  if (context.device.trim() === "") throw new UsageError("--device needs the name of a device");
  return context;
}

export class Context {
  readonly words: readonly string[];
  /** Whether to print the response unchanged instead of text for people. */
  readonly json: boolean;
  /** The device of `-d`, or of $ZAPD_DEVICE, or `default`. */
  readonly device: string;
  /** The time of `--timeout`, in milliseconds; none without that option. */
  readonly timeoutMs: number | undefined;
  /** As what it calls the daemon. */
  caller: Caller | typeof doctorCaller = "cli";
  /** Whether the one document of `--json` was printed. */
  isReported = false;
  /**
   * The socket of the only daemon that runs, where none listens at the usual one. `null` once a daemon has answered at the
   * usual one: no other is looked for while that restarts.
   */
  otherSocket: string | null | undefined;
  readonly #values: Parsed["values"];
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

  /** Columns of the terminal; unlimited when stdout is none. */
  get width(): number {
    return stdout().isTTY ? stdout().columns || 80 : Number.POSITIVE_INFINITY;
  }

  /** Aborts when the time of `--timeout` is over, counted from the first call of this; none without that option. */
  deadline(): AbortSignal | undefined {
    if (this.timeoutMs !== undefined) this.#deadline ??= AbortSignal.timeout(this.timeoutMs);
    return this.#deadline;
  }

  /** Whether the time of `--timeout` is over. */
  get isTimedOut(): boolean {
    return this.#deadline?.aborted === true;
  }

  /** The control socket to call. */
  socket(): string {
    return this.#namedSocket || configuredSocket(configPath(process.env, this.option("config")));
  }

  get #namedSocket(): string | undefined {
    return this.otherSocket || this.option("socket") || process.env["ZAPD_SOCKET"];
  }

  /** Whether `daemon.socket` of the config alone says that this is the socket to call. */
  isFromConfig(socket: string): boolean {
    return !this.#namedSocket && socket !== socketPath(stateFolder(process.env), "");
  }

  /** Writes data to stdout. */
  print(line: string): void {
    stdout().write(`${this.json ? escapeInvisible(line) : line}\n`);
  }

  /** Writes a message to stderr. */
  say(line: string): void {
    stderr().write(`${line}\n`);
  }

  /** Prints a result to stdout: the response with `--json`, else its data as text. */
  printResult<Data>(
    { data, text }: { readonly data: Data; readonly text: string },
    textOf: (data: Data) => string,
  ): void {
    this.print(this.json ? text : textOf(data));
  }

  /** Reports a command that succeeded: prints the response with `--json`, else says the sentence, if there is one. */
  reportDone(response: { readonly text: string }, sentence?: string | false): void {
    this.isReported = this.json;
    if (this.json) this.print(response.text);
    else if (sentence) this.say(printable(sentence));
  }
}

/**
 * The same JSON with control and invisible characters as JSON escapes, so that a terminal does not obey them. Used for pipes
 * too, which may end at a terminal (SECURITY.md T12).
 */
export function escapeInvisible(json: string): string {
  if (/^[\x20-\x7e]*$/.test(json)) return json;
  return json
    .replace(unprintable, (found) => (/[\t\n\r]/.test(found) ? found : escaped(found)))
    .replace(/[\u2028\u2029]/g, escaped);
}

function escaped(text: string): string {
  return text.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** `daemon.socket` of the config, or its default. Read by a pattern, because loading the schema takes longer than a key press. */
export function configuredSocket(config: string): string {
  let text = "";
  try {
    // Reading a FIFO may never end.
    if (statSync(config).isFile()) text = readFileSync(config, "utf8");
  } catch {
    // No config is fine.
  }
  const line = /^[^#\n]*?\bsocket["']?\s*=\s*(?:"([^"\\]*)"|'([^']*)')/m.exec(text);
  return socketPath(stateFolder(process.env), line?.[1] ?? line?.[2] ?? "");
}

// The streams are made at the first write: making one takes as long as a key press, and a key press writes nothing.

const ignore = () => {};

/** For data. When the reader has gone (`zapd devices | head -1`), the command ends: at once, unless it takes SIGPIPE. */
export function stdout(): NodeJS.WriteStream {
  return onWriteError(process.stdout, exitOnWriteError);
}

/** For messages. A command that nobody hears does its work and has its exit status all the same. */
export function stderr(): NodeJS.WriteStream {
  return onWriteError(process.stderr, ignore);
}

function exitOnWriteError(error: NodeJS.ErrnoException): void {
  if (error.code === "EPIPE") return void (process.emit("SIGPIPE", "SIGPIPE") || process.exit());
  try {
    writeSync(2, `zapd: the output could not be written (${systemCode(error)}).\n`);
  } catch {
    // stderr may be on the same full disk.
  }
  process.exit(exits.failed);
}

function onWriteError(stream: NodeJS.WriteStream, failed: (error: NodeJS.ErrnoException) => void): NodeJS.WriteStream {
  return stream.off("error", failed).on("error", failed);
}
