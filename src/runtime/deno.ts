import type { Runtime } from "./runtime.ts";

/** What we use of Deno, so that its types need not be mixed with those of the other runtime. */
interface DenoNamespace {
  connect(options: { transport: "unix"; path: string }): Promise<{ close(): void }>;
  createHttpClient(options: { proxy: { transport: "unix"; path: string } }): { close(): void };
}

function deno(): DenoNamespace {
  return (globalThis as unknown as { Deno: DenoNamespace }).Deno;
}

export const runtime: Runtime = {
  // Here it leaves the kernel's queue as it is: twice as much is taken for each datagram, and given back late.
  stormBuffer: 4 * 1024,
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
  // The runtime's own server has no limits: it waits for ever, and with no descriptor left it takes nobody any more.
  // Loaded here alone: under the other runtime nothing serves with it, and every key of the command line would load `node:http`.
  listen: async (place, handler) => (await import("./http.ts")).listenHttp(place, handler),
  busy() {},
};
