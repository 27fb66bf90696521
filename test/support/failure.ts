/** The outcome of work, as a text to compare. */
import { ZapdError } from "../../src/api/errors.ts";

/** The code of the failure, or `none`. */
export function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "none",
    ({ code }: ZapdError) => code,
  );
}

/** The code and the message of the failure, or `none`. */
export function failureOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "none",
    ({ code, message }: ZapdError) => `${code}: ${message}`,
  );
}

/** The result, or the code of the failure that is thrown. */
export function outcomeOf<T>(work: () => T): T | string {
  try {
    return work();
  } catch (error) {
    if (error instanceof ZapdError) return error.code;
    throw error;
  }
}
