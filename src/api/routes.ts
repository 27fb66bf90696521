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

const at = <Method extends OperationRoute["method"], Path extends string>(method: Method, path: Path) => ({
  method,
  path,
});

const own = {
  listDevices: { ...at("get", "/devices"), reaches: "memory" },
  addDevice: { ...at("post", "/devices"), reaches: "device", takes: "json" },
  removeUnusedDevices: { ...at("delete", "/devices"), reaches: "memory", takes: "query" },
  discoverDevices: { ...at("post", "/devices/discover"), reaches: "device" },
  getDevice: { ...at("get", "/devices/:id"), reaches: "memory" },
  changeDevice: { ...at("patch", "/devices/:id"), reaches: "memory", takes: "json" },
  pairDevice: { ...at("post", "/devices/:id/pair"), reaches: "device", takes: "json", optionalBody: true },
  cancelPairing: { ...at("delete", "/devices/:id/pair"), reaches: "device" },
  joinDevice: { ...at("post", "/devices/:id/join"), reaches: "memory", takes: "json" },
  splitDevice: { ...at("post", "/devices/:id/split"), reaches: "memory", takes: "json" },
  trustDevice: { ...at("post", "/devices/:id/trust"), reaches: "memory" },
  removeDevice: { ...at("delete", "/devices/:id"), reaches: "memory" },
  takeLease: { ...at("post", "/devices/:id/lease"), reaches: "memory", takes: "json", leases: true },
  freeLease: { ...at("delete", "/devices/:id/lease"), reaches: "memory", takes: "query", leases: true },
  getState: { ...at("get", "/devices/:id/state"), reaches: "device", takes: "query" },
  listApps: { ...at("get", "/devices/:id/apps"), reaches: "device" },
  launchApp: { ...at("post", "/devices/:id/apps/launch"), reaches: "device", takes: "json" },
  stopApp: { ...at("post", "/devices/:id/apps/stop"), reaches: "device" },
  refreshApps: { ...at("post", "/devices/:id/apps/refresh"), reaches: "device", takes: "json", optionalBody: true },
  pressKey: { ...at("post", "/devices/:id/remote/key"), reaches: "device", takes: "json" },
  pressKeys: { ...at("post", "/devices/:id/remote/sequence"), reaches: "device", takes: "json" },
  setVolume: { ...at("post", "/devices/:id/volume"), reaches: "device", takes: "json" },
  controlPlayback: { ...at("post", "/devices/:id/playback"), reaches: "device", takes: "json" },
  playMedia: { ...at("post", "/devices/:id/media"), reaches: "device", takes: "json" },
  listInputs: { ...at("get", "/devices/:id/inputs"), reaches: "device" },
  selectInput: { ...at("post", "/devices/:id/inputs"), reaches: "device", takes: "json" },
  listChannels: { ...at("get", "/devices/:id/channels"), reaches: "device" },
  selectChannel: { ...at("post", "/devices/:id/channels"), reaches: "device", takes: "json" },
  notify: { ...at("post", "/devices/:id/notify"), reaches: "device", takes: "json" },
  getIcon: { ...at("get", "/devices/:id/apps/:app/icon"), reaches: "device", takes: "query", answers: "picture" },
  getArtwork: { ...at("get", "/devices/:id/artwork"), reaches: "device", takes: "query", answers: "picture" },
  getScreenshot: { ...at("get", "/devices/:id/screenshot"), reaches: "device", takes: "query", answers: "picture" },
  listScenes: { ...at("get", "/scenes"), reaches: "memory" },
  runScene: { ...at("post", "/scenes/:scene"), reaches: "device", takes: "json", optionalBody: true },
  runSteps: { ...at("post", "/run"), reaches: "device", takes: "json" },
  installPackage: { ...at("post", "/devices/:id/dev/install"), reaches: "device", takes: "upload" },
  reloadPackage: { ...at("post", "/devices/:id/dev/reload"), reaches: "device", takes: "json", optionalBody: true },
  removePackage: { ...at("delete", "/devices/:id/dev"), reaches: "device" },
  readLogs: { ...at("get", "/devices/:id/dev/logs"), reaches: "device", takes: "query" },
  events: { ...at("get", "/events"), reaches: "stream", takes: "query", answers: "stream" },
  status: { ...at("get", "/daemon/status"), reaches: "memory" },
  readConfig: { ...at("get", "/config"), reaches: "memory" },
  patchConfig: { ...at("patch", "/config"), reaches: "memory", takes: "json" },
  reloadConfig: { ...at("post", "/config/reload"), reaches: "memory" },
  health: { ...at("get", "/health"), reaches: "memory" },
  examine: { ...at("get", "/doctor"), reaches: "device" },
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
