/** What can be asked of a device, one function per action of the API. Each answers once the device took it. */

import { DeviceError, hasCode, ZapdError } from "../api/errors.ts";
import { sequenceLimits } from "../api/limits.ts";
import type { App } from "../api/schemas.ts";
import {
  type Archive,
  type Confirmed,
  type Connection,
  type ConsoleLines,
  type DeepLink,
  type InstallResult,
  type Key,
  shownParts,
} from "../platforms/platform.ts";
import { sleep } from "../system/sleep.ts";
import { appNotFound, describeApp, findApp, findService, type Refreshed, serviceNotFound } from "./catalog.ts";
import type { Device } from "./device.ts";
import type { Endpoint, Route, Task } from "./endpoint.ts";
import { requireCapability, withDeviceName } from "./failures.ts";
import {
  activityOf,
  checkPress,
  offBehavior,
  type Press,
  partsChangedBy,
  perform,
  powerAfter,
  pressTimeoutMs,
  readPress,
  runSequence,
} from "./press.ts";
import type { Turn } from "./queue.ts";

/** Milliseconds for actions that are more than one answer (SECURITY.md 4). */
const limits = {
  list: 10_000,
  launch: 15_000,
  stop: 15_000,
  reload: 25_000,
  install: 180_000,
  logs: 12_000,
} as const;

/** A key that is said to be down again and again is let go after this all the same. */
const longestHoldMs = 600_000;

/** The catalog from its cache; a cold cache is filled from the device first. */
export async function listApps(device: Device, signal: AbortSignal): Promise<App[]> {
  const cached = device.catalog.apps(device.preferredEndpoint("apps").id);
  return cached ?? (await refreshApps(device, false, signal)).apps;
}

export function refreshApps(device: Device, clear: boolean, signal: AbortSignal): Promise<Refreshed> {
  const what = clear ? "apps anew" : "apps";
  return device.onOneEndpoint("apps", (at) => device.read(what, signal, listing(device, at, clear)));
}

function listing(device: Device, at: Route, clear = false): Task<Refreshed> {
  return {
    activity: "listing its apps",
    timeoutMs: limits.list,
    at,
    changes: [],
    work: async (connection, within, { id, record }) => {
      const listed = await requireCapability(connection.apps?.list, "apps")(within);
      const isKnown = device.catalog.apps(id) !== null;
      const refreshed = await device.catalog.refresh(id, record.platform, listed, clear);
      if (isKnown) device.publishApps(refreshed.added, refreshed.removed);
      return refreshed;
    },
  };
}

export function launchApp(
  device: Device,
  wanted: string,
  params: Readonly<Record<string, string>>,
  turn: Turn,
): Promise<{ app: App; confirmed: Confirmed }> {
  return device.onOneEndpoint("launch", async (at) => {
    const app = await resolve(device, at, wanted, turn);
    const confirmed = await device.command(turn, {
      activity: `launching ${app.name}`,
      timeoutMs: limits.launch,
      at,
      changes: shownParts,
      callerTexts: [wanted, ...Object.keys(params), ...Object.values(params)],
      work: (connection, within) =>
        requireCapability(connection.apps?.launch, "launch")(app.platform_id, params, within),
    });
    return { app: { ...app, installed: true }, confirmed };
  });
}

