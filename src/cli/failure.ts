/** How commands fail: with a text for people on stderr, a document for `--json`, and an exit status of the one table. */
import { codes, type ErrorCode, type ErrorDetails, type PairingReason } from "../api/errors.ts";
import { printable } from "../system/printable.ts";

/** The words of a command were wrong: exit 2, with its use. */
export class UsageError extends Error {}

/** The code of a failure to which the daemon had no part: it does not run, or did not answer in time. */
export const notRunning = "daemon_not_running";

/** What the command itself can fail with, beside the codes of the API. */
type OwnCode = typeof notRunning | "usage" | "file_unreadable" | "broker_unreachable";

/** The `error` object of an envelope. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
  readonly reason?: PairingReason | undefined;
  readonly details?: ErrorDetails | undefined;
}

/** One failure of many, as it comes; what mends it stands once below the first of those that it mends, and is in `told` then. */
export function tellFailure(
  context: { say(line: string): void },
  message: string,
  hint: string | undefined,
  told: Set<string>,
): void {
  context.say(`zapd: ${printable(message)}`);
  if (hint === undefined || told.has(hint)) return;
  told.add(hint);
  context.say(`      ${printable(hint)}`);
}

/** What the daemon answered, or that it did not. */
export class CommandError extends Error {
  readonly hint: string | undefined;
  readonly exit: number;
  readonly code: string;
  /** Why a pairing failed. */
  readonly reason: PairingReason | undefined;
  readonly details: ErrorDetails | undefined;
  /** The response, where there was one. */
  readonly response: string | undefined;
  /** The daemon ended the connection before it had answered. */
  readonly hungUp: boolean;

  constructor(
    message: string,
    exit: number,
    hint?: string,
    more: {
      code?: ErrorCode | OwnCode;
      reason?: PairingReason | undefined;
      details?: ErrorDetails | undefined;
      response?: string | undefined;
      hungUp?: boolean;
    } = {},
  ) {
    super(message);
    this.exit = exit;
    this.hint = hint;
    this.code = more.code ?? "internal_error";
    this.reason = more.reason;
    this.details = more.details;
    this.response = more.response;
    this.hungUp = more.hungUp === true;
  }

  /** The failure of an envelope, or one in its words. */
  static of({ code, message, hint, reason, details }: Failure, response?: string): CommandError {
    const known = Object.hasOwn(codes, code) ? (code as ErrorCode) : "internal_error";
    return new CommandError(message, codes[known].exit, hint, { code: known, reason, details, response });
  }
}

/** The one document of `--json` for a failure: the response, or the same in its words. */
export function failureDocument({ code, message, hint, reason }: Failure): string {
  return JSON.stringify({ ok: false, error: { code, message, hint, reason } });
}
