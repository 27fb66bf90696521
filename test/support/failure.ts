/** How work ended, as a word that a test expects. */
import type { ZapdError } from "../../src/api/errors.ts";

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
