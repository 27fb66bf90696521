import type { Hono } from "hono";
import { launchApp, listApps, refreshApps, stopApp } from "../devices/commands.ts";
import type { AppDependencies } from "./app.ts";
import { type Env, route } from "./route.ts";

/** Apps: the catalog, launching, leaving, refreshing. */
export function appRoutes(app: Hono<Env>, { devices }: AppDependencies): void {
  route(app, "listApps", async ({ id, signal }) => {
    const device = devices.find(id);
    return { platform: device.first("apps").record.platform, apps: await listApps(device, signal) };
  });

  route(app, "launchApp", async ({ id, body, turn }) => {
    const device = devices.find(id);
    const launched = await launchApp(device, body.app, body.params ?? {}, turn);
    return device.actionResult("launch", launched);
  });

  route(app, "stopApp", async ({ id, turn }) => {
    const device = devices.find(id);
    const stopped = await stopApp(device, turn);
    return device.actionResult("stop", { app: stopped });
  });

  route(app, "refreshApps", async ({ id, body, signal }) => {
    const device = devices.find(id);
    const cleared = body.clear ?? false;
    const refreshed = await refreshApps(device, cleared, signal);
    return device.actionResult("refresh", { platform: device.first("apps").record.platform, ...refreshed, cleared });
  });
}
