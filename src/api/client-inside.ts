/** The typed client that calls by a name of its own. Inside the daemon nothing listens at its URL: the calls stay in this process. */
import type { ClientOptions } from "./client.ts";
import type { Caller, doctorCaller } from "./events.ts";
import { clientHeader } from "./routes.ts";

export function insideClient(
  by: Caller | typeof doctorCaller,
  ask: NonNullable<ClientOptions["fetch"]>,
): ClientOptions {
  return {
    url: "http://zapd/v1",
    fetch(request) {
      request.headers.set(clientHeader, by);
      return ask(request);
    },
  };
}
