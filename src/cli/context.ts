/** What every command works with: its words and options, the device that is meant, and where its output goes. */
import { readFileSync } from "node:fs";
import { configPath, socketPath, stateFolder } from "../config/paths.ts";
import { unseen } from "../system/log.ts";
import { takesColour } from "./colour.ts";
import { milliseconds } from "./duration.ts";
import { UsageError } from "./failure.ts";
import { stderr, stdout } from "./output.ts";
import { parseWords } from "./parse.ts";

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
  device: { type: "string", short: "d", value: "NAME", about: "the device, by name or id (else the default device)" },
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
  /** Ends when the time of `--timeout` is over, counted from its first use; none without that option. */
  deadline(): { readonly signal: AbortSignal; readonly ms: number } | undefined;
  /** The control socket to call. */
  socket(): string;
  /** Whether it was said which daemon is meant: by an option, or in the environment. */
  readonly chosen: boolean;
  /** From now on another socket is called: that of the one daemon that runs. */
  turnTo(socket: string): void;
  /** Data, on stdout. */
  print(text: string): void;
  /** Talk, on stderr. */
  say(text: string): void;
}

/** Reads a command's words; fails with UsageError. */
export function createContext(given: readonly string[], own: Readonly<Record<string, Option>> = {}): Context {
  const { values, positionals } = parseWords(given, { ...own, ...common });
  const text = (name: string) => (typeof values[name] === "string" ? values[name] : undefined);
  const json = values["json"] === true;
  let found: string | undefined;
  const time = text("timeout");
  const patience = time === undefined ? undefined : milliseconds("timeout", time);
  let deadline: { signal: AbortSignal; ms: number } | undefined;
  if (text("device")?.trim() === "") throw new UsageError("--device takes the name of a device, and it is empty");
  return {
    words: positionals,
    options: values,
    json,
    device: text("device") ?? "default",
    get colour() {
      return takesColour(stdout().isTTY === true, values["no-color"] === true, process.env);
    },
    get width() {
      return stdout().isTTY ? stdout().columns || 80 : Number.POSITIVE_INFINITY;
    },
    deadline() {
      if (patience !== undefined) deadline ??= { signal: AbortSignal.timeout(patience), ms: patience };
      return deadline;
    },
    socket: () =>
      found ||
      text("socket") ||
      process.env["ZAPD_SOCKET"] ||
      configuredSocket(configPath(process.env, text("config"))),
    chosen:
      [text("socket"), text("config")].some((value) => value !== undefined) ||
      ["ZAPD_SOCKET", "ZAPD_CONFIG", "ZAPD_STATE_DIR"].some((variable) => process.env[variable]),
    turnTo(socket) {
      found = socket;
    },
    print: (line) => void stdout().write(`${json ? visible(line) : line}\n`),
    say: (line) => void stderr().write(`${line}\n`),
  };
}

/**
 * The same JSON, with what a terminal would obey or not show written as JSON's own escapes: it parses to the same texts.
 * Through a pipe as well, which may end at a terminal (SECURITY.md T12).
 */
export function visible(json: string): string {
  if (/^[\x20-\x7e]*$/.test(json)) return json;
  return json
    .replace(unseen, (found) => (/[\t\n\r]/.test(found) ? found : escaped(found)))
    .replace(/[\u2028\u2029]/g, escaped);
}

function escaped(text: string): string {
  const units = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
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
