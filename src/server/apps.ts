import type { Hono } from "hono";
import type { AppDependencies } from "./app.ts";
import { type Env, route } from "./route.ts";

/** Apps: the catalog, launching, leaving, refreshing. */
export function appRoutes(app: Hono<Env>, { control, actions }: AppDependencies): void {
  route(app, "listApps", async ({ id, signal }) => {
    const entry = control.find(id);
    return { platform: entry.platform, apps: await actions.apps(entry, signal) };
  });

  route(app, "launchApp", async ({ id, body, signal }) => {
    const entry = control.find(id);
    const launched = await actions.launch(entry, body.app, body.params ?? {}, signal);
    return control.acted(entry, "launch", launched);
  });

  route(app, "stopApp", async ({ id, signal }) => {
    const entry = control.find(id);
    const stopped = await actions.stop(entry, signal);
    return control.acted(entry, "stop", { app: stopped });
  });

  route(app, "refreshApps", async ({ id, body, signal }) => {
    const entry = control.find(id);
    const cleared = body.clear ?? false;
    const refreshed = await actions.refresh(entry, cleared, signal);
    return control.acted(entry, "refresh", { platform: entry.platform, ...refreshed, cleared });
  });
}
