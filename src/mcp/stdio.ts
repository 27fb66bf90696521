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
  const listening = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  const handle = serveStdio(
    ({ era }) => {
      const server = createServer({ api: () => api, explain, openPackage, news });
      const tell = (uri: string) => void server.sendResourceUpdated({ uri }).catch(() => {});
      // To a client of the second edition, which is told only what it listens to.
      if (era === "modern") void listening.promise.then(() => news.subscribe(tell));
      return server;
    },
    { transport: new ListeningTransport(() => listening.resolve()) },
  );
  process.stdin.once("end", () => over.resolve());
  process.stdin.once("close", () => over.resolve());
  await over.promise;
  news.close();
  await handle.close();
}

/** Notices when its client begins to listen: from then on what happens is followed, and not before. */
class ListeningTransport extends StdioServerTransport {
  readonly #begins: () => void;

  constructor(begins: () => void) {
    super(process.stdin, process.stdout);
    this.#begins = begins;
  }

  override async start(): Promise<void> {
    const { onmessage } = this;
    this.onmessage = (message) => {
      if ("method" in message && message.method === "subscriptions/listen") this.#begins();
      onmessage?.(message);
    };
    await super.start();
  }
}
