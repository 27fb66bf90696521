/** The clients of both editions of the protocol's own SDK, over HTTP and over stdio. */
import { Client as SecondClient, StreamableHTTPClientTransport as SecondHttp } from "@modelcontextprotocol/client";
import { StdioClientTransport as SecondStdio } from "@modelcontextprotocol/client/stdio";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as FirstStdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as FirstHttp } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema, ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { programWords, type TestDaemon } from "./daemon.ts";

/** The answer of a tool. */
export interface ToolAnswer {
  readonly isError?: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly structuredContent: any;
  readonly content: readonly {
    readonly type: string;
    readonly text: string;
    readonly data?: string;
    readonly mimeType?: string;
  }[];
}

/** How a person at a client answers a form. */
export type Person = (message: string) => {
  readonly action: "accept" | "decline";
  readonly content?: Record<string, string | boolean>;
};

export interface Agent {
  /** The list of tools, as received. */
  tools(): Promise<readonly { readonly name: string }[]>;
  call(name: string, args?: Record<string, unknown>): Promise<ToolAnswer>;
  resources(): Promise<readonly { readonly uri: string }[]>;
  read(uri: string): Promise<string>;
  /** Follows a resource, makes the change, and waits for its notification. */
  changed(uri: string, change: () => Promise<unknown>): Promise<void>;
  close(): Promise<void>;
}

export interface Reached {
  readonly daemon: TestDaemon;
  readonly token: string;
  /** Answers questions, where the client can ask. */
  readonly person?: Person;
  /** Another socket than the daemon's own. */
  readonly socket?: string;
}

const who = { name: "a test", version: "1" };

export const editions = [
  "the first edition over HTTP",
  "the second edition over HTTP",
  "the first edition over stdio",
  "the second edition over stdio",
] as const;
export type Edition = (typeof editions)[number];

export function connect(edition: Edition, reached: Reached): Promise<Agent> {
  const isHttp = edition.endsWith("HTTP");
  return edition.startsWith("the first") ? first(isHttp, reached) : second(isHttp, reached);
}

function endpoint({ daemon, token }: Reached) {
  return [
    new URL(`http://127.0.0.1:${daemon.port}/mcp`),
    { requestInit: { headers: { authorization: `Bearer ${token}` } } },
  ] as const;
}

function program({ daemon, socket = `${daemon.stateFolder}/zapd.sock` }: Reached) {
  const [command = "", ...words] = programWords();
  const env = Object.entries({ ...process.env, ZAPD_SOCKET: socket }).filter(([, value]) => value !== undefined);
  return {
    command,
    args: [...words, "mcp"],
    env: Object.fromEntries(env) as Record<string, string>,
    stderr: "inherit" as const,
  };
}

async function first(isHttp: boolean, reached: Reached): Promise<Agent> {
  const { person } = reached;
  const client = new FirstClient(who, { capabilities: person ? { elicitation: {} } : {} });
  if (person) client.setRequestHandler(ElicitRequestSchema, async ({ params }) => person(params.message));
  // The types of the first edition are not made for exact optional properties.
  await client.connect((isHttp ? new FirstHttp(...endpoint(reached)) : new FirstStdio(program(reached))) as never);
  return agentOf(client, async (uri, told) => {
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => told(params.uri));
    await client.subscribeResource({ uri });
    return () => client.unsubscribeResource({ uri });
  });
}

async function second(isHttp: boolean, reached: Reached): Promise<Agent> {
  const { person } = reached;
  const client = new SecondClient(who, {
    capabilities: person ? { elicitation: { form: {} } } : {},
    versionNegotiation: { mode: "auto" },
  });
  if (person) client.setRequestHandler("elicitation/create", async ({ params }) => person(params.message));
  await client.connect(isHttp ? new SecondHttp(...endpoint(reached)) : new SecondStdio(program(reached)));
  return agentOf(client, async (uri, told) => {
    client.setNotificationHandler("notifications/resources/updated", ({ params }) => told(params.uri));
    const subscription = await client.listen({ resourceSubscriptions: [uri] });
    return () => subscription.close();
  });
}

/** `follow` follows a resource, and returns what ends that. */
function agentOf(
  client: FirstClient | SecondClient,
  follow: (uri: string, told: (uri: string) => void) => Promise<() => Promise<unknown>>,
): Agent {
  return {
    tools: async () => (await client.listTools()).tools,
    call: async (name, args = {}) => (await client.callTool({ name, arguments: args })) as unknown as ToolAnswer,
    resources: async () => (await client.listResources()).resources,
    read: async (uri) => textOf((await client.readResource({ uri })).contents),
    async changed(uri, change) {
      const heard = Promise.withResolvers<void>();
      const end = await follow(uri, (one) => {
        if (one === uri) heard.resolve();
      });
      await change();
      await heard.promise;
      await end();
    },
    close: () => client.close(),
  };
}

function textOf(contents: readonly object[]): string {
  const [one] = contents;
  return one && "text" in one ? String(one.text) : "";
}
