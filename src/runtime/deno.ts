import type { Handler, Listening, Place, Runtime } from "./runtime.ts";

/** What we use of Deno, so that its types need not be mixed with those of the other runtime. */
interface DenoServer {
  readonly addr: { readonly port?: number };
  readonly finished: Promise<void>;
  shutdown(): Promise<void>;
}
interface DenoNamespace {
  serve(options: Record<string, unknown>, handler: (request: Request) => Response | Promise<Response>): DenoServer;
}

export const runtime: Runtime = {
  listen(place: Place, handler: Handler): Promise<Listening> {
    const { Deno } = globalThis as unknown as { Deno: DenoNamespace };
    const door = "path" in place ? "socket" : "tcp";
    const ended = new AbortController();
    const options = { ...place, signal: ended.signal, onListen: () => {} };
    const server = Deno.serve(options, (request) => handler(request, { door, unhurried: () => {} }));
    return Promise.resolve({
      port: server.addr.port ?? null,
      close: () => void server.shutdown(),
      async end() {
        ended.abort();
        await server.finished;
      },
    });
  },
};
