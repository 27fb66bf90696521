/** One line on a terminal that changes while something goes on; silent elsewhere. */
import { cut } from "./print.ts";

export interface Progress {
  /** Puts this in the place of what was shown. */
  show(text: string): void;
  /** The same, and keeps it. */
  keep(text: string): void;
  /** Takes away what was shown and not kept. */
  clear(): void;
}

const silent: Progress = { show() {}, keep() {}, clear() {} };

export function progressOn(stream: NodeJS.WriteStream): Progress {
  if (stream.isTTY !== true || process.env["TERM"] === "dumb") return silent;
  // One column is left free: some terminals break the line when the last is taken.
  const put = (text: string, end: string) =>
    void stream.write(`\r${cut(text, (stream.columns || 80) - 1)}\x1b[K${end}`);
  let shown = false;
  return {
    show(text) {
      shown = true;
      put(text, "");
    },
    keep(text) {
      shown = false;
      put(text, "\n");
    },
    clear() {
      if (shown) stream.write("\r\x1b[K");
      shown = false;
    },
  };
}

const barColumns = 18;

/** `█████████░░░░░░░░░` */
export function bar(done: number, total: number): string {
  const full = total === 0 ? barColumns : Math.floor((barColumns * Math.min(done, total)) / total);
  return "█".repeat(full) + "░".repeat(barColumns - full);
}
