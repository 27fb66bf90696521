/** Keys on the other platforms; what cannot be measured says why. */
import { drive, nameOf } from "./peers.ts";
import type { Peer } from "./report.ts";
import { keyThrough, type Stage } from "./stage.ts";

const forMs = 400;
// Not home, after which zapd looks whether it is shown.
const jsonRpc = { jsonrpc: "2.0", id: 1, method: "Input.Left" } as const;

/** The time of a key with each platform's own client, as a multiple of zapd's for the same set. */
export async function otherPlatforms(stage: Stage): Promise<Peer[]> {
  return Promise.all([
    attempt("kodi JSON-RPC", "kodi", stage, async ({ host, port }, load) => {
      const call = { method: "POST", path: "/jsonrpc", body: JSON.stringify(jsonRpc) };
      const { done, failed, wall_ms } = await load.ask("run", {
        targets: [{ place: { host, port }, calls: [call], connections: 1 }],
        for_ms: forMs,
      });
      if (failed > 0) throw new Error("it does not take keys over HTTP");
      return wall_ms / done;
    }),
    attempt(nameOf("lgtv2"), "webos", stage, async ({ host, port }) => {
      const { ms_per_key = Number.NaN } = await drive("lgtv2.mjs", host, port, forMs);
      return ms_per_key;
    }),
  ]);
}

type Own = (set: { host: string; port: number }, load: ReturnType<Stage["load"]>) => Promise<number>;

async function attempt(name: string, platform: "kodi" | "webos", stage: Stage, own: Own): Promise<Peer> {
  try {
    const host = platform === "kodi" ? "127.0.19.1" : "127.0.19.2";
    const set = await stage.sets.ask("startOther", { platform, host });
    const daemon = await stage.daemon();
    await daemon.api("POST", "/devices", { host: set.host, port: set.port, platform, name: "S0" });
    // Refused where there is nothing to pair, and then nothing is missing.
    await daemon.api("POST", "/devices/S0/pair", {}).catch(() => {});
    const load = stage.load();
    const through = {
      targets: [{ place: daemon.place, calls: [keyThrough("S0", "left")], connections: 1 }],
      for_ms: forMs,
    };
    const ours = await load.ask("run", through);
    if (ours.failed > 0) throw new Error(`${ours.failed} of ${ours.done} keys through zapd failed`);
    const theirs = await own(set, load);
    return { name, figure: theirs / (ours.wall_ms / ours.done), note: "its time ÷ zapd's for the same set" };
  } catch (error) {
    return { name, figure: null, note: error instanceof Error ? error.message : String(error) };
  }
}
