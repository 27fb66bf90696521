import type { Context, Hono } from "hono";
import { listenerUrl } from "../system/text.ts";
import type { AppDependencies } from "./app.ts";
import { answerMethod, type Env } from "./route.ts";

const path = "/openapi.json";

type Served = Pick<AppDependencies, "version" | "prefix" | "listeners">;

/** The OpenAPI document, outside `/v1` and its envelope, made at its first request. It names the server that was called. */
export function openApiRoute(app: Hono<Env>, deps: Served): void {
  // For the server that was called last.
  let last = { server: "", text: "" };
  app.get(path, async (c) => {
    const { openApiText } = await import("../api/openapi.ts");
    const server = serverOf(c, deps);
    if (last.server !== server) last = { server, text: openApiText(deps.version, server) };
    return c.body(last.text, 200, { "content-type": "application/json" });
  });
  app.all(path, (c) => answerMethod(c, path, ["GET", "HEAD"]));
}

/** Where the caller reached zapd: the host that the guard accepted, else where zapd listens. */
function serverOf(c: Context<Env>, deps: Served): string {
  const host = c.env.listener === "tcp" ? c.req.header("host") : undefined;
  if (host === undefined) return addressOf(deps);
  return `${/^https:/i.test(c.req.url) ? "https" : "http"}://${host}${deps.prefix}`;
}

/** Where zapd listens, with the path that it is mounted below. */
export function addressOf({ listeners, prefix }: Pick<AppDependencies, "listeners" | "prefix">): string {
  return listenerUrl(listeners()) + prefix;
}
