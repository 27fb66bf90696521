/** How commands fail: with a text for people on stderr, a document for `--json`, and an exit status of the one table. */
import { codes, type ErrorCode, type FailureReason } from "../api/errors.ts";
import { printable } from "../system/log.ts";
import { columnsOf, wrap } from "./print.ts";

/** The words of a command were wrong: exit 2, with its use. */
export class UsageError extends Error {}

/** What the command itself can fail with, beside the codes of the API. */
type OwnCode = "daemon_not_running" | "usage";

/** The `error` object of an envelope. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
  /** What was found, where the code has several causes. */
  readonly reason?: FailureReason | undefined;
}

/** What the daemon answered, or that it did not. */
export class CommandError extends Error {
  readonly hint: string | undefined;
  readonly exit: number;
  readonly code: string;
  /** The response, where there was one. */
  readonly response: string | undefined;

  constructor(
    message: string,
    exit: number,
    hint?: string,
    more: { code?: ErrorCode | OwnCode; response?: string } = {},
  ) {
    super(message);
    this.exit = exit;
    this.hint = hint;
    this.code = more.code ?? "internal_error";
    this.response = more.response;
  }

  /** The failure of an envelope, or one in its words. */
  static of({ code, message, hint }: Failure, response?: string): CommandError {
    const known = Object.hasOwn(codes, code) ? (code as ErrorCode) : "internal_error";
    return new CommandError(message, codes[known].exit, hint, {
      code: known,
      ...(response !== undefined && { response }),
    });
  }
}

/** The one document of `--json` for a failure: the response, or the same in its words. */
export function failureDocument({ code, message, hint }: Failure): string {
  return JSON.stringify({ ok: false, error: { code, message, hint } });
}

/** Behind a suggestion more is said only when it is short. */
const longestAside = 160;
const indent = " ".repeat("zapd: ".length);

/** Failures that do not begin with the name of a device, which is written as it is called. */
const impersonal =
  /^(device_(not_found|name_taken)|default_|invalid_|dev_password_|not_found|method_|payload_|storage_)/;

/**
 * The lines for people: what was found, a suggestion behind it, and below it what to do. A message may have lines of its
 * own. On a terminal they are broken between words.
 */
export function failureText(failure: Error & Partial<Failure>, width = Number.POSITIVE_INFINITY): string {
  const { code = "", hint = "" } = failure;
  const message = impersonal.test(code)
    ? failure.message.replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase())
    : failure.message;
  const [first = "", ...rest] = message.split("\n");
  const asked = /^Did you mean .*?\?(?= |$)/.exec(hint)?.[0] ?? "";
  const aside = hint.slice(asked.length).trim();
  // Who is told the word that was meant needs no list of all words.
  const below = asked !== "" && aside.length > longestAside ? "" : aside;
  const sentence = /[.!?:]$/.test(first) ? first : `${first}.`;
  return [[sentence, asked].filter(Boolean).join(" "), ...rest, below]
    .map(printable)
    .filter((line) => line !== "")
    .flatMap((line) => (columnsOf(line) + indent.length <= width ? [line] : wrap(line, width - indent.length)))
    .map((line, at) => (at === 0 ? `zapd: ${line}` : indent + line))
    .join("\n");
}
