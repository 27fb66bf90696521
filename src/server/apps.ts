import type { Hono } from "hono";
import { launchApp, listApps, refreshApps, stopApp } from "../devices/commands.ts";
import { deviceRoute, type Env } from "./route.ts";

/** Apps: the catalog, launching, leaving, refreshing. */
export function appRoutes(app: Hono<Env>): void {
  deviceRoute(app, "listApps", (device, { isUse, signal }) => listApps(device, signal, isUse));

  deviceRoute(app, "launchApp", async (device, { body, turn }) =>
    device.actionResult("launch", await launchApp(device, body.app, body.params ?? {}, turn)),
  );

  deviceRoute(app, "stopApp", async (device, { turn }) =>
    device.actionResult("stop", { app: await stopApp(device, turn) }),
  );

  deviceRoute(app, "refreshApps", async (device, { body, isUse, signal }) => {
    const cleared = body.clear ?? false;
    const refreshed = await refreshApps(device, cleared, signal, isUse);
    return device.actionResult("refresh", { ...refreshed, cleared });
  });
}
