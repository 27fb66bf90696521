/** Many clients that want a few sets for themselves, and are killed, as is the daemon; the sets themselves are the witnesses. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { startTestDaemon } from "./daemon.ts";

export interface Storm {
  readonly sets: number;
  /** Programs, and clients in each. */
  readonly programs: number;
  readonly clients: number;
  /** How often a program is killed and another begins, and how often the daemon is. */
  readonly kills: number;
  readonly daemonKills: number;
  /** Milliseconds between two of those. */
  readonly everyMs: number;
}

export interface Told {
  /** Of each set, whose launches it has seen, in order; who launched twice and more in a row stands once. */
  readonly tenures: readonly (readonly string[])[];
  readonly launches: number;
  /** Those that still could not be leased at the end, when all clients were dead. */
  readonly stuck: readonly string[];
  /** What was left of leases then: what a set was told after the last of them was freed. */
  readonly late: number;
}

/** Runs it, and tells what the sets have seen. */
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
    // Nobody is killed before everybody is at work.
    while (tenures.some((seen) => seen.length < 2)) await Bun.sleep(20);
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
    // What the dead had ends by itself; whoever comes then gets it.
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

/** Whoever a set has seen again after another: two had it at the same time. */
export function seenTwice({ tenures }: Told): string[] {
  return tenures.flatMap((seen) => seen.filter((who, at) => seen.indexOf(who) !== at));
}
