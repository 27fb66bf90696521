/** What can be asked of a device, one function per action of the API. Each answers once the device took it. */

import { ZapdError } from "../api/errors.ts";
import { sequenceLimits } from "../api/routes.ts";
import type { App } from "../api/schemas.ts";
import type { Archive, Confirmed, ConsoleLines, InstallResult } from "../platforms/platform.ts";
import { appNotFound, describeApp, findApp, findService, type Refreshed } from "./catalog.ts";
import type { Device } from "./device.ts";
import { named, requireCapability } from "./failures.ts";
import {
  atOff,
  capabilityFor,
  checkPress,
  doing,
  type Press,
  patience,
  perform,
  powerAfter,
  readPress,
  runSequence,
} from "./press.ts";
import type { Task } from "./reach.ts";

/** Milliseconds for actions that are more than one answer (SECURITY.md 4). */
const limits = {
  list: 10_000,
  launch: 15_000,
  stop: 15_000,
  reload: 25_000,
  install: 180_000,
  logs: 12_000,
} as const;

/** The catalog from its cache; a cold cache is filled from the device first. */
export async function listApps(device: Device, signal: AbortSignal): Promise<App[]> {
  return device.catalog.apps(device.id) ?? (await refreshApps(device, false, signal)).apps;
}

export async function refreshApps(device: Device, clear: boolean, signal: AbortSignal): Promise<Refreshed> {
  return device.read(clear ? "apps anew" : "apps", listing(device, clear), signal);
}

function listing(device: Device, clear: boolean): Task<Refreshed> {
  return {
    doing: "listing its apps",
    needs: "apps",
    timeoutMs: limits.list,
    work: async (connection, within) => {
      const listed = await requireCapability(connection.apps, "apps")(within);
      return device.catalog.refresh(device.id, device.record.platform, listed, clear);
    },
  };
}

