/** How addresses, paths, times and lists are written for people, and words for a shell. */
import { homedir } from "node:os";

/** `192.168.1.40:8060`, or `[fd00::40]:8060`. */
export function addressText({ host, port }: { readonly host: string; readonly port: number }): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Where a daemon listens: `http://127.0.0.1:7272`. */
export function listenerUrl(daemon: { readonly http_host: string; readonly http_port: number }): string {
  return `http://${addressText({ host: daemon.http_host, port: daemon.http_port })}`;
}

/** A word as a shell takes it: in quotes where it needs them. */
export function shellQuote(text: string): string {
  if (/^[\p{L}\p{N}_.,:+@/-]+$/u.test(text)) return text;
  return /["$`\\!]/.test(text) ? `'${text.replaceAll("'", "'\\''")}'` : `"${text}"`;
}

/** What went wrong, and what mends it where that is known. */
export function withHint(message: string, hint: string | null | undefined): string {
  return hint === undefined || hint === null ? message : `${message}${/[.?!]$/.test(message) ? "" : "."} ${hint}`;
}

/** `1 device`, `3 devices`. */
export function pluralize(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? "" : "s"}`;
}

/** The words of a list that is written with commas. */
export function splitCommas(text: string): string[] {
  return text.split(",").flatMap((word) => word.trim() || []);
}

/** A path as its owner writes it. */
export function tildePath(path: string): string {
  try {
    const home = homedir();
    return path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
  } catch {
    // The system does not know this user.
    return path;
  }
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** `09:12`, or `30 Jul 09:12` when it was not today. Local, and the same in every locale: the words around it are English. */
export function shortTime(time: Date, now: Date): string {
  return time.toDateString() === now.toDateString() ? clockTime(time) : `${dayOf(time)} ${clockTime(time)}`;
}

/** An instant of the API as a clock here shows it now. */
export function localTime(at: string): string {
  return shortTime(new Date(at), new Date());
}

/** `30 Jul 2026, 09:12`, local. */
export function fullTime(time: Date): string {
  return `${dayOf(time)} ${time.getFullYear()}, ${clockTime(time)}`;
}

function dayOf(time: Date): string {
  return `${time.getDate()} ${months[time.getMonth()]}`;
}

function clockTime(time: Date): string {
  return `${String(time.getHours()).padStart(2, "0")}:${String(time.getMinutes()).padStart(2, "0")}`;
}

/** `wlan0`, `wlan0 and eth0`, `wlan0, eth0 and tun0`. */
export function joinWithAnd(words: readonly string[]): string {
  const last = words.at(-1) ?? "";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} and ${last}`;
}
