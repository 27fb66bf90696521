/** How commands fail: with a text for people on stderr and an exit status of the one table. */
import { codes, type ErrorCode, exits } from "../errors.ts";

/** The words of a command were wrong: exit 2, with its use. */
export class UsageError extends Error {}

/** What the daemon answered, or that it did not. */
export class CommandError extends Error {
  readonly hint: string | undefined;
  readonly exit: number;

  constructor(message: string, exit: number, hint?: string) {
    super(message);
    this.exit = exit;
    this.hint = hint;
  }

  /** The failure of an envelope. */
  static of({ code, message, hint }: { code: string; message: string; hint?: string }): CommandError {
    const exit = Object.hasOwn(codes, code) ? codes[code as ErrorCode].exit : exits.failed;
    return new CommandError(message, exit, hint);
  }
}

/** The lines for people: a short suggestion stands behind the message, a longer hint below it. */
export function failureText(message: string, hint?: string): string {
  const sentence = /[.!?:]$/.test(message) ? message : `${message}.`;
  if (hint === undefined) return `zapd: ${sentence}`;
  if (hint.startsWith("Did you mean")) return `zapd: ${sentence} ${hint}`;
  return `zapd: ${sentence}\n      ${hint}`;
}
