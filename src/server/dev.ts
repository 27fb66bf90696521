import type { Hono } from "hono";
import { ZapdError } from "../api/errors.ts";
import type { Entry } from "../devices/entry.ts";
import { method, named } from "../devices/failures.ts";
import type { AppDependencies } from "./app.ts";
import { type Env, route } from "./route.ts";

const uploadsAtOnce = 2;

/** Development: sideload a package, start it anew, read its log. */
export function devRoutes(app: Hono<Env>, deps: AppDependencies): void {
  const { control, actions, config } = deps;
  const installing = new Set<string>();

  route(app, "installPackage", async ({ id, request, signal }) => {
    const entry = control.find(id);
    const password = checkReady(entry);
    if (installing.has(entry.id) || installing.size >= uploadsAtOnce) {
      const what = installing.has(entry.id)
        ? `${entry.name} is being sent a package already`
        : `${uploadsAtOnce} packages are being sent already`;
      throw new ZapdError("device_busy", what, { hint: "Try again when that is done" });
    }
    installing.add(entry.id);
    try {
      // Streams take as long to load as the rest of the daemon, and most daemons are never sent a package.
      const { withArchive } = await import("./upload.ts");
      const installed = await withArchive(request, deps.uploads, (archive) =>
        actions.install(entry, archive, password, signal),
      );
      return control.acted(entry, "install", { package: installed.package, messages: [...installed.messages] });
    } finally {
      installing.delete(entry.id);
    }
  });

  route(app, "reloadPackage", async ({ id, signal }) => {
    const entry = control.find(id);
    const reloaded = await actions.reload(entry, signal);
    return control.acted(entry, "reload", { app: reloaded });
  });

  route(app, "readLogs", async ({ id, query, signal }) => {
    const entry = control.find(id);
    const { lines, cursor, dropped = 0 } = await actions.logs(entry, query.cursor ?? null, signal);
    return { device: control.describe(entry), lines, cursor, ...(dropped > 0 && { dropped }) };
  });

  /** What can be refused before a byte of the package is read is refused then. */
  function checkReady(entry: Entry): string {
    try {
      method(control.connection(entry).dev, "dev");
    } catch (error) {
      throw named(error, entry, "installing the package");
    }
    control.checkTrusted(entry, "installing the package");
    const password = config.running.dev.vendor_password;
    if (password !== "") return password;
    throw new ZapdError(
      "dev_password_missing",
      `Installing on ${entry.name} needs its developer password, and none is set`,
      {
        hint: "Set the one that was chosen on the set: zapd config set dev.vendor_password -",
      },
    );
  }
}
