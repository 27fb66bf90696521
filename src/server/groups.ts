import type { Hono } from "hono";
import { type ErrorCode, ZapdError } from "../api/errors.ts";
import type { GroupResults } from "../api/operations.ts";
import { groupable, type OperationName, operationRoutes } from "../api/routes.ts";
import type { Device } from "../devices/device.ts";
import type { AppDependencies } from "./app.ts";
import { type Env, type Input, route } from "./route.ts";

type Result = GroupResults<unknown>["results"][number];

/** Commands to groups: the route of each device is called, all at the same moment. */
export function groupRoutes(app: Hono<Env>, { devices }: AppDependencies): void {
  for (const name of groupable) {
    // They all take and answer alike, which types cannot express for a union of names.
    route(app, `${name}OfGroup` as "stopAppOfGroup", async (input) => {
      const members = devices.group(input.id);
      const results = await Promise.all(members.map((device) => askDevice(app, name, device, input)));
      if (results.some(({ ok }) => ok)) return { results };
      const { code = "internal_error", message = "No device accepted it", hint } = results[0]?.error ?? {};
      throw new ZapdError(code as ErrorCode, message, { hint, details: { results } });
    });
  }
}

/**
 * Calls the route of one device for a command to a group or for a step of a scene: with the headers of the caller, and through
 * the guard, so that nothing differs from a call to that device.
 */
export async function askDevice(
  app: Hono<Env>,
  name: OperationName,
  device: Device,
  { request, body, context, signal }: Pick<Input<never>, "request" | "context" | "signal"> & { readonly body: unknown },
): Promise<Result> {
  const { method, path } = operationRoutes[name];
  const url = new URL(`/v1${path.replace(":id", device.id)}`, request.url);
  const headers = new Headers(request.headers);
  for (const ofBody of ["content-length", "transfer-encoding"]) headers.delete(ofBody);
  const json = body === undefined ? null : JSON.stringify(body);
  if (json !== null) headers.set("content-type", "application/json");
  const own = new Request(url, { method: method.toUpperCase(), headers, body: json, signal });
  const answer = (await (await app.fetch(own, context.env)).json()) as Omit<Result, "device">;
  return { device: { id: device.id, name: device.record.name }, ...answer };
}
