import type { Hono } from "hono";
import { ZapdError } from "../api/errors.ts";
import { checkDeveloper, installPackage, readLogs, reloadPackage, removePackage } from "../devices/commands.ts";
import type { Device } from "../devices/device.ts";
import type { Archive } from "../platforms/platform.ts";
import type { AppDependencies } from "./app.ts";
import { type Env, route } from "./route.ts";

const uploadsAtOnce = 2;

/** Development: sideload a package, start it anew, read its log. */
export function devRoutes(app: Hono<Env>, deps: AppDependencies): void {
  const { devices, config } = deps;
  const installing = new Set<string>();

  route(app, "installPackage", async ({ id, request, turn }) => {
    const device = devices.find(id);
    const password = checkReady(device);
    if (installing.has(device.id) || installing.size >= uploadsAtOnce) {
      const what = installing.has(device.id)
        ? `${device.record.name} is being sent a package already`
        : `${uploadsAtOnce} packages are being sent already`;
      throw new ZapdError("device_busy", what, { hint: "Try again when that is done" });
    }
    installing.add(device.id);
    try {
      // Streams take as long to load as the rest of the daemon, and most daemons are never sent a package.
      const { withArchive } = await import("./upload.ts");
      const length = Number(request.headers.get("content-length") ?? Number.NaN);
      const total = Number.isInteger(length) ? length : null;
      const install = async (archive: Archive) => {
        device.tellInstall("sending", 0, archive.bytes);
        const done = await installPackage(device, archive, password, turn);
        device.tellInstall("done", archive.bytes, archive.bytes);
        return done;
      };
      const received = (bytes: number) => device.tellInstall("receiving", bytes, total);
      const installed = await withArchive(request, deps.uploads, install, received);
      return device.acted("install", { package: installed.package, messages: [...installed.messages] });
    } finally {
      installing.delete(device.id);
    }
  });

  route(app, "reloadPackage", async ({ id, turn }) => {
    const device = devices.find(id);
    const reloaded = await reloadPackage(device, turn);
    return device.acted("reload", { app: reloaded });
  });

  route(app, "removePackage", async ({ id, turn }) => {
    const device = devices.find(id);
    await removePackage(device, checkReady(device, "Removing the package from"), turn);
    return device.acted("remove", {});
  });

  route(app, "readLogs", async ({ id, query, signal }) => {
    const device = devices.find(id);
    const { lines, cursor, dropped = 0 } = await readLogs(device, query.cursor ?? null, signal);
    return { device: device.describe(), lines, cursor, ...(dropped > 0 && { dropped }) };
  });

  /** What can be refused before a byte of the package is read is refused then. */
  function checkReady(device: Device, doing = "Installing on"): string {
    checkDeveloper(device);
    const password = config.running.dev.vendor_password;
    if (password !== "") return password;
    throw new ZapdError(
      "dev_password_missing",
      `${doing} ${device.record.name} needs its developer password, and none is set`,
      { hint: "Set the one that was chosen on the set: zapd config set dev.vendor_password -" },
    );
  }
}
