/** Serves and calls with Deno's own APIs. Its server sets no limits on connections (README.md). */
import type { Call, Handler, ListenAddress, Listener, Runtime } from "./runtime.ts";
import { waitForClose } from "./serving.ts";

/** The part of Deno that is used. Its types cannot be loaded beside Bun's. */
interface DenoNamespace {
  connect(options: { transport: "unix"; path: string }): Promise<{ close(): void }>;
  createHttpClient(options: { proxy: { transport: "unix"; path: string } }): object;
  serve(
    options: ListenAddress & { onListen(): void },
    handler: (request: Request) => Response | Promise<Response>,
  ): Server;
}

interface Server {
  readonly addr: { readonly port?: number };
  /** Rejects when no file descriptor is left for a connection: the server has ended by itself. */
  readonly finished: Promise<void>;
  shutdown(): Promise<void>;
}

function deno(): DenoNamespace {
  return (globalThis as unknown as { Deno: DenoNamespace }).Deno;
}

/**
 * The client of each control socket, kept with its connections. With a client for each call, some calls were never answered:
 * Deno 2.9.5 loses those that are connecting while it collects garbage.
 */
const clients = new Map<string, object>();

function clientOf(socket: string): object {
  const client = clients.get(socket) ?? deno().createHttpClient({ proxy: { transport: "unix", path: socket } });
  clients.set(socket, client);
  return client;
}

/** Connects and closes; rejects with the system's code. */
const knock = async (path: string) => (await deno().connect({ transport: "unix", path })).close();

/** A server that ended because no file descriptor was left is restarted, and tried again after this. */
const retryAfterMs = 500;

function listen(place: ListenAddress, handler: Handler): Listener {
  const call: Call = { listener: "path" in place ? "socket" : "tcp", withoutIdleLimit() {} };
  const answer = (request: Request) => handler("path" in place ? overSocket(request) : request, call);
  /** Whether the server was closed, or has ended for good. */
  let isClosed = false;
  const open = (at: ListenAddress) => {
    const opened = deno().serve({ ...at, onListen() {} }, answer);
    opened.finished.catch(() => reopen());
    return opened;
  };
  let server = open(place);
  const { port = null } = server.addr;
  const reopen = () => {
    if (port === null) isClosed = true;
    if (port === null || isClosed) return;
    try {
      server = open({ ...place, port });
    } catch {
      setTimeout(reopen, retryAfterMs).unref();
    }
  };
  const close = () => {
    if (!isClosed) server.shutdown().catch(() => {});
    isClosed = true;
  };
  return {
    port,
    close,
    async end() {
      close();
      // A server that shuts down cannot be forced: connections that stay open end with the process.
      await waitForClose(server.finished);
    },
  };
}

/** The request with an http URL; Deno gives requests over a socket another scheme. */
function overSocket(request: Request): Request {
  const { pathname, search } = new URL(request.url);
  return new Request(`http://localhost${pathname}${search}`, request);
}

export const runtime: Runtime = {
  // Under Node this is the runtime, too.
  readsRest: "Deno" in globalThis,
  // Keeps the kernel's default: Deno allocates twice this for each datagram, and frees it late.
  burstBufferBytes: 4 * 1024,
  isListening: (socket) =>
    knock(socket).then(
      () => true,
      () => false,
    ),
  // `fetch` gives no code when it fails, so that a failure before anything is sent has to be found first.
  call: (socket, { path, ...init }) =>
    knock(socket).then(() => fetch(`http://zapd${path}`, { ...init, client: clientOf(socket) } as RequestInit)),
  listen: async (place, handler) => listen(place, handler),
  optimizeForLoad() {},
  collectGarbage() {},
};
