/** Full-screen use of the terminal: raw mode, alternate screen, no cursor. It is restored however the process ends, except by SIGKILL. */
import { writeSync } from "node:fs";
import { constants } from "node:os";
import { StringDecoder } from "node:string_decoder";
import { textOf } from "../../api/errors.ts";
import { printable } from "../../system/printable.ts";

/**
 * Alternate screen, no cursor, no wrapping, bracketed paste, and key-up events where the terminal has them (kitty's keyboard
 * protocol, "report event types"; others ignore it); and the way back.
 */
const enterScreen = "\x1b[?1049h\x1b[>2u\x1b[?25l\x1b[?7l\x1b[?2004h\x1b[2J";
const leaveScreen = "\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[0m\x1b[<u\x1b[?1049l";
/** Makes terminals that support it draw an update at once. */
const synchronizedUpdate = { begin: "\x1b[?2026h", end: "\x1b[?2026l" };

/** How long after Esc the rest of a sequence may arrive, over a slow line too. */
const escapeTimeoutMs = 50;

export interface Listener {
  input(input: Input): void;
  resized(): void;
  /** The process was continued after a stop. */
  resumed(): void;
  /** A signal came, or the input ended; `status`: the exit status. */
  ended(status: number): void;
}

export class Terminal {
  readonly #decoder = new StringDecoder("utf8");
  #listener: Listener | undefined;
  #isTaken = false;
  #shown: string[] = [];
  #pending = "";
  #escape: ReturnType<typeof setTimeout> | undefined;
  #resumeTimer: ReturnType<typeof setTimeout> | undefined;

  static get isThere(): boolean {
    return process.stdin.isTTY === true && process.stdout.isTTY === true && process.env["TERM"] !== "dumb";
  }

  get size(): { columns: number; rows: number } {
    return { columns: process.stdout.columns || 80, rows: process.stdout.rows || 24 };
  }

