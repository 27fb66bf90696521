/** Failures as tools tell them: a code, a message, and what mends it. */
import { ApiError } from "../api/client.ts";
import { textOf, ZapdError } from "../api/errors.ts";

/** The `error` object of the API, or one in its words. */
export interface ToolFailure {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
  /** What came of it at each part, where it has parts. */
  readonly details?: object | undefined;
}

/** Says what a call failed with that the daemon did not answer itself. */
export type Explain = (error: unknown) => Promise<ToolFailure>;

export async function failureOf(error: unknown, explain: Explain): Promise<ToolFailure> {
  if (error instanceof ApiError || error instanceof ZapdError) {
    const { code, message, hint, details } = error;
    return { code, message, ...(hint !== undefined && { hint }), ...(details && { details }) };
  }
  return explain(error);
}

/** Inside the daemon nothing is in between: what is not the API's own failure is a fault of ours. */
export const explainInside: Explain = async (error) => ({
  code: "internal_error",
  message: `zapd failed at this: ${textOf(error)}`,
});

/** The same as a text, for those who read no more. */
export function failureText({ code, message, hint, details }: ToolFailure): string {
  const said = `${code}: ${message}${/[.!?]$/.test(message) ? "" : "."}`;
  return [said, hint ?? "", details ? JSON.stringify(details).slice(0, mostDetails) : ""].filter(Boolean).join(" ");
}

const mostDetails = 8_000;
