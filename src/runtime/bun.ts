import { systemCode } from "../errors.ts";
import type { Call, Handler, Listening, Place, Runtime } from "./runtime.ts";

/** A head must be complete, and a body go on, within this time (SECURITY.md 4). */
const idleSeconds = 10;
/** Who listens takes a connection at once. */
const answerMs = 1_000;
/** The app answers 413 itself, in the envelope, far below this. */
const maxRequestBodySize = 8 * 1024 ** 3;

export const runtime: Runtime = {
  // Whoever takes the connection is there, whatever they answer or fail to.
  answers: (socket) =>
    fetch("http://zapd/", { method: "HEAD", unix: socket, signal: AbortSignal.timeout(answerMs) }).then(
      () => true,
      (error: unknown) => !/^(ECONNREFUSED|ENOENT)$/.test(systemCode(error)),
    ),
  call: (socket, { path, ...init }) => fetch(`http://zapd${path}`, { ...init, unix: socket }),
  listen(place: Place, handler: Handler): Promise<Listening> {
    const door = "path" in place ? "socket" : "tcp";
    const fetch = (request: Request, server: Bun.Server<undefined>) => {
      const call: Call = { door, unhurried: () => server.timeout(request, 0) };
      return handler(request, call);
    };
    const server =
      "path" in place
        ? Bun.serve({ unix: place.path, maxRequestBodySize, fetch })
        : Bun.serve({
            hostname: place.hostname,
            port: place.port,
            idleTimeout: idleSeconds,
            maxRequestBodySize,
            fetch,
          });
    return Promise.resolve({
      port: "path" in place ? null : (server.port ?? null),
      close: () => void server.stop(false),
      end: () => server.stop(true),
    });
  },
};
