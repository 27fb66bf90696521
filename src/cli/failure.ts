/** The errors of commands, each with its exit status. */
import { codes, type ErrorCode, type Failure, toErrorCode } from "../api/errors.ts";

/** The words of the command are wrong: exit status 2, and its usage is shown. */
export class UsageError extends Error {}

/** The code for a daemon that does not run or did not answer in time. */
export const notRunning = "daemon_not_running";

/** Codes of the command line, beside those of the API. */
type OwnCode = typeof notRunning | "usage" | "file_unreadable" | "broker_unreachable" | "command_failed";

/** A command failed: the daemon's failure, or one of its own. */
export class CommandError extends Error {
  readonly hint: string | undefined;
  readonly exit: number;
  readonly code: string;
  /** Why a pairing failed. */
  readonly reason: Failure["reason"];
  readonly details: Failure["details"];
  /** The body of the response, where the daemon answered. */
  readonly response: string | undefined;

  constructor(
    message: string,
    exit: number,
    hint?: string,
    more: Pick<Failure, "reason" | "details"> & { code?: ErrorCode | OwnCode; response?: string | undefined } = {},
  ) {
    super(message);
    this.exit = exit;
    this.hint = hint;
    this.code = more.code ?? "command_failed";
    this.reason = more.reason;
    this.details = more.details;
    this.response = more.response;
  }

  /** The error for a failure of the API, with the exit status of its code. */
  static of({ code, message, hint, reason, details }: Failure, response?: string): CommandError {
    const known = toErrorCode(code);
    return new CommandError(message, codes[known].exit, hint, { code: known, reason, details, response });
  }
}

/** The document that `--json` prints for a failure without a response. */
export function failureDocument({ code, message, hint, reason }: Failure): string {
  return JSON.stringify({ ok: false, error: { code, message, hint, reason } });
}