export async function launchApp(
  device: Device,
  wanted: string,
  params: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<{ app: App; confirmed: Confirmed }> {
  const app = await resolve(device, wanted, signal);
  const confirmed = await command(device, signal, {
    doing: `launching ${app.name}`,
    needs: "launch",
    timeoutMs: limits.launch,
    given: [wanted, ...Object.keys(params), ...Object.values(params)],
    work: (connection, within) => requireCapability(connection.launch, "launch")(app.platform_id, params, within),
  });
  return { app: { ...app, installed: true }, confirmed };
}

export async function stopApp(device: Device, signal: AbortSignal): Promise<App | null> {
  const app = await command(device, signal, {
    doing: "leaving the app",
    needs: "stop",
    timeoutMs: limits.stop,
    whenOff: { wake: false, result: null },
    work: (connection, within) => requireCapability(connection.stop, "stop")(within),
  });
  return app && describeApp(app, device.catalog.apps(device.id));
}

export async function pressKey(device: Device, wanted: string, signal: AbortSignal): Promise<void> {
  const press = readPress(wanted);
  const { connection } = device;
  checkPress(device.record.name, device.description, press);
  checkTyped(device, press);
  await command(device, signal, {
    doing: doing(press),
    needs: capabilityFor(press),
    timeoutMs: patience(press, connection, device.timeoutMs),
    given: [wanted, ...("text" in press ? [press.text] : [])],
    ...atOff(press),
    work: async (current, within, reach) => {
      checkTyped(device, press);
      await perform(reach, current, press, within);
    },
  });
  const power = powerAfter(press);
  if (power !== undefined) device.observe({ power }, "command");
}

/** Every key is checked before the first is sent; one sequence at a time, in order of arrival; a caller who hangs up stops it. */
export async function pressKeys(
  device: Device,
  wanted: readonly string[],
  delayMs: number,
  signal: AbortSignal,
): Promise<{ sent: number; duration_ms: number }> {
  const total = delayMs * (wanted.length - 1);
  if (total > sequenceLimits.totalMs) {
    throw new ZapdError(
      "invalid_payload",
      `The delays of this sequence add up to ${Math.round(total / 1000)} s; at most ${sequenceLimits.totalMs / 1000} s are allowed`,
    );
  }
  const presses = wanted.map(readPress);
  const { connection } = device;
  for (const press of presses) checkPress(device.record.name, device.description, press);
  for (const press of presses) checkTyped(device, press);
  const timeoutMs = total + presses.reduce((sum, press) => sum + patience(press, connection, device.timeoutMs), 0);
  const progress = { sent: 0 };
  const task: Task<{ sent: number; duration_ms: number }> = {
    doing: "running a sequence",
    needs: presses.some((press) => "key" in press) ? "keys" : "text",
    timeoutMs,
    begun: () => progress.sent > 0,
    given: presses.flatMap((press) => ("text" in press ? [press.text] : [])),
    work: (current, deadline, reach) => {
      const checked = (press: Press) => checkTyped(device, press);
      return runSequence(reach, current, presses, delayMs, { progress, checked }, deadline);
    },
  };
  const ran = await device.command(task, {
    takes: total + presses.length * 50,
    atLeast: total,
    patient: true,
    signal,
  });
  const power = presses.map(powerAfter).findLast((one) => one !== undefined);
  if (power !== undefined) device.observe({ power }, "command");
  return ran;
}

/** Fails where nothing can be installed, before a byte of a package is read. */
export function checkDeveloper(device: Device): void {
  const doing = "installing the package";
  device.require("dev", doing);
  device.checkTrusted(doing);
}

export async function installPackage(
  device: Device,
  archive: Archive,
  password: string,
  signal: AbortSignal,
): Promise<InstallResult> {
  const result = await command(device, signal, {
    doing: "installing the package",
    needs: "dev",
    timeoutMs: limits.install,
    work: async (connection, within) => {
      device.checkTrusted("installing the package");
      return requireCapability(connection.dev, "dev").install(archive, password, within);
    },
  });
  // The catalog should show the new package; a set that will not list its apps now has taken it all the same.
  await refreshApps(device, false, signal).catch(() => {});
  return result;
}

export async function reloadPackage(device: Device, signal: AbortSignal): Promise<App> {
  const app = await command(device, signal, {
    doing: "reloading the package",
    needs: "dev",
    timeoutMs: limits.reload,
    work: (connection, within) => requireCapability(connection.dev, "dev").reload(within),
  });
  return describeApp(app, device.catalog.apps(device.id));
}

/** Lines of the developer console. A read: it does not wait behind commands. */
export function readLogs(device: Device, cursor: string | null, signal: AbortSignal): Promise<ConsoleLines> {
  return device.read(
    `logs ${cursor ?? ""}`,
    {
      doing: "reading its console",
      needs: "dev",
      timeoutMs: limits.logs,
      given: cursor === null ? [] : [cursor],
      work: (connection, within) => requireCapability(connection.dev, "dev").console.read(cursor, within),
    },
    signal,
  );
}

/** What is typed may be a password: on probation nothing is (SECURITY.md 2.4). */
function checkTyped(device: Device, press: Press): void {
  if ("text" in press) device.checkTrusted(doing(press));
}

function command<T>(device: Device, signal: AbortSignal, task: Task<T>): Promise<T> {
  return device.command(task, { signal });
}

/** Finds the app in the cache, and once more in a fresh list when it is not there. */
async function resolve(device: Device, wanted: string, signal: AbortSignal): Promise<App> {
  device.require("launch", "launching an app");
  const platform = device.platform;
  const cached = device.catalog.apps(device.id);
  const found = findApp(wanted, cached ?? [], platform);
  if (found && (cached || platform.isAppId(wanted))) return found;
  // Part of a command: a device that is asleep is woken for it.
  const list = await command(device, signal, listing(device, false)).catch((error: unknown) => {
    // One that keeps its list to itself may still launch what everybody knows.
    const known = isRefused(error) ? findService(wanted, platform) : null;
    if (known) return known;
    throw error;
  });
  if (!("apps" in list)) return list;
  const { apps: listed } = list;
  const app = findApp(wanted, listed, platform);
  if (app) return app;
  throw named(appNotFound(wanted, listed), device.record, "launching an app");
}

function isRefused(error: unknown): boolean {
  return error instanceof ZapdError && error.code === "device_refused";
}
