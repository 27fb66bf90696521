import type { Hono } from "hono";
import { readCondition } from "../devices/conditions.ts";
import { waitFor } from "../devices/wait.ts";
import type { AppDependencies } from "./app.ts";
import { type Env, route } from "./route.ts";

/** Milliseconds that a wait takes where its caller does not say. */
const usualWaitMs = "10000";

/** Devices: the registry, discovery and live state. */
export function deviceRoutes(app: Hono<Env>, { devices, registry }: AppDependencies): void {
  route(app, "listDevices", () => devices.describeAll());

  route(app, "addDevice", async ({ body, turn }) => (await devices.add(body, turn.lease)).describe());

  route(app, "discoverDevices", async () => {
    const found = await devices.discover();
    return { devices: found.map((device) => device.describe()) };
  });

  route(app, "getDevice", ({ id }) => devices.find(id).describe());

  route(app, "changeDevice", async ({ id, body }) => {
    const device = devices.find(id);
    await devices.change(device, body);
    return device.describe();
  });

  route(app, "removeDevice", ({ id }) => devices.remove(devices.find(id)));

  route(app, "removeUnusedDevices", async () => ({ devices: await devices.removeUnused() }));

  route(app, "pairDevice", async ({ id, body, signal }) => {
    const device = devices.find(id);
    const { host, platform, ...given } = body;
    const reach = device.pairingReach(platform);
    const at = host === undefined ? undefined : await devices.recognize(reach.record, host);
    return device.actionResult("pair", (await device.pair(given, signal, at, reach)) ?? {});
  });

  route(app, "cancelPairing", ({ id }) => {
    const device = devices.find(id);
    const cancelled = device.cancelPairing();
    return device.actionResult("cancel_pairing", { cancelled });
  });

  route(app, "joinDevice", async ({ id, body, turn }) => {
    const [one, other] = [devices.find(id), devices.find(body.with)];
    other.admit(turn.lease);
    return (await devices.join(one, other)).describe();
  });

  route(app, "splitDevice", async ({ id, body }) => {
    const { device } = await registry.split(devices.find(id).record.id, body.platform);
    return devices.of(device).describe();
  });

  route(app, "trustDevice", async ({ id }) => {
    const device = devices.find(id);
    await device.trust();
    return device.describe();
  });

  route(app, "getState", async ({ id, query, request, signal }) => {
    const device = devices.find(id);
    const { wait_for = [], timeout_ms = usualWaitMs } = query;
    const conditions = [wait_for].flat().map(readCondition);
    if (conditions.length === 0) {
      const state = await device.state(signal);
      return { device: device.describe(), state };
    }
    // HEAD asks for the headers alone: it starts no wait.
    if (request.method === "HEAD") return { device: device.describe(), state: device.stateNow, matched: false };
    const over = AbortSignal.any([signal, devices.ending]);
    const waited = await waitFor(device, conditions, Number(timeout_ms), over);
    return { ...waited, device: waited.device.describe() };
  });
}
