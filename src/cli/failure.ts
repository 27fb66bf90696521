/** How commands fail: with a text for people on stderr, a document for `--json`, and an exit status of the one table. */
import { codes, type ErrorCode, type Failure, toErrorCode } from "../api/errors.ts";

/** The words of a command were wrong: exit 2, with its use. */
export class UsageError extends Error {}

/** The code of a failure that is not the daemon's: it does not run, or did not answer in time. */
export const notRunning = "daemon_not_running";

/** What the command itself can fail with, beside the codes of the API. */
type OwnCode = typeof notRunning | "usage" | "file_unreadable" | "broker_unreachable" | "command_failed";

/** What the daemon answered, or that it did not. */
export class CommandError extends Error {
  readonly hint: string | undefined;
  readonly exit: number;
  readonly code: string;
  /** Why a pairing failed. */
  readonly reason: Failure["reason"];
  readonly details: Failure["details"];
  /** The response, where there was one. */
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

  /** The failure of an envelope, or one in its words. */
  static of({ code, message, hint, reason, details }: Failure, response?: string): CommandError {
    const known = toErrorCode(code);
    return new CommandError(message, codes[known].exit, hint, { code: known, reason, details, response });
  }
}

/** The one document of `--json` for a failure: the response, or the same in its words. */
export function failureDocument({ code, message, hint, reason }: Failure): string {
  return JSON.stringify({ ok: false, error: { code, message, hint, reason } });
}
