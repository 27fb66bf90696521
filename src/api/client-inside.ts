/** The typed client inside the daemon: nothing listens at its URL, as the calls stay in this process. */
import type { ClientOptions } from "./client.ts";
import type { Caller } from "./events.ts";
import { clientHeader } from "./routes.ts";

export function insideClient(by: Caller, ask: NonNullable<ClientOptions["fetch"]>): ClientOptions {
  return {
    url: "http://zapd/v1",
    fetch(request) {
      request.headers.set(clientHeader, by);
      return ask(request);
    },
  };
}
