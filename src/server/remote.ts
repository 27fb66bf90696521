import type { Hono } from "hono";
import { pressKey, pressKeys } from "../devices/commands.ts";
import { holdKey } from "../devices/hold.ts";
import type { AppDependencies } from "./app.ts";
import { type Env, route } from "./route.ts";

/** The remote: one key, or a timed sequence. */
export function remoteRoutes(app: Hono<Env>, { devices }: AppDependencies): void {
  route(app, "pressKey", async ({ id, body, turn }) => {
    const device = devices.find(id);
    const { key, ...how } = body;
    if (Object.keys(how).length === 0) {
      await pressKey(device, key, turn);
      return device.actionResult("key", { key });
    }
    const presses = await holdKey(device, key, how, turn);
    return device.actionResult("key", { key, ...(presses !== null && { presses }) });
  });

  route(app, "pressKeys", async ({ id, body, turn }) => {
    const device = devices.find(id);
    const { keys, delay_ms } = body;
    const { sent, duration_ms } = await pressKeys(device, keys, delay_ms, turn);
    return device.actionResult("sequence", { keys, delay_ms, sent, duration_ms });
  });
}
