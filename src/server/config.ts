import type { Hono } from "hono";
import type { ReloadResult } from "../config/config.ts";
import { readChanges } from "../config/read.ts";
import { type Config, redactConfig, settingOf, settings } from "../config/schema.ts";
import type { AppDependencies } from "./app.ts";
import { type Env, route } from "./route.ts";

/** The config: read from disk, patched, reloaded. The password is redacted in every answer. */
export function configRoutes(app: Hono<Env>, { config, devices, registry }: AppDependencies): void {
  let last = config.running;
  // Whatever changes them: a patch, a reload, or a new name of the default device.
  config.subscribe((_running, file, given) => {
    const before = last;
    last = file;
    const value = (of: Config, key: string) => JSON.stringify(settingOf(of, key));
    const keys = [...settings.keys()].filter((key) => given.includes(key) || value(before, key) !== value(file, key));
    if (keys.length > 0) devices.journal.publish({ type: "config.changed", keys });
  });
  const redact = (result: ReloadResult): ReloadResult => ({ ...result, config: redactConfig(result.config) });
  route(app, "readConfig", async () => redactConfig(await config.readCurrent()));
  route(app, "patchConfig", async ({ body }) => {
    // The same name may by now mean another device. Before the file is written: where this cannot be saved, nothing changes;
    // nor does it where the patch is refused, or the file cannot be read or written.
    if (!Object.hasOwn(body, "daemon.default_device")) return redact(await config.patch(body));
    readChanges(body);
    const undo = await registry.resetDefault();
    try {
      return redact(await config.patch(body));
    } catch (error) {
      await undo().catch(() => {});
      throw error;
    }
  });
  route(app, "reloadConfig", async () => redact(await config.reload()));
}
