/**
 * zapd as a daemon: behind its two listeners, the loopback port and the control socket. They are bound before the state is
 * opened; who calls meanwhile waits.
 */

import { resolve } from "node:path";
import { textOf } from "./api/errors.ts";
import { ConfigFile } from "./config/config.ts";
import { socketPath } from "./config/paths.ts";
import type { Registry } from "./devices/registry.ts";
import { claimPort, claimSocket, isUnwritable, releaseSocket } from "./runtime/control-socket.ts";
import { currentRuntime, type Listener } from "./runtime/runtime.ts";
import { createServing } from "./runtime/serving.ts";
import type { Log } from "./system/log.ts";
import { checkAbove } from "./system/owners.ts";
import { checkStateFolder } from "./system/state-folder.ts";
import { listenerUrl } from "./system/text.ts";
import { createZapd } from "./zapd.ts";

export * from "./zapd.ts";

export interface DaemonOptions {
  readonly config: string;
  readonly state: string;
  readonly log: Log;
  /** `false`: the page for people is not served, whatever the config says. */
  readonly page?: boolean;
  /** How another port is chosen, where the config is not its user's. */
  readonly otherPort?: string;
}

/** A daemon that runs. */
export interface Daemon {
  /** Where the API is; `null` when `daemon.http_enabled` is false. */
  readonly url: string | null;
  /** `null` when its disk takes no socket. */
  readonly socket: string | null;
  readonly registry: Registry;
  /** Ends when the first scan has ended; `null` when `discovery.on_start` is false. */
  readonly scanned: Promise<void> | null;
  /** Where devices are looked for, as the config says; none means everywhere. */
  interfaces(): readonly string[];
  stop(): Promise<void>;
}

/** Requests under way have this long to end when the daemon stops. */
const graceMs = 3_500;

/** Starts zapd behind its two listeners, the loopback port and the control socket. Fails with a ZapdError that says what is in the way. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { config: file, log, page = true, otherPort } = options;
  // Its socket is told to callers who are in other folders.
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
  const giveUp = async (error: unknown): Promise<never> => {
    serving.refuse();
    await Promise.all(listening.map((one) => one.end()));
    throw error;
  };

  // The port first: it is what two daemons of one config would fight over. No state is touched before both listeners are ours.
  if (http_enabled) {
    const place = { hostname: http_host, port: http_port };
    listening.push(await claimPort(place, wanted, () => runtime.listen(place, serving.handler), otherPort));
  }
  let unwritable: string | undefined;
  try {
    const by = configured === "" ? undefined : "daemon.socket";
    listening.push(await claimSocket(wanted, (path) => runtime.listen({ path }, serving.handler), by, usual));
  } catch (error) {
    if (!http_enabled || !isUnwritable(error)) return giveUp(error);
    // Devices can be driven without a memory, and without the command line.
    unwritable = `${textOf(error)}: nothing can be remembered, and there is no control socket`;
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
    // Another address of 127.0.0.0/8 is as good as the usual one, when the daemon is bound to it.
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
    interfaces: () => config.running.discovery.interfaces,
    async stop() {
      // The socket is the lock of the state: who starts now must find it until the last word is written.
      for (const one of listening) if (one.port !== null) one.close();
      zapd.windDown();
      await serving.drained(graceMs);
      await zapd.stop();
      const freed = socket === null || releaseSocket(socket, usual);
      // Who ends a listener at a path removes what is there: a file of the user's as well.
      await Promise.all(listening.filter((one) => freed || one.port !== null).map((one) => one.end()));
    },
  };
}
