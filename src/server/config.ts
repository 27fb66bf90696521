import type { Hono } from "hono";
import type { ReloadResult } from "../config/config.ts";
import { redactConfig } from "../config/schema.ts";
import type { AppDependencies } from "./app.ts";
import { type Env, route } from "./route.ts";

/** The config: read from disk, patched, reloaded. The password is redacted in every answer. */
export function configRoutes(app: Hono<Env>, { config, registry }: AppDependencies): void {
  route(app, "readConfig", async () => redactConfig(await config.onDisk()));
  route(app, "patchConfig", async ({ body }) => {
    const patched = await config.patch(body);
    // Named again, the same name may mean another device by now.
    if (Object.hasOwn(body, "daemon.default_device")) await registry.chooseDefault();
    return redact(patched);
  });
  route(app, "reloadConfig", async () => redact(await config.reload()));
}

function redact(result: ReloadResult): ReloadResult {
  return { ...result, config: redactConfig(result.config) };
}
