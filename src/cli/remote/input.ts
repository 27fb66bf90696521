/**
 * What a terminal sends, read as keys: pure, and fed as it comes. An escape sequence may arrive in pieces; a lone Esc is
 * told from the beginning of one only by what does not follow, so the caller waits and then calls `flush`.
 */

/** A key by its name (`up`, `enter`, `ctrl-c`) or as the character it types, or a text that was pasted. */
export type Input = { readonly key: string } | { readonly paste: string };

export interface Decoded {
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
  ...{ A: "up", B: "down", C: "right", D: "left", H: "home", F: "end", Z: "shift-tab", M: "enter" },
  ...{ "1~": "home", "4~": "end", "7~": "home", "8~": "end", "3~": "delete", "5~": "page-up", "6~": "page-down" },
};

const controls: Readonly<Record<string, string>> = {
  ...{ "\r": "enter", "\n": "enter", "\t": "tab", "\x7f": "backspace", "\b": "backspace" },
  ...{ "\x03": "ctrl-c", "\x1a": "ctrl-z", "\x0c": "ctrl-l", "\x15": "ctrl-u", "\x17": "ctrl-w" },
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
  const named = controls[character];
  const input = named !== undefined ? { key: named } : character >= " " ? { key: character } : null;
  return { input, length: character.length };
}

function takeSequence(text: string): Taken {
  if (text.startsWith(pasteBegin)) return takePaste(text);
  const second = text[1];
  if (second === undefined) return null;
  // Twice Esc: the first was the key, or the second begins a sequence.
  if (second === esc) return { input: { key: "escape" }, length: 1 };
  if (second === "[") return takeCsi(text);
  if (second === "O") return text.length < 3 ? null : { input: named(text[2] ?? ""), length: 3 };
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
    return { input: named(letter === "~" ? `${number}~` : letter), length: whole.length };
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

function named(sequence: string): Input | null {
  const key = sequences[sequence];
  return key === undefined ? null : { key };
}
