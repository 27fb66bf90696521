/** 10: commands to many sets at once, some of which hang: what the others feel of it. */
import { median, percentile, ratios, short } from "../figures.ts";
import type { Row } from "../report.ts";
import { keyThrough, type Stage } from "../stage.ts";
import type { Measure } from "./measure.ts";

const sizes = [50, 100, 200] as const;
const most = 200;
/** One set in ten hangs: it takes connections, and answers nothing. */
const hangingShare = 0.1;

async function run(stage: Stage): Promise<Row[]> {
  const sets = await stage.plugIn(most);
  const daemon = await stage.daemon({ sets });
  const load = stage.load();
  const target = (at: number) => ({ place: daemon.place, calls: [keyThrough(`S${at}`)], connections: 1 });
  // Each is proven once while it still answers; from then on every tenth is silent.
  await load.ask("burst", { targets: sets.map((_, at) => target(at)) });
  const isHanging = (at: number) => at % (1 / hangingShare) === 0;
  for (const [at, set] of sets.entries()) if (isHanging(at)) await stage.sets.ask("hang", set);
  const p99Of = async (size: number, withHanging: boolean) => {
    const chosen = sets.slice(0, size).flatMap((_, at) => (isHanging(at) && !withHanging ? [] : [at]));
    const targets = chosen.map((at) => ({ ...target(at), ...(isHanging(at) && { left: true }) }));
    const { failed, latencies_ms } = await load.ask("burst", { targets });
    if (failed > 0) throw new Error(`${failed} of ${targets.length} keys failed`);
    // Those that hang are hung up on; the daemon needs a moment to see it.
    await Bun.sleep(200);
    return percentile(latencies_ms, 0.99);
  };
  const rounds = await stage.rounds(async () => {
    const pairs: { without: number; beside: number }[] = [];
    for (const size of sizes) {
      // Several, since one burst is over in a few milliseconds.
      const without: number[] = [];
      const beside: number[] = [];
      for (let time = 0; time < 5; time++) {
        without.push(await p99Of(size, false));
        beside.push(await p99Of(size, true));
      }
      pairs.push({ without: median(without), beside: median(beside) });
    }
    return pairs;
  });
  const of = (at: number, side: "without" | "beside") => rounds.map((pairs) => pairs[at]?.[side] ?? Number.NaN);
  const at = sizes.indexOf(most);
  return [
    {
      measure: 10,
      what: `keys to ${most} sets at once, ${most * hangingShare} hanging`,
      limit: 1,
      how: `p99 of the others ${short(median(of(at, "beside")))} ms ÷ without them ${short(median(of(at, "without")))} ms`,
      figure: ratios(of(at, "beside"), of(at, "without")),
      must: { at: "most", value: 2 },
      growth: sizes.map((size, index) => ({
        size: `${size} sets`,
        figure: ratios(of(index, "beside"), of(index, "without")).median,
      })),
      peers: [],
    },
  ];
}

export const crowd: Measure = { number: 10, title: "hanging sets", run };
