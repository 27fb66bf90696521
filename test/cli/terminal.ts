/** A terminal of a given width with a command in it, typed into and read like a person's. */
import type { Stage } from "./stage.ts";

export interface Screen {
  /** Everything that came, controls and all. */
  readonly text: string;
  /** What one sees in the end: the lines, with what was overwritten gone and without colours. */
  lines(): string[];
  type(keys: string): void;
  /** Waits until the text holds this. */
  shows(what: string | RegExp): Promise<void>;
  /** Its exit status, or the signal that ended it. */
  readonly ended: Promise<number | string>;
}

export interface TerminalOptions {
  readonly columns?: number;
  readonly env?: Readonly<Record<string, string>>;
}

export function inTerminal(
  stage: Pick<Stage, "environment">,
  command: readonly string[],
  folder: string,
  options: TerminalOptions = {},
): Screen {
  let text = "";
  const decoder = new TextDecoder();
  const terminal = new Bun.Terminal({
    cols: options.columns ?? 80,
    rows: 24,
    data(_terminal, bytes) {
      text += decoder.decode(bytes, { stream: true });
    },
  });
  const child = Bun.spawn([...command], {
    terminal,
    cwd: folder,
    env: { ...stage.environment(folder), TERM: "xterm-256color", ...options.env },
  });
  const ended = child.exited.then(async (status) => {
    // What was written last is still on its way.
    await Bun.sleep(30);
    terminal.close();
    return child.signalCode ?? status;
  });
  return {
    get text() {
      return text;
    },
    lines: () => text.split("\r\n").map(lastShown),
    type: (keys) => void terminal.write(keys),
    async shows(what) {
      const shown = () => (typeof what === "string" ? text.includes(what) : what.test(text));
      for (let tries = 0; tries < 400 && !shown(); tries++) await Bun.sleep(10);
      if (!shown()) throw new Error(`the terminal never showed ${what}, but:\n${JSON.stringify(text)}`);
    },
    ended,
  };
}

/** A line after the returns and erasures in it. */
function lastShown(line: string): string {
  return plain(line.split("\r").findLast((part) => part !== "") ?? "");
}

/** Without colours and the like. */
export function plain(text: string): string {
  return text.replace(/\x1b\[[0-9;?]*[A-Za-z]/g, "");
}
