import type { Hono } from "hono";

import { holdKey } from "../devices/hold.ts";
import { pressKey, pressKeys } from "../devices/press.ts";
import { deviceRoute, type Env } from "./route.ts";

/** The remote: one key, or a timed sequence. */
export function remoteRoutes(app: Hono<Env>): void {
  deviceRoute(app, "pressKey", async (device, { body, turn }) => {
    const { key, ...how } = body;
    if (Object.keys(how).length === 0) {
      await pressKey(device, key, turn);
      return device.actionResult("key", { key });
    }
    const presses = await holdKey(device, key, how, turn);
    return device.actionResult("key", { key, ...(presses !== null && { presses }) });
  });

  deviceRoute(app, "pressKeys", async (device, { body, turn }) => {
    const { keys, delay_ms } = body;
    const { sent, duration_ms } = await pressKeys(device, keys, delay_ms, turn);
    return device.actionResult("sequence", { keys, delay_ms, sent, duration_ms });
  });
}
