/** Failures as tools tell them: a code, a message, and what mends it. */
import { errorBody, type Failure, textOf, ZapdError } from "../api/errors.ts";

/** Explains a failure that is not the API's own. */
export type Explain = (error: unknown) => Promise<Failure>;

export async function failureOf(error: unknown, explain: Explain): Promise<Failure> {
  return error instanceof ZapdError ? errorBody(error) : explain(error);
}

/** Inside the daemon no connection can fail: anything but the API's own failures is a fault of zapd. */
export const explainInside: Explain = async (error) => ({
  code: "internal_error",
  message: `zapd failed at this: ${textOf(error)}`,
});

/** The same as a text, for clients that read nothing else. */
export function failureText({ code, message, hint, details }: Failure): string {
  const said = `${code}: ${message}${/[.!?]$/.test(message) ? "" : "."}`;
  return [said, hint ?? "", details ? JSON.stringify(details).slice(0, mostDetails) : ""].filter(Boolean).join(" ");
}

const mostDetails = 8_000;
