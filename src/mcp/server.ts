/** An MCP server for any transport: the tools and the resources, over a client of the API. */
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
import { z } from "zod";
import type { Client } from "../api/client.ts";
import { errorBody, type Failure, textOf, ZapdError } from "../api/errors.ts";
import { isObject } from "../system/json.ts";
import { version } from "../system/version.ts";
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
import type { Outcome, Question, ToolContext } from "./tool.ts";
import { tools } from "./tools.ts";

/** Describes a failure that is not the API's own. */
export type Explain = (error: unknown) => Promise<Failure>;

export interface ServerOptions {
  /** A client of the API for the call of a request. */
  api(request: Request | undefined): Client;
  readonly looking: ToolContext["looking"];
  readonly explain: Explain;
  /** `default` when left out. */
  readonly device?: ToolContext["device"];
  readonly sceneDevice?: ToolContext["sceneDevice"];
  readonly openPackage?: ToolContext["openPackage"];
  /** Reports changed resources; without it there are no subscriptions. */
  readonly changes?: Changes | undefined;
}

type Changes = Pick<ResourceChanges, "subscribed">;

/** A client of the 2026-07-28 protocol sends its capabilities with each request. */
interface RequestMeta {
  readonly [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities;
}

/** Without a schema the SDK answers `InternalError` where the argument is missing (its 2.4.0). */
const withUri = { params: z.looseObject({ uri: z.string() }) };

/** How long clients may cache lists, which change only with the version of zapd. */
const listCacheMs = 60 * 60_000;

/** The tool that asked validates the answer, not the SDK. */
const anyAnswer = {
  getValidator: <T>(): JsonSchemaValidator<T> => {
    return (input) => ({ valid: true, data: input as T, errorMessage: undefined });
  },
};

export function createServer({
  api: clientFor,
  looking,
  explain,
  device = "default",
  sceneDevice,
  openPackage,
  changes,
}: ServerOptions): Server {
  const here = `Here \`device\` is ${device} where it is left out${sceneDevice === undefined ? ", but in run_scene" : ""}`;
  const server = new Server(
    { name: "zapd", title: "zapd: the TVs and players of this house", version },
    {
      capabilities: { tools: {}, resources: { subscribe: changes !== undefined } },
      instructions: device === "default" ? instructions : `${instructions}. ${here}`,
      jsonSchemaValidator: anyAnswer,
      cacheHints: {
        "tools/list": { ttlMs: listCacheMs, cacheScope: "private" },
        "resources/templates/list": { ttlMs: listCacheMs, cacheScope: "private" },
      },
    },
  );
  const clientOf = (context: ServerContext) => clientFor(context.http?.req);

  server.setRequestHandler("tools/list", () => ({ tools: tools.map(({ listed }) => listed) as never }));
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const tool = tools.find(({ name }) => name === params.name);
    if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool ${params.name}`);
    const { signal, inputResponses, envelope } = context.mcpReq;
    const { [CLIENT_CAPABILITIES_META_KEY]: declared = server.getClientCapabilities() } = (envelope ??
      {}) as RequestMeta;
    const toolContext: ToolContext = {
      api: clientOf(context),
      looking,
      signal,
      device,
      sceneDevice,
      openPackage,
      answerTo: (question) => answerIn(inputResponses?.[question], question),
      canAsk: canAsk(declared),
      waitsForAnswer: envelope === undefined,
    };
    const end = reportProgress(context.mcpReq);
    try {
      return resultOf(await runPaired(tool, params.arguments, toolContext));
    } catch (error) {
      signal.throwIfAborted();
      const failure = await failureOf(error, explain);
      const text = failureText(failure);
      return { isError: true, structuredContent: { ...failure }, content: [{ type: "text", text }] };
    } finally {
      end();
    }
  });

  server.setRequestHandler("resources/list", async (_, context) => {
    const { signal } = context.mcpReq;
    // Without a daemon there are no devices.
    const devices = await clientOf(context)
      .listDevices({ signal })
      .catch(() => []);
    return { resources: [...fixedResources, ...stateResources(devices)] };
  });
  server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: templates }));
  server.setRequestHandler("resources/read", withUri, async ({ uri }, context) => {
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

const progressMs = 10_000;

/** A client that asks for progress waits for a scene longer than the minute after which it would cancel the call. */
function reportProgress({ _meta, notify }: ServerContext["mcpReq"]): () => void {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return () => {};
  let progress = 0;
  const timer = setInterval(() => {
    void notify({ method: "notifications/progress", params: { progressToken, progress: ++progress } }).catch(() => {});
  }, progressMs);
  return () => clearInterval(timer);
}

/** Clients of earlier protocols subscribe to one resource at a time, for as long as they are connected. */
function subscriptions(server: Server, changes: Changes): void {
  const wanted = new Set<string>();
  let subscription: Promise<() => void> | undefined;
  const tell = (uri: string) => {
    if (wanted.has(uri)) void server.sendResourceUpdated({ uri }).catch(() => {});
  };
  const leave = () => {
    void subscription?.then((end) => end());
    subscription = undefined;
  };
  server.setRequestHandler("resources/subscribe", withUri, async ({ uri }) => {
    if (!isResource(uri)) throw new ResourceNotFoundError(uri);
    if (wanted.size >= maxSubscriptions && !wanted.has(uri))
      throw new ProtocolError(ProtocolErrorCode.InvalidRequest, `There are ${maxSubscriptions} subscriptions already`);
    wanted.add(uri);
    // By a function of its own: an earlier subscription that ends late takes away only its own.
    subscription ??= changes.subscribed((changed) => tell(changed));
    await subscription;
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", withUri, ({ uri }) => {
    wanted.delete(uri);
    if (wanted.size === 0) leave();
    return {};
  });
  server.onclose = leave;
}

/** As many as there can be devices. */
const maxSubscriptions = 1_024;

function resultOf(outcome: Outcome) {
  if ("ask" in outcome) return questionOf(outcome.ask);
  const { data, text, picture } = outcome;
  return {
    structuredContent: { ...data },
    content: [{ type: "text" as const, text }, ...(picture ? [{ type: "image" as const, ...picture }] : [])],
  };
}

function questionOf({ key, message, field }: Question) {
  const requestedSchema = { type: "object" as const, properties: { [key]: field }, required: [key] };
  return inputRequired({
    inputRequests: { [key]: inputRequired.elicit({ message, requestedSchema: requestedSchema as never }) },
  });
}

/** The answer of a person, from the one field of the question, which has its name; `null` where they declined. */
function answerIn(response: unknown, question: string): string | boolean | null | undefined {
  if (response === undefined) return undefined;
  if (!isObject(response) || response["action"] !== "accept" || !isObject(response["content"])) return null;
  const value = response["content"][question];
  return typeof value === "string" || typeof value === "boolean" ? value : null;
}

/** Whether a client can show a form. */
function canAsk(declared: ClientCapabilities | undefined): boolean {
  const { elicitation } = declared ?? {};
  return elicitation !== undefined && (Object.keys(elicitation).length === 0 || "form" in elicitation);
}

async function failureOf(error: unknown, explain: Explain): Promise<Failure> {
  return error instanceof ZapdError ? errorBody(error) : explain(error);
}

/** Inside the daemon no connection can fail: any error that is not the API's is a bug in zapd. */
export const explainInside: Explain = async (error) => ({
  code: "internal_error",
  message: `An error in zapd: ${textOf(error)}`,
});

const maxDetailsLength = 8_000;

/** A failure as text, for clients that read nothing else. */
function failureText({ code, message, hint, details }: Failure): string {
  const sentence = `${code}: ${message}${/[.!?]$/.test(message) ? "" : "."}`;
  const json = details ? JSON.stringify(details).slice(0, maxDetailsLength) : "";
  return [sentence, hint ?? "", json].filter(Boolean).join(" ");
}
