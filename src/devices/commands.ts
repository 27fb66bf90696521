/** Commands for apps and for the developer mode, one function per action of the API. Each answers once the device took it. */
import { hasCode, textOf, ZapdError } from "../api/errors.ts";
import type { App } from "../api/schemas.ts";
import {
  type Archive,
  type Confirmed,
  type ConsoleLines,
  type DeepLink,
  type InstallResult,
  shownParts,
} from "../platforms/platform.ts";
import { sleepCheck } from "../system/clock.ts";
import {
  appNotFound,
  describeApp,
  findApp,
  findService,
  mergeApps,
  type Refreshed,
  serviceNotFound,
} from "./catalog.ts";
import type { Device } from "./device.ts";
import type { Endpoint } from "./endpoint.ts";
import { masked, requireCapability, withDeviceName } from "./failures.ts";
import type { Turn } from "./queue.ts";
import type { Route, Task } from "./task.ts";

/** Milliseconds for actions that are more than one answer (SECURITY.md 4). */
const limits = {
  list: 10_000,
  launch: 15_000,
  stop: 15_000,
  reload: 25_000,
  install: 180_000,
  logs: 12_000,
} as const;

/** The apps of a device, with the platform that lists them; with the error where they could not be saved. */
interface Listed extends Refreshed {
  readonly platform: string;
  readonly unsaved?: unknown;
}

/** The cached apps; without a cache, the device is asked first. */
export async function listApps(
  device: Device,
  signal: AbortSignal,
  isUse = true,
): Promise<Pick<Listed, "platform" | "apps">> {
  const { id, record } = device.preferredEndpoint("apps");
  const cached = device.catalog.apps(id);
  if (cached) return { platform: record.platform, apps: cached };
  const { platform, apps } = await readApps(device, false, signal, isUse);
  return { platform, apps };
}

/** On disk when it returns. */
export async function refreshApps(device: Device, clear: boolean, signal: AbortSignal, isUse = true): Promise<Listed> {
  const { unsaved, ...listed } = await readApps(device, clear, signal, isUse);
  if (unsaved) throw unsaved;
  return listed;
}

function readApps(device: Device, clear: boolean, signal: AbortSignal, isUse: boolean): Promise<Listed> {
  const what = clear ? "apps anew" : "apps";
  return device.onOneEndpoint("apps", (route) =>
    device.read(what, signal, { ...listing(device, route, clear), isUse }),
  );
}

function listing(device: Device, route: Route, clear = false): Task<Listed> {
  return {
    activity: "listing its apps",
    timeoutMs: limits.list,
    route,
    changes: [],
    work: async (connection, within, { id, record }) => {
      const listed = await requireCapability(connection.apps?.list, "apps")(within);
      const saved = device.catalog.refresh(id, record.platform, listed, clear);
      const { changes, ...refreshed } = await saved.catch((unsaved: unknown) => {
        if (!hasCode(unsaved, "storage_error")) throw unsaved;
        // The device has answered: what it lists can be shown and launched all the same.
        const apps = mergeApps(device.catalog.apps(id) ?? [], listed);
        return { apps, added: [], removed: [], changes: null, unsaved };
      });
      if (changes) device.publishApps(changes);
      return { platform: record.platform, ...refreshed };
    },
  };
}

export function launchApp(
  device: Device,
  wanted: string,
  params: DeepLink,
  turn: Turn,
): Promise<{ app: App; confirmed: Confirmed }> {
  const on = (route: Route) => {
    const launch = async (app: App, own: Turn) => {
      const confirmed = await device.command(own, {
        activity: `launching ${app.name}`,
        timeoutMs: limits.launch,
        route,
        changes: shownParts,
        callerTexts: [wanted, ...Object.keys(params), ...Object.values(params)],
        work: (connection, within) =>
          requireCapability(connection.apps?.launch, "launch")(app.platform_id, params, within),
      });
      return { app: { ...app, installed: true }, confirmed };
    };
    const known = knownApp(device, route, wanted);
    if (known) return launch(known, turn);
    return device.commands(turn, "launching an app", async (own) => {
      const checkAwake = sleepCheck();
      const app = await listedApp(device, route, wanted, own);
      checkAwake();
      return launch(app, own);
    });
  };
  // An id from the list of one platform may have the form of another's ids.
  const isListed = ({ id }: Endpoint) =>
    device.catalog.apps(id)?.some(({ platform_id }) => platform_id === wanted.trim()) === true;
  const owner = device.endpoints.find((endpoint) => endpoint.has("launch") && isListed(endpoint));
  return owner ? on({ endpoint: owner }) : device.onOneEndpoint("launch", on);
}

export function stopApp(device: Device, turn: Turn): Promise<App | null> {
  return device.command(turn, {
    activity: "stopping the app",
    timeoutMs: limits.stop,
    needs: "stop",
    changes: shownParts,
    whenOff: { wake: false, result: null },
    work: async (connection, within, endpoint) => {
      const app = await requireCapability(connection.apps?.stop, "stop")(within);
      return app && describeApp(app, device.catalog.apps(endpoint.id));
    },
  });
}

