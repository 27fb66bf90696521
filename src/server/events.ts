/** Events, from the journal, which keeps the latest of them. */
import type { Hono } from "hono";
import { splitCommas } from "../system/text.ts";
import type { AppDependencies } from "./app.ts";
import { type Env, route } from "./route.ts";
import { formatFor, type Streams } from "./streams.ts";

export function eventRoutes(app: Hono<Env>, { devices }: AppDependencies, streams: Streams): void {
  route(app, "events", ({ query, request, context }) => {
    const { devices: names, types, snapshot = "true", since } = query;
    const ids = names === undefined ? null : new Set(splitCommas(names).map((name) => devices.find(name).id));
    return streams.open(context, formatFor(request), () => {
      const reader = devices.journal.follow({
        devices: ids,
        types: types === undefined ? null : splitCommas(types),
        snapshot: snapshot === "true",
        // An empty header counts as none.
        since: request.headers.get("last-event-id") || since || null,
      });
      // The same set: it gets the id of what one of them becomes a part of.
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
