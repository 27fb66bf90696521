/** A terminal of a given width with a command in it, typed into and read like a person's. */
import { until } from "../support/http-device.ts";

export interface TerminalOptions {
  readonly columns?: number;
  readonly cwd?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Why no terminal can be made here that controls jobs, or `null`. */
export const noJobs = Bun.which("setsid") && Bun.which("bash") ? null : "there is no setsid or no bash";

/**
 * A shell with one job in front, continued after it was stopped. What it sees of the job and of the terminal it writes as
 * `<<stopped 4242 cooked>>`, `<<ended 0 cooked>>`.
 */
const shell = `set -m
look() { case $(stty -a) in *" -icanon"*|*" -echo "*) echo raw;; *) echo cooked;; esac; }
trap 'echo "<<ended $status $(look)>>"' EXIT
# A job that SIGINT ends takes the shell with it.
status=130
"$@"; status=$?
while job=$(jobs -sp) && [ -n "$job" ]; do echo "<<stopped $job $(look)>>"; fg >/dev/null; status=$?; done`;

/** Nobody else writes it. */
const mark = "\u001e";

export class InTerminal {
  readonly #terminal: Bun.Terminal;
  readonly #screen = new Screen();
  /** Its exit status, or the signal that ended it. */
  readonly ended: Promise<number | string>;
  readonly #child: Bun.Subprocess;

  constructor(command: readonly string[], { columns = 80, cwd, env }: TerminalOptions) {
    const decoder = new TextDecoder();
    const drained = Promise.withResolvers<void>();
    this.#terminal = new Bun.Terminal({
      cols: columns,
      rows: 24,
      data: (_terminal, bytes) => {
        const text = decoder.decode(bytes, { stream: true });
        if (text.includes(mark)) drained.resolve();
        this.#screen.write(text.replaceAll(mark, ""));
      },
    });
    const child = Bun.spawn([...command], {
      terminal: this.#terminal,
      env: { ...env, TERM: "xterm-256color", ...(env["TERM"] && { TERM: env["TERM"] }) },
      ...(cwd !== undefined && { cwd }),
    });
    this.#child = child;
    this.ended = child.exited.then(async (status) => {
      if (this.#terminal.closed) return child.signalCode ?? status;
      // What was written last is still on its way: a mark that is written behind it has come when all of it is here.
      Bun.spawn(["printf", mark], { terminal: this.#terminal });
      await drained.promise;
      setTimeout(() => this.#terminal.close(), 1_000).unref();
      return child.signalCode ?? status;
    });
  }

  /** The same behind a shell that controls jobs. */
  static withJobs(command: readonly string[], options: TerminalOptions): InTerminal {
    return new InTerminal(["setsid", "--ctty", "--wait", "bash", "-c", shell, "bash", ...command], options);
  }

  /** Everything that came, controls and all. */
  get text(): string {
    return this.#screen.written;
  }

  /** What stands on the screen of a program that fills it, its empty end left out. */
  get screen(): string {
    return this.#screen.text;
  }

  /** Whether the alternate screen is shown. */
  get alternate(): boolean {
    return this.#screen.alternate;
  }

  /** What one sees in the end: the lines, with what was overwritten gone and without colours. */
  lines(): string[] {
    return this.text
      .split("\r\n")
      .map((line) => plain(line.split("\r").findLast((part) => part !== "") ?? ""))
      .filter((line) => line !== "");
  }

  /** The window is closed; how the command ended. */
  hangUp(): Promise<number | string> {
    this.#terminal.close();
    return this.ended;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  type(keys: string): void {
    this.#terminal.write(keys);
  }

  resize(columns: number, rows: number): void {
    this.#terminal.resize(columns, rows);
  }

  /** Waits until the text holds this. */
  shows(what: string | RegExp): Promise<void> {
    return this.#until(what, () => this.text);
  }

  /** Waits until that is on the screen. */
  fills(what: string | RegExp): Promise<void> {
    return this.#until(what, () => this.screen);
  }

  async #until(what: string | RegExp, text: () => string): Promise<void> {
    const holds = () => (typeof what === "string" ? text().includes(what) : what.test(text()));
    await until(`the terminal shows ${what}`, holds, 30_000).catch((error: Error) => {
      throw new Error(`${error.message}, but:\n${text()}`);
    });
  }

  /** How the job ended and how it left the terminal: `0 cooked`. */
  async end(): Promise<string> {
    await this.shows("<<ended");
    return /<<ended ([^>]*)>>/.exec(this.text)?.[1] ?? "";
  }
}

/** Without colours and the like. */
export function plain(text: string): string {
  return text.replace(/\x1b\[[0-9;?<>]*[A-Za-z]/g, "");
}

/** As much of a terminal as the remote needs. */
class Screen {
  written = "";
  alternate = false;
  #rest = "";
  #lines: string[] = [];
  #row = 0;

  get text(): string {
    const lines = this.#lines.map((line) => line.trimEnd());
    return lines.join("\n").trimEnd();
  }

  write(text: string): void {
    this.written += text;
    this.#rest += text;
    for (;;) {
      const token = /^(?:\x1b\[([?<>\d;]*)([A-Za-z])|\r\n|[^\x1b\r]+|\r(?!$))/.exec(this.#rest);
      if (!token) break;
      this.#rest = this.#rest.slice(token[0].length);
      if (token[2] !== undefined) this.#obey(token[1] ?? "", token[2]);
      else if (token[0] === "\r\n") this.#row++;
      else this.#lines[this.#row] = (this.#lines[this.#row] ?? "") + token[0];
      for (let row = 0; row < this.#row; row++) this.#lines[row] ??= "";
    }
  }

  #obey(parameters: string, letter: string): void {
    if (letter === "H") this.#row = Number(parameters.split(";")[0] || 1) - 1;
    if (letter === "K") this.#lines[this.#row] = "";
    if (letter === "J") this.#lines = [];
    if (parameters !== "?1049") return;
    this.alternate = letter === "h";
    this.#lines = [];
    this.#row = 0;
  }
}
