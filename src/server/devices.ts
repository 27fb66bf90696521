import type { Hono } from "hono";
import type { AppDependencies } from "./app.ts";
import { type Env, route } from "./route.ts";

/** Devices: the registry, discovery and live state. */
export function deviceRoutes(app: Hono<Env>, deps: AppDependencies): void {
  const { registry, control, catalog, arrivals } = deps;

  route(app, "listDevices", () => control.describeAll());

  route(app, "addDevice", async ({ body }) => control.describe(await arrivals.add(body)));

  route(app, "discoverDevices", async () => {
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

  route(app, "removeUnusedDevices", async () => {
    const removed = await registry.removeUnused();
    const devices = removed.map((entry) => control.describe(entry));
    for (const { id } of removed) {
      await control.forget(id);
      await catalog.forget(id);
    }
    return { devices };
  });

  route(app, "pairDevice", async ({ id, body, signal }) => {
    const entry = control.find(id);
    const { host, ...given } = body;
    const at = host === undefined ? undefined : await arrivals.recognize(entry, host);
    await control.pair(entry, given, signal, at);
    return control.acted(entry, "pair", {});
  });

  route(app, "trustDevice", async ({ id }) => control.describe(await control.trust(control.find(id))));

  route(app, "getState", async ({ id, signal }) => {
    const entry = control.find(id);
    const state = await control.state(entry, signal);
    return { device: control.describe(registry.get(entry.id) ?? entry), state };
  });
}
