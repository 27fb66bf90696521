/** `/mcp`: whether it is on, who is let in, and how much may be open; what it says is in src/mcp, loaded at its first use. */
import type { Context, Hono } from "hono";
import { textOf, ZapdError } from "../api/errors.ts";
import { isObject } from "../system/json.ts";
import type { AppDependencies } from "./app.ts";
import { readJson } from "./body.ts";
import { checkReach } from "./guard.ts";
import { answerMethod, type Env } from "./route.ts";
import type { Streams } from "./streams.ts";

const path = "/mcp";

/** What answers there. */
export interface McpService {
  /** Whether a header of authorization brings the token. */
  isLetIn(authorization: string | undefined): Promise<boolean>;
  /** Answers one message, of which the body has been read. */
  answer(request: Request, body: unknown): Promise<Response>;
}

export function mcpRoute(app: Hono<Env>, { config, mcp: load }: AppDependencies, streams: Streams): void {
  app.on(["GET", "POST", "DELETE"], path, async (c) => {
    if (!config.running.mcp.http) throw mcpIsOff();
    // A page of an origin that is not listed may not even listen.
    checkReach(c, "stream");
    // A page that is listed goes on with the session that it was given.
    c.header("access-control-expose-headers", "mcp-session-id, www-authenticate");
    const { isLetIn, answer } = await load();
    // The control socket is its owner's alone.
    if (c.env.listener === "tcp" && !(await isLetIn(c.req.header("authorization")))) return refuse(c);
    const request = c.req.raw;
    if (request.method === "HEAD") return answerMethod(c, path, ["POST", "DELETE"]);
    let body: unknown;
    if (request.method === "POST") {
      try {
        body = await readJson(request);
        if (body === undefined) throw new ZapdError("invalid_payload", "The body is empty, and holds no message");
      } catch (error) {
        return unread(c, error);
      }
    }
    c.env.withoutIdleLimit("ended");
    const making = () => answer(request, body);
    const made = await (request.method === "GET" || isListening(body) ? streams.pass(c, making) : making());
    // What the guard says of every answer is said of these, too.
    const headers = Object.fromEntries(made.headers);
    return made.body ? c.body(made.body, made.status as 200, headers) : c.body(null, made.status as 202, headers);
  });
  app.all(path, (c) => answerMethod(c, path, ["POST", "DELETE", "GET"]));
}

function mcpIsOff(): ZapdError {
  return new ZapdError("not_found", "MCP over HTTP is off", {
    hint: "Turn it on: zapd config set mcp.http true. Over stdio it is always there: zapd mcp",
  });
}

/** 401, a status that nothing below `/v1` has: only here is a token asked for (DESIGN.md 2.10). */
function refuse(c: Context<Env>): Response {
  const given = c.req.header("authorization") !== undefined;
  const error = {
    code: "token_missing",
    message: given
      ? "The request brought another token than that of /mcp"
      : "The request brought no token, and /mcp needs one",
    hint: "Print it with: zapd mcp token. It goes into the header: authorization: Bearer TOKEN",
  };
  return c.json({ ok: false, error }, 401, { "www-authenticate": 'Bearer realm="zapd"' });
}

/** Whether a message asks to be told of changes, for as long as it is open. */
function isListening(message: unknown): boolean {
  return isObject(message) && "method" in message && message.method === "subscriptions/listen";
}

/** What is no message is answered as one. */
function unread(c: Context<Env>, thrown: unknown): Response {
  const status = thrown instanceof ZapdError && thrown.status === 413 ? 413 : 400;
  if (status === 413) c.header("connection", "close");
  return c.json({ jsonrpc: "2.0", id: null, error: { code: -32_700, message: textOf(thrown) } }, status);
}
