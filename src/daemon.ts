/**
 * zapd as a daemon behind two listeners, the loopback port and the control socket. They are bound before the state is opened;
 * requests that arrive before that wait.
 */
import { resolve } from "node:path";
import { textOf, ZapdError } from "./api/errors.ts";
import { ConfigFile } from "./config/config.ts";
import { socketPath } from "./config/paths.ts";
import type { Registry } from "./devices/registry.ts";
import { claimPort, claimSocket, isUnwritable, releaseSocket, watchSocket } from "./runtime/control-socket.ts";
import { currentRuntime, type Listener } from "./runtime/runtime.ts";
import { createServing } from "./runtime/serving.ts";
import type { Log } from "./system/log.ts";
import { checkAbove } from "./system/owners.ts";
import { checkStateFolder } from "./system/state-folder.ts";
import { listenerUrl, withHint } from "./system/text.ts";
import { createZapd } from "./zapd.ts";

export * from "./zapd.ts";

export interface DaemonOptions {
  readonly config: string;
  readonly state: string;
  readonly log: Log;
  /** `false`: the web page is not served, whatever the config says. */
  readonly page?: boolean;
  /** The hint for a port in use, where the config file is not the user's own (`zapd demo`). */
  readonly otherPort?: string;
}

/** A running daemon. */
export interface Daemon {
  /** The base URL of the API; `null` when `daemon.http_enabled` is false. */
  readonly url: string | null;
  /** The path of the control socket; `null` when the file system cannot hold one. */
  readonly socket: string | null;
  readonly registry: Registry;
  /** Resolves when the first scan has ended; `null` when `discovery.on_start` is false. */
  readonly scanned: Promise<void> | null;
  /** Searches for devices once more. */
  scan(): Promise<unknown>;
  /** The network interfaces that discovery uses, as configured; none means all of them. */
  interfaces(): readonly string[];
  /** Resolves once another daemon has the state folder: this one must end at once, and not by `stop`, which writes to it. */
  readonly lost: Promise<ZapdError>;
  stop(): Promise<void>;
}

/** How long running requests may take to end when the daemon stops. */
const graceMs = 3_500;

/** Starts zapd behind its two listeners. Fails with a `ZapdError` that says what prevents it. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { config: file, log, page = true, otherPort } = options;
  // Absolute, since callers in other folders are given the path of the socket.
  const state = resolve(options.state);
  const config = await ConfigFile.open(file);
  const { http_enabled, http_host, http_port, socket: configured } = config.running.daemon;
  const wanted = socketPath(state, configured);
  const usual = socketPath(state, "");
  checkAbove(wanted);
  const examined = checkStateFolder(state);
  const runtime = currentRuntime();
  const serving = createServing(() => runtime.optimizeForLoad());
  const listening: Listener[] = [];
  /** Set once the socket is bound. */
  let unwatch: (() => void) | undefined;
  const giveUp = async (error: unknown): Promise<never> => {
    serving.refuse();
    unwatch?.();
    if (unwatch) releaseSocket(wanted, usual);
    await Promise.all(listening.map((one) => one.end()));
    throw error;
  };

  // The port first: two daemons of one config compete for it. The state is not touched before both listeners are bound.
  if (http_enabled) {
    const place = { hostname: http_host, port: http_port };
    listening.push(await claimPort(place, wanted, () => runtime.listen(place, serving.handler), otherPort));
  }
  let unwritable: string | undefined;
  const lost = Promise.withResolvers<ZapdError>();
  const listen = async (path: string) => {
    const listener = await runtime.listen({ path }, serving.handler);
    listening.push(listener);
    return listener;
  };
  try {
    const by = configured === "" ? undefined : "daemon.socket";
    const bound = await claimSocket(wanted, listen, by, usual);
    const failed = (error: unknown) => log.recurring(textOf(error));
    unwatch = watchSocket(wanted, by, usual, bound, { listen, failed, lost: lost.resolve });
  } catch (error) {
    if (!http_enabled || !isUnwritable(error)) return giveUp(error);
    // Devices can be driven over HTTP without storage and without the command line.
    const hint = error instanceof ZapdError ? error.hint : undefined;
    unwritable = withHint(`${textOf(error)}: nothing can be saved, and there is no control socket`, hint);
  }
  const socket = unwritable === undefined ? wanted : null;
  const zapd = await createZapd({
    config,
    state,
    log,
    unwritable,
    examined,
    page,
    listeners: { socket: socket ?? "", http_host, http_port },
    // The daemon may be bound to another address of 127.0.0.0/8.
    hosts: [`${http_host}:${http_port}`],
  }).catch(giveUp);
  serving.open(zapd.fetch);
  const started = zapd.start();
  const scanned = config.running.discovery.on_start ? started : null;

  return {
    url: http_enabled ? `${listenerUrl(config.running.daemon)}/v1` : null,
    socket,
    registry: zapd.registry,
    scanned,
    scan: zapd.scan,
    interfaces: () => config.running.discovery.interfaces,
    lost: lost.promise,
    async stop() {
      unwatch?.();
      // The socket is the lock of the state folder: it stays until the last file is written.
      for (const one of listening) if (one.port !== null) one.close();
      zapd.windDown();
      await serving.drained(graceMs);
      await zapd.stop();
      const freed = socket === null || releaseSocket(socket, usual);
      // Closing a listener removes the file at its path, which may by now be another daemon's or the user's.
      await Promise.all(listening.filter((one) => freed || one.port !== null).map((one) => one.end()));
    },
  };
}
