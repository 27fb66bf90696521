/** The composition root: the only place that builds things and joins them. Read it from top to bottom. */
import { join } from "node:path";
import { createApp } from "./app.ts";
import { ConfigFile } from "./config/config.ts";
import { socketPath } from "./config/paths.ts";
import { Actions } from "./devices/actions.ts";
import { Arrivals } from "./devices/arrivals.ts";
import { Catalog } from "./devices/catalog.ts";
import { Control } from "./devices/control.ts";
import type { Entry } from "./devices/entry.ts";
import { Registry } from "./devices/registry.ts";
import { Discovery } from "./discovery/discover.ts";
import { isThisMachine, wantedInterfaces } from "./discovery/interfaces.ts";
import { textOf } from "./errors.ts";
import { emptyFolder, makeFolder, sweepTemporaries } from "./files.ts";
import { createLog, type Log } from "./log.ts";
import { platforms } from "./platforms/index.ts";
import type { Surroundings } from "./platforms/platform.ts";
import { type Call, currentRuntime, type Listening } from "./runtime/runtime.ts";
import { createServing } from "./serving.ts";
import { claimPort, claimSocket, releaseSocket } from "./socket.ts";
import { version } from "./version.ts";

export { type AppDependencies, createApp } from "./app.ts";

/** Where a daemon listens, as its status says. */
interface Doors {
  readonly socket: string;
  readonly http_host: string;
  readonly http_port: number;
}

export interface ZapdOptions {
  /** The config file; it need not exist. */
  readonly config: string | ConfigFile;
  /** The folder of the registry, the catalog and the uploads. One zapd per folder. */
  readonly state: string;
  readonly log?: Log;
  readonly doors?: Doors;
  /**
   * Names beyond those of loopback by which callers may reach it, each as a `Host` header writes it (`tv.home:8443`).
   * Who serves zapd on other addresses than loopback must keep strangers out: it knows no passwords.
   */
  readonly hosts?: readonly string[];
  /** The path below which it is mounted in another server, such as `/tv`. */
  readonly prefix?: string;
}

/** zapd without a listener: the handler with its registry, discovery and platforms. */
export interface Zapd {
  /** Answers one request, as `fetch` handlers do. Without a `call` it counts as one over loopback TCP: the guard is on. */
  fetch(request: Request, call?: Call): Response | Promise<Response>;
  readonly registry: Registry;
  /** Begins to look for devices; ends when the first scan has. */
  start(): Promise<void>;
  /** Ends discovery, closes the connections to devices, and waits for what is being written. */
  stop(): Promise<void>;
}

/** Builds zapd from its config and its state. Nothing is asked of the network before `start`. Fails with `config_invalid`. */
export async function createZapd(options: ZapdOptions): Promise<Zapd> {
  const { state, log = silentLog(), hosts = [], prefix = "" } = options;
  const config = typeof options.config === "string" ? await ConfigFile.open(options.config) : options.config;
  config.follow(({ daemon, dev }) => {
    log.level = daemon.log_level;
    log.hide(dev.vendor_password);
  });
  const warnings: string[] = [];
  const damaged = (problem: string) => {
    log.warn(problem);
    warnings.push(problem);
  };
  for (const warning of config.warnings) log.warn(warning);

  makeFolder(state);
  const uploads = join(state, "uploads");
  await Promise.all([sweepTemporaries(state), emptyFolder(uploads)]);
  const registry = await Registry.open({ path: join(state, "devices.json"), damaged });
  const catalog = await Catalog.open({ path: join(state, "apps.json"), damaged });

  const { doors = { socket: "", ...pick(config.running.daemon) } } = options;
  const surroundings: Omit<Surroundings, "learned"> = {
    requestTimeout: () => config.running.devices.request_timeout_ms,
    isOwnDoor: ({ host, port }) =>
      port === doors.http_port && (options.doors ? isDoor(host, doors) : isThisMachine(host)),
    broadcasts: () =>
      [...wantedInterfaces([]), ...wantedInterfaces(config.running.discovery.interfaces)].map((one) => one.broadcast),
    debug: (message) => log.debug(message),
  };
  const control = new Control({
    ...{ registry, catalog, platforms, surroundings, log },
    config: () => config.running,
    lost: () => discovery.lookAgain(),
  });
  const actions = new Actions(control, catalog);
  const arrivals = new Arrivals({ registry, platforms, surroundings, config, log, discovery: () => discovery });
  const discovery = new Discovery<Entry>({
    ...{ platforms, surroundings, config: () => config.running.discovery },
    found: (finding) => arrivals.found(finding),
    debug: (message) => log.debug(message),
    warn: (message) => log.warn(message),
  });
  const app = createApp({
    ...{ registry, catalog, control, actions, arrivals, config, log, uploads, version, hosts },
    doors: () => doors,
    warnings: () => [...warnings, ...config.warnings],
  });
  return {
    registry,
    fetch: (request, call = { door: "tcp", unhurried() {} }) => app.fetch(below(prefix, request), call),
    start: () => discovery.start(),
    async stop() {
      await discovery.stop();
      control.close();
      await registry.close().catch((error: unknown) => log.warn(textOf(error)));
      await catalog.settled();
    },
  };
}

