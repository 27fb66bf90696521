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
import { ResourceChanges } from "./resources.ts";
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
/** A session that has not been used for this long is closed when another begins. */
const idleMs = 60 * 60_000;
/** Streams are counted by who serves them. */
const mostListeners = 64;

interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport;
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
    const server = createServer({ ...options, changes });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, { transport, usedAt: performance.now() }),
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
      if (session) {
        session.usedAt = performance.now();
        const response = await session.transport.handleRequest(request, { parsedBody: body });
        return request.method === "GET" ? begun(response) : response;
      }
      if (id !== null) return noSession();
      const messages: readonly unknown[] = Array.isArray(body) ? body : [body];
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

/** Closes idle sessions, and where there are too many, the least recently used one. */
function makeRoom(sessions: Map<string, Session>): void {
  const now = performance.now();
  const oldest = [...sessions].sort(([, one], [, other]) => one.usedAt - other.usedAt);
  for (const [at, [id, { transport, usedAt }]] of oldest.entries()) {
    if (now - usedAt < idleMs && oldest.length - at < mostSessions) return;
    sessions.delete(id);
    void transport.close();
  }
}

/** The stream with a comment before it: the head of a response is sent with its first byte, and the client waits for it. */
function begun(response: Response): Response {
  const { body, status, headers } = response;
  if (!response.ok || !body) return response;
  const reader = body.getReader();
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode(": listening\n\n")),
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return new Response(stream, { status, headers });
}

/** The client then begins a new session, as the protocol has it. */
function noSession(): Response {
  const error = { code: -32_001, message: "There is no such session: begin a new one with initialize" };
  return Response.json({ jsonrpc: "2.0", error, id: null }, { status: 404 });
}
