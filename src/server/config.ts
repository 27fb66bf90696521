import type { Hono } from "hono";
import type { ReloadResult } from "../config/config.ts";
import { type Config, redactConfig, settingOf, settings } from "../config/schema.ts";
import type { AppDependencies } from "./app.ts";
import { type Env, route } from "./route.ts";

/** The config: read from disk, patched, reloaded. The password is redacted in every answer. */
export function configRoutes(app: Hono<Env>, { config, devices, registry }: AppDependencies): void {
  let known = config.running;
  const tell = (result: ReloadResult): ReloadResult => {
    const before = known;
    known = result.config;
    const value = (of: Config, key: string) => JSON.stringify(settingOf(of, key));
    const keys = [...settings.keys()].filter((key) => value(before, key) !== value(known, key));
    if (keys.length > 0) devices.journal.publish({ type: "config.changed", keys });
    return { ...result, config: redactConfig(known) };
  };
  route(app, "readConfig", async () => redactConfig(await config.readCurrent()));
  route(app, "patchConfig", async ({ body }) => {
    const patched = await config.patch(body);
    // Named again, the same name may mean another device by now.
    if (Object.hasOwn(body, "daemon.default_device")) await registry.resetDefault();
    return tell(patched);
  });
  route(app, "reloadConfig", async () => tell(await config.reload()));
}