/** Fails where nothing can be installed, before any of a package is read. */
export function checkDeveloper(device: Device): void {
  device.requireCapability("dev");
  device.checkTrusted();
}

/** The beginning of the error about a missing password. */
const installingOn = "Installing on";

export async function installPackage(
  device: Device,
  archive: Archive,
  { password, params }: { readonly password?: string | undefined; readonly params?: DeepLink | undefined },
  turn: Turn,
): Promise<InstallResult> {
  // Also before it is woken.
  if (password === undefined) device.developerPassword(installingOn);
  let hasStarted = false;
  const watched: Archive = {
    ...archive,
    sent(bytes) {
      hasStarted = true;
      archive.sent?.(bytes);
    },
  };
  const keepPassword = async () => {
    if (password !== undefined) await device.keepDeveloperPassword(password);
  };
  const installing = device.command(turn, {
    activity: "installing the package",
    timeoutMs: limits.install,
    needs: "dev",
    changes: shownParts,
    callerTexts: Object.values(params ?? {}),
    hasStarted: () => hasStarted,
    work: async (connection, within) => {
      device.checkTrusted();
      const used = password ?? device.developerPassword(installingOn);
      const options = { params, isOwn: password !== undefined };
      const installed = requireCapability(connection.dev, "dev").install(watched, used, within, options);
      return installed.catch((error: unknown) => {
        throw masked([password ?? ""], error);
      });
    },
  });
  const result = await installing.catch(async (error: unknown) => {
    // It has accepted the password. Where that cannot be kept, what is wrong with the package says more.
    if (hasCode(error, "package_rejected")) await keepPassword().catch(() => {});
    throw error;
  });
  await keepPassword().catch((cause: unknown) => {
    throw new ZapdError("storage_error", `The package is installed, but its password is not kept: ${textOf(cause)}`, {
      hint: "Give the password again with the next package, and check that the disk of the state folder is not full",
      cause,
    });
  });
  // The catalog should show the new package; where the device does not list its apps now, it is installed all the same.
  await refreshApps(device, false, turn.signal).catch(() => {});
  return result;
}

export function reloadPackage(device: Device, turn: Turn, params?: DeepLink): Promise<App> {
  return device.command(turn, {
    activity: "reloading the package",
    timeoutMs: limits.reload,
    needs: "dev",
    changes: shownParts,
    callerTexts: Object.values(params ?? {}),
    work: async (connection, within, endpoint) => {
      const app = await requireCapability(connection.dev, "dev").reload(within, params);
      return describeApp(app, device.catalog.apps(endpoint.id));
    },
  });
}

export function removePackage(device: Device, turn: Turn): Promise<void> {
  return device.command(turn, {
    activity: "removing the package",
    timeoutMs: limits.reload,
    needs: "dev",
    changes: shownParts,
    work: async (connection, within) => {
      const { remove } = requireCapability(connection.dev, "dev");
      return requireCapability(remove, "dev")(device.developerPassword("Removing the package from"), within);
    },
  });
}

/** Lines of the developer console; a read, so it does not wait for commands. */
export function readLogs(device: Device, cursor: string | null, signal: AbortSignal): Promise<ConsoleLines> {
  return device.read(`logs ${cursor ?? ""}`, signal, {
    activity: "reading its console",
    timeoutMs: limits.logs,
    needs: "dev",
    callerTexts: cursor === null ? [] : [cursor],
    work: (connection, within) => requireCapability(connection.dev, "dev").console.read(cursor, within),
  });
}

/** Finds an app without asking the device; `null` where only its list of apps can tell. */
function knownApp(device: Device, route: Route, wanted: string): App | null {
  const { id, platform } = route.endpoint;
  device.requireCapability("launch");
  const found = findApp(wanted, device.catalog.apps(id) ?? [], platform);
  if (found) return found;
  if (!route.endpoint.description.has.has("apps")) {
    const known = findService(wanted, platform);
    if (known) return known;
    throw withDeviceName(serviceNotFound(wanted, platform), device.record);
  }
  return null;
}

/** Finds an app in a fresh list. */
async function listedApp(device: Device, route: Route, wanted: string, turn: Turn): Promise<App> {
  const { platform } = route.endpoint;
  // As a command, so that a device that is asleep is woken.
  const list = await device.command(turn, listing(device, route)).catch((error: unknown) => {
    // A device that refuses to list its apps may still launch a well-known one.
    const known = hasCode(error, "device_refused", "unsupported_operation") ? findService(wanted, platform) : null;
    if (known) return known;
    throw error;
  });
  if (!("apps" in list)) return list;
  const { apps: listed } = list;
  const app = findApp(wanted, listed, platform);
  if (app) return app;
  throw withDeviceName(appNotFound(wanted, listed), device.record);
}
