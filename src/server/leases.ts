import type { Hono } from "hono";
import type { AppDependencies } from "./app.ts";
import { deviceRoute, type Env } from "./route.ts";

/** Leases: exclusive use of a device. */
export function leaseRoutes(app: Hono<Env>, { leases }: AppDependencies): void {
  deviceRoute(app, "takeLease", async (device, { body, turn }) => {
    const lease = await leases.take(device.id, body, turn.lease, turn.signal);
    device.markUsed();
    return device.actionResult("lease", lease);
  });

  deviceRoute(app, "freeLease", async (device, { query, turn }) =>
    device.actionResult("free", { freed: await leases.release(device.id, turn.lease, query.force === "true") }),
  );
}
