/** Asks the daemon and takes a failure as an answer, for commands that go on with it. */
import { type CallOptions, call } from "./client.ts";
import type { Context } from "./context.ts";
import { CommandError, type Failure } from "./failure.ts";

export type Asked<T> = { readonly ok: true; readonly data: T } | ({ readonly ok: false } & Failure);

/** The code of a failure to which the daemon had no part: it does not run, or did not answer in time. */
export const notRunning = "daemon_not_running";

/** One call below `/v1`. Never fails, and never takes longer than `within` milliseconds. */
export async function ask<T>(
  context: Context,
  method: string,
  path: string,
  { within, signal, ...options }: CallOptions & { readonly within: number },
): Promise<Asked<T>> {
  const late = AbortSignal.timeout(Math.ceil(within));
  try {
    const ended = signal ? AbortSignal.any([signal, late]) : late;
    return { ok: true, data: (await call<T>(context, method, path, { ...options, quiet: true, signal: ended })).data };
  } catch (error) {
    if (late.aborted)
      return {
        ok: false,
        code: notRunning,
        message: `the daemon did not answer within ${Math.round(within / 1000)} s`,
      };
    if (!(error instanceof CommandError)) throw error;
    const { code, message, hint } = error;
    return { ok: false, code, message, ...(hint !== undefined && { hint }) };
  }
}
