/**
 * MCP over HTTP, inside the daemon. Clients of the second edition (2026-07-28) have nothing open between their requests; those
 * of the first get a session when they ask for one, and one request without a session is answered as it is.
 */
import {
  createMcpHandler,
  isInitializeRequest,
  isLegacyRequest,
  legacyStatelessFallback,
  type ServerEventBus,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { createClient, createStream } from "../api/client.ts";
import { clientHeader, leaseHeader } from "../api/routes.ts";
import { isObject } from "../system/json.ts";
import { explainInside } from "./failure.ts";
import { ResourceChanges, SessionChanges } from "./resources.ts";
import { createServer } from "./server.ts";
import { isBearer, mcpToken } from "./token.ts";

export interface McpOptions {
  /** The folder with the token. */
  readonly state: string;
  /** Asks the API, in the daemon itself. */
  fetch(request: Request): Response | Promise<Response>;
}

export interface Mcp {
  /** Whether an authorization header holds the token. Fails as reading the token does. */
  isLetIn(authorization: string | undefined): Promise<boolean>;
  /** Answers one message, of which the body has been read. */
  answer(request: Request, body: unknown): Promise<Response>;
  /** Ends what is open. */
  close(): Promise<void>;
}

const mostSessions = 32;
/** A session that has not been used for this long, and has no stream, is closed when another begins. */
const idleMs = 60 * 60_000;
/** Streams are counted by who serves them. */
const mostListeners = 64;

interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly changes: SessionChanges;
  /** Requests that came in a list, and share its stream with the others. */
  readonly listed: Set<string | number>;
  usedAt: number;
}

export function createMcp({ state, fetch }: McpOptions): Mcp {
  const client = {
    url: "http://zapd/v1",
    fetch(request: Request) {
      request.headers.set(clientHeader, "mcp");
      return fetch(request);
    },
  };
  const changes = new ResourceChanges((signal) => createStream({ ...client, resumed: true }, "events", { signal }));
  const options = {
    api: (request: Request | undefined) =>
      createClient({ ...client, lease: request?.headers.get(leaseHeader) ?? undefined }),
    explain: explainInside,
  };
  const bus: ServerEventBus = {
    publish() {},
    subscribe: (listener) => changes.subscribe((uri) => listener({ kind: "resource_updated", uri })),
  };
  const modern = createMcpHandler(() => createServer({ ...options, changes }), {
    legacy: "reject",
    bus,
    maxSubscriptions: mostListeners,
  });
  const single = legacyStatelessFallback(() => createServer(options));
  const sessions = new Map<string, Session>();

  async function begin(request: Request, body: unknown): Promise<Response> {
    makeRoom(sessions);
    const own = new SessionChanges(changes);
    const server = createServer({ ...options, changes: own });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) =>
        void sessions.set(id, { transport, changes: own, listed: new Set(), usedAt: performance.now() }),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await server.connect(transport);
    const response = await transport.handleRequest(request, { parsedBody: body });
    // A refused one has no session, and is not used again.
    if (transport.sessionId === undefined) await server.close();
    return response;
  }

  return {
    isLetIn: async (authorization) => isBearer(authorization, await mcpToken(state)),
    async answer(request, body) {
      if (!(await isLegacyRequest(request, body))) {
        const end = isListening(body) ? await changes.subscribed(() => {}) : undefined;
        // By then the handler has subscribed itself.
        return modern.fetch(request, { parsedBody: body }).finally(end);
      }
      const id = request.headers.get("mcp-session-id");
      const session = id === null ? undefined : sessions.get(id);
      const messages: readonly unknown[] = Array.isArray(body) ? body : [body];
      if (session) {
        session.usedAt = performance.now();
        if (Array.isArray(body)) for (const { id } of messages.filter(isRequest)) session.listed.add(id);
        const response = await session.transport.handleRequest(request, { parsedBody: body });
        for (const message of messages) endCancelled(session, message);
        return request.method === "GET" ? begun(response, session.changes) : response;
      }
      if (id !== null) return noSession();
      return messages.some(isInitializeRequest) ? begin(request, body) : single(request, { parsedBody: body });
    },
    async close() {
      changes.close();
      const open = [...sessions.values()];
      sessions.clear();
      await Promise.all([modern.close(), ...open.map(({ transport }) => transport.close())]);
    },
  };
}

/** Whether a message asks to be told of changes. */
function isListening(message: unknown): boolean {
  return isObject(message) && message["method"] === "subscriptions/listen";
}

function isRequest(message: unknown): message is { readonly id: string | number } {
  return isObject(message) && (typeof message["id"] === "string" || typeof message["id"] === "number");
}

/** A request that is cancelled is not answered: its stream would stay open for as long as its session. */
function endCancelled({ transport, listed }: Session, message: unknown): void {
  if (!isObject(message) || message["method"] !== "notifications/cancelled" || !isObject(message["params"])) return;
  const { requestId } = message["params"];
  if (typeof requestId !== "string" && typeof requestId !== "number") return;
  if (!listed.delete(requestId)) transport.closeSSEStream(requestId);
}

/** Closes idle sessions, and where there are too many, the least recently used one. */
function makeRoom(sessions: Map<string, Session>): void {
  const now = performance.now();
  const oldest = [...sessions].sort(([, one], [, other]) => one.usedAt - other.usedAt);
  for (const [id, { transport, changes, usedAt }] of oldest) {
    const isIdle = !changes.isOpen && now - usedAt >= idleMs;
    if (!isIdle && sessions.size < mostSessions) continue;
    sessions.delete(id);
    void transport.close();
  }
}

/** The stream with a comment before it: the head of a response is sent with its first byte, and the client waits for it. */
async function begun(response: Response, changes: SessionChanges): Promise<Response> {
  const { body, status, headers } = response;
  if (!response.ok || !body) return response;
  await changes.open();
  const reader = body.getReader();
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode(": listening\n\n")),
    async pull(controller) {
      const { done, value } = await reader.read();
      if (!done) return controller.enqueue(value);
      changes.close();
      controller.close();
    },
    cancel(reason) {
      changes.close();
      return reader.cancel(reason);
    },
  });
  return new Response(stream, { status, headers });
}

/** The client then begins a new session, as the protocol has it. */
function noSession(): Response {
  const error = { code: -32_001, message: "There is no such session: begin a new one with initialize" };
  return Response.json({ jsonrpc: "2.0", error, id: null }, { status: 404 });
}
