/** What happens, as it happens, from the journal, which keeps it. */
import type { Hono } from "hono";
import { splitCommas } from "../system/text.ts";
import type { AppDependencies } from "./app.ts";
import { type Env, stream } from "./route.ts";
import { formFor, type Streams } from "./streams.ts";

export function eventRoutes(app: Hono<Env>, { devices }: AppDependencies, streams: Streams): void {
  stream(app, "events", ({ query, request, context }) => {
    const { devices: names, types, snapshot = "true", since } = query;
    const ids = names === undefined ? null : new Set(splitCommas(names).map((name) => devices.find(name).id));
    return streams.open(context, formFor(request), () => {
      const reader = devices.journal.follow({
        devices: ids,
        types: types === undefined ? null : splitCommas(types),
        snapshot: snapshot === "true",
        // One that is empty is none: who has read nothing yet has no id.
        since: request.headers.get("last-event-id") || since || null,
      });
      const release = devices.watchDevices(ids);
      return {
        next: () => reader.next(),
        close() {
          reader.close();
          release();
        },
      };
    });
  });
}