  open(listener: Listener): void {
    this.#listener = listener;
    for (const [source, event, take] of this.#events) source.on(event, take);
    this.#take();
  }

  close(): void {
    this.#restore();
    clearTimeout(this.#escape);
    clearTimeout(this.#resumeTimer);
    this.#listener = undefined;
    for (const [source, event, take] of this.#events) source.off(event, take);
    process.stdin.pause();
  }

  /** Shows these lines; writes only those that changed. */
  show(lines: readonly string[]): void {
    if (!this.#isTaken) return;
    const changed = lines.flatMap((line, row) =>
      line === this.#shown[row] ? [] : [`\x1b[${row + 1};1H\x1b[0m\x1b[2K${line}\x1b[0m`],
    );
    this.#shown = [...lines];
    if (changed.length > 0) process.stdout.write(synchronizedUpdate.begin + changed.join("") + synchronizedUpdate.end);
  }

  /** Clears the screen, so that the next `show` writes every line. */
  clear(): void {
    this.#shown = [];
    if (this.#isTaken) process.stdout.write("\x1b[0m\x1b[2J");
  }

  /** Stops the whole process group, as Ctrl-Z does, with a launcher around us. */
  suspend(): void {
    if (process.platform === "win32") return this.#continued();
    // Before a shell has the terminal back, which it has once the launcher has stopped.
    this.#restore();
    process.kill(0, "SIGTSTP");
  }

  #take(): void {
    this.#isTaken = true;
    process.stdin.setRawMode(true);
    process.stdin.resume();
    writeNow(enterScreen);
    this.#shown = [];
  }

  readonly #restore = (): void => {
    if (!this.#isTaken) return;
    this.#isTaken = false;
    writeNow(leaveScreen);
    try {
      process.stdin.setRawMode(false);
    } catch {
      // The terminal is gone.
    }
  };

  readonly #received = (bytes: Buffer): void => {
    clearTimeout(this.#escape);
    const { inputs, pending } = decode(this.#pending, this.#decoder.write(bytes));
    this.#pending = pending;
    if (pending !== "") this.#escape = setTimeout(this.#flush, escapeTimeoutMs);
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

  /** Stops by the signal's default action, which does nothing where no shell could continue us. */
  readonly #stop = (): void => {
    this.#restore();
    process.off("SIGTSTP", this.#stop);
    process.kill(process.pid, "SIGTSTP");
    this.#continued();
  };

  /** Called for SIGCONT, and by `#stop` in case nothing stopped us; the timer makes both take the terminal once. */
  readonly #continued = (): void => {
    clearTimeout(this.#resumeTimer);
    this.#resumeTimer = setTimeout(() => {
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

  readonly #events: readonly (readonly [NodeJS.EventEmitter, ...Parameters<NodeJS.EventEmitter["on"]>])[] = [
    [process.stdin, "data", this.#received],
    [process.stdin, "end", this.#hungUp],
    // The terminal is gone, or the reader of the output.
    [process.stdin, "error", this.#hungUp],
    [process.stdout, "error", this.#hungUp],
    [process.stdout, "resize", this.#resized],
    ...["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"].map((signal) => [process, signal, this.#signalled] as const),
    [process, "SIGTSTP", this.#stop],
    [process, "SIGCONT", this.#continued],
    [process, "exit", this.#restore],
    [process, "uncaughtException", this.#crashed],
    [process, "unhandledRejection", this.#crashed],
  ];
}

/** Writes synchronously. A terminal that is gone is no failure. */
function writeNow(text: string, to = 1): void {
  try {
    writeSync(to, text);
  } catch {
    // The terminal is gone.
  }
}

/**
 * A key by its name (`up`, `enter`, `ctrl-c`) or as the character it types, or a pasted text. `phase`, where the terminal
 * reports it: a repeat while the key is down, or the key has come up.
 */
export type Input = { readonly key: string; readonly phase?: "repeat" | "up" } | { readonly paste: string };

interface Decoded {
  readonly inputs: readonly Input[];
  /** What may be the beginning of a sequence: to be passed again with the next chunk. */
  readonly pending: string;
}

const esc = "\x1b";
const pasteBegin = "\x1b[200~";
const pasteEnd = "\x1b[201~";
/** A sequence that never ends must not fill the memory: a longer one is forgotten, and of a longer paste this much is kept. */
const maxPending = 64 * 1024;

/** Keys by the letter of a sequence, or its number and `~`, as xterm and others send them. */
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

/** One complete key, paste or other sequence. Text that does not match is the beginning of one. */
const token = new RegExp(
  [
    String.raw`\x1b\[200~(?<paste>.*?)\x1b\[201~`,
    // `ESC [ parameters letter`; modifiers (`1;5A`) are ignored.
    String.raw`\x1b\[(?!200~)(?<number>\d*)(?<more>[0-?]*)[ -/]*(?<letter>[@-~])`,
    // A sequence broken off by another character: what follows is read by itself.
    String.raw`\x1b\[[ -?]*(?=[^ -~])`,
    String.raw`\x1bO(?<single>.)`,
    // An answer of the terminal to another program's query: skipped.
    String.raw`\x1b[\]P_].*?(?:\x07|\x1b\\)`,
    // Esc twice: the first is the key, the second may begin a sequence.
    String.raw`(?<lone>\x1b)(?=\x1b)`,
    // Alt with a key: skipped.
    String.raw`\x1b[^[O\]P_\x1b]`,
    String.raw`(?<character>[^\x1b])`,
  ].join("|"),
  "gsuy",
);

/** Reads the keys of a chunk, which follows what was pending. A lone Esc stays pending until `flush`. */
export function decode(pending: string, chunk: string): Decoded {
  const text = pending + chunk;
  const inputs: Input[] = [];
  let read = 0;
  for (const { 0: matched, groups = {} } of text.matchAll(token)) {
    read += matched.length;
    inputs.push(...inputOf(groups));
  }
  const rest = text.slice(read);
  if (rest.length <= maxPending) return { inputs, pending: rest };
  // The middle of a paste is dropped, and not the paste: what follows would be read as keys. Its last characters may begin its end.
  const isPaste = rest.startsWith(pasteBegin);
  return { inputs, pending: isPaste ? `${rest.slice(0, maxPending)} ${rest.slice(1 - pasteEnd.length)}` : "" };
}

/** The input of a match; none for a sequence without meaning here. */
function inputOf(found: Readonly<Record<string, string | undefined>>): Input[] {
  const { paste, number, more = "", letter = "", single, lone, character } = found;
  if (paste !== undefined) return [{ paste }];
  const sequence = single ?? (letter === "~" ? `${number}~` : letter);
  const key = lone
    ? "escape"
    : letter === "u"
      ? keyOfCode(Number(number), more)
      : (sequences[sequence] ?? typed(character));
  const phase = phases[/^[:\d]*;\d*:(\d)/.exec(more)?.[1] ?? ""];
  return key === undefined ? [] : [{ key, ...(phase && { phase }) }];
}

function typed(character = ""): string | undefined {
  return controls[character] ?? (character >= " " ? character : undefined);
}

/** The phase in `number : shifted ; modifiers : phase`; a press has 1 or none. */
const phases: Readonly<Record<string, "repeat" | "up">> = { "2": "repeat", "3": "up" };
const modifiers = { shift: 1, control: 4 } as const;

/** A key by its code point (`ESC [ 99 ; 5 u` is Ctrl-C), as some terminals send keys even unasked. */
function keyOfCode(code: number, more: string): string | undefined {
  // Without Caps Lock and Num Lock.
  const held = (Number(/^[:\d]*;(\d+)/.exec(more)?.[1] ?? 1) - 1) & 0x3f;
  if (held === modifiers.control) return controls[String.fromCodePoint(code & 0x1f)];
  if (code === 27 && held === 0) return "escape";
  if (code === 9 && held === modifiers.shift) return "shift-tab";
  const shifted = held === modifiers.shift ? /^:(\d+)/.exec(more)?.[1] : undefined;
  const point = Number(shifted ?? code);
  // From 0xd800 on are surrogates and keys that type nothing.
  return held <= modifiers.shift && point < 0xd800 ? typed(String.fromCodePoint(point)) : undefined;
}

/** Reads what is pending when nothing followed in time: a lone Esc is the key, the beginning of a paste stays pending. */
export function flush(pending: string): Decoded {
  if (pending.startsWith(pasteBegin)) return { inputs: [], pending };
  return { inputs: pending === esc ? [{ key: "escape" }] : [], pending: "" };
}
