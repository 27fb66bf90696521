/** The log: text on a terminal, JSON lines otherwise. It never contains a secret or a control character, whatever a device is called. */
import type { ZapdError } from "../api/errors.ts";
import { printable } from "./printable.ts";

export const logLevels = ["error", "warn", "info", "debug"] as const;
export type LogLevel = (typeof logLevels)[number];

export interface Log {
  level: LogLevel;
  error(message: string): void;
  warn(message: string): void;
  info(message: string): void;
  debug(message: string): void;
  /** For messages that may come with every request or scan: each is logged once a minute at most. */
  recurring(message: string, level?: "error" | "warn"): void;
  /** Redacts this text from now on, wherever it would appear. */
  hide(secret: string): void;
  /**
   * The text with every secret, lease token and login in a URL replaced. What the caller itself sent, `echoed`, stays:
   * replacing it would tell the caller that it guessed right (SECURITY.md T31).
   */
  redact(text: string, echoed?: readonly string[]): string;
}

export interface LogOptions {
  readonly level: LogLevel;
  readonly format: "text" | "json";
  readonly colour: boolean;
  write(line: string): void;
}

/** In bytes, as JSON: leaves room for the rest of a line of 8 KiB. */
const maxMessage = 8 * 1024 - 128;
/** The user and password in a URL. */
const login = /(?<=\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/?#@]*(?=@)/gi;
/** Lease tokens. Whoever has one may change the device, so none is ever logged. */
export const tokenForm = { prefix: "zapd_lease_", all: /zapd_lease_[\w-]+/g } as const;
/** A shorter secret would be found in ordinary words. */
const shortestSecret = 4;
/** How long the same recurring message is not logged again. */
const recurringIntervalMs = 60_000;
/** Recurring messages that are remembered. */
const maxRecurring = 100;
const colours: Record<LogLevel, string> = { error: "\x1b[31m", warn: "\x1b[33m", info: "", debug: "\x1b[2m" };

export function createLog(options: LogOptions): Log {
  const secrets = new Set<string>();
  const redact = (text: string, echoed: readonly string[] = []) => {
    const hidden = [
      ...[...secrets].flatMap((secret) => placesOf(secret, text)),
      ...(text.includes("@") ? matchesOf(login, text) : []),
      ...matchesOf(tokenForm.all, text),
    ];
    if (hidden.length === 0) return text;
    const folded = text.toLowerCase();
    const echoes = echoed.flatMap((word) => placesOf(word.trim().toLowerCase(), folded));
    return replacePlaces(
      text,
      hidden.filter(({ from, to }) => !echoes.some((one) => one.from <= from && to <= one.to)),
    );
  };
  const write = (level: LogLevel, message: string) => {
    if (logLevels.indexOf(level) > logLevels.indexOf(log.level)) return;
    options.write(`${format(options, level, shortened(printable(redact(message))))}\n`);
  };
  const lastLogged = new Map<string, number>();
  const log: Log = {
    level: options.level,
    error: (message) => write("error", message),
    warn: (message) => write("warn", message),
    info: (message) => write("info", message),
    debug: (message) => write("debug", message),
    recurring(message, level = "error") {
      const last = lastLogged.get(message);
      if (last !== undefined && performance.now() - last < recurringIntervalMs) return;
      if (lastLogged.size >= maxRecurring) lastLogged.clear();
      lastLogged.set(message, performance.now());
      write(level, message);
    },
    hide(secret) {
      if (secret.length >= shortestSecret) secrets.add(secret);
    },
    redact,
  };
  return log;
}

interface Place {
  readonly from: number;
  readonly to: number;
}

function placesOf(word: string, text: string): Place[] {
  const places: Place[] = [];
  if (word === "") return places;
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1))
    places.push({ from: at, to: at + word.length });
  return places;
}

function matchesOf(pattern: RegExp, text: string): Place[] {
  return [...text.matchAll(pattern)].map(({ index, 0: found }) => ({ from: index, to: index + found.length }));
}

/** The text with `[redacted]` in each of the places; once for places that overlap. */
function replacePlaces(text: string, places: readonly Place[]): string {
  let redacted = "";
  let end = 0;
  for (const { from, to } of [...places].sort((one, other) => one.from - other.from || other.to - one.to)) {
    if (from >= end) redacted += `${text.slice(end, from)}[redacted]`;
    end = Math.max(end, to);
  }
  return redacted + text.slice(end);
}

function shortened(message: string): string {
  let text = message.slice(0, maxMessage);
  while (Buffer.byteLength(JSON.stringify(text)) > maxMessage) text = text.slice(0, -256);
  return text.toWellFormed();
}

function format(options: LogOptions, level: LogLevel, message: string): string {
  if (options.format === "json") return JSON.stringify({ time: new Date().toISOString(), level, message });
  const label = level === "info" ? "" : `${level}: `;
  const colour = options.colour ? colours[level] : "";
  return colour === "" ? `${label}${message}` : `${colour}${label}${message}\x1b[0m`;
}

/** The error with redacted message and hint, except for what the caller itself sent (`echoed`). */
export function redacted(error: ZapdError, log: Log, echoed: readonly string[] = []): ZapdError {
  const message = log.redact(error.message, echoed);
  const hint = error.hint === undefined ? undefined : log.redact(error.hint, echoed);
  return message === error.message && hint === error.hint
    ? error
    : error.reworded(message, { hint, cause: error.cause });
}