export async function stopApp(device: Device, turn: Turn): Promise<App | null> {
  return device.command(turn, {
    activity: "leaving the app",
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

/** Presses a key, or types; without `wakes`, a device that does not answer is neither woken nor looked for. */
export async function pressKey(device: Device, wanted: string, turn: Turn, wakes = true): Promise<void> {
  const press = readPress(wanted);
  checkPress(device.record.name, device.description, press);
  checkTyped(device, press);
  const power = powerAfter(press);
  await device.command(turn, {
    activity: activityOf(press),
    timeoutMs: pressTimeoutMs(press, device),
    callerTexts: [wanted, ...("text" in press ? [press.text] : [])],
    ...offBehavior(press),
    ...takenBy(press),
    changes: partsChangedBy(press),
    ...(!wakes && { at: { endpoint: device.endpointForPress(takenBy(press), device.leading), withoutRecovery: true } }),
    resultingState: power === undefined ? undefined : { power },
    work: (current, within, endpoint) => {
      checkTyped(device, press);
      return perform(endpoint, current, press, within);
    },
  });
}

/** Whether a key is held by the device itself, which is told when it goes down and when it is up. */
export function isKeptDown(device: Device, key: Key): boolean {
  const by = device.endpointForPress(takenBy({ key }), device.preferredEndpoint("keys"));
  return by.connection.keys?.down !== undefined;
}

/** Keeps a key down for a time, or until the signal of the turn ends; `begun` is called once it is down. It is let go in any case. */
export async function keepDown(
  device: Device,
  key: Key,
  turn: Turn,
  { ms = longestHoldMs, begun = () => {} }: { readonly ms?: number | undefined; begun?(): void } = {},
): Promise<void> {
  const press = { key };
  checkPress(device.record.name, device.description, press);
  await device.command(turn, {
    activity: `holding ${key}`,
    timeoutMs: pressTimeoutMs(press, device) + ms,
    callerTexts: [key],
    changes: partsChangedBy(press),
    ...takenBy(press),
    work: async ({ keys }, within) => {
      const letGo = await requireCapability(keys?.down, "hold")(key, within);
      begun();
      try {
        await sleep(ms, within).catch(() => {});
      } finally {
        await letGo().catch((error: unknown) => {
          // The key has reached it, whatever became of its end: it is not pressed anew.
          throw hasCode(error, "device_unreachable") ? hungUpMeanwhile(error) : error;
        });
      }
    },
  });
}

function hungUpMeanwhile(cause: unknown): DeviceError {
  return new DeviceError("device_error", "hung up before the key was up", { phase: "sent", reason: "closed", cause });
}

/** Which of a device's protocols a press is for. */
function takenBy(press: Press): Pick<Task<unknown>, "needs" | "accepts" | "isConfidential"> {
  if ("text" in press) return { needs: "text", isConfidential: true };
  const { key } = press;
  if (key === "power-on") return { needs: "power_on" };
  return { needs: "keys", accepts: ({ description }) => description.keys.has(key) };
}

/** Every key is checked before the first is sent; one sequence at a time, in order of arrival; a caller who hangs up stops it. */
export async function pressKeys(
  device: Device,
  wanted: readonly string[],
  delayMs: number,
  turn: Turn,
): Promise<{ sent: number; duration_ms: number }> {
  const total = delayMs * (wanted.length - 1);
  if (total > sequenceLimits.totalMs) {
    throw new ZapdError(
      "invalid_payload",
      `The delays of this sequence add up to ${Math.round(total / 1000)} s; at most ${sequenceLimits.totalMs / 1000} s are allowed`,
    );
  }
  const presses = wanted.map(readPress);
  for (const press of presses) checkPress(device.record.name, device.description, press);
  for (const press of presses) checkTyped(device, press);
  const timeoutMs = total + presses.reduce((sum, press) => sum + pressTimeoutMs(press, device), 0);
  const power = presses.map(powerAfter).findLast((one) => one !== undefined);
  const progress = { sent: 0 };
  const task: Task<{ sent: number; duration_ms: number }> = {
    activity: "running a sequence",
    timeoutMs,
    hasStarted: () => progress.sent > 0,
    callerTexts: presses.flatMap((press) => ("text" in press ? [press.text] : [])),
    ...(presses[0] && takenBy(presses[0])),
    changes: presses.flatMap(partsChangedBy),
    resultingState: power === undefined ? undefined : { power },
    work: (current, deadline, endpoint) => {
      const send = (press: Press) => {
        checkTyped(device, press);
        const task = {
          activity: activityOf(press),
          timeoutMs: pressTimeoutMs(press, device),
          work: (other: Connection, within: AbortSignal, at: Endpoint) => perform(at, other, press, within),
        };
        // A key that this protocol lacks goes to one that has it.
        const by = device.endpointForPress(takenBy(press), endpoint);
        return by === endpoint ? perform(endpoint, current, press, deadline) : by.attempt(task, deadline);
      };
      return runSequence(presses, delayMs, { progress, send }, deadline);
    },
  };
  return device.command(
    { expectedMs: total + presses.length * 50, minimumMs: total, waitsForLongCommands: true, ...turn },
    task,
  );
}

/** Fails where nothing can be installed, before a byte of a package is read. */
export function checkDeveloper(device: Device): void {
  const activity = "installing the package";
  device.requireCapability("dev", activity);
  device.checkTrusted(activity);
}

/** How a refusal to install begins that is about the password. */
export const installingOn = "Installing on";

export async function installPackage(
  device: Device,
  archive: Archive,
  { password, params }: { readonly password?: string | undefined; readonly params?: DeepLink | undefined },
  turn: Turn,
): Promise<InstallResult> {
  const activity = "installing the package";
  const result = await device.command(turn, {
    activity,
    timeoutMs: limits.install,
    needs: "dev",
    changes: shownParts,
    callerTexts: Object.values(params ?? {}),
    work: async (connection, within) => {
      device.checkTrusted(activity);
      const used = password ?? device.developerPassword(activity, installingOn);
      return requireCapability(connection.dev, "dev").install(archive, used, within, params);
    },
  });
  if (password !== undefined) await device.keepDeveloperPassword(password);
  // The catalog should show the new package; a set that will not list its apps now has taken it all the same.
  await refreshApps(device, false, turn.signal).catch(() => {});
  return result;
}

export async function reloadPackage(device: Device, turn: Turn, params?: DeepLink): Promise<App> {
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
  const activity = "removing the package";
  return device.command(turn, {
    activity,
    timeoutMs: limits.reload,
    needs: "dev",
    changes: shownParts,
    work: async (connection, within) => {
      const { remove } = requireCapability(connection.dev, "dev");
      return requireCapability(remove, "dev")(device.developerPassword(activity, "Removing the package from"), within);
    },
  });
}

/** Lines of the developer console. A read: it does not wait behind commands. */
export function readLogs(device: Device, cursor: string | null, signal: AbortSignal): Promise<ConsoleLines> {
  return device.read(`logs ${cursor ?? ""}`, signal, {
    activity: "reading its console",
    timeoutMs: limits.logs,
    needs: "dev",
    callerTexts: cursor === null ? [] : [cursor],
    work: (connection, within) => requireCapability(connection.dev, "dev").console.read(cursor, within),
  });
}

/** Typed text may be a password, so a device on probation gets none (SECURITY.md 2.4). */
function checkTyped(device: Device, press: Press): void {
  if ("text" in press) device.checkTrusted(activityOf(press));
}

/** Finds the app in the cache, and once more in a fresh list when it is not there. */
async function resolve(device: Device, at: Route, wanted: string, turn: Turn): Promise<App> {
  const { id, platform } = at.endpoint;
  device.requireCapability("launch", "launching an app");
  const cached = device.catalog.apps(id);
  const found = findApp(wanted, cached ?? [], platform);
  if (found && (cached || platform.isAppId(wanted))) return found;
  if (!at.endpoint.description.has.has("apps")) {
    const known = findService(wanted, platform);
    if (known) return known;
    throw withDeviceName(serviceNotFound(wanted, platform), device.record, "launching an app");
  }
  // Part of a command: a device that is asleep is woken for it.
  const list = await device.command(turn, listing(device, at)).catch((error: unknown) => {
    // A device that refuses to list its apps may still launch a well-known one.
    const known = hasCode(error, "device_refused") ? findService(wanted, platform) : null;
    if (known) return known;
    throw error;
  });
  if (!("apps" in list)) return list;
  const { apps: listed } = list;
  const app = findApp(wanted, listed, platform);
  if (app) return app;
  throw withDeviceName(appNotFound(wanted, listed), device.record, "launching an app");
}
