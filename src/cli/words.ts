/** Paths, times and lists, as a person writes them. */
import { homedir } from "node:os";

/** A path as its owner writes it. */
export function homely(path: string): string {
  return path.startsWith(`${homedir()}/`) ? `~${path.slice(homedir().length)}` : path;
}

/** `09:12`, or `30 Jul 09:12` when it was not today. */
export function shortTime(time: Date, now: Date): string {
  const clock = `${String(time.getHours()).padStart(2, "0")}:${String(time.getMinutes()).padStart(2, "0")}`;
  if (time.toDateString() === now.toDateString()) return clock;
  return `${time.toLocaleDateString("en-GB", { day: "numeric", month: "short" })} ${clock}`;
}

/** `wlan0`, `wlan0 and eth0`, `wlan0, eth0 and tun0`. */
export function listed(words: readonly string[]): string {
  const last = words.at(-1) ?? "";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} and ${last}`;
}
