/** MCP over stdin and stdout, for a client that starts it: a client of the daemon's control socket. */
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Client } from "../api/client.ts";
import type { Explain } from "./failure.ts";
import { type Follow, ResourceNews } from "./resources.ts";
import { createServer } from "./server.ts";
import type { Calling } from "./tool.ts";

export interface StdioOptions {
  readonly api: Client;
  readonly follow: Follow;
  readonly explain: Explain;
  readonly openPackage: NonNullable<Calling["openPackage"]>;
}

/** Serves until stdin ends. */
export async function serveOverStdio({ api, follow, explain, openPackage }: StdioOptions): Promise<void> {
  const news = new ResourceNews(follow);
  const tells = new Set<(uri: string) => void>();
  let following: Promise<unknown> | undefined;
  // Followed from when its client begins to listen, and not before.
  const begin = () => {
    following ??= news.subscribed((uri) => {
      for (const tell of tells) tell(uri);
    });
    return following;
  };
  const over = Promise.withResolvers<void>();
  const handle = serveStdio(
    ({ era }) => {
      const server = createServer({ api: () => api, explain, openPackage, news });
      // A client of the second edition is told what it listens to, which its server sorts out.
      if (era === "modern") tells.add((uri) => void server.sendResourceUpdated({ uri }).catch(() => {}));
      return server;
    },
    { transport: new ListeningTransport(begin) },
  );
  process.stdin.once("end", () => over.resolve());
  process.stdin.once("close", () => over.resolve());
  await over.promise;
  news.close();
  await handle.close();
}

/** Hands a message that asks to be told of changes on once they are followed. */
class ListeningTransport extends StdioServerTransport {
  readonly #begin: () => Promise<unknown>;

  constructor(begin: () => Promise<unknown>) {
    super(process.stdin, process.stdout);
    this.#begin = begin;
  }

  override async start(): Promise<void> {
    const { onmessage } = this;
    this.onmessage = (message) => {
      if ("method" in message && message.method === "subscriptions/listen")
        void this.#begin().then(() => onmessage?.(message));
      else onmessage?.(message);
    };
    await super.start();
  }
}
