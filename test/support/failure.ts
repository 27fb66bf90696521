/** How work ended, as a word that a test expects. */
import { ZapdError } from "../../src/api/errors.ts";

/** The code of its failure; `none` where it did not fail. */
export function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "none",
    ({ code }: ZapdError) => code,
  );
}

/** The code and the message of its failure; `none` where it did not fail. */
export function failureOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "none",
    ({ code, message }: ZapdError) => `${code}: ${message}`,
  );
}

/** What work gives, or the code of the failure that it throws. */
export function outcomeOf<T>(work: () => T): T | string {
  try {
    return work();
  } catch (error) {
    if (error instanceof ZapdError) return error.code;
    throw error;
  }
}
