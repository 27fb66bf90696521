import type { Hono } from "hono";
import { ZapdError } from "../api/errors.ts";
import { checkDeveloper, installPackage, readLogs, reloadPackage, removePackage } from "../devices/commands.ts";
import type { Device } from "../devices/device.ts";
import { heartbeatMs } from "../devices/journal.ts";
import type { Archive, ConsoleLines } from "../platforms/platform.ts";
import { sleep } from "../system/sleep.ts";
import type { AppDependencies } from "./app.ts";
import { deviceRoute, type Env } from "./route.ts";
import { formatFor, type Source, type Streams } from "./streams.ts";
import type { FormFields } from "./upload.ts";

const uploadsAtOnce = 2;

/** Development: sideload a package, restart it, read its log. */
export function devRoutes(app: Hono<Env>, deps: AppDependencies, streams: Streams): void {
  const { devices, leases } = deps;
  const installing = new Set<string>();

  deviceRoute(app, "installPackage", async (device, { request, turn }) => {
    // Before a byte of the package is read.
    checkDeveloper(device);
    if (installing.has(device.id) || installing.size >= uploadsAtOnce) {
      const what = installing.has(device.id)
        ? `${device.record.name} is already receiving a package`
        : `${uploadsAtOnce} packages are already being sent`;
      throw new ZapdError("device_busy", what, { hint: "Try again when that is done" });
    }
    installing.add(device.id);
    try {
      // Loaded late: `node:stream` takes as long to load as the rest of the daemon, and most daemons receive no package.
      const { withArchive } = await import("./upload.ts");
      const length = Number(request.headers.get("content-length") ?? Number.NaN);
      const total = Number.isInteger(length) ? length : null;
      const install = async (archive: Archive, fields: FormFields) => {
        device.publishInstall("checking", archive.bytes, archive.bytes);
        const sent = (bytes: number) => device.publishInstall("sending", bytes, archive.bytes);
        const result = await installPackage(device, { ...archive, sent }, fields, turn);
        device.publishInstall("done", archive.bytes, archive.bytes);
        return result;
      };
      const received = (bytes: number) => device.publishInstall("receiving", bytes, total);
      const installed = await withArchive(request, deps.uploads, install, received);
      return device.actionResult("install", { package: installed.package, messages: [...installed.messages] });
    } finally {
      installing.delete(device.id);
    }
  });

  deviceRoute(app, "reloadPackage", async (device, { body, turn }) =>
    device.actionResult("reload", { app: await reloadPackage(device, turn, body.params) }),
  );

  deviceRoute(app, "removePackage", async (device, { turn }) => {
    checkDeveloper(device);
    await removePackage(device, turn);
    return device.actionResult("remove", {});
  });

  deviceRoute(app, "readLogs", async (device, { query, request, signal, turn, context }) => {
    if (query.follow === "true") {
      const from = request.headers.get("last-event-id") || (query.cursor ?? null);
      // A stream that was opened with the token of a lease ends with the lease.
      const leaseEnd = leases.signalFor(device.id, turn.lease);
      // Read first, so that a failure is answered in the envelope; HEAD reads nothing.
      const first = request.method === "HEAD" ? null : await readLogs(device, from, signal);
      const isEnded = () => devices.journal.isClosed || leaseEnd?.aborted === true;
      return streams.open(context, formatFor(request), () => followed(device, first, isEnded));
    }
    const { lines, cursor, dropped = 0 } = await readLogs(device, query.cursor ?? null, signal);
    return { device: device.describe(), lines, cursor, ...(dropped > 0 && { dropped }) };
  });
}

const pollMs = 250;

/** The growing console. It ends when the device stops answering; a reader then reconnects with its cursor. */
function followed(device: Device, first: ConsoleLines | null, isEnded: () => boolean): Source {
  const closed = new AbortController();
  let read = first;
  let cursor: string | null = null;
  let isBegun = false;
  return {
    async next() {
      const since = performance.now();
      try {
        while (!isEnded() && !closed.signal.aborted) {
          read ??= await readLogs(device, cursor, closed.signal);
          const { lines, dropped = 0 } = read;
          cursor = read.cursor;
          read = null;
          // The first heartbeat comes at once: it shows a reader that the stream is open, and its cursor.
          if (lines.length > 0 || !isBegun || performance.now() - since > heartbeatMs) {
            isBegun = true;
            const json = JSON.stringify({ lines, ...(dropped > 0 && { dropped }) });
            return [{ id: cursor, event: lines.length > 0 ? { type: "lines", json } : null }];
          }
          await sleep(pollMs, closed.signal);
        }
      } catch (error) {
        if (!(error instanceof ZapdError) && !closed.signal.aborted) throw error;
      }
      return null;
    },
    close: () => closed.abort(new ZapdError("device_error", "no longer has a reader")),
  };
}
