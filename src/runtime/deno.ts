import type { Handler, Listening, Place, Runtime } from "./runtime.ts";

/** What we use of Deno, so that its types need not be mixed with those of the other runtime. */
interface DenoServer {
  readonly addr: { readonly port?: number };
  readonly finished: Promise<void>;
  shutdown(): Promise<void>;
}
interface DenoNamespace {
  connect(options: { transport: "unix"; path: string }): Promise<{ close(): void }>;
  createHttpClient(options: { proxy: { transport: "unix"; path: string } }): { close(): void };
  serve(options: Record<string, unknown>, handler: (request: Request) => Response | Promise<Response>): DenoServer;
}

function deno(): DenoNamespace {
  return (globalThis as unknown as { Deno: DenoNamespace }).Deno;
}

export const runtime: Runtime = {
  answers: (socket) =>
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
  listen(place: Place, handler: Handler): Promise<Listening> {
    const door = "path" in place ? "socket" : "tcp";
    const ended = new AbortController();
    const options = { ...place, signal: ended.signal, onListen: () => {} };
    const server = deno().serve(options, (request) => handler(request, { door, unhurried: () => {} }));
    let open = true;
    const finished = server.finished.then(() => {
      open = false;
    });
    return Promise.resolve({
      port: server.addr.port ?? null,
      close: () => void server.shutdown(),
      async end() {
        // Aborting one that has finished is an error of its own.
        if (open) ended.abort();
        await finished;
      },
    });
  },
};
