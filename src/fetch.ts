/**
 * zapd as a module that exports `{ fetch }`, for `deno serve` and `bun`. It uses the environment's config and state folder,
 * and opens nothing before the first request. The program that serves it chooses the port.
 */
import { configPath, stateFolder } from "./config/paths.ts";
import { createZapd, type Zapd } from "./zapd.ts";

let zapd: Promise<Zapd> | undefined;

async function start(): Promise<Zapd> {
  const started = await createZapd({ config: configPath(process.env), state: stateFolder(process.env) });
  void started.start();
  // Otherwise a connection to a device, such as that of its console, would keep `deno serve` from ending.
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    // A listener for once is gone from the count as soon as it was called, so those before this one are counted now.
    const hasOthers = process.listenerCount(signal) > 0;
    process.once(signal, () => {
      // A program that listens for the signal itself decides when it ends. Otherwise its server, under Bun, would keep it alive.
      const isAlone = !hasOthers && process.listenerCount(signal) === 0;
      void started.stop().finally(() => isAlone && setTimeout(() => process.exit(), 1_000).unref());
    });
  }
  return started;
}

export default {
  /** Seconds, for Bun's server: waits and pairings take up to 60, and an event stream is silent for 15. */
  idleTimeout: 75,
  async fetch(request: Request, server?: Parameters<Zapd["fetch"]>[1]): Promise<Response> {
    // After a failure, such as a wrong setting, the next request starts it again.
    zapd ??= start().catch((error: unknown) => {
      zapd = undefined;
      throw error;
    });
    return (await zapd).fetch(request, server);
  },
};
