import type { Hono } from "hono";
import { operations } from "../api.ts";
import type { AppDependencies } from "../app.ts";
import { type Env, route } from "./route.ts";

/** Devices: the registry, discovery and live state. */
export function deviceRoutes(app: Hono<Env>, deps: AppDependencies): void {
  const { registry, control, catalog, arrivals } = deps;

  route(app, operations.listDevices, () => control.describeAll());

  route(app, operations.addDevice, async ({ body }) => control.describe(await arrivals.add(body)));

  route(app, operations.discover, async () => {
    const found = await arrivals.discover();
    return { devices: found.map((entry) => control.describe(entry)) };
  });

  route(app, operations.getDevice, ({ id }) => control.describe(control.find(id)));

  route(app, operations.changeDevice, async ({ id, body }) =>
    control.describe(await arrivals.change(control.find(id), body)),
  );

  route(app, operations.removeDevice, async ({ id }) => {
    const entry = control.find(id);
    const device = control.describe(entry);
    await registry.remove(entry.id);
    control.forget(entry.id);
    await catalog.forget(entry.id);
    return device;
  });

  route(app, operations.getState, async ({ id, signal }) => {
    const entry = control.find(id);
    const state = await control.state(entry, signal);
    return { device: control.describe(registry.get(entry.id) ?? entry), state };
  });
}
