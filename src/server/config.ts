import type { Hono } from "hono";
import type { ReloadResult } from "../config/config.ts";
import { readChanges } from "../config/read.ts";
import { type Config, redactConfig, settingOf, settings } from "../config/schema.ts";
import type { AppDependencies } from "./app.ts";
import { type Env, route } from "./route.ts";

/** The config: read from disk, patched, reloaded. The password is redacted in every answer. */
export function configRoutes(app: Hono<Env>, { config, devices, registry }: AppDependencies): void {
  let last = config.running;
  const announce = (result: ReloadResult): ReloadResult => {
    const before = last;
    last = result.config;
    const value = (of: Config, key: string) => JSON.stringify(settingOf(of, key));
    const keys = [...settings.keys()].filter((key) => value(before, key) !== value(last, key));
    if (keys.length > 0) devices.journal.publish({ type: "config.changed", keys });
    return { ...result, config: redactConfig(last) };
  };
  route(app, "readConfig", async () => redactConfig(await config.readCurrent()));
  route(app, "patchConfig", async ({ body }) => {
    // The same name may by now mean another device. Before the file is written: where this cannot be saved, nothing changes;
    // nor does it where the patch is refused, or the file cannot be read or written.
    if (!Object.hasOwn(body, "daemon.default_device")) return announce(await config.patch(body));
    readChanges(body);
    const undo = await registry.resetDefault();
    try {
      return announce(await config.patch(body));
    } catch (error) {
      await undo().catch(() => {});
      throw error;
    }
  });
  route(app, "reloadConfig", async () => announce(await config.reload()));
}
