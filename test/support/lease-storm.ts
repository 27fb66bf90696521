/** Many clients lease a few sets, and clients and daemon are killed; the sets record who launched on them. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { startTestDaemon } from "./daemon.ts";
import { until } from "./http-device.ts";

export interface Storm {
  readonly sets: number;
  /** Programs, and the clients in each. */
  readonly programs: number;
  readonly clients: number;
  /** How many programs are killed and replaced, and how often the daemon is killed. */
  readonly kills: number;
  readonly daemonKills: number;
  /** Milliseconds between two of those. */
  readonly everyMs: number;
}

export interface Told {
  /** For each set, who launched on it, in order; launches in a row count once. */
  readonly tenures: readonly (readonly string[])[];
  readonly launches: number;
  /** Sets that could not be leased after all clients were killed. */
  readonly stuck: readonly string[];
  /** Launches that came after that. */
  readonly late: number;
}

/** Runs it, and returns what the sets have recorded. */
export async function storm({ sets, programs, clients, kills, daemonKills, everyMs }: Storm): Promise<Told> {
  const tenures: string[][] = Array.from({ length: sets }, () => []);
  let launches = 0;
  const all = tenures.map((seen, at) =>
    createRokuSimulator({
      name: `Set ${at}`,
      serial: `X0STORM${String(at).padStart(5, "0")}`,
      ssdp: false,
      launchMs: 0,
      onEvent({ type, text }) {
        const who = /\bw\d+-\d+-\d+\b/.exec(text)?.[0];
        if (type !== "launch" || who === undefined) return;
        launches++;
        if (seen.at(-1) !== who) seen.push(who);
      },
    }),
  );
  for (const set of all) await set.start();
  let daemon = await startTestDaemon();
  const children = new Set<ChildProcess>();
  try {
    const ids: string[] = [];
    for (const { host, port } of all) ids.push((await daemon.api("POST", "/devices", { host, port })).body.data.id);
    let made = 0;
    const begin = () => {
      const words = [join(import.meta.dir, "lease-clients.ts"), daemon.url, `w${made++}`, String(clients), ...ids];
      const child = spawn(process.execPath, words, { stdio: "ignore" });
      children.add(child);
      return child;
    };
    const running = Array.from({ length: programs }, begin);
    const kill = async (child: ChildProcess) => {
      const gone = new Promise((resolve) => child.on("exit", resolve));
      child.kill("SIGKILL");
      children.delete(child);
      await gone;
    };
    const daemonAt = new Set(
      Array.from({ length: daemonKills }, (_, at) => Math.floor(((at + 0.5) * kills) / daemonKills)),
    );
    // All sets are in use before the first kill.
    await until("all sets are in use", () => tenures.every((seen) => seen.length >= 2), 60_000);
    for (let at = 0; at < kills; at++) {
      await Bun.sleep(everyMs * (0.5 + Math.random()));
      const [first] = running.splice(Math.floor(Math.random() * running.length), 1);
      if (first) await kill(first);
      running.push(begin());
      if (!daemonAt.has(at)) continue;
      await daemon.stop("SIGKILL");
      daemon = await startTestDaemon({ folder: daemon.folder });
    }
    await Bun.sleep(everyMs);
    await Promise.all(running.map(kill));
    // The leases of killed clients expire.
    const taken = await Promise.all(
      ids.map((id) => daemon.api("POST", `/devices/${id}/lease`, { owner: "last", ttl_s: 600, wait_s: 30 })),
    );
    const before = launches;
    await daemon.sleep(500);
    const stuck = taken.flatMap(({ body }) => (body.ok ? [] : [JSON.stringify(body.error)]));
    return { tenures, launches, stuck, late: launches - before };
  } finally {
    for (const child of children) child.kill("SIGKILL");
    await daemon.dispose();
    for (const set of all) await set.stop();
  }
}

/** Clients that launched again after another: two had the set at the same time. */
export function seenTwice({ tenures }: Told): string[] {
  return tenures.flatMap((seen) => seen.filter((who, at) => seen.indexOf(who) !== at));
}
