/**
 * Errors that a TV answers with (smart-tvs.md 2.4), and reasons why a device may not be the paired TV (SECURITY.md 2.4).
 */
import { DeviceError, hasCode, hasReason, ZapdError } from "../../api/errors.ts";
import { hungUp } from "../../transport/http-connection.ts";
import { number, text } from "../../transport/json.ts";
import type { Key } from "../platform.ts";
import type { Payload } from "./protocol.ts";

/** Characters of the TV's own message that an error repeats. */
const longest = 160;

/** A client key keeps the permissions it was granted (2.3): with the old key the TV would show no prompt. */
const againHint =
  "Pair it again without the old key, and accept everything that it asks: zapd pair {device} --host {address}";

/** An error that the TV answered with. Code branches on the fields, never on the message. */
export class WebosError extends DeviceError {
  /** The HTTP-like status at the head of the error: 401, 403, 404, 500; `null` where there is none. */
  readonly tvStatus: number | null;
  /** `errorCode` of the application that refused, such as -101; `null` where there is none. */
  readonly appErrorCode: number | null;
  /** The TV's own message, on one line and cut. */
  readonly words: string;

  constructor({ tvStatus, appErrorCode, words }: Pick<WebosError, "tvStatus" | "appErrorCode" | "words">) {
    const [code, problem, hint] = meaningOf(tvStatus);
    const reason = code === "device_refused" ? "denied" : "protocol";
    const message = words === "" ? `${problem}, and gives no reason` : `${problem}: it says "${words}"`;
    super(code, message, { phase: "answered", reason, hint });
    this.tvStatus = tvStatus;
    this.appErrorCode = appErrorCode;
    this.words = words;
  }
}

/** The error of a TV that lacks a function or fails at it. Rethrows a refusal and a timeout. */
export function unsupportedOrThrow(error: unknown): WebosError {
  if (error instanceof WebosError && error.code !== "device_refused") return error;
  throw error;
}

function meaningOf(
  status: number | null,
): ["unsupported_operation" | "device_refused" | "device_error", string, string?] {
  if (status === 404) return ["unsupported_operation", "does not support this"];
  if (status === 401) return ["device_refused", "has not given zapd the permission to do this", againHint];
  if (status === 403) return ["device_refused", "refused the request"];
  return ["device_error", "reported an error"];
}

/**
 * The error in a message, in either of its two shapes (2.4); `null` where there is none. A missing `returnValue` is no
 * error.
 */
export function readError(message: Payload, payload: Payload): WebosError | null {
  if (message["type"] !== "error" && payload["returnValue"] !== false) return null;
  const first = text(message["error"]);
  const more = text(payload["errorText"]);
  const appErrorCode = number(payload["errorCode"]);
  const head = Number(/^(\d{3})(?: |$)/.exec(first ?? more ?? "")?.[1] ?? Number.NaN);
  const isStatus = appErrorCode !== null && appErrorCode >= 400 && appErrorCode < 600;
  const status = Number.isNaN(head) ? (isStatus ? appErrorCode : null) : head;
  const parts = [first, more === first ? null : more, appErrorCode === null || isStatus ? null : `(${appErrorCode})`];
  return new WebosError({
    tvStatus: status,
    appErrorCode,
    words: plainWords(parts.filter((part) => part !== null).join(" ")),
  });
}

/** Turns "does not support this" into `unsupported_key`. */
export function asUnsupportedKey(key: Key, error: unknown): unknown {
  if (!(error instanceof WebosError) || error.code !== "unsupported_operation") return error;
  return new ZapdError("unsupported_key", `has no ${key} key: it says "${error.words}"`, { cause: error });
}

/** Removes control characters and those that change the direction of writing, and cuts it. */
function plainWords(words: string): string {
  const plain = words.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\s]+/gu, " ").trim();
  const characters = [...plain];
  return characters.length > longest ? `${characters.slice(0, longest).join("")} …` : plain;
}

/** The TV took a command, and closed the connection. With `device_unreachable` it would be woken, and sent the command again. */
export const closedAfterwards = (cause?: unknown) => hungUp("closed the connection after it took the command", cause);

/** Why the device that answers cannot be accepted as the paired TV. */
const proofProblems = {
  plain:
    "answers only on its plain port, without TLS, where no certificate can prove its identity; it was paired over TLS",
  certificate: "showed a different certificate than when it was paired: it may be another device",
  nameless: "no longer reports its identity: it may be another device",
} as const;

/** It gets no key and no text. */
export function unproven(problem: keyof typeof proofProblems): DeviceError {
  const soon = problem === "plain" ? "If it was just turned on, try again in a moment. " : "";
  const hint = `${soon}If it was replaced or reset, pair it again: zapd pair {device}, which starts without the old key`;
  const reason = problem === "plain" ? "protocol" : "wrong_device";
  return new DeviceError("device_unproven", proofProblems[problem], { phase: "connect", reason, hint });
}

/** Whether another device answered, or one that does not prove that it is the paired TV. */
export function failedProof(error: unknown): error is DeviceError {
  return hasReason(error, "wrong_device") || hasCode(error, "device_unproven");
}
