/** Listening and calling with what Bun has itself, as the source and as the one file. */
import type { Call, Handler, ListenAddress, Listener, Runtime } from "./runtime.ts";
import { waitForClose } from "./serving.ts";

/** A head must be complete, and a body go on, within this time (SECURITY.md 4). */
const idleSeconds = 10;
/** While a body is read the handler's limit comes first, or the caller would be hung up on without a word (SECURITY.md 4: + 5 s). */
const bodySeconds = idleSeconds + 5;
/** The app answers 413 itself, in the envelope, far below this. */
const maxRequestBodySize = 8 * 1024 ** 3;

export const runtime: Runtime = {
  // The queue in the kernel.
  burstBufferBytes: 4 * 1024 * 1024,
  isListening: (socket) =>
    Bun.connect({ unix: socket, socket: { open: (one) => void one.end(), data() {}, error() {} } }).then(
      () => true,
      () => false,
    ),
  // Sequences and installations may be silent for longer than the runtime would wait.
  call: (socket, { path, ...init }) => fetch(`http://zapd${path}`, { ...init, unix: socket, timeout: false }),
  // The binary holds the compiler of hot code back (.ci/build.ts): at the start, and in a house where a key is pressed now
  // and then, it would take more memory and time than it saves.
  optimizeForLoad: () => Bun.unsafe.setJITPolicy(1),
  listen(place: ListenAddress, handler: Handler): Promise<Listener> {
    const listener = "path" in place ? "socket" : "tcp";
    const fetch = async (request: Request, server: Bun.Server<undefined>) => {
      let lifted: "answered" | "ended" | undefined;
      const call: Call = {
        listener,
        withoutIdleLimit(until) {
          lifted = until;
          server.timeout(request, 0);
        },
      };
      const mayHaveBody = request.method !== "GET" && request.method !== "HEAD";
      if (listener === "tcp" && mayHaveBody) server.timeout(request, bodySeconds);
      try {
        const response = await handler(request, call);
        // Nobody says when a stream has ended: nothing comes over its connection after it.
        if (lifted === "ended") response.headers.set("connection", "close");
        return response;
      } finally {
        // The limit is the connection's, not the request's: what comes next over it is held to the usual one.
        if (listener === "tcp" && lifted !== "ended" && (mayHaveBody || lifted)) server.timeout(request, idleSeconds);
      }
    };
    const server =
      "path" in place
        ? Bun.serve(withoutIdleTimeout({ unix: place.path, maxRequestBodySize, fetch }))
        : Bun.serve({
            hostname: place.hostname,
            port: place.port,
            idleTimeout: idleSeconds,
            maxRequestBodySize,
            fetch,
          });
    let closed: Promise<void> | undefined;
    const close = () => (closed ??= server.stop(false));
    return Promise.resolve({
      port: "path" in place ? null : (server.port ?? null),
      close: () => void close(),
      async end() {
        await waitForClose(close());
        await server.stop(true);
      },
    });
  },
};

/** Only its owner calls over a socket, where no single request can have the limit lifted. The types do not know the option. */
function withoutIdleTimeout<T extends object>(options: T): T {
  return Object.assign(options, { idleTimeout: 0 });
}
