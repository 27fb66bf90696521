/**
 * The log: text on a terminal, JSON lines otherwise, on stderr. No secret and no control character ever reaches it,
 * whatever a device calls itself.
 */

export const logLevels = ["error", "warn", "info", "debug"] as const;
export type LogLevel = (typeof logLevels)[number];

export interface Log {
  level: LogLevel;
  error(message: string): void;
  warn(message: string): void;
  info(message: string): void;
  debug(message: string): void;
  /** An error that may come with every request: told once a minute, however often it happens. */
  recurring(message: string): void;
  /** From now on this text is replaced wherever it would appear. */
  hide(secret: string): void;
  /** The text with every hidden secret replaced, and every login that stands in an address. */
  redact(text: string): string;
}

export interface LogOptions {
  readonly level: LogLevel;
  readonly format: "text" | "json";
  readonly colour: boolean;
  write(line: string): void;
}

const maxLine = 8 * 1024;
/** What stands before the host in an address: a name, and perhaps a password. */
const login = /(\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/?#@]*@/gi;
/** A secret this short would be hidden out of every other word. */
const shortestSecret = 4;
/** Milliseconds in which an error that recurs is told once. */
const recursIn = 60_000;
/** Different ones that are remembered. */
const mostRecurring = 100;
const colours: Record<LogLevel, string> = { error: "\x1b[31m", warn: "\x1b[33m", info: "", debug: "\x1b[2m" };

export function createLog(options: LogOptions): Log {
  const secrets = new Set<string>();
  // The longest first: a secret that begins with another one would leave its end behind.
  const longestFirst = () => [...secrets].sort((one, other) => other.length - one.length);
  const redact = (text: string) =>
    longestFirst()
      .reduce((rest, secret) => rest.replaceAll(secret, "[redacted]"), text)
      .replace(login, "$1[redacted]@");
  const say = (level: LogLevel, message: string) => {
    if (logLevels.indexOf(level) > logLevels.indexOf(log.level)) return;
    options.write(`${format(options, level, printable(redact(message)).slice(0, maxLine))}\n`);
  };
  const told = new Map<string, number>();
  const log: Log = {
    level: options.level,
    error: (message) => say("error", message),
    warn: (message) => say("warn", message),
    info: (message) => say("info", message),
    debug: (message) => say("debug", message),
    recurring(message) {
      const last = told.get(message);
      if (last !== undefined && performance.now() - last < recursIn) return;
      if (told.size >= mostRecurring) told.clear();
      told.set(message, performance.now());
      say("error", message);
    },
    hide(secret) {
      if (secret.length >= shortestSecret) secrets.add(secret);
    },
    redact,
  };
  return log;
}

function format(options: LogOptions, level: LogLevel, message: string): string {
  if (options.format === "json") return JSON.stringify({ time: new Date().toISOString(), level, message });
  const label = level === "info" ? "" : `${level}: `;
  const colour = options.colour ? colours[level] : "";
  return colour === "" ? `${label}${message}` : `${colour}${label}${message}\x1b[0m`;
}

/** What a terminal would obey or not show: controls, direction marks, invisible and half characters. Emoji keep their variants. */
export const unseen =
  /[[\p{Cc}\p{Cs}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]--[\ufe00-\ufe0f]]/gv;

/** The text without control characters, direction marks and invisible characters, on one line. */
export function printable(text: string): string {
  // Most texts are plain, and a key press should not pay for a table of Unicode.
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  return text.replace(/[\r\n\t\u2028\u2029]+/g, " ").replace(unseen, "");
}
