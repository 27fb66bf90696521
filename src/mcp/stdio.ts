/** MCP over stdin and stdout, as a client of the daemon's control socket. */
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Client } from "../api/client.ts";
import { LineTransport } from "./lines.ts";
import { type Follow, ResourceChanges } from "./resources.ts";
import { createServer, type ServerOptions } from "./server.ts";

export interface StdioOptions extends Omit<ServerOptions, "api" | "changes"> {
  readonly api: Client;
  readonly follow: Follow;
}

/** Serves until stdin has ended and all requests are answered. */
export async function serveOverStdio({ api, follow, ...options }: StdioOptions): Promise<void> {
  const changes = new ResourceChanges(follow);
  let tell: ((uri: string) => void) | undefined;
  let following: Promise<unknown> | undefined;
  // Events are followed only once the client subscribes.
  const begin = () => (following ??= changes.subscribed((uri) => tell?.(uri)));
  const transport = new LineTransport(process.stdin, process.stdout, begin);
  const handle = serveStdio(
    ({ era }) => {
      const server = createServer({ ...options, api: () => api, changes });
      // For the 2026-07-28 protocol the server itself filters by subscription. The SDK makes one server of it for a connection.
      if (era === "modern") tell = (uri) => void server.sendResourceUpdated({ uri }).catch(() => {});
      return server;
    },
    { transport },
  );
  await transport.closed;
  changes.close();
  await handle.close();
}
