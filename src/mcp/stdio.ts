/** MCP over stdin and stdout, for a client that starts it: a client of the daemon's control socket. */
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Client } from "../api/client.ts";
import type { Explain } from "./failure.ts";
import { LineTransport } from "./lines.ts";
import { type Follow, ResourceNews } from "./resources.ts";
import { createServer } from "./server.ts";
import type { Calling } from "./tool.ts";

export interface StdioOptions {
  readonly api: Client;
  readonly follow: Follow;
  readonly explain: Explain;
  readonly openPackage: NonNullable<Calling["openPackage"]>;
}

/** Serves until stdin has ended, and what was asked for before is answered. */
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
  const transport = new LineTransport(process.stdin, process.stdout, begin);
  const handle = serveStdio(
    ({ era }) => {
      const server = createServer({ api: () => api, explain, openPackage, news });
      // A client of the second edition is told what it listens to, which its server sorts out.
      if (era === "modern") tells.add((uri) => void server.sendResourceUpdated({ uri }).catch(() => {}));
      return server;
    },
    { transport },
  );
  await transport.closed;
  news.close();
  await handle.close();
}
