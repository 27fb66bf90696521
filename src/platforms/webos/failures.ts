/**
 * Errors that a TV answers with (smart-tvs.md 2.4), and why what answers may not be the paired TV (SECURITY.md 2.4).
 */
import { closedBeforeSending, DeviceError, hasCode, hasReason, ZapdError } from "../../api/errors.ts";
import { number, text } from "../../transport/json.ts";
import type { Key } from "../platform.ts";
import type { Payload } from "./protocol.ts";

/** Characters of the TV's own message that an error repeats. */
const longest = 160;

/** A client key keeps the permissions it was granted (2.3): with the old key the TV would show no prompt. */
const againHint =
  "Pair with it anew, without the old key, and accept all that it asks: zapd pair {device} --host {address}";

/** An error that the TV answered with. Code branches on the fields, never on the message. */
export class WebosError extends DeviceError {
  /** The HTTP-like status at the head of the error: 401, 403, 404, 500; `null` where there is none. */
  readonly tvStatus: number | null;
  /** `errorCode` of the application that refused, such as -101; `null` where there is none. */
  readonly appErrorCode: number | null;
  /** The TV's own message, made printable. */
  readonly words: string;

  constructor({ tvStatus, appErrorCode, words }: Pick<WebosError, "tvStatus" | "appErrorCode" | "words">) {
    const [code, problem, hint] = meaningOf(tvStatus);
    const reason = code === "device_refused" ? "denied" : "protocol";
    const message = words === "" ? `${problem}, and does not say why` : `${problem}: it says "${words}"`;
    super(code, message, { phase: "answered", reason, hint });
    this.tvStatus = tvStatus;
    this.appErrorCode = appErrorCode;
    this.words = words;
  }
}

function meaningOf(
  status: number | null,
): ["unsupported_operation" | "device_refused" | "device_error", string, string?] {
  if (status === 404) return ["unsupported_operation", "has no such function"];
  if (status === 401) return ["device_refused", "was never allowed to let zapd do this", againHint];
  if (status === 403) return ["device_refused", "refused it"];
  return ["device_error", "answered with a failure"];
}

/**
 * The error in a message, in either of its two shapes (2.4); `null` where there is none. A missing `returnValue` is no
 * error.
 */
export function readError(message: Payload, payload: Payload): WebosError | null {
  if (message["type"] !== "error" && payload["returnValue"] !== false) return null;
  const first = text(message["error"]);
  const more = text(payload["errorText"]);
  const appErrorCode = number(payload["appErrorCode"]);
  const head = Number(/^(\d{3})(?: |$)/.exec(first ?? more ?? "")?.[1] ?? Number.NaN);
  const isStatus = appErrorCode !== null && appErrorCode >= 400 && appErrorCode < 600;
  const status = Number.isNaN(head) ? (isStatus ? appErrorCode : null) : head;
  const parts = [first, more === first ? null : more, appErrorCode === null || isStatus ? null : `(${appErrorCode})`];
  return new WebosError({
    tvStatus: status,
    appErrorCode,
    words: printable(parts.filter((part) => part !== null).join(" ")),
  });
}

/** Turns "no such function" into `unsupported_key`. */
export function asUnsupportedKey(key: Key, error: unknown): unknown {
  if (!(error instanceof WebosError) || error.code !== "unsupported_operation") return error;
  return new ZapdError("unsupported_key", `has no ${key} key: it says "${error.words}"`, { cause: error });
}

/** Removes control characters and those that change the direction of writing, and cuts it. */
function printable(words: string): string {
  const plain = words.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\s]+/gu, " ").trim();
  const characters = [...plain];
  return characters.length > longest ? `${characters.slice(0, longest).join("")} …` : plain;
}

/** TVs accept a connection and hang up while they turn off or start (2.5). Nothing was done. */
export function hungUp(): DeviceError {
  return closedBeforeSending("hung up: it is turning off, or still starting");
}

/** Why what answers cannot be taken for the paired TV. */
const proofProblems = {
  plain: "answers at its plain port alone, where no certificate proves it; it was paired over the secure one",
  certificate: "shows another certificate than when it was paired: it may be another device",
  nameless: "does not say who it is any more, as it did when it was known: it may be another device",
} as const;

/** It gets no key and no text. */
export function unproven(problem: keyof typeof proofProblems): DeviceError {
  const soon = problem === "plain" ? "If it was just turned on, try again in a moment. " : "";
  const hint = `${soon}If the set was really replaced or reset: zapd pair {device}, which begins without the old key`;
  const reason = problem === "plain" ? "protocol" : "wrong_device";
  return new DeviceError("device_unproven", proofProblems[problem], { phase: "connect", reason, hint });
}

/** Whether another device answered, or one that does not prove to be the paired TV. */
export function failedProof(error: unknown): error is DeviceError {
  return hasReason(error, "wrong_device") || hasCode(error, "device_unproven");
}
