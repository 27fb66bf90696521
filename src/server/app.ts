/** The app as a value: a `fetch(Request)` that starts nothing, so that embedders and tests can call it without a socket. */
import { Hono } from "hono";
import type { Result } from "../api/client.ts";
import type { ConfigFile } from "../config/config.ts";
import type { Devices } from "../devices/devices.ts";
import type { Leases } from "../devices/leases.ts";
import type { Registry } from "../devices/registry.ts";
import type { Log } from "../system/log.ts";
import { appRoutes } from "./apps.ts";
import { configRoutes } from "./config.ts";
import { controlRoutes } from "./controls.ts";
import { daemonRoutes } from "./daemon.ts";
import { devRoutes } from "./dev.ts";
import { deviceRoutes } from "./devices.ts";
import { eventRoutes } from "./events.ts";
import { groupRoutes } from "./groups.ts";
import { guard, lengthOfHead } from "./guard.ts";
import { leaseRoutes } from "./leases.ts";
import { type McpService, mcpRoute } from "./mcp.ts";
import { addressOf, openApiRoute } from "./openapi.ts";
import { pageRoutes } from "./page.ts";
import { remoteRoutes } from "./remote.ts";
import { answerError, answerUnknown, type Env } from "./route.ts";
import { sceneRoutes } from "./scenes.ts";
import { Streams } from "./streams.ts";

/** What the app works with; its caller creates and stops all of it. */
export interface AppDependencies {
  readonly registry: Registry;
  readonly devices: Devices;
  readonly leases: Leases;
  readonly config: ConfigFile;
  readonly log: Log;
  readonly state: string;
  /** The folder for packages while they are uploaded. */
  readonly uploads: string;
  readonly version: string;
  /** Host names beside those of loopback that callers may use, each as a `Host` header has it. */
  readonly hosts: readonly string[];
  /** The path below which it is mounted in another server, such as `/tv`, or an empty text. */
  readonly prefix: string;
  /** The control socket's path, and where the daemon listens now. */
  listeners(): { socket: string; http_host: string; http_port: number };
  /** Whether another program serves it, at a port that is not known here. */
  readonly embedded: boolean;
  page(): boolean;
  /** Runs the checks of `zapd doctor`. */
  examine(): Promise<Result<"examine">>;
  /** What answers at `/mcp`, loaded at its first request. */
  mcp(): Promise<McpService>;
  /** Problems for a person, such as damaged files and unknown settings. */
  warnings(): string[];
  /** The connection to the MQTT broker; `null` without one. */
  mqtt(): NonNullable<Result<"status">["mqtt"]> | null;
}

export function createApp(deps: AppDependencies): Hono<Env> {
  const app = new Hono<Env>();
  app.use(
    "*",
    lengthOfHead,
    guard(
      () => deps.config.running.daemon,
      deps.hosts,
      () => (deps.embedded ? null : addressOf(deps)),
    ),
    (c, next) => {
      c.set("deps", deps);
      return next();
    },
  );
  app.onError((error, c) => answerError(error, c, deps.log));
  app.notFound((c) => answerUnknown(c, deps.prefix));
  const streams = new Streams();
  deviceRoutes(app, deps);
  leaseRoutes(app, deps);
  appRoutes(app);
  remoteRoutes(app);
  controlRoutes(app, deps);
  groupRoutes(app, deps);
  sceneRoutes(app, deps, streams);
  devRoutes(app, deps, streams);
  eventRoutes(app, deps, streams);
  daemonRoutes(app, deps);
  configRoutes(app, deps);
  openApiRoute(app, deps);
  mcpRoute(app, deps, streams);
  pageRoutes(app, deps);
  return app;
}
