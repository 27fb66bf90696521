#!/usr/bin/env bun
/** The composition root: the only place that builds things and joins them. Read it from top to bottom. */
import { join } from "node:path";
import pkg from "../package.json" with { type: "json" };
import { createApp } from "./app.ts";
import { ConfigFile } from "./config/config.ts";
import { configPath, socketPath, stateFolder } from "./config/paths.ts";
import { Actions } from "./devices/actions.ts";
import { Arrivals } from "./devices/arrivals.ts";
import { Catalog } from "./devices/catalog.ts";
import { Control } from "./devices/control.ts";
import { type Entry, Registry } from "./devices/registry.ts";
import { Discovery } from "./discovery/discover.ts";
import { isThisMachine, wantedInterfaces } from "./discovery/interfaces.ts";
import { textOf } from "./errors.ts";
import { emptyFolder, makeFolder, sweepTemporaries } from "./files.ts";
import { createLog, type Log } from "./log.ts";
import { platforms } from "./platforms/index.ts";
import type { Address, Surroundings } from "./platforms/platform.ts";
import { currentRuntime, type Listening } from "./runtime/runtime.ts";
import { createServing } from "./serving.ts";
import { claimPort, claimSocket, releaseSocket } from "./socket.ts";

const { version } = pkg;

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
  readonly warnings: readonly string[];
  /** Ends when the first scan has ended, if there was one. */
  readonly scanned: Promise<void>;
  stop(): Promise<void>;
}

/** Requests under way have this long to end when the daemon stops. */
const graceMs = 4_000;

/** Builds a daemon and starts it. Fails with a ZapdError that says what is in the way. */
export async function startDaemon({ config: file, state, log }: DaemonOptions): Promise<Daemon> {
  const config = await ConfigFile.open(file);
  config.follow(({ daemon, dev }) => {
    log.level = daemon.log_level;
    log.hide(dev.vendor_password);
  });
  makeFolder(state);
  const warnings: string[] = [];
  const damaged = (problem: string) => {
    log.warn(problem);
    warnings.push(problem);
  };
  for (const warning of config.warnings) log.warn(warning);

  const { http_enabled, http_host, http_port, socket: configured } = config.running.daemon;
  const socket = socketPath(state, configured);
  const doors: Address[] = [];
  const serving = createServing();
  const runtime = await currentRuntime();
  const listening: Listening[] = [];

  // The port first: it is what two daemons of one config would fight over. Nothing is written before both doors are ours.
  if (http_enabled) {
    const place = { hostname: http_host, port: http_port };
    listening.push(await claimPort(place, socket, () => runtime.listen(place, serving.handler)));
  }
  try {
    listening.push(await claimSocket(socket, (path) => runtime.listen({ path }, serving.handler)));
  } catch (error) {
    for (const one of listening) await one.end();
    throw error;
  }
  const port = listening[0]?.port ?? http_port;
  if (http_enabled) doors.push({ host: http_host, port });

  await sweepTemporaries(state);
  const uploads = join(state, "uploads");
  await emptyFolder(uploads);
  const registry = await Registry.open({ path: join(state, "devices.json"), damaged });
  const catalog = await Catalog.open({ path: join(state, "apps.json"), damaged });
  const surroundings: Omit<Surroundings, "learned"> = {
    requestTimeout: () => config.running.devices.request_timeout_ms,
    isOwnDoor: (address) => doors.some((door) => door.port === address.port && isThisMachine(address.host)),
    broadcasts: () =>
      [...wantedInterfaces([]), ...wantedInterfaces(config.running.discovery.interfaces)].map((one) => one.broadcast),
    debug: (message) => log.debug(message),
  };
  const control = new Control({
    registry,
    catalog,
    platforms,
    surroundings,
    log,
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
    ...{ registry, catalog, control, actions, arrivals, config, log, uploads, version },
    doors: () => ({ socket, http_host, http_port: port }),
    warnings: () => [...warnings, ...config.warnings],
  });
  serving.open((request, call) => app.fetch(request, call));
  const scanned = discovery.start();

  return {
    url: http_enabled ? `http://${http_host.includes(":") ? `[${http_host}]` : http_host}:${port}/v1` : null,
    ...{ socket, registry, warnings, scanned },
    async stop() {
      for (const one of listening) one.close();
      await Promise.all([serving.drained(graceMs), discovery.stop()]);
      control.close();
      await registry.close().catch((error: unknown) => log.warn(textOf(error)));
      await catalog.settled();
      await releaseSocket(socket);
      for (const one of listening) await one.end();
    },
  };
}

if (import.meta.main) {
  const { runCommand } = await import("./cli/command.ts");
  process.exitCode = await runCommand(process.argv.slice(2), {
    startDaemon,
    version,
    configPath,
    stateFolder,
    createLog,
  });
}
