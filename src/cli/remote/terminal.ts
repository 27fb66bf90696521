/**
 * The terminal, taken and given back: raw mode, the alternate screen, no cursor. However the process ends, but for
 * SIGKILL, the terminal is as it was.
 */
import { writeSync } from "node:fs";
import { constants } from "node:os";
import { StringDecoder } from "node:string_decoder";
import { textOf } from "../../api/errors.ts";
import { printable } from "../../system/log.ts";

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

/**
 * What a terminal sends, read as keys: pure, and fed as it comes. An escape sequence may arrive in pieces; a lone Esc is
 * told from the beginning of one only by what does not follow, so the caller waits and then calls `flush`.
 */

/** A key by its name (`up`, `enter`, `ctrl-c`) or as the character it types, or a text that was pasted. */
export type Input = { readonly key: string } | { readonly paste: string };

interface Decoded {
  readonly inputs: readonly Input[];
  /** What may be the beginning of a sequence: given again with what comes next. */
  readonly pending: string;
}

const esc = "\x1b";
const pasteBegin = "\x1b[200~";
const pasteEnd = "\x1b[201~";
/** A terminal that never ends what it began must not fill the memory. */
const maxPending = 64 * 1024;

/** The last letter of a sequence and its number, as xterm and its kin send them. */
const sequences: Readonly<Record<string, string>> = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  H: "home",
  F: "end",
  Z: "shift-tab",
  M: "enter",
  "1~": "home",
  "3~": "delete",
  "4~": "end",
  "5~": "page-up",
  "6~": "page-down",
  "7~": "home",
  "8~": "end",
};

const controls: Readonly<Record<string, string>> = {
  "\r": "enter",
  "\n": "enter",
  "\t": "tab",
  "\b": "backspace",
  "\x7f": "backspace",
  "\x03": "ctrl-c",
  "\x0c": "ctrl-l",
  "\x15": "ctrl-u",
  "\x17": "ctrl-w",
  "\x1a": "ctrl-z",
};

/** Reads what came, after what was pending. */
export function decode(pending: string, chunk: string): Decoded {
  const inputs: Input[] = [];
  let rest = pending + chunk;
  while (rest !== "") {
    const taken = rest.startsWith(esc) ? takeSequence(rest) : takeCharacter(rest);
    if (taken === null) return { inputs, pending: rest.length > maxPending ? "" : rest };
    if (taken.input) inputs.push(taken.input);
    rest = rest.slice(taken.length);
  }
  return { inputs, pending: "" };
}

/** What is pending when nothing followed: a lone Esc was the key; the beginning of a paste goes on waiting. */
export function flush(pending: string): Decoded {
  if (pending.startsWith(pasteBegin)) return { inputs: [], pending };
  return { inputs: pending === esc ? [{ key: "escape" }] : [], pending: "" };
}

/** One key, and how much of the text it was; `null` when more must come first. */
type Taken = { readonly input: Input | null; readonly length: number } | null;

function takeCharacter(text: string): Taken {
  const character = String.fromCodePoint(text.codePointAt(0) ?? 0);
  const control = controls[character];
  const input = control !== undefined ? { key: control } : character >= " " ? { key: character } : null;
  return { input, length: character.length };
}

function takeSequence(text: string): Taken {
  if (text.startsWith(pasteBegin)) return takePaste(text);
  const second = text[1];
  if (second === undefined) return null;
  // Twice Esc: the first was the key, or the second begins a sequence.
  if (second === esc) return { input: { key: "escape" }, length: 1 };
  if (second === "[") return takeCsi(text);
  if (second === "O") return text.length < 3 ? null : { input: sequenceKey(text[2] ?? ""), length: 3 };
  if (second === "]" || second === "P" || second === "_") return takeString(text);
  // Alt with a key: not ours.
  return { input: null, length: 1 + String.fromCodePoint(text.codePointAt(1) ?? 0).length };
}

/** `ESC [ parameters letter`; modifiers (`1;5A`) are left aside. */
function takeCsi(text: string): Taken {
  const match = /^\x1b\[([\x30-\x3f]*)[\x20-\x2f]*([\x40-\x7e])/.exec(text);
  if (match) {
    const [whole, parameters = "", letter = ""] = match;
    const number = /^\d+/.exec(parameters)?.[0] ?? "";
    return { input: sequenceKey(letter === "~" ? `${number}~` : letter), length: whole.length };
  }
  // Anything else in the middle ends it: what follows is read by itself.
  const broken = /^\x1b\[[\x20-\x3f]*[^\x20-\x7e]/.exec(text);
  return broken ? { input: null, length: broken[0].length - 1 } : null;
}

/** An answer of the terminal to a question that somebody else asked: swallowed up to its end. */
function takeString(text: string): Taken {
  const end = /\x07|\x1b\\/.exec(text);
  return end ? { input: null, length: end.index + end[0].length } : null;
}

function takePaste(text: string): Taken {
  const end = text.indexOf(pasteEnd);
  if (end === -1) return null;
  return { input: { paste: text.slice(pasteBegin.length, end) }, length: end + pasteEnd.length };
}

function sequenceKey(sequence: string): Input | null {
  const key = sequences[sequence];
  return key === undefined ? null : { key };
}
