/**
 * Where each operation of the API is, and what its request carries. Light, so that the daemon can listen before the
 * schemas of the wire (api.ts) are built.
 */

/** Limits on sequences (SECURITY.md 4): a longer delay would overflow a timer and become none. */
export const sequenceLimits = { keys: 256, delayMs: 60_000, totalMs: 600_000, usualDelayMs: 200 } as const;

export interface Endpoint {
  readonly method: "get" | "post" | "patch" | "delete";
  readonly path: string;
  /** What the request carries, for which api.ts has the schema; an upload is streamed by its route. */
  readonly takes?: "json" | "query" | "upload";
  /** The JSON may be left out. */
  readonly optionalBody?: true;
}

export const endpoints = {
  listDevices: { method: "get", path: "/devices" },
  addDevice: { method: "post", path: "/devices", takes: "json" },
  removeUnused: { method: "delete", path: "/devices", takes: "query" },
  discover: { method: "post", path: "/devices/discover" },
  getDevice: { method: "get", path: "/devices/:id" },
  changeDevice: { method: "patch", path: "/devices/:id", takes: "json" },
  pair: { method: "post", path: "/devices/:id/pair", takes: "json", optionalBody: true },
  trust: { method: "post", path: "/devices/:id/trust" },
  removeDevice: { method: "delete", path: "/devices/:id" },
  getState: { method: "get", path: "/devices/:id/state" },
  listApps: { method: "get", path: "/devices/:id/apps" },
  launch: { method: "post", path: "/devices/:id/apps/launch", takes: "json" },
  stop: { method: "post", path: "/devices/:id/apps/stop" },
  refresh: { method: "post", path: "/devices/:id/apps/refresh", takes: "json", optionalBody: true },
  key: { method: "post", path: "/devices/:id/remote/key", takes: "json" },
  sequence: { method: "post", path: "/devices/:id/remote/sequence", takes: "json" },
  install: { method: "post", path: "/devices/:id/dev/install", takes: "upload" },
  reload: { method: "post", path: "/devices/:id/dev/reload" },
  readLogs: { method: "get", path: "/devices/:id/dev/logs", takes: "query" },
  status: { method: "get", path: "/daemon/status" },
  readConfig: { method: "get", path: "/config" },
  patchConfig: { method: "patch", path: "/config", takes: "json" },
  reloadConfig: { method: "post", path: "/config/reload" },
  health: { method: "get", path: "/health" },
} as const satisfies Record<string, Endpoint>;

export type EndpointName = keyof typeof endpoints;
