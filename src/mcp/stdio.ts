/** MCP over stdin and stdout, for a client that starts it: a client of the daemon's control socket. */
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Client } from "../api/client.ts";
import type { Explain } from "./failure.ts";
import { LineTransport } from "./lines.ts";
import { type Follow, ResourceChanges } from "./resources.ts";
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
  const changes = new ResourceChanges(follow);
  const tells = new Set<(uri: string) => void>();
  let following: Promise<unknown> | undefined;
  // Events are followed once the client subscribes, and not before.
  const begin = () => {
    following ??= changes.subscribed((uri) => {
      for (const tell of tells) tell(uri);
    });
    return following;
  };
  const transport = new LineTransport(process.stdin, process.stdout, begin);
  const handle = serveStdio(
    ({ era }) => {
      const server = createServer({ api: () => api, explain, openPackage, changes });
      // For a client of the second edition its server picks out what it has subscribed to.
      if (era === "modern") tells.add((uri) => void server.sendResourceUpdated({ uri }).catch(() => {}));
      return server;
    },
    { transport },
  );
  await transport.closed;
  changes.close();
  await handle.close();
}
