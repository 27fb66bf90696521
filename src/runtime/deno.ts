/** Listening and calling with what Deno has itself: its server sets a connection no limit (README.md). */
import type { Call, Handler, ListenAddress, Listener, Runtime } from "./runtime.ts";
import { waitForClose } from "./serving.ts";

/** What we use of Deno, so that its types need not be mixed with those of the other runtime. */
interface DenoNamespace {
  connect(options: { transport: "unix"; path: string }): Promise<{ close(): void }>;
  createHttpClient(options: { proxy: { transport: "unix"; path: string } }): { close(): void };
  serve(
    options: ListenAddress & { onListen(): void },
    handler: (request: Request) => Response | Promise<Response>,
  ): Server;
}

interface Server {
  readonly addr: { readonly port?: number };
  /** Rejects when no descriptor is left for a caller: the server has ended of itself. */
  readonly finished: Promise<void>;
  shutdown(): Promise<void>;
}

function deno(): DenoNamespace {
  return (globalThis as unknown as { Deno: DenoNamespace }).Deno;
}

/** A server that ended for want of descriptors begins anew as soon as there are some: asked every so many milliseconds. */
const retryAfterMs = 500;

function listen(place: ListenAddress, handler: Handler): Listener {
  const call: Call = { listener: "path" in place ? "socket" : "tcp", withoutIdleLimit() {} };
  const answer = (request: Request) => handler("path" in place ? overSocket(request) : request, call);
  /** Whether the server has been closed, or has ended of itself for good. */
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
      // Whoever is connected longer goes with the process: a server that is being shut down cannot be ended any harder.
      await waitForClose(server.finished);
    },
  };
}

/** What the runtime calls a request over a socket is no address of the web. */
function overSocket(request: Request): Request {
  const { pathname, search } = new URL(request.url);
  return new Request(`http://localhost${pathname}${search}`, request);
}

export const runtime: Runtime = {
  // Here it leaves the kernel's queue as it is: twice as much is taken for each datagram, and given back late.
  burstBufferBytes: 4 * 1024,
  isListening: (socket) =>
    deno()
      .connect({ transport: "unix", path: socket })
      .then(
        (connection) => {
          connection.close();
          return true;
        },
        () => false,
      ),
  call(socket, { path, ...init }) {
    const client = deno().createHttpClient({ proxy: { transport: "unix", path: socket } });
    return fetch(`http://zapd${path}`, { ...init, client } as RequestInit);
  },
  listen: async (place, handler) => listen(place, handler),
  optimizeForLoad() {},
};
