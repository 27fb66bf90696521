import type { Hono } from "hono";
import { readCondition } from "../devices/conditions.ts";
import { waitFor } from "../devices/wait.ts";
import type { AppDependencies } from "./app.ts";
import { deviceRoute, type Env, route } from "./route.ts";

const defaultWaitMs = "10000";

/** Devices: the registry, discovery and live state. */
export function deviceRoutes(app: Hono<Env>, { devices }: AppDependencies): void {
  route(app, "listDevices", () => devices.describeAll());

  route(app, "addDevice", async ({ body, turn }) => (await devices.adding.add(body, turn.lease)).describe());

  route(app, "discoverDevices", async () => {
    const found = await devices.discover();
    return { devices: found.map((device) => device.describe()) };
  });

  deviceRoute(app, "getDevice", (device) => device.describe());

  deviceRoute(app, "changeDevice", async (device, { body }) => {
    await devices.change(device, body);
    return device.describe();
  });

  deviceRoute(app, "removeDevice", (device) => devices.remove(device));

  route(app, "removeUnusedDevices", async () => ({ devices: await devices.removeUnused() }));

  deviceRoute(app, "pairDevice", async (device, { body, signal }) => {
    const { host, platform, ...answers } = body;
    const endpoint = device.endpointToPair(platform);
    const at = host === undefined ? undefined : await devices.adding.identifyAt(endpoint.record, host);
    return device.actionResult("pair", (await device.pair(answers, signal, at, endpoint)) ?? {});
  });

  deviceRoute(app, "cancelPairing", (device) => {
    const cancelled = device.cancelPairing();
    return device.actionResult("cancel_pairing", { cancelled });
  });

  route(app, "joinDevice", async ({ id, body, turn }) => {
    const [one, other] = [devices.find(id), devices.find(body.with)];
    other.checkLease(turn.lease);
    return (await devices.join(one, other)).describe();
  });

  route(app, "splitDevice", async ({ id, body }) => (await devices.split(devices.find(id), body.platform)).describe());

  deviceRoute(app, "trustDevice", async (device) => {
    await device.trust();
    return device.describe();
  });

  deviceRoute(app, "getState", async (device, { query, request, isUse, signal }) => {
    const { wait_for = [], timeout_ms = defaultWaitMs } = query;
    const conditions = [wait_for].flat().map(readCondition);
    if (conditions.length === 0) {
      const state = await device.state(signal, isUse);
      return { device: device.describe(), state };
    }
    // HEAD starts no wait.
    if (request.method === "HEAD")
      return { device: device.describe(), state: device.lastState.viewOrUnknown, matched: false };
    const over = AbortSignal.any([signal, devices.stopping]);
    const waited = await waitFor(device, conditions, Number(timeout_ms), over);
    return { ...waited, device: waited.device.describe() };
  });
}
