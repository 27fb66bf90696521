/**
 * Method and path of each operation, and what its request carries. Without schemas (those are in operations.ts), so that the
 * client and the CLI load fast.
 */

/**
 * How far an operation reaches: `memory` answers from what zapd knows; `device` may ask a device, even if a cache mostly
 * answers; `stream` stays open.
 */
export type Reach = "memory" | "device" | "stream";

export interface OperationRoute {
  readonly method: "get" | "post" | "patch" | "delete";
  readonly path: string;
  /** Pages of unlisted origins get `forbidden_origin` from all but `memory` (SECURITY.md T31). */
  readonly reaches: Reach;
  /** What the request carries; the schema is in operations.ts, an upload has none. */
  readonly takes?: "json" | "query" | "upload";
  /** The JSON may be left out. */
  readonly optionalBody?: true;
  /** The kind of answer, where it is not one value in the envelope. */
  readonly answers?: "stream" | "picture";
  /** The operation takes or frees a lease, and checks the caller itself. */
  readonly leases?: true;
}

/** Whether a lease reserves an operation for its holder: every one that changes the device or its entry. Reads stay free. */
export function isForLeaseHolder({ method, path, leases }: OperationRoute): boolean {
  return method !== "get" && path.startsWith("/devices/:id") && leases !== true;
}

const own = {
  listDevices: { method: "get", path: "/devices", reaches: "memory" },
  addDevice: { method: "post", path: "/devices", reaches: "device", takes: "json" },
  removeUnusedDevices: { method: "delete", path: "/devices", reaches: "memory", takes: "query" },
  discoverDevices: { method: "post", path: "/devices/discover", reaches: "device" },
  getDevice: { method: "get", path: "/devices/:id", reaches: "memory" },
  changeDevice: { method: "patch", path: "/devices/:id", reaches: "memory", takes: "json" },
  pairDevice: { method: "post", path: "/devices/:id/pair", reaches: "device", takes: "json", optionalBody: true },
  cancelPairing: { method: "delete", path: "/devices/:id/pair", reaches: "device" },
  joinDevice: { method: "post", path: "/devices/:id/join", reaches: "memory", takes: "json" },
  splitDevice: { method: "post", path: "/devices/:id/split", reaches: "memory", takes: "json" },
  trustDevice: { method: "post", path: "/devices/:id/trust", reaches: "memory" },
  removeDevice: { method: "delete", path: "/devices/:id", reaches: "memory" },
  takeLease: { method: "post", path: "/devices/:id/lease", reaches: "memory", takes: "json", leases: true },
  freeLease: { method: "delete", path: "/devices/:id/lease", reaches: "memory", takes: "query", leases: true },
  getState: { method: "get", path: "/devices/:id/state", reaches: "device", takes: "query" },
  listApps: { method: "get", path: "/devices/:id/apps", reaches: "device" },
  launchApp: { method: "post", path: "/devices/:id/apps/launch", reaches: "device", takes: "json" },
  stopApp: { method: "post", path: "/devices/:id/apps/stop", reaches: "device" },
  refreshApps: {
    method: "post",
    path: "/devices/:id/apps/refresh",
    reaches: "device",
    takes: "json",
    optionalBody: true,
  },
  pressKey: { method: "post", path: "/devices/:id/remote/key", reaches: "device", takes: "json" },
  pressKeys: { method: "post", path: "/devices/:id/remote/sequence", reaches: "device", takes: "json" },
  setVolume: { method: "post", path: "/devices/:id/volume", reaches: "device", takes: "json" },
  controlPlayback: { method: "post", path: "/devices/:id/playback", reaches: "device", takes: "json" },
  playMedia: { method: "post", path: "/devices/:id/media", reaches: "device", takes: "json" },
  listInputs: { method: "get", path: "/devices/:id/inputs", reaches: "device" },
  selectInput: { method: "post", path: "/devices/:id/inputs", reaches: "device", takes: "json" },
  listChannels: { method: "get", path: "/devices/:id/channels", reaches: "device" },
  selectChannel: { method: "post", path: "/devices/:id/channels", reaches: "device", takes: "json" },
  notify: { method: "post", path: "/devices/:id/notify", reaches: "device", takes: "json" },
  getIcon: {
    method: "get",
    path: "/devices/:id/apps/:app/icon",
    reaches: "device",
    takes: "query",
    answers: "picture",
  },
  getArtwork: { method: "get", path: "/devices/:id/artwork", reaches: "device", takes: "query", answers: "picture" },
  getScreenshot: {
    method: "get",
    path: "/devices/:id/screenshot",
    reaches: "device",
    takes: "query",
    answers: "picture",
  },
  listScenes: { method: "get", path: "/scenes", reaches: "memory" },
  runScene: { method: "post", path: "/scenes/:scene", reaches: "device", takes: "json", optionalBody: true },
  runSteps: { method: "post", path: "/run", reaches: "device", takes: "json" },
  installPackage: { method: "post", path: "/devices/:id/dev/install", reaches: "device", takes: "upload" },
  reloadPackage: {
    method: "post",
    path: "/devices/:id/dev/reload",
    reaches: "device",
    takes: "json",
    optionalBody: true,
  },
  removePackage: { method: "delete", path: "/devices/:id/dev", reaches: "device" },
  readLogs: { method: "get", path: "/devices/:id/dev/logs", reaches: "device", takes: "query" },
  events: { method: "get", path: "/events", reaches: "stream", takes: "query", answers: "stream" },
  status: { method: "get", path: "/daemon/status", reaches: "memory" },
  readConfig: { method: "get", path: "/config", reaches: "memory" },
  patchConfig: { method: "patch", path: "/config", reaches: "memory", takes: "json" },
  reloadConfig: { method: "post", path: "/config/reload", reaches: "memory" },
  health: { method: "get", path: "/health", reaches: "memory" },
  examine: { method: "get", path: "/doctor", reaches: "device" },
} as const satisfies Record<string, OperationRoute>;