/** The request as the app sees it, without the path that it is mounted below. */
function below(prefix: string, request: Request): Request {
  if (prefix === "") return request;
  const url = new URL(request.url);
  const inside = url.pathname.startsWith(`${prefix}/`);
  url.pathname = inside ? url.pathname.slice(prefix.length) : "/";
  return new Request(url, request);
}

/** Whether an address is the one that the daemon listens on; another of 127.0.0.0/8 may be a device's. */
function isDoor(host: string, { http_host }: Doors): boolean {
  return http_host === "localhost" ? host === "127.0.0.1" || host === "::1" : host === http_host;
}

function pick({ http_host, http_port }: { http_host: string; http_port: number }): Omit<Doors, "socket"> {
  return { http_host, http_port };
}

function silentLog(): Log {
  return createLog({ level: "error", format: "json", colour: false, write() {} });
}

export interface DaemonOptions {
  readonly config: string;
  readonly state: string;
  readonly log: Log;
}

/** A daemon that runs. */
export interface Daemon {
  /** Where the API is; `null` when `daemon.http_enabled` is false. */
  readonly url: string | null;
  readonly socket: string;
  readonly registry: Registry;
  /** Ends when the first scan has ended; `null` when `discovery.on_start` is false. */
  readonly scanned: Promise<void> | null;
  /** Where devices are looked for, as the config says; none means everywhere. */
  interfaces(): readonly string[];
  stop(): Promise<void>;
}

/** Requests under way have this long to end when the daemon stops. */
const graceMs = 3_500;

/** Starts zapd behind its two doors, the loopback port and the control socket. Fails with a ZapdError that says what is in the way. */
export async function startDaemon({ config: file, state, log }: DaemonOptions): Promise<Daemon> {
  const config = await ConfigFile.open(file);
  const { http_enabled, http_host, http_port, socket: configured } = config.running.daemon;
  const socket = socketPath(state, configured);
  const serving = createServing();
  const runtime = await currentRuntime();
  const listening: Listening[] = [];
  const end = () => Promise.all(listening.map((one) => one.end()));

  // The port first: it is what two daemons of one config would fight over. No state is touched before both doors are ours.
  if (http_enabled) {
    const place = { hostname: http_host, port: http_port };
    listening.push(await claimPort(place, socket, () => runtime.listen(place, serving.handler)));
  }
  try {
    listening.push(await claimSocket(socket, (path) => runtime.listen({ path }, serving.handler)));
  } catch (error) {
    await end();
    throw error;
  }
  const zapd = await createZapd({
    ...{ config, state, log, doors: { socket, http_host, http_port } },
    // Another address of 127.0.0.0/8 is as good as the usual one, when the daemon is bound to it.
    hosts: [`${http_host}:${http_port}`],
  });
  serving.open(zapd.fetch);
  const started = zapd.start();
  const scanned = config.running.discovery.on_start ? started : null;

  const host = http_host.includes(":") ? `[${http_host}]` : http_host;
  return {
    url: http_enabled ? `http://${host}:${http_port}/v1` : null,
    ...{ socket, registry: zapd.registry, scanned },
    interfaces: () => config.running.discovery.interfaces,
    async stop() {
      for (const one of listening) one.close();
      await serving.drained(graceMs);
      await zapd.stop();
      await releaseSocket(socket);
      await end();
    },
  };
}
