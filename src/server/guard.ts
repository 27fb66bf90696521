/**
 * The guard (SECURITY.md 2.2): who may call, decided before routing and before a byte of the body is read. A web page
 * may neither control nor query a device, nor read anything, unless its exact origin is listed.
 */
import type { Context, HonoRequest, MiddlewareHandler } from "hono";
import { ZapdError } from "../api/errors.ts";
import { leaseHeader, type Reach } from "../api/routes.ts";
import type { Config } from "../config/config.ts";
import { loopHeader } from "../transport/socket.ts";
import type { Env } from "./route.ts";

/** Loopback names with any port, so that `ssh -L` works. A page after DNS rebinding always sends its own host name. */
const loopbackHost = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::(\d{1,5}))?$/;

/** On every response: it is not a page, and not for another origin. */
const headers = Object.entries({
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
});

/** Request headers that a listed page may send. */
const allowedHeaders = `content-type, ${leaseHeader}`;
const streamHeaders = "last-event-id";
export const mcpPath = "/mcp";
const mcpHeaders = "authorization, last-event-id, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name";

const methods = "GET, HEAD, POST, PATCH, DELETE";

/**
 * The guard. `hosts` are host names beside those of loopback that callers may use, each as a `Host` header has it; `address`
 * is where zapd listens (`null`: another program serves it).
 */
export function guard(
  cors: () => Pick<Config["daemon"], "cors_enabled" | "cors_allowed_origins">,
  hosts: readonly string[],
  address: () => string | null,
): MiddlewareHandler<Env> {
  return (c, next) => {
    const { cors_enabled, cors_allowed_origins } = cors();
    const origin = c.req.header("origin");
    const allowed = cors_enabled && origin !== undefined && cors_allowed_origins.includes(origin);
    // Set first, so that refusals have them too.
    for (const [name, value] of headers) c.header(name, value);
    if (cors_enabled) c.header("vary", "Origin");
    if (allowed) c.header("access-control-allow-origin", origin);
    // It needs the session id to continue its session.
    if (allowed && c.req.path === mcpPath)
      c.header("access-control-expose-headers", "mcp-session-id, www-authenticate");
    if (c.env.listener !== "socket") {
      checkHost(c.req.header("host"), hosts, c.env.ownProgram === true, address);
      checkReading(c.req);
      if (c.req.header(loopHeader) !== undefined)
        throw new ZapdError("loop_detected", "The request came from zapd itself, through a device");
      const foreign = !allowed && isForeign(c, origin, address);
      if (foreign && !onlyReads(c)) throw forbidden(origin, "control devices");
      c.set("foreign", foreign);
    }
    const preflight =
      c.req.method === "OPTIONS" && allowed && c.req.header("access-control-request-method") !== undefined;
    return preflight ? answerPreflight(c) : next();
  };
}

/**
 * Gives an answer to HEAD the `content-length` of that to GET (RFC 9110, 8.6); without it the runtimes send 0. It runs before
 * the guard, whose refusals have bodies too.
 */
export const lengthOfHead: MiddlewareHandler<Env> = (c, next) =>
  c.req.method === "HEAD" ? next().then(() => setLength(c)) : next();

async function setLength({ res }: Context<Env>): Promise<void> {
  if (res.body !== null) res.headers.set("content-length", String((await res.clone().arrayBuffer()).byteLength));
}

function checkHost(
  host: string | undefined,
  hosts: readonly string[],
  ownProgram: boolean,
  address: () => string | null,
): void {
  // A request that the program makes itself has none.
  if (host === undefined && ownProgram) return;
  const match = loopbackHost.exec(host ?? "");
  const port = Number(match?.[1] ?? 80);
  if ((match && port > 0 && port <= 65_535) || (host !== undefined && hosts.includes(host))) return;
  const own = address();
  throw new ZapdError("forbidden_host", "The request was made to a host that is not this machine's loopback", {
    hint:
      own === null
        ? "Call it by a loopback address, such as 127.0.0.1; the program that serves it can allow other names with its option `hosts`"
        : `Call zapd at ${own}/v1: use this address, not a name that resolves to it`,
  });
}

/**
 * Refuses what another program could parse differently (SECURITY.md T18), where the runtime accepts it: a target that is not
 * an HTTP URL, and a transfer coding that is not decoded here, which hides where the body ends.
 */
function checkReading(request: HonoRequest): void {
  if (!/^https?:\/\//i.test(request.url))
    throw new ZapdError("invalid_payload", "The target of the request is not an HTTP URL");
  const coding = request.header("transfer-encoding");
  if (coding === undefined || coding.toLowerCase() === "chunked") return;
  throw new ZapdError("invalid_payload", "The body has a transfer coding other than chunked");
}

/**
 * Refuses a page of an unlisted origin where the answer involves a device or stays open (SECURITY.md T31). Each route calls
 * it, before it looks at the path: no spelling of a path can match the router and miss this check.
 */
export function checkReach(c: Context<Env>, reaches: Reach): void {
  if (reaches !== "memory" && c.get("foreign") === true) throw forbidden(c.req.header("origin"), "ask devices");
}

function onlyReads({ req }: Context<Env>): boolean {
  return (req.method === "GET" || req.method === "HEAD") && req.header("upgrade") === undefined;
}

function forbidden(origin: string | undefined, what: string): ZapdError {
  const page = origin === undefined ? "another site" : JSON.stringify(origin.slice(0, 256));
  const unnamed = ". Its pictures need the attribute crossorigin: without it a browser does not say whose they are";
  return new ZapdError("forbidden_origin", `A page of ${page} may not ${what}`, {
    hint: `To allow a page of yours, set daemon.cors_enabled to true and list its exact origin in daemon.cors_allowed_origins${origin === undefined ? unnamed : ""}`,
  });
}

function isForeign(c: Context<Env>, origin: string | undefined, address: () => string | null): boolean {
  // The host is that of the checked header, not that of the URL. Only another program that serves zapd may serve https.
  if (origin !== undefined) {
    const scheme = /^https:/i.test(c.req.url) && address() === null ? "https" : "http";
    return origin !== `${scheme}://${c.req.header("host")}`;
  }
  const site = c.req.header("sec-fetch-site");
  // Chromium 156 sends "none", as for a request by a person, also for what a page prefetches by speculation rules.
  const isByPerson = site === "none" && c.req.header("sec-purpose") === undefined;
  return site !== undefined && site !== "same-origin" && !isByPerson;
}

function headersFor(request: HonoRequest): string {
  if (request.path === mcpPath) return `${allowedHeaders}, ${mcpHeaders}`;
  const isGet = request.header("access-control-request-method") === "GET";
  return isGet ? `${allowedHeaders}, ${streamHeaders}` : allowedHeaders;
}

async function answerPreflight(c: Context<Env>): Promise<Response> {
  const privateNetwork = c.req.header("access-control-request-private-network") !== undefined;
  return c.body(null, 204, {
    "access-control-allow-methods": methods,
    "access-control-allow-headers": headersFor(c.req),
    "access-control-max-age": "600",
    ...(privateNetwork && { "access-control-allow-private-network": "true" }),
  });
}
