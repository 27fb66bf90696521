/** zapd in this process with given platforms, behind its own listeners. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Platform } from "../../src/platforms/platform.ts";
import { currentRuntime } from "../../src/runtime/runtime.ts";
import { createLog } from "../../src/system/log.ts";
import { createZapd, type ZapdOptions } from "../../src/zapd.ts";
import type { Answered } from "./daemon.ts";

export type House = Awaited<ReturnType<typeof openHouseWith>>;

const config = `[daemon]
log_level = "debug"
[discovery]
interfaces = ["lo"]
`;

export function openHouseOf(...platforms: readonly Platform[]): Promise<House> {
  return openHouseWith({ platforms });
}

/** With the composition of the platforms, and further settings of `[discovery]`. */
export async function openHouseWith(options: Pick<ZapdOptions, "platforms" | "composition">, discovery = "") {
  const folder = mkdtempSync(join(tmpdir(), "zapd-house-of-"));
  writeFileSync(join(folder, "config.toml"), config + discovery, { mode: 0o600 });
  let log = "";
  const write = (line: string) => {
    log += line;
  };
  const zapd = await createZapd({
    config: join(folder, "config.toml"),
    state: join(folder, "state"),
    ...options,
    log: createLog({ level: "debug", format: "text", colour: false, write }),
  });
  const runtime = currentRuntime();
  const socket = join(folder, "zapd.sock");
  const places = [{ path: socket }, { hostname: "127.0.0.1", port: 0 }];
  const listening = await Promise.all(places.map((place) => runtime.listen(place, zapd.fetch)));
  const url = `http://127.0.0.1:${listening.find(({ port }) => port !== null)?.port}/v1`;
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= zapd.stop();
    return stopped;
  };
  return {
    socket,
    /** Where its API is. */
    url,
    folder,
    /** The log, at the level debug. */
    log: () => log,
    /** Stops zapd, but not its listeners. */
    stop,
    async api(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Answered> {
      const headers = { "content-type": "application/json" };
      const json = body === undefined ? {} : { body: JSON.stringify(body), headers };
      const response = await fetch(url + path, { method, ...json, ...(signal && { signal }) });
      return { status: response.status, headers: response.headers, body: await response.json() };
    },
    async dispose() {
      await stop();
      await Promise.all(listening.map((one) => one.end()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
