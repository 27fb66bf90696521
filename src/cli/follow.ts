/** What a command reads of the daemon beside answers in the envelope: what happens, as it happens, and whole documents. */
import { type Arguments, createStream, type Followed, NotZapdError } from "../api/client.ts";
import { apiOf, failureOf, sendRequest } from "./client.ts";
import type { Context } from "./context.ts";

/**
 * What happens, as it happens. Fails with CommandError where it cannot be followed; once it has begun it comes back by itself,
 * and `broken` is told. `resumed`: it was followed before, and a daemon that does not run is waited for.
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

/** A document that the daemon serves as it is, outside the envelope. */
export async function readDocument(context: Context, path: string): Promise<string> {
  try {
    const response = await sendRequest(context, new Request(`http://zapd${path}`));
    const text = await response.text();
    if (response.ok) return text.trim();
    throw new NotZapdError(`${path} is not there`);
  } catch (error) {
    throw await failureOf(error, context);
  }
}
