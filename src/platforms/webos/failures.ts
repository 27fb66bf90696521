/** What a set says when it fails (smart-tvs.md 2.4), and what can be wrong with who answers at its address (SECURITY.md 2.4). */
import { closedBeforeSending, DeviceError, hasCode, hasReason, ZapdError } from "../../api/errors.ts";
import { number, text } from "../../transport/json.ts";
import type { Key } from "../platform.ts";
import type { Payload } from "./protocol.ts";

/** Characters of a set's own words that a message repeats. */
const longest = 160;

/** The set keeps to a key what was granted to it (2.3): with the old one nobody would be asked. */
const againHint =
  "Pair with it anew, without the old key, and accept all that it asks: zapd pair {device} --host {address}";

/** A set answered, and with a failure. Its own words are in the message; what is decided by is in the fields. */
export class SetFailure extends DeviceError {
  /** The status at the head of the failure: 401, 403, 404, 500 and their like; `null` where it gives none. */
  readonly statusSaid: number | null;
  /** The code of the application that refused: -101 and its like; `null` where it gives none. */
  readonly errorCode: number | null;
  /** What it says, fit to be shown. */
  readonly words: string;

  constructor({ statusSaid, errorCode, words }: Pick<SetFailure, "statusSaid" | "errorCode" | "words">) {
    const [code, problem, hint] = meaningOf(statusSaid);
    const reason = code === "device_refused" ? "denied" : "protocol";
    const message = words === "" ? `${problem}, and does not say why` : `${problem}: it says "${words}"`;
    super(code, message, { phase: "answered", reason, hint });
    this.statusSaid = statusSaid;
    this.errorCode = errorCode;
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

/** The failure that a message is, in either of its two shapes (2.4). What is missing from an answer is no failure. */
export function failureOf(said: Payload, payload: Payload): SetFailure | null {
  if (said["type"] !== "error" && payload["returnValue"] !== false) return null;
  const first = text(said["error"]);
  const more = text(payload["errorText"]);
  const errorCode = number(payload["errorCode"]);
  const head = Number(/^(\d{3})(?: |$)/.exec(first ?? more ?? "")?.[1] ?? Number.NaN);
  const isStatus = errorCode !== null && errorCode >= 400 && errorCode < 600;
  const status = Number.isNaN(head) ? (isStatus ? errorCode : null) : head;
  const parts = [first, more === first ? null : more, errorCode === null || isStatus ? null : `(${errorCode})`];
  return new SetFailure({
    statusSaid: status,
    errorCode,
    words: shown(parts.filter((part) => part !== null).join(" ")),
  });
}

/** A key that the set has no function for is one that it lacks. */
export function lacking(key: Key, error: unknown): unknown {
  if (!(error instanceof SetFailure) || error.code !== "unsupported_operation") return error;
  return new ZapdError("unsupported_key", `has no ${key} key: it says "${error.words}"`, { cause: error });
}

/** Without what could change how a line looks or reads: controls, and characters that turn the direction of writing. */
function shown(words: string): string {
  const plain = words.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\s]+/gu, " ").trim();
  const characters = [...plain];
  return characters.length > longest ? `${characters.slice(0, longest).join("")} …` : plain;
}

/** The set took the connection and hung up, as sets do on their way off and while they start (2.5): nothing was done. */
export function hungUp(): DeviceError {
  return closedBeforeSending("hung up: it is turning off, or still starting");
}

/** What was found in the place of the set that was paired. */
export type Stranger = "plain" | "certificate" | "nameless";

const found: Readonly<Record<Stranger, string>> = {
  plain: "answers at its plain port alone, where no certificate proves it; it was paired over the secure one",
  certificate: "shows another certificate than when it was paired: it may be another device",
  nameless: "does not say who it is any more, as it did when it was known: it may be another device",
};

/** Whoever answers does not prove to be the set that was paired: it is told no key and no text. */
export function unproven(stranger: Stranger): DeviceError {
  const soon = stranger === "plain" ? "If it was just turned on, try again in a moment. " : "";
  const hint = `${soon}If the set was really replaced or reset: zapd pair {device}, which begins without the old key`;
  const reason = stranger === "plain" ? "protocol" : "wrong_device";
  return new DeviceError("device_unproven", found[stranger], { phase: "connect", reason, hint });
}

/** Whether somebody answered who is not the set, or does not prove to be. */
export function isStranger(error: unknown): error is DeviceError {
  return hasReason(error, "wrong_device") || hasCode(error, "device_unproven");
}
