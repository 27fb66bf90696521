/**
 * MCP over HTTP, inside the daemon. Clients of the 2026-07-28 protocol keep nothing open between requests; those of earlier
 * protocols get a session when they initialize one, and a request without a session is answered by itself.
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
import { insideClient } from "../api/client-inside.ts";
import { leaseHeader } from "../api/routes.ts";
import { isObject } from "../system/json.ts";
import { ResourceChanges, SessionChanges } from "./resources.ts";
import { createServer, explainInside } from "./server.ts";
import { isBearer, mcpToken } from "./token.ts";

export interface McpOptions {
  /** The state folder, which has the token. */
  readonly state: string;
  /** Calls the API of this daemon. */
  fetch(request: Request): Response | Promise<Response>;
}

export type Mcp = ReturnType<typeof createMcp>;

const maxSessions = 32;
/** A session without a stream that was not used for this long is closed when another begins. */
const sessionIdleMs = 60 * 60_000;

interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly changes: SessionChanges;
  readonly unanswered: Unanswered;
  usedAt: number;
}

/** Of each unanswered request, the unanswered ones of its POST: they share one stream. */
type Unanswered = Map<string | number, Set<string | number>>;

export function createMcp({ state, fetch }: McpOptions) {
  const client = insideClient("mcp", fetch);
  const changes = new ResourceChanges((signal) => createStream({ ...client, resumed: true }, "events", { signal }));
  const options = {
    looking: createClient(insideClient("doctor", fetch)),
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
  });
  const single = legacyStatelessFallback(() => createServer(options));
  const sessions = new Map<string, Session>();

  async function begin(request: Request, body: unknown): Promise<Response> {
    const own = new SessionChanges(changes);
    const server = createServer({ ...options, changes: own });
    const unanswered: Unanswered = new Map();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized(id) {
        makeRoom(sessions);
        sessions.set(id, { transport, changes: own, unanswered, usedAt: performance.now() });
      },
      onsessionclosed: (id) => void sessions.delete(id),
    });
    const send = transport.send.bind(transport);
    transport.send = async (message, sendOptions) => {
      await send(message, sendOptions);
      // The SDK ends the stream of a batch once all of it is answered, and a cancelled request never is.
      if (!("method" in message) && message.id !== undefined) endIfLast({ transport, unanswered }, message.id);
    };
    await server.connect(transport);
    return transport.handleRequest(request, { parsedBody: body });
  }

  return {
    /** Whether an `authorization` header has the token. Fails as reading the token does. */
    isLetIn: async (authorization: string | undefined) => isBearer(authorization, await mcpToken(state)),
    opensStream,
    /** Answers one message, whose body has been read. */
    async answer(request: Request, body: unknown): Promise<Response> {
      if (!(await isLegacyRequest(request, body))) {
        const end = opensStream(body) ? await changes.subscribed(() => {}) : undefined;
        // The handler has its own subscription by then.
        return modern.fetch(request, { parsedBody: body }).finally(end);
      }
      const id = request.headers.get("mcp-session-id");
      const session = id === null ? undefined : sessions.get(id);
      const messages: readonly unknown[] = Array.isArray(body) ? body : [body];
      if (session) {
        session.usedAt = performance.now();
        const ids = messages.filter(isRequest).map(({ id }) => id);
        const repeated = ids.find((id, at) => session.unanswered.has(id) || ids.indexOf(id) < at);
        if (repeated !== undefined) return refuseRepeated(repeated);
        const together = new Set(ids);
        for (const id of ids) session.unanswered.set(id, together);
        const response = await session.transport.handleRequest(request, { parsedBody: body });
        if (!response.ok) for (const id of ids) session.unanswered.delete(id);
        for (const message of messages) endCancelled(session, message);
        return request.method === "GET" ? withFirstComment(response, session.changes) : response;
      }
      if (id !== null) return noSession();
      return messages.some(isInitializeRequest) ? begin(request, body) : single(request, { parsedBody: body });
    },
    /** Ends all sessions and subscriptions. */
    async close() {
      changes.close();
      const open = [...sessions.values()];
      sessions.clear();
      await Promise.all([modern.close(), ...open.map(({ transport }) => transport.close())]);
    },
  };
}

/** Whether a message opens a stream of changes. */
function opensStream(message: unknown): boolean {
  return isObject(message) && message["method"] === "subscriptions/listen";
}

function isRequest(message: unknown): message is { readonly id: string | number } {
  return (
    isObject(message) && "method" in message && (typeof message["id"] === "string" || typeof message["id"] === "number")
  );
}

/** Closes the stream of a cancelled request, which otherwise stays open without an answer as long as the session. */
function endCancelled(session: Session, message: unknown): void {
  if (!isObject(message) || message["method"] !== "notifications/cancelled" || !isObject(message["params"])) return;
  const { requestId } = message["params"];
  if (typeof requestId !== "string" && typeof requestId !== "number") return;
  endIfLast(session, requestId);
}

/** Closes the stream of a request that gets no further answer, unless others of its POST still do. */
function endIfLast({ transport, unanswered }: Pick<Session, "transport" | "unanswered">, id: string | number): void {
  const together = unanswered.get(id);
  unanswered.delete(id);
  together?.delete(id);
  if (!together?.size) transport.closeSSEStream(id);
}

/** Closes idle sessions, and the least recently used one where there are too many. */
function makeRoom(sessions: Map<string, Session>): void {
  const now = performance.now();
  const oldest = [...sessions].sort(([, one], [, other]) => one.usedAt - other.usedAt);
  for (const [id, { transport, changes, usedAt }] of oldest) {
    const isIdle = !changes.isOpen && now - usedAt >= sessionIdleMs;
    if (!isIdle && sessions.size < maxSessions) continue;
    sessions.delete(id);
    void transport.close();
  }
}

/** Sends a comment first: the head of a response is sent with its first byte, and the client waits for the head. */
async function withFirstComment(response: Response, changes: SessionChanges): Promise<Response> {
  const { body, status, headers } = response;
  if (!response.ok || !body) return response;
  await changes.open();
  const reader = body.getReader();
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode(": listening\n\n")),
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel(reason) {
      changes.close();
      return reader.cancel(reason);
    },
  });
  return new Response(stream, { status, headers });
}

/** The SDK knows a request by its id alone: the answer to one would go to the other, and that one would never end. */
function refuseRepeated(id: string | number): Response {
  const message = `Another request with the id ${JSON.stringify(id)} is not answered yet. Give each request its own id`;
  return Response.json({ jsonrpc: "2.0", error: { code: -32_600, message }, id }, { status: 400 });
}

/** The protocol says that the client then begins a new session. */
function noSession(): Response {
  const error = { code: -32_001, message: "Unknown session. Begin a new one with initialize" };
  return Response.json({ jsonrpc: "2.0", error, id: null }, { status: 404 });
}
