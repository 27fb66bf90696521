/** The composition root: the only place that builds things and joins them. Read it from top to bottom. */
import "./system/node-20.ts";
import { join, resolve } from "node:path";
import { textOf, ZapdError } from "./api/errors.ts";
import { ConfigFile } from "./config/config.ts";
import { Catalog } from "./devices/catalog.ts";
import { Credentials } from "./devices/credentials.ts";
import { Devices } from "./devices/devices.ts";
import { Leases } from "./devices/leases.ts";
import type { DeviceRecord } from "./devices/record.ts";
import { Registry } from "./devices/registry.ts";
import { Trust } from "./devices/trust.ts";
import { Discovery } from "./discovery/discover.ts";
import { isThisMachine, wantedInterfaces } from "./discovery/interfaces.ts";
import { askMdns } from "./discovery/mdns.ts";
import type { Mcp } from "./mcp/http.ts";
import { MqttLink } from "./mqtt/link.ts";
import { platforms as every, composition as everyComposition } from "./platforms/index.ts";
import type { Composition, Platform, PlatformHost } from "./platforms/platform.ts";
import type { Call } from "./runtime/runtime.ts";
import { createApp } from "./server/app.ts";
import { dayClock, machineSleep } from "./system/clock.ts";
import { makeFolder } from "./system/files.ts";
import { createLog, type Log } from "./system/log.ts";
import { type Neighbours, neighboursOf } from "./system/neighbours.ts";
import { checkStateFolder, sweepStateFolder, uploadsIn } from "./system/state-folder.ts";
import { listenerUrl, withHint } from "./system/text.ts";
import { version } from "./system/version.ts";

export { type AppDependencies, createApp } from "./server/app.ts";
export { createLog, type Log, type LogOptions } from "./system/log.ts";

/** Where a daemon listens, as `GET /daemon/status` reports it. */
interface Listeners {
  readonly socket: string;
  readonly http_host: string;
  readonly http_port: number;
}

export interface ZapdOptions {
  /** The config file; it need not exist. */
  readonly config: string | ConfigFile;
  /** The folder of the registry, the catalog and the uploads. One zapd per folder. */
  readonly state: string;
  /** Problems of the state folder, where the caller has examined it already. */
  readonly examined?: readonly string[];
  /** Why the state folder cannot be written. zapd then runs without storage, and warns about it. */
  readonly unwritable?: string | undefined;
  readonly log?: Log;
  readonly listeners?: Listeners;
  /**
   * Host names beside those of loopback that callers may use, each as a `Host` header has it (`tv.home:8443`).
   * A program that serves zapd on such addresses must authenticate callers itself: zapd has no passwords.
   */
  readonly hosts?: readonly string[];
  /** The path below which it is mounted in another server, such as `/tv`. */
  readonly prefix?: string;
  /** `false`: the web page is not served, whatever the config says. */
  readonly page?: boolean;
  /** Looks up the MAC address behind an IP address; the system's own table by default. */
  readonly neighbours?: Neighbours;
  /** The platforms it drives; all of them by default. */
  readonly platforms?: readonly Platform[];
  /** How those platforms are combined where several reach one device. */
  readonly composition?: Composition;
  /** The wall clock, milliseconds since 1970: a device that stays undisputed for a day is trusted again. */
  readonly now?: () => number;
  /**
   * Requests without a `Host` header are accepted: the program makes them itself, or answers for whoever forwards them. A
   * `Host` that is present is checked as always.
   */
  readonly trusted?: boolean;
}

/** The server that calls a handler, where it has a limit for silent connections and can change it for one. */
interface LimitingServer {
  timeout?(request: Request, seconds: number): void;
}

/** zapd without a listener: the handler with its registry, discovery and platforms. */
export interface Zapd {
  /**
   * Answers one request, as `fetch` handlers do. Without a `call` the request counts as one over loopback TCP: the guard
   * applies, and a request without a `Host` is refused. The server whose handler it is may be given instead: its limit for
   * silent connections is then lifted where an answer may take longer.
   */
  fetch(request: Request, call?: Call | LimitingServer): Response | Promise<Response>;
  /**
   * Calls zapd from the program that embeds it: `zapd.request("/v1/devices")`. A path needs no host. The guard still checks
   * a `Host` or an `Origin` that is present.
   */
  request(input: string | URL | Request, init?: RequestInit): Promise<Response>;
  readonly registry: Registry;
  /** Starts discovery; resolves when the first scan has ended. */
  start(): Promise<void>;
  /** Searches for devices, as `POST /v1/devices/discover` does. */
  scan(): Promise<unknown>;
  /** Ends event streams, held keys, leases and the broker at once, before running requests have ended. */
  windDown(): void;
  /** Ends discovery, closes the connections to devices, and waits until pending writes are on disk. */
  stop(): Promise<void>;
}

/** Requests that waited for the start are answered within this time, before discovery begins. */
const startDelayMs = 10;

