/**
 * The guard (SECURITY.md 2.2): who may call, decided before routing and before a byte of the body is read. A web page
 * must not move anything in the house, nor ask a device, nor read, unless its exact origin is listed.
 */
import type { Context, HonoRequest, MiddlewareHandler } from "hono";
import { ZapdError } from "../api/errors.ts";
import { leaseHeader, type Reach } from "../api/routes.ts";
import type { Config } from "../config/config.ts";
import { loopHeader } from "../transport/socket.ts";
import type { Env } from "./route.ts";

/** Loopback names only, whatever the port: `ssh -L` works, and a rebound page always carries a name of its own. */
const loopbackHost = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::(\d{1,5}))?$/;

/** On every response: nothing here is a page, and nothing here is for another origin. */
const headers = Object.entries({
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
});

/** What a page that may write may send along, and what it may at `/mcp`, where its protocol has headers of its own. */
const taken = `content-type, ${leaseHeader}`;
/** What one that follows a stream sends when it comes back. */
const takenByStreams = "last-event-id";
const takenByMcp = "authorization, last-event-id, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name";

const methods = "GET, HEAD, POST, PATCH, DELETE";

/**
 * The guard. `hosts` are names beyond those of loopback that callers may use, each as a `Host` header writes it; `address` is
 * where zapd listens (`null`: in a server of somebody else).
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
    // Before anything can refuse: refusals carry them too.
    for (const [name, value] of headers) c.header(name, value);
    if (cors_enabled) c.header("vary", "Origin");
    if (allowed) c.header("access-control-allow-origin", origin);
    if (c.env.listener === "tcp") {
      checkHost(c.req.header("host"), hosts, c.env.ownProgram === true, address);
      checkReading(c.req);
      checkLoop(c.req.header(loopHeader));
      const foreign = !allowed && isForeign(c, origin);
      if (foreign && !onlyReads(c)) throw forbidden(origin, "control devices");
      c.set("foreign", foreign);
    }
    const preflight =
      c.req.method === "OPTIONS" && allowed && c.req.header("access-control-request-method") !== undefined;
    return preflight ? answerPreflight(c) : next();
  };
}

/**
 * An answer to HEAD says how long that to GET is (RFC 9110, 8.6), where it has a body here: of an empty one the runtimes say 0.
 * Stands before the guard, whose refusals have bodies, too.
 */
export const lengthOfHead: MiddlewareHandler<Env> = (c, next) =>
  c.req.method === "HEAD" ? next().then(() => tellLength(c)) : next();

async function tellLength({ res }: Context<Env>): Promise<void> {
  if (res.body !== null) res.headers.set("content-length", String((await res.clone().arrayBuffer()).byteLength));
}

function checkHost(
  host: string | undefined,
  hosts: readonly string[],
  ownProgram: boolean,
  address: () => string | null,
): void {
  // Made by the program itself, a request has none; one that came from elsewhere has the name that it was sent to.
  if (host === undefined && ownProgram) return;
  const match = loopbackHost.exec(host ?? "");
  const port = Number(match?.[1] ?? 80);
  if ((match && port > 0 && port <= 65_535) || (host !== undefined && hosts.includes(host))) return;
  const at = address();
  throw new ZapdError("forbidden_host", "The request was made to a host that is not this machine's loopback", {
    hint:
      at === null
        ? "Call it by a loopback address, such as 127.0.0.1; the program that serves it lists other names in its option `hosts`"
        : `Call zapd at ${at}/v1, by the address and not by a name that leads to it`,
  });
}

/**
 * What another program may read in another way (SECURITY.md T18), where the runtime lets it pass: a target that is no
 * address of the web, and a coding that nobody here undoes, which hides where the body ends.
 */
function checkReading(request: HonoRequest): void {
  if (!/^https?:\/\//i.test(request.url))
    throw new ZapdError("invalid_payload", "The target of the request is no address of the web");
  const coding = request.header("transfer-encoding");
  if (coding === undefined || coding.toLowerCase() === "chunked") return;
  throw new ZapdError("invalid_payload", "The body has a transfer coding other than chunked");
}

function checkLoop(marked: string | undefined): void {
  if (marked === undefined) return;
  throw new ZapdError("loop_detected", "The request came from zapd itself, by way of a device");
}

/**
 * What a page of an origin that is not listed may not even read: an answer that a device has a part in, or that stays open
 * (SECURITY.md T31). Asked by the route itself, before it looks at the path: no spelling of an address can be one that the
 * router takes and this does not.
 */
export function checkReach(c: Context<Env>, reaches: Reach): void {
  if (reaches !== "memory" && c.get("foreign") === true) throw forbidden(c.req.header("origin"), "ask devices");
}

function onlyReads({ req }: Context<Env>): boolean {
  return (req.method === "GET" || req.method === "HEAD") && req.header("upgrade") === undefined;
}

function forbidden(origin: string | undefined, what: string): ZapdError {
  const page = origin === undefined ? "another site" : JSON.stringify(origin.slice(0, 256));
  return new ZapdError("forbidden_origin", `A page of ${page} may not ${what}`, {
    hint: "To let a page of yours: set daemon.cors_enabled to true and list its exact origin in daemon.cors_allowed_origins",
  });
}

function isForeign(c: Context<Env>, origin: string | undefined): boolean {
  // The scheme of an embedder may be https; the host is the one that was checked, never the URL's.
  if (origin !== undefined)
    return origin !== `${/^https:/i.test(c.req.url) ? "https" : "http"}://${c.req.header("host")}`;
  const site = c.req.header("sec-fetch-site");
  // What a page has fetched ahead by speculation rules, Chromium 156 sends with "none", as if a person had asked for it.
  const isAsked = site === "none" && c.req.header("sec-purpose") === undefined;
  return site !== undefined && site !== "same-origin" && !isAsked;
}

function takenFor(request: HonoRequest): string {
  if (request.path === "/mcp") return `${taken}, ${takenByMcp}`;
  return request.header("access-control-request-method") === "GET" ? `${taken}, ${takenByStreams}` : taken;
}

async function answerPreflight(c: Context<Env>): Promise<Response> {
  const privateNetwork = c.req.header("access-control-request-private-network") !== undefined;
  return c.body(null, 204, {
    "access-control-allow-methods": methods,
    "access-control-allow-headers": takenFor(c.req),
    "access-control-max-age": "600",
    ...(privateNetwork && { "access-control-allow-private-network": "true" }),
  });
}
