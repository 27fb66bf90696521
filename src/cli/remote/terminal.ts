/**
 * The terminal, taken and given back: raw mode, the alternate screen, no cursor. However the process ends, but for
 * SIGKILL, the terminal is as it was.
 */
import { writeSync } from "node:fs";
import { constants } from "node:os";
import { StringDecoder } from "node:string_decoder";
import { textOf } from "../../api/errors.ts";
import { printable } from "../../system/log.ts";
import { decode, flush, type Input } from "./input.ts";

/** Alternate screen, no cursor, no wrapping, pasted text marked as such; and all of it back. */
const take = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?2004h\x1b[2J";
const giveBack = "\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[0m\x1b[?1049l";
/** Shown whole, where the terminal knows how to wait for the end. */
const together = { begin: "\x1b[?2026h", end: "\x1b[?2026l" };

/** How long after Esc the rest of a sequence may come, over a slow line too. */
const escapeWithin = 50;

export interface Listener {
  input(input: Input): void;
  resized(): void;
  /** The process was stopped, and goes on. */
  resumed(): void;
  /** A signal, or the end of the input; with the exit status. */
  ended(status: number): void;
}

export class Terminal {
  readonly #decoder = new StringDecoder("utf8");
  #listener: Listener | undefined;
  #taken = false;
  #shown: string[] = [];
  #pending = "";
  #escape: ReturnType<typeof setTimeout> | undefined;
  #waking: ReturnType<typeof setTimeout> | undefined;

  static get isThere(): boolean {
    return process.stdin.isTTY === true && process.stdout.isTTY === true && process.env["TERM"] !== "dumb";
  }

  get size(): { columns: number; rows: number } {
    return { columns: process.stdout.columns || 80, rows: process.stdout.rows || 24 };
  }

  open(listener: Listener): void {
    this.#listener = listener;
    process.stdin.on("data", this.#received);
    process.stdin.on("end", this.#hungUp);
    process.stdout.on("resize", this.#resized);
    for (const signal of ending) process.on(signal, this.#signalled);
    process.on("SIGTSTP", this.#stop);
    process.on("SIGCONT", this.#continued);
    process.on("exit", this.#restore);
    process.on("uncaughtException", this.#crashed);
    process.on("unhandledRejection", this.#crashed);
    this.#take();
  }

  close(): void {
    this.#restore();
    clearTimeout(this.#escape);
    clearTimeout(this.#waking);
    this.#listener = undefined;
    process.stdin.off("data", this.#received);
    process.stdin.off("end", this.#hungUp);
    process.stdin.pause();
    process.stdout.off("resize", this.#resized);
    for (const signal of ending) process.off(signal, this.#signalled);
    process.off("SIGTSTP", this.#stop);
    process.off("SIGCONT", this.#continued);
    process.off("exit", this.#restore);
    process.off("uncaughtException", this.#crashed);
    process.off("unhandledRejection", this.#crashed);
  }

  /** Shows these lines; only those that changed are written. */
  show(lines: readonly string[]): void {
    if (!this.#taken) return;
    const changed = lines.flatMap((line, row) =>
      line === this.#shown[row] ? [] : [`\x1b[${row + 1};1H\x1b[0m\x1b[2K${line}\x1b[0m`],
    );
    this.#shown = [...lines];
    if (changed.length > 0) process.stdout.write(together.begin + changed.join("") + together.end);
  }

  /** Clears the screen: what is shown next is written whole. */
  clear(): void {
    this.#shown = [];
    if (this.#taken) process.stdout.write("\x1b[0m\x1b[2J");
  }

  /** As Ctrl-Z does elsewhere: stops all that was started with us, a launcher around us too. */
  suspend(): void {
    if (process.platform === "win32") return this.#continued();
    process.kill(0, "SIGTSTP");
  }

  #take(): void {
    this.#taken = true;
    process.stdin.setRawMode(true);
    process.stdin.resume();
    writeNow(take);
    this.#shown = [];
  }

  readonly #restore = (): void => {
    if (!this.#taken) return;
    this.#taken = false;
    writeNow(giveBack);
    try {
      process.stdin.setRawMode(false);
    } catch {
      // The terminal is gone: there is nothing to give back.
    }
  };

  readonly #received = (bytes: Buffer): void => {
    clearTimeout(this.#escape);
    const { inputs, pending } = decode(this.#pending, this.#decoder.write(bytes));
    this.#pending = pending;
    if (pending !== "") this.#escape = setTimeout(this.#flush, escapeWithin);
    for (const input of inputs) this.#listener?.input(input);
  };

  readonly #flush = (): void => {
    const { inputs, pending } = flush(this.#pending);
    this.#pending = pending;
    for (const input of inputs) this.#listener?.input(input);
  };

  readonly #resized = (): void => this.#listener?.resized();

  readonly #hungUp = (): void => this.#listener?.ended(0);

  readonly #signalled = (signal: NodeJS.Signals): void => {
    this.#restore();
    this.#listener?.ended(128 + constants.signals[signal]);
  };

  /** Without a handler the signal does what it does to every program; where nobody could continue us, nothing. */
  readonly #stop = (): void => {
    this.#restore();
    process.off("SIGTSTP", this.#stop);
    process.kill(process.pid, "SIGTSTP");
    this.#continued();
  };

  /** Comes by SIGCONT, and once more from `#stop`, should nothing have stopped us: the terminal is taken once. */
  readonly #continued = (): void => {
    clearTimeout(this.#waking);
    this.#waking = setTimeout(() => {
      if (!this.#listener) return;
      process.off("SIGTSTP", this.#stop);
      process.on("SIGTSTP", this.#stop);
      this.#take();
      this.#listener.resumed();
    }, 0);
  };

  readonly #crashed = (thrown: unknown): void => {
    this.#restore();
    writeNow(`zapd: the remote failed: ${printable(textOf(thrown))}\r\n`, 2);
    process.exit(1);
  };
}

const ending = ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"] as const;

/** Written before anything else can happen; a terminal that is gone is no failure. */
function writeNow(text: string, to = 1): void {
  try {
    writeSync(to, text);
  } catch {
    // Nobody is there to read it.
  }
}