/** Builds zapd from its config and its state. The network is not used before `start`. Fails with `config_invalid`. */
export async function createZapd(options: ZapdOptions): Promise<Zapd> {
  const { state, log = silentLog(), hosts = [], trusted = false } = options;
  // As the paths of requests have it, and without a slash at its end.
  const prefix = new URL(options.prefix ?? "", "http://zapd").pathname.replace(/\/+$/, "");
  const { platforms = every, composition = everyComposition } = options;
  const config = typeof options.config === "string" ? await ConfigFile.open(options.config) : options.config;
  config.subscribe(({ daemon, dev }) => {
    log.level = daemon.log_level;
    log.hide(dev.vendor_password);
  });
  const warnings: string[] = [];
  const damaged = (problem: string) => {
    log.warn(problem);
    warnings.push(problem);
  };
  for (const warning of config.warnings) log.warn(warning);
  config.protectSecrets((closed) => log.warn(closed));
  for (const problem of options.examined ?? checkStateFolder(state)) damaged(problem);

  if (options.unwritable === undefined) makeFolder(state);
  else damaged(options.unwritable);
  const uploads = uploadsIn(state);
  sweepStateFolder(state);
  /** By file, why its last change is not on disk. */
  const unsaved = new Map<string, ZapdError>();
  const fileOf = (name: string) => ({
    path: join(state, name),
    damaged,
    wrote(failure: ZapdError | undefined) {
      if (failure) unsaved.set(name, failure);
      else unsaved.delete(name);
    },
  });
  const registry = await Registry.open({ ...fileOf("devices.json"), composition });
  const catalog = await Catalog.open(fileOf("apps.json"));

  const credentials = await Credentials.open({
    ...fileOf("credentials.json"),
    hide: (secret) => log.hide(secret),
  });

  const leases = await Leases.open({
    ...fileOf("leases.json"),
    failed: (error) => log.recurring(`The leases could not be saved: ${textOf(error)}`),
  });

  config.subscribe(({ daemon }) => {
    registry
      .setDefaultName(daemon.default_device)
      .catch((error: unknown) => log.recurring(`The default device could not be saved: ${textOf(error)}`));
  });

  const { http_host, http_port } = config.running.daemon;
  const { listeners = { socket: "", http_host, http_port } } = options;
  const interfaces = () => wantedInterfaces(config.running.discovery.interfaces);
  const platformHost: PlatformHost = {
    requestTimeoutMs: () => config.running.devices.request_timeout_ms,
    isOwnListener: ({ host, port }) =>
      port === listeners.http_port && (options.listeners ? isOwnHost(host, listeners) : isThisMachine(host)),
    broadcasts: () => [...wantedInterfaces([]), ...interfaces()].map((one) => one.broadcast),
    announced: (type, host, isIt, signal) => askMdns({ type, host, isIt, interfaces: interfaces() }, signal),
    debug: (message) => log.debug(message),
  };
  const stopping = new AbortController();
  const trust = new Trust({
    registry,
    credentials,
    log,
    platforms,
    platformHost,
    neighbours: options.neighbours ?? neighboursOf(),
    stopping: stopping.signal,
    now: options.now ?? dayClock(),
  });
  // From now on the sleeps of this machine are seen.
  machineSleep();
  const devices = new Devices({
    registry,
    catalog,
    credentials,
    leases,
    trust,
    platforms,
    platformHost,
    log,
    config: () => config.running,
    onUnreachable: () => discovery.scanInBackground(),
    scan: () => discovery.scanForMissing(),
    discovery: () => discovery,
    nameDefault: (name) => config.patch({ "daemon.default_device": name }),
  });
  /** For each running scan, the ids of devices that have been announced. */
  const scans = new Set<Set<string>>();
  const discovery = new Discovery<DeviceRecord>({
    platforms,
    platformHost,
    config: () => config.running.discovery,
    addFound: (finding, seats) => devices.adding.addFound(finding, seats),
    sleepingAt: (platform, address) => devices.sleepingAt(platform, address),
    knownAddresses: () => trust.knownAddresses(),
    onScan() {
      const known = new Set(registry.devices.map(({ id }) => id));
      scans.add(known);
      return (found) => {
        scans.delete(known);
        if (found === null) return;
        const ids = [...new Set(found.map(({ id }) => registry.deviceOf(id)?.id ?? id))];
        const added = ids.filter((id) => !known.has(id));
        // Only one of several overlapping scans counts a device as added.
        for (const other of scans) for (const id of added) other.add(id);
        devices.journal.publish({ type: "discovery.finished", found: ids.length, added: added.length });
      };
    },
    warn: (message) => log.recurring(message, "warn"),
  });
  const page = () => options.page !== false && config.running.daemon.page;
  const app = createApp({
    registry,
    devices,
    leases,
    config,
    log,
    state,
    uploads,
    version,
    hosts,
    prefix,
    listeners: () => listeners,
    embedded: options.listeners === undefined,
    page,
    async examine() {
      const { examineFrom } = await import("./doctor/doctor.ts");
      const places = { configFile: resolve(config.path), stateFolder: resolve(state), socket: listeners.socket };
      return examineFrom(places, async (request) => app.fetch(request, { ...ownCall, isUse: false }));
    },
    mcp: () => (mcp ??= openMcp()),
    warnings: () => [
      ...warnings,
      ...[...unsaved.values()].map(({ message, hint }) => `The last change was not saved: ${withHint(message, hint)}`),
      ...config.warnings,
      ...trust.warnings(),
      ...mqtt.warnings(),
    ],
    mqtt: () => mqtt.status,
  });
  const ownCall: Call = { listener: "tcp", ownProgram: true, withoutIdleLimit() {} };
  const mqtt = new MqttLink({
    state,
    log,
    ask: (request, isUse) => app.fetch(request, { ...ownCall, isUse }),
    artifacts: { origins: () => config.running.fleet.artifact_origins, folder: uploads },
    address: () => (options.listeners && config.running.daemon.http_enabled ? listenerUrl(listeners) : null),
    page,
  });
  config.subscribe((now) => mqtt.use(now.mqtt));
  let mcp: Promise<Mcp> | undefined;
  async function openMcp(): Promise<Mcp> {
    const { createMcp } = await import("./mcp/http.ts");
    return createMcp({ state, fetch: (request) => app.fetch(request, ownCall) });
  }
  let stopped = false;
  let mqttStopped: Promise<void> | undefined;
  const windDown = () => {
    void mcp?.then((one) => one.close()).catch(() => {});
    mqttStopped ??= mqtt.stop();
    devices.releaseKeys();
    leases.close();
    devices.journal.close();
  };
  return {
    registry,
    fetch(request, given) {
      const answer = (call: Call) => app.fetch(...mounted(prefix, request, call));
      if (isCall(given)) return answer(given);
      // As a handler of a server or of Hono's `mount` it is given an object of theirs instead of a call.
      const ask = (withoutIdleLimit: Call["withoutIdleLimit"]) =>
        answer({ listener: "tcp", ownProgram: trusted, withoutIdleLimit });
      return typeof given?.timeout === "function" ? liftingLimit(given, request, ask) : ask(() => {});
    },
    async request(input, init) {
      const request =
        input instanceof Request
          ? keeping(input, new Request(input, init))
          : new Request(new URL(input, "http://zapd"), init);
      if (!new URL(request.url).pathname.startsWith(`${prefix}/`)) return app.fetch(request, ownCall);
      return app.fetch(...mounted(prefix, request, ownCall));
    },
    async start() {
      await new Promise((resolve) => setTimeout(resolve, startDelayMs));
      if (stopped) return;
      config.sweep();
      mqtt.start();
      await discovery.start();
    },
    scan: () => discovery.scan(),
    windDown,
    async stop() {
      stopped = true;
      windDown();
      await mqttStopped;
      stopping.abort(new ZapdError("internal_error", "zapd is stopping"));
      await discovery.stop();
      devices.close();
      await devices.saveAvailability().catch((error: unknown) => log.warn(textOf(error)));
      await Promise.all([catalog.settled(), credentials.settled(), leases.settled()]);
    },
  };
}

