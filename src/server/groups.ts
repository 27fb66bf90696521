import type { Hono } from "hono";
import { type ErrorCode, ZapdError } from "../api/errors.ts";
import type { GroupResults } from "../api/operations.ts";
import { type EndpointName, endpoints, groupable } from "../api/routes.ts";
import type { Device } from "../devices/device.ts";
import type { AppDependencies } from "./app.ts";
import { type Env, type Given, route } from "./route.ts";

type Result = GroupResults<unknown>["results"][number];

/** Commands to groups: to each device as if its own path had been called, at the same moment. */
export function groupRoutes(app: Hono<Env>, { devices }: AppDependencies): void {
  for (const name of groupable) {
    // All of them take and answer alike, which types cannot follow through a union of names.
    route(app, `${name}OfGroup` as "stopAppOfGroup", async (given) => {
      const members = devices.group(given.id);
      const results = await Promise.all(members.map((device) => askDevice(app, name, device, given)));
      if (results.some(({ ok }) => ok)) return { results };
      const { code = "internal_error", message = "No device took it", hint } = results[0]?.error ?? {};
      throw new ZapdError(code as ErrorCode, message, { hint, namesDevice: true, details: { results } });
    });
  }
}

/**
 * Asks one device what a group was asked, or what a step of a scene says: through the guard and by the route of the device, with
 * what the caller said in the headers, so that nothing differs.
 */
export async function askDevice(
  app: Hono<Env>,
  name: EndpointName,
  device: Device,
  { request, body, call, signal }: Pick<Given<never>, "request" | "call" | "signal"> & { readonly body: unknown },
): Promise<Result> {
  const { method, path } = endpoints[name];
  const url = new URL(request.url);
  url.pathname = `/v1${path.replace(":id", device.id)}`;
  url.search = "";
  const headers = new Headers(request.headers);
  for (const ofBody of ["content-length", "transfer-encoding"]) headers.delete(ofBody);
  const sent = body === undefined ? null : JSON.stringify(body);
  if (sent !== null) headers.set("content-type", "application/json");
  const asked = new Request(url, { method: method.toUpperCase(), headers, body: sent, signal });
  const answer = (await (await app.fetch(asked, call)).json()) as Omit<Result, "device">;
  return { device: { id: device.id, name: device.record.name }, ...answer };
}
