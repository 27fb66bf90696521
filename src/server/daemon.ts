import { resolve } from "node:path";
import type { Hono } from "hono";
import type { AppDependencies } from "./app.ts";
import { type Env, route } from "./route.ts";

/** The daemon itself: its status, and whether it is well. */
export function daemonRoutes(app: Hono<Env>, deps: AppDependencies): void {
  const { registry, config, version } = deps;
  const startedAt = performance.now();
  const uptime_s = () => Math.floor((performance.now() - startedAt) / 1_000);

  route(app, "status", () => ({
    pid: process.pid,
    version,
    uptime_s: uptime_s(),
    ...deps.listeners(),
    http_enabled: config.running.daemon.http_enabled,
    device_count: registry.devices.length,
    default_device: registry.defaultRecord?.name ?? null,
    config_file: config.path,
    state_folder: resolve(deps.state),
    mqtt: deps.mqtt() ?? undefined,
  }));

  route(app, "health", () => ({
    status: "ok" as const,
    version,
    uptime_s: uptime_s(),
    warnings: deps.warnings(),
  }));

  // It sends requests to every device, so that simultaneous calls share one run.
  let examining: ReturnType<AppDependencies["examine"]> | undefined;
  route(app, "examine", () => {
    examining ??= deps.examine().finally(() => {
      examining = undefined;
    });
    return examining;
  });
}
