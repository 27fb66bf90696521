/** Serves and calls with Bun's own APIs, from the source and as the compiled binary. */
import type { Call, Handler, ListenAddress, Listener, Runtime } from "./runtime.ts";
import { waitForClose } from "./serving.ts";

/** How long a connection may be silent: the head must be complete within this time (SECURITY.md 4). */
const idleSeconds = 10;
/** Longer for a body, so that the handler's own limit comes first and the caller gets an answer (SECURITY.md 4: + 5 s). */
const bodySeconds = idleSeconds + 5;
/** The app answers 413 itself, far below this. */
const maxRequestBodySize = 8 * 1024 ** 3;

export const runtime: Runtime = {
  readsRest: false,
  burstBufferBytes: 4 * 1024 * 1024,
  isListening: (socket) =>
    Bun.connect({ unix: socket, socket: { open: (one) => void one.end(), data() {}, error() {} } }).then(
      () => true,
      () => false,
    ),
  // Key sequences and installations may take longer than the runtime would wait.
  call: (socket, { path, ...init }) => fetch(`http://zapd${path}`, { ...init, unix: socket, timeout: false }),
  // The binary starts with the JIT held back (.ci/build.ts): at the start, and for a key press now and then, it would cost
  // more memory and time than it saves.
  optimizeForLoad: () => Bun.unsafe.setJITPolicy(1),
  collectGarbage: () => Bun.gc(true),
  listen(place: ListenAddress, handler: Handler): Promise<Listener> {
    const listener = "path" in place ? "socket" : "tcp";
    const fetch = async (request: Request, server: Bun.Server<undefined>) => {
      // Over the socket no `Host` is needed, but without a valid one Bun gives no URL.
      const given =
        listener === "tcp" || URL.canParse(request.url)
          ? request
          : new Request(`http://localhost${request.url.replace(/^https?:\/\/[^/]*/, "")}`, request);
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
        const response = await handler(given, call);
        // The end of a stream is not reported, so its connection is not used again.
        if (lifted === "ended") response.headers.set("connection", "close");
        return response;
      } finally {
        // The limit belongs to the connection, not to the request: the next request gets the usual one.
        if (listener === "tcp" && lifted !== "ended" && (mayHaveBody || lifted)) server.timeout(request, idleSeconds);
      }
    };
    const options = { maxRequestBodySize, fetch };
    const server =
      "path" in place
        ? Bun.serve(withoutIdleTimeout({ unix: place.path, ...options }))
        : Bun.serve({ ...place, idleTimeout: idleSeconds, ...options });
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

/** No limit on the socket, which only its owner can use and where it cannot be lifted per request. The types lack the option. */
function withoutIdleTimeout<T extends object>(options: T): T {
  return Object.assign(options, { idleTimeout: 0 });
}
