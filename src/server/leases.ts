import type { Hono } from "hono";
import type { AppDependencies } from "./app.ts";
import { type Env, route } from "./route.ts";

/** Leases: who has a device to themselves. */
export function leaseRoutes(app: Hono<Env>, { devices, leases }: AppDependencies): void {
  route(app, "takeLease", async ({ id, body, turn }) => {
    const device = devices.find(id);
    const given = await leases.take(device.id, body, turn.lease, turn.signal);
    device.use();
    return device.actionResult("lease", given);
  });

  route(app, "freeLease", async ({ id, query, turn }) => {
    const device = devices.find(id);
    const freed = await leases.free(device.id, turn.lease, query.force === "true");
    return device.actionResult("free", { freed });
  });
}
