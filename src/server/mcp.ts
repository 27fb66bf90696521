/** `/mcp`: the setting that enables it, its token, and the limit on its streams. The protocol is in src/mcp, loaded at the first request. */
import type { Context, Hono } from "hono";
import { textOf, ZapdError } from "../api/errors.ts";
import type { AppDependencies } from "./app.ts";
import { readJson } from "./body.ts";
import { checkReach, mcpPath as path } from "./guard.ts";
import { answerMethod, type Env } from "./route.ts";
import type { Streams } from "./streams.ts";

const methods = ["GET", "POST", "DELETE"];

export interface McpService {
  /** Whether an `authorization` header has the token. */
  isLetIn(authorization: string | undefined): Promise<boolean>;
  /** Whether a message opens a stream of changes. */
  opensStream(body: unknown): boolean;
  /** Answers one message, whose body has been read. */
  answer(request: Request, body: unknown): Promise<Response>;
}

export function mcpRoute(app: Hono<Env>, { config, mcp: load }: AppDependencies, streams: Streams): void {
  app.on(methods, path, async (c) => {
    if (!config.running.mcp.http)
      throw new ZapdError("not_found", "MCP over HTTP is off", {
        hint: "Turn it on: zapd config set mcp.http true. Over stdio it is always available: zapd mcp",
      });
    checkReach(c, "stream");
    const { isLetIn, opensStream, answer } = await load();
    // Only its owner can reach the control socket.
    if (c.env.listener !== "socket" && !(await isLetIn(c.req.header("authorization")))) return refuse(c);
    const request = c.req.raw;
    if (request.method === "HEAD") return answerMethod(c, path, methods);
    let body: unknown;
    if (request.method === "POST") {
      try {
        body = await readJson(request);
        if (body === undefined) throw new ZapdError("invalid_payload", "The body is empty, without a message");
      } catch (error) {
        return unreadable(c, error);
      }
    }
    c.env.withoutIdleLimit("ended");
    const respond = () => answer(request, body);
    const response = await (request.method === "GET" || opensStream(body) ? streams.pass(c, respond) : respond());
    // Through the context, so that the headers of the guard are added; `no-store` also where the SDK says less.
    const headers = { ...Object.fromEntries(response.headers), "cache-control": "no-store" };
    return c.newResponse(response.body, response.status as 200, headers);
  });
  app.all(path, (c) => answerMethod(c, path, methods));
}

/** 401, a status that nothing below `/v1` has: only `/mcp` needs a token (DESIGN.md 2.10). */
function refuse(c: Context<Env>): Response {
  const hasToken = c.req.header("authorization") !== undefined;
  const error = {
    code: "token_missing",
    message: hasToken
      ? "The token of the request is not that of /mcp"
      : "The request has no token, but /mcp requires one",
    hint: "Print it with: zapd mcp token. Send it in the header: authorization: Bearer TOKEN",
  };
  return c.json({ ok: false, error }, 401, { "www-authenticate": 'Bearer realm="zapd"' });
}

/** A body that is not a message is answered with an error of JSON-RPC. */
function unreadable(c: Context<Env>, thrown: unknown): Response {
  const status = thrown instanceof ZapdError && thrown.status === 413 ? 413 : 400;
  if (status === 413) c.header("connection", "close");
  return c.json({ jsonrpc: "2.0", id: null, error: { code: -32_700, message: textOf(thrown) } }, status);
}
