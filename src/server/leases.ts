import type { Hono } from "hono";
import type { AppDependencies } from "./app.ts";
import { deviceRoute, type Env } from "./route.ts";

/** Leases: who has a device to themselves. */
export function leaseRoutes(app: Hono<Env>, { leases }: AppDependencies): void {
  deviceRoute(app, "takeLease", async (device, { body, turn }) => {
    const given = await leases.take(device.id, body, turn.lease, turn.signal);
    device.markUsed();
    return device.actionResult("lease", given);
  });

  deviceRoute(app, "freeLease", async (device, { query, turn }) =>
    device.actionResult("free", { freed: await leases.release(device.id, turn.lease, query.force === "true") }),
  );
}
