/** Formats addresses, paths, times and lists for people, and words for a shell. */
import { homedir } from "node:os";

/** `192.168.1.40:8060`, or `[fd00::40]:8060`. */
export function addressText({ host, port }: { readonly host: string; readonly port: number }): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** The URL at which a daemon listens: `http://127.0.0.1:7272`. */
export function listenerUrl(daemon: { readonly http_host: string; readonly http_port: number }): string {
  return `http://${addressText({ host: daemon.http_host, port: daemon.http_port })}`;
}

/** A word for a shell, quoted where it needs to be. */
export function shellQuote(text: string): string {
  if (/^[\p{L}\p{N}_.,:+@/-]+$/u.test(text)) return text;
  return /["$`\\!]/.test(text) ? `'${text.replaceAll("'", "'\\''")}'` : `"${text}"`;
}

/** A message and its hint, if any, as one text. */
export function withHint(message: string, hint: string | null | undefined): string {
  return hint === undefined || hint === null ? message : `${message}${/[.?!]$/.test(message) ? "" : "."} ${hint}`;
}

/** `1 device`, `3 devices`. */
export function pluralize(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? "" : "s"}`;
}

/** The words of a comma-separated list, without empty ones. */
export function splitCommas(text: string): string[] {
  return text.split(",").flatMap((word) => word.trim() || []);
}

/** A path with `~` for the user's home. */
export function tildePath(path: string): string {
  try {
    const home = homedir();
    return path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
  } catch {
    // The system does not know this user.
    return path;
  }
}

/** `09:12`, or `30 Jul 09:12` for another day. Local time, in English whatever the locale. */
export function shortTime(time: Date, now: Date): string {
  return time.toDateString() === now.toDateString() ? clockTime(time) : `${dayOf(time)} ${clockTime(time)}`;
}

/** An instant of the API in local time, as `shortTime`. */
export function localTime(at: string): string {
  return shortTime(new Date(at), new Date());
}

/** `30 Jul 2026, 09:12`, local time. */
export function fullTime(time: Date): string {
  return `${dayOf(time)} ${time.getFullYear()}, ${clockTime(time)}`;
}

function dayOf(time: Date): string {
  // `Thu Jul 30 2026`, in every locale.
  return `${time.getDate()} ${time.toDateString().slice(4, 7)}`;
}

function clockTime(time: Date): string {
  return time.toTimeString().slice(0, 5);
}

/** `wlan0`, `wlan0 and eth0`, `wlan0, eth0 and tun0`. */
export function joinWithAnd(words: readonly string[]): string {
  return new Intl.ListFormat("en-GB").format(words);
}
