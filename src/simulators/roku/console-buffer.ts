// brs-desktop replays up to 700 entries (2.2).
const KEPT_LINES = 700;

/** What the BrightScript console has printed: replayed to whoever connects, older runs included (2.2). */
export interface ConsoleBuffer {
  readonly lines: readonly string[];
  print(line: string): void;
  /** A line with the time in front, as the firmware prints its own. */
  stamp(line: string): void;
  listen(listener: (line: string) => void): () => void;
}

export function createConsoleBuffer(): ConsoleBuffer {
  const lines: string[] = [];
  const listeners = new Set<(line: string) => void>();
  const print = (line: string) => {
    lines.push(line);
    if (lines.length > KEPT_LINES) lines.shift();
    for (const listener of listeners) listener(line);
  };
  return {
    lines,
    print,
    stamp: (line) => print(`${timestamp(new Date())} ${line}`),
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** `MM-DD HH:MM:SS.mmm`, in the time of the set. */
function timestamp(now: Date): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const date = `${two(now.getMonth() + 1)}-${two(now.getDate())}`;
  const time = `${two(now.getHours())}:${two(now.getMinutes())}:${two(now.getSeconds())}`;
  return `${date} ${time}.${String(now.getMilliseconds()).padStart(3, "0")}`;
}
