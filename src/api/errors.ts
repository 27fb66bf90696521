/**
 * The one error class and the one table of error codes: code -> HTTP status -> exit status of the command line.
 * The codes are a stable contract (SPEC.md 7); texts are for people.
 */

/** Exit statuses of the command line. */
export const exits = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  unreachable: 4,
  refused: 5,
  unsupported: 6,
  notRunning: 7,
} as const;

const bad = { status: 400, exit: exits.usage } as const;
const failed = { status: 500, exit: exits.failed } as const;

/** Every error code there is, with the HTTP status it is answered with and the exit status the command line ends with. */
export const codes = {
  invalid_payload: bad,
  invalid_key: bad,
  unsupported_key: { status: 400, exit: exits.unsupported },
  unsupported_operation: { status: 400, exit: exits.unsupported },
  invalid_device_name: bad,
  device_name_taken: { status: 400, exit: exits.failed },
  ambiguous_device: bad,
  ambiguous_app: bad,
  invalid_host: bad,
  invalid_archive: { status: 400, exit: exits.failed },
  package_rejected: { status: 400, exit: exits.failed },
  dev_password_missing: { status: 400, exit: exits.refused },
  unsupported_patch_value: bad,
  unknown_config_key: bad,
  invalid_config_value: bad,
  device_elsewhere: { status: 400, exit: exits.refused },
  forbidden_host: { status: 403, exit: exits.refused },
  forbidden_origin: { status: 403, exit: exits.refused },
  loop_detected: { status: 403, exit: exits.refused },
  device_not_found: { status: 404, exit: exits.notFound },
  default_device_missing: { status: 404, exit: exits.notFound },
  app_not_found: { status: 404, exit: exits.notFound },
  dev_package_missing: { status: 404, exit: exits.notFound },
  not_found: { status: 404, exit: exits.notFound },
  method_not_allowed: { status: 405, exit: exits.usage },
  payload_too_large: { status: 413, exit: exits.usage },
  device_unreachable: { status: 500, exit: exits.unreachable },
  device_timeout: { status: 500, exit: exits.unreachable },
  device_refused: { status: 500, exit: exits.refused },
  device_error: failed,
  device_busy: failed,
  device_unproven: { status: 500, exit: exits.refused },
  pairing_required: { status: 500, exit: exits.refused },
  pairing_failed: { status: 500, exit: exits.refused },
  dev_auth_failed: { status: 500, exit: exits.refused },
  dev_update_required: failed,
  console_in_use: failed,
  config_invalid: failed,
  storage_error: failed,
  internal_error: failed,
} as const satisfies Record<string, { status: number; exit: number }>;

/** A stable, machine-readable error code. */
export type ErrorCode = keyof typeof codes;

/** What was found, where a code has several causes: `wrong_device`, another device answers at the address. */
export const failureReasons = ["wrong_device"] as const;
export type FailureReason = (typeof failureReasons)[number];

/**
 * Everything zapd can fail with. `message` says what was attempted and what was found; `hint` names the setting or
 * command that mends it. Adapters write `message` as a predicate ("did not answer within 5 s"): the control path puts
 * the device's name before it.
 */
export class ZapdError extends Error {
  override readonly name = "ZapdError";
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly reason: FailureReason | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { hint?: string | undefined; reason?: FailureReason | undefined; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
    this.reason = options.reason;
  }

  /** The HTTP status of this error's code. */
  get status(): number {
    return codes[this.code].status;
  }
}

/** The `error` object of the envelope (SPEC.md 2). */
export function errorBody({ code, message, hint, reason }: ZapdError): {
  code: ErrorCode;
  message: string;
  hint?: string;
  reason?: FailureReason;
} {
  return { code, message, ...(hint !== undefined && { hint }), ...(reason && { reason }) };
}

/** The text of anything thrown, for a log line or a `cause`. */
export function textOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The system's code of a failure (`ENOENT`, `ECONNREFUSED` …), or an empty string. */
export function systemCode(thrown: unknown): string {
  return typeof thrown === "object" && thrown !== null && "code" in thrown ? String(thrown.code) : "";
}
