/** 8: how often a set is read when many ask for its state at the same moment. */
import { spreadOf } from "../figures.ts";
import type { Row } from "../report.ts";
import type { Stage } from "../stage.ts";
import type { Measure } from "./measure.ts";

const sizes = [5, 20, 100] as const;
const judged = 20;

async function run(stage: Stage): Promise<Row[]> {
  const load = stage.load();
  const rounds = await stage.rounds(async () => {
    const [set] = await stage.plugIn(1, { name: `Read ${performance.now()}` });
    if (!set) throw new Error("no set started");
    const daemon = await stage.daemon({ sets: [set] });
    const reachedBy = async (connections: number) => {
      const before = await stage.sets.ask("requests", set);
      const target = { place: daemon.place, calls: [{ method: "GET", path: "/v1/devices/S0/state" }], connections };
      const { failed } = await load.ask("burst", { targets: [target] });
      if (failed > 0) throw new Error(`${failed} of ${connections} reads failed`);
      return (await stage.sets.ask("requests", set)).count - before.count;
    };
    await reachedBy(1);
    const alone = await reachedBy(1);
    const shares: number[] = [];
    for (const size of sizes) shares.push((await reachedBy(size)) / alone / size);
    await stage.sets.ask("stop", set);
    daemon.child.kill("SIGKILL");
    return shares;
  });
  const of = (at: number) => rounds.map((shares) => shares[at] ?? Number.NaN);
  return [
    {
      measure: 8,
      what: `reads of the set per client read, ${judged} at once`,
      limit: 1 / judged,
      how: "requests to the set for all clients ÷ the requests if each asked by itself",
      figure: spreadOf(of(sizes.indexOf(judged))),
      must: { at: "most", value: 0.1 },
      growth: sizes.map((size, at) => ({ size: `${size} clients`, figure: spreadOf(of(at)).median })),
      peers: [{ name: "roku-client, node-red", figure: 1, note: "according to their source: each read asks the set" }],
    },
  ];
}

export const sharedState: Measure = { number: 8, title: "shared state", run };
