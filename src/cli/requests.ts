/** Other ways to ask the daemon: a call whose failure is a value, the events, and documents outside the envelope. */
import {
  type Arguments,
  createStream,
  type Followed,
  NotZapdError,
  type Result,
  type ValueName,
} from "../api/client.ts";
import type { Outcome } from "../api/errors.ts";
import { apiOf, call, failureOf, sendRequest } from "./client.ts";
import type { Context } from "./context.ts";
import { CommandError, notRunning } from "./failure.ts";

/** Calls an operation and gives its failure as a value. Never takes longer than `timeoutMs`. */
export async function tryCall<Name extends ValueName>(
  context: Context,
  name: Name,
  given: Arguments<Name>,
  timeoutMs: number,
): Promise<Outcome<Result<Name>>> {
  const timeout = AbortSignal.timeout(Math.ceil(timeoutMs));
  try {
    const called = await call(context, name, { ...given, signal: timeout }, { quiet: true, untilAnswered: true });
    return { ok: true, data: called.data };
  } catch (error) {
    // Whether the daemon or a device was slow is not known.
    const late = `no answer within ${Math.round(timeoutMs / 1_000)} s`;
    if (timeout.aborted) return { ok: false, code: notRunning, message: late };
    if (!(error instanceof CommandError)) throw error;
    const { code, message, hint } = error;
    return { ok: false, code, message, hint };
  }
}

/**
 * The events of the daemon. Fails with CommandError where the stream cannot be opened; once open it reconnects by itself, and
 * `broken` is called when the connection is lost and when it is back. `resumed`: a daemon that does not run is waited for.
 */
export async function* followEvents(
  context: Context,
  given: Arguments<"events">,
  handlers: { broken(isBroken: boolean): void; readonly resumed?: boolean },
): AsyncGenerator<Followed> {
  try {
    yield* createStream({ ...apiOf(context), ...handlers }, "events", given);
  } catch (error) {
    throw await failureOf(error, context);
  }
}

/** A document that the daemon serves outside the envelope, such as `/openapi.json`. */
export async function readDocument(context: Context, path: string): Promise<string> {
  try {
    const response = await sendRequest(context, new Request(`http://zapd${path}`));
    const text = await response.text();
    if (response.ok) return text.trim();
    throw new NotZapdError(`${path} does not exist`);
  } catch (error) {
    throw await failureOf(error, context);
  }
}
