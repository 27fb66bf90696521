/** Reads a line from the terminal, echoed or hidden. */
import { exits } from "../api/errors.ts";
import { type Context, stderr } from "./context.ts";
import { CommandError, UsageError } from "./failure.ts";
import { columnsOf } from "./print.ts";
import { isRedrawn, redrawnWidth } from "./progress.ts";
import { cleanUpAtSignal } from "./signals.ts";

/** Whether stdin is a terminal, where a person can answer. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true;
}

/**
 * Reads a secret: a line typed without echo on a terminal, or everything that a pipe holds. A secret is never a word of the
 * command, because every user can read the arguments of a process.
 */
export async function readHidden(what: string, signal?: AbortSignal): Promise<string> {
  const { stdin } = process;
  if (stdin.isTTY !== true) {
    const { buffer } = await import("node:stream/consumers");
    return (await buffer(stdin)).toString().replace(/\r?\n$/, "");
  }
  return readTypedLine(stdin, () => `${what}: `, { hidden: true, signal });
}

/** Reads a line typed on a terminal. The prompt is redrawn every second where it can be. Rejects when the signal aborts. */
export function readLine(prompt: () => string, signal: AbortSignal): Promise<string> {
  return readTypedLine(process.stdin, prompt, { hidden: false, signal });
}

/** Whether `--password -` asks for a password to be read. Fails with UsageError where the password itself is given. */
export function asksForPassword(context: Context): boolean {
  const given = context.option("password");
  if (given !== undefined && given !== "-")
    throw new UsageError(
      "do not put a password in a command, where others can read it: --password - asks for it without showing it",
    );
  return given !== undefined;
}

const keys = { enter: /[\r\n\x04]/, cancel: "\x03", erase: /[\x7f\b]/, eraseAll: "\x15" } as const;
const drawEveryMs = 1_000;

interface TypingOptions {
  readonly hidden: boolean;
  readonly signal: AbortSignal | undefined;
}

/** The text; where it takes more than `width` columns, its end, where the typing is. */
function endOf(text: string, width: number): string {
  const characters = [...text].slice(-width);
  while (columnsOf(characters.join("")) > width) characters.shift();
  return characters.join("");
}

async function readTypedLine(
  stdin: NodeJS.ReadStream,
  prompt: () => string,
  { hidden, signal }: TypingOptions,
): Promise<string> {
  let typed: string[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const stream = stderr();
  const redrawn = !hidden && isRedrawn(stream);
  const drawn = () => `\r${endOf(prompt() + typed.join(""), redrawnWidth(stream))}\x1b[K`;
  const draw = () => void stream.write(redrawn ? drawn() : prompt());
  const onData = (bytes: Buffer) => {
    for (const character of bytes.toString("utf8")) {
      if (character === keys.cancel) {
        showTyping();
        process.kill(process.pid, "SIGINT");
      } else if (keys.enter.test(character)) return resolve(typed.join(""));
      else if (character === keys.eraseAll) typed = [];
      else if (keys.erase.test(character)) typed.pop();
      else if (character >= " ") typed.push(character);
    }
    if (redrawn) draw();
  };
  const onAbort = () => reject(signal?.reason);
  const onGone = () => reject(new CommandError("the terminal is gone", exits.failed));
  const showTyping = () => {
    try {
      stdin.setRawMode(false);
    } catch {
      // The terminal is gone.
    }
  };
  // A caller with a `signal` handles the others itself; without, a terminal would be left that shows nothing typed.
  const stopListening = signal ? undefined : cleanUpAtSignal(showTyping);
  // Before the prompt, so that keys typed at once are not echoed. What is not redrawn, the terminal itself echoes and erases.
  if (hidden || redrawn) stdin.setRawMode(true);
  stdin.on("data", onData);
  stdin.on("end", onGone);
  stdin.on("error", onGone);
  // Stays, as an error may come after the end.
  if (stdin.listenerCount("error") === 1) stdin.on("error", () => {});
  // The last read paused it, and it does not resume by itself.
  stdin.resume();
  signal?.addEventListener("abort", onAbort, { once: true });
  const timer = redrawn ? setInterval(draw, drawEveryMs) : undefined;
  try {
    if (signal?.aborted) throw signal.reason;
    draw();
    return await promise;
  } finally {
    clearInterval(timer);
    signal?.removeEventListener("abort", onAbort);
    stopListening?.();
    stdin.off("data", onData);
    stdin.off("end", onGone);
    stdin.off("error", onGone);
    showTyping();
    stdin.pause();
    stream.write("\n");
  }
}
