import type { Hono } from "hono";
import type { AppDependencies } from "../app.ts";
import { Listing } from "../devices/listing.ts";
import { type Env, inEnvelope, route, Written } from "./route.ts";

/** Devices: the registry, discovery and live state. */
export function deviceRoutes(app: Hono<Env>, deps: AppDependencies): void {
  const { registry, control, catalog, arrivals, config } = deps;
  const listing = new Listing(registry, control, inEnvelope);

  route(app, "listDevices", () => new Written(listing.bytes(config.running.daemon.default_device)));

  route(app, "addDevice", async ({ body }) => control.describe(await arrivals.add(body)));

  route(app, "discover", async () => {
    const found = await arrivals.discover();
    return { devices: found.map((entry) => control.describe(entry)) };
  });

  route(app, "getDevice", ({ id }) => control.describe(control.find(id)));

  route(app, "changeDevice", async ({ id, body }) => control.describe(await arrivals.change(control.find(id), body)));

  route(app, "removeDevice", async ({ id }) => {
    const entry = control.find(id);
    const device = control.describe(entry);
    await registry.remove(entry.id);
    await control.forget(entry.id);
    await catalog.forget(entry.id);
    return device;
  });

  route(app, "pair", async ({ id, body, signal }) => {
    const entry = control.find(id);
    await control.pair(entry, body, signal);
    return control.acted(entry, "pair", {});
  });

  route(app, "getState", async ({ id, signal }) => {
    const entry = control.find(id);
    const state = await control.state(entry, signal);
    return { device: control.describe(registry.get(entry.id) ?? entry), state };
  });
}
