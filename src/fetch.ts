/**
 * zapd as a module that exports `{ fetch }`, for `deno serve` and for `bun` alike. The config and the state are those of
 * the environment; nothing is opened before the first request. Its port is that of the server it is given to.
 */
import { configPath, stateFolder } from "./config/paths.ts";
import { createZapd, type Zapd } from "./zapd.ts";

let zapd: Promise<Zapd> | undefined;

async function start(): Promise<Zapd> {
  const started = await createZapd({ config: configPath(process.env), state: stateFolder(process.env) });
  void started.start();
  return started;
}

export default {
  async fetch(request: Request): Promise<Response> {
    zapd ??= start();
    return (await zapd).fetch(request);
  },
};