/** The limit that a connection has again after an answer that may take longer; that of its server is not known. */
const idleSecondsAfter = 75;

/** Lifts the limit of a server while an answer takes longer. The limit belongs to the connection, not to the request. */
async function liftingLimit(
  server: LimitingServer,
  request: Request,
  ask: (lift: Call["withoutIdleLimit"]) => Response | Promise<Response>,
): Promise<Response> {
  let lifted: Parameters<Call["withoutIdleLimit"]>[0] | undefined;
  const response = await ask((until) => {
    lifted = until;
    server.timeout?.(request, 0);
  });
  if (lifted === "answered") server.timeout?.(request, idleSecondsAfter);
  // The end of a stream is not reported, so its connection is not used again.
  if (lifted === "ended") response.headers.set("connection", "close");
  return response;
}

function isCall(given: Call | LimitingServer | undefined): given is Call {
  return typeof (given as Partial<Call> | undefined)?.withoutIdleLimit === "function";
}

/**
 * The request as the app sees it, its path without the prefix of the mount; the call has the path that the caller wrote, which
 * messages quote. The guard refuses the odd URLs that Bun makes of odd `Host` headers.
 */
function mounted(prefix: string, request: Request, call: Call): [Request, Call] {
  if (prefix === "" || !URL.canParse(request.url)) return [request, call];
  const url = new URL(request.url);
  const callerPath = url.pathname;
  url.pathname = callerPath.startsWith(`${prefix}/`) ? callerPath.slice(prefix.length) : "/";
  return [keeping(request, new Request(url, request)), { ...call, callerPath }];
}

const originals = new WeakMap<Request, Request>();

/** Keeps a request as long as its copy: under Node 20 the signal of a copy whose original was collected never aborts. */
function keeping(original: Request, copy: Request): Request {
  originals.set(copy, original);
  return copy;
}

/** Whether the daemon listens on an address; another one of 127.0.0.0/8 may belong to a device. */
function isOwnHost(host: string, { http_host }: Listeners): boolean {
  return http_host === "localhost" ? host === "127.0.0.1" || host === "::1" : host === http_host;
}

function silentLog(): Log {
  return createLog({ level: "error", format: "json", colour: false, write() {} });
}