/** The header in which a client names itself, for `by` of an event. */
export const clientHeader = "zapd-client";
/** The header for the token of a lease; several are separated by commas. */
export const leaseHeader = "zapd-lease";

/** The name of the group of all devices, and the prefix of a label, where a device can be named. */
export const allWord = "all";
export const labelPrefix = "label:";

export function meansGroup(word: string): boolean {
  return word === allWord || word.startsWith(labelPrefix);
}

/** Whether a device with these labels belongs to a group. */
export function isOfGroup(labels: readonly string[] = [], group: string): boolean {
  return group === allWord || labels.includes(group.slice(labelPrefix.length));
}

/** The operations of a device that a group has too. */
export const groupable = [
  "pressKey",
  "pressKeys",
  "launchApp",
  "stopApp",
  "setVolume",
  "controlPlayback",
  "notify",
] as const satisfies (keyof typeof own)[];
export type Groupable = (typeof groupable)[number];

type GroupPath<Path> = Path extends `/devices/:id${infer Rest}` ? `/groups/:group${Rest}` : never;
type OfGroups = {
  readonly [Name in Groupable as `${Name}OfGroup`]: Omit<(typeof own)[Name], "path"> & {
    readonly path: GroupPath<(typeof own)[Name]["path"]>;
  };
};

/** The operations of groups. Their names and paths are derived, which types cannot follow through entries. */
const ofGroups = Object.fromEntries(
  groupable.map((name) => [
    `${name}OfGroup`,
    { ...own[name], path: own[name].path.replace("/devices/:id", "/groups/:group") },
  ]),
) as OfGroups;

export const operationRoutes = { ...own, ...ofGroups } satisfies Record<string, OperationRoute>;

export type OperationName = keyof typeof operationRoutes;
