/** One MCP server, over any transport: the tools and the resources, over a client of the API. */
import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  inputRequired,
  type JsonSchemaValidator,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { Client } from "../api/client.ts";
import { isObject } from "../system/json.ts";
import { version } from "../system/version.ts";
import { type Explain, failureOf, failureText } from "./failure.ts";
import { instructions } from "./guide.ts";
import { runPaired } from "./pairing.ts";
import {
  fixedResources,
  isResource,
  type ResourceChanges,
  readResource,
  stateResources,
  templates,
} from "./resources.ts";
import type { Calling, Outcome, Question } from "./tool.ts";
import { tools } from "./tools.ts";

export interface ServerOptions {
  /** A client of the API, for a call that came with this request. */
  api(request: Request | undefined): Client;
  readonly explain: Explain;
  readonly openPackage?: Calling["openPackage"];
  /** Tells of changed resources; without it they cannot be subscribed to. */
  readonly changes?: Changes | undefined;
}

type Changes = Pick<ResourceChanges, "subscribed">;

/** What a client of the second edition says of itself with each request. */
interface Declaring {
  readonly [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities;
}

/** Lists change only with the version of zapd. */
const listsForMs = 60 * 60_000;

/** Answers of a person are checked by the tool that asked, not by the SDK. */
const anyAnswer = {
  getValidator: <T>(): JsonSchemaValidator<T> => {
    return (input) => ({ valid: true, data: input as T, errorMessage: undefined });
  },
};

export function createServer({ api: clientFor, explain, openPackage, changes }: ServerOptions): Server {
  const server = new Server(
    { name: "zapd", title: "zapd: the TVs and players of this house", version },
    {
      capabilities: { tools: {}, resources: { subscribe: changes !== undefined } },
      instructions,
      jsonSchemaValidator: anyAnswer,
      cacheHints: {
        "tools/list": { ttlMs: listsForMs, cacheScope: "private" },
        "resources/templates/list": { ttlMs: listsForMs, cacheScope: "private" },
      },
    },
  );
  const clientOf = (context: ServerContext) => clientFor(context.http?.req);

  server.setRequestHandler("tools/list", () => ({ tools: tools.map(({ listed }) => listed) as never }));
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const tool = tools.find(({ name }) => name === params.name);
    if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool ${params.name}`);
    const { signal, inputResponses, envelope } = context.mcpReq;
    const { [CLIENT_CAPABILITIES_META_KEY]: declared = server.getClientCapabilities() } = (envelope ?? {}) as Declaring;
    const calling: Calling = {
      api: clientOf(context),
      signal,
      openPackage,
      answerTo: (question) => answerIn(inputResponses?.[question]),
      canAsk: canAsk(declared),
    };
    try {
      return resultOf(await runPaired(tool, params.arguments, calling));
    } catch (error) {
      signal.throwIfAborted();
      const failure = await failureOf(error, explain);
      const text = failureText(failure);
      return { isError: true, structuredContent: { ...failure }, content: [{ type: "text", text }] };
    }
  });

  server.setRequestHandler("resources/list", async (_, context) => {
    const { signal } = context.mcpReq;
    // Without a daemon there are no resources of devices.
    const devices = await clientOf(context)
      .listDevices({ signal })
      .catch(() => []);
    return { resources: [...fixedResources, ...stateResources(devices)] };
  });
  server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: templates }));
  server.setRequestHandler("resources/read", async ({ params: { uri } }, context) => {
    const { signal } = context.mcpReq;
    try {
      const read = await readResource(uri, clientOf(context), signal);
      if (read) return { contents: [{ uri, ...read }] };
    } catch (error) {
      const failure = await failureOf(error, explain);
      if (failure.code === "device_not_found") throw new ResourceNotFoundError(uri, failure.message);
      throw new ProtocolError(ProtocolErrorCode.InternalError, failure.message, failure);
    }
    throw new ResourceNotFoundError(uri);
  });
  if (changes) subscriptions(server, changes);
  return server;
}

/** Clients of the first edition subscribe to one resource at a time, for as long as they are connected. */
function subscriptions(server: Server, changes: Changes): void {
  const wanted = new Set<string>();
  let following: Promise<() => void> | undefined;
  const tell = (uri: string) => {
    if (wanted.has(uri)) void server.sendResourceUpdated({ uri }).catch(() => {});
  };
  const leave = () => {
    void following?.then((end) => end());
    following = undefined;
  };
  server.setRequestHandler("resources/subscribe", async ({ params: { uri } }) => {
    if (!isResource(uri)) throw new ResourceNotFoundError(uri);
    if (wanted.size >= mostSubscriptions && !wanted.has(uri))
      throw new ProtocolError(ProtocolErrorCode.InvalidRequest, `There are ${mostSubscriptions} subscriptions already`);
    wanted.add(uri);
    following ??= changes.subscribed(tell);
    await following;
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", ({ params: { uri } }) => {
    wanted.delete(uri);
    if (wanted.size === 0) leave();
    return {};
  });
  server.onclose = leave;
}

/** As many as there may be devices. */
const mostSubscriptions = 1_024;

function resultOf(done: Outcome) {
  if ("ask" in done) return asked(done.ask);
  const { data, text, picture } = done;
  return {
    structuredContent: { ...data },
    content: [{ type: "text" as const, text }, ...(picture ? [{ type: "image" as const, ...picture }] : [])],
  };
}

function asked({ key, message, field }: Question) {
  const { name, ...schema } = field;
  const requestedSchema = { type: "object" as const, properties: { [name]: schema }, required: [name] };
  return inputRequired({
    inputRequests: { [key]: inputRequired.elicit({ message, requestedSchema: requestedSchema as never }) },
  });
}

/** What a person answered: the one field of the question, or `null` where they declined. */
function answerIn(given: unknown): string | boolean | null | undefined {
  if (given === undefined) return undefined;
  if (!isObject(given) || given["action"] !== "accept" || !isObject(given["content"])) return null;
  const [value] = Object.values(given["content"]);
  return typeof value === "string" || typeof value === "boolean" ? value : null;
}

/** Whether a client shows its person a form. */
function canAsk(declared: ClientCapabilities | undefined): boolean {
  const { elicitation } = declared ?? {};
  return elicitation !== undefined && (Object.keys(elicitation).length === 0 || "form" in elicitation);
}
