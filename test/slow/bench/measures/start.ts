/** 3: from the start of the process to the first 200, with a registry of known devices, beside an empty Node program from start to end. */
import { spawnSync } from "node:child_process";
import { freePort } from "../../../support/daemon.ts";
import { median, ratios, short } from "../figures.ts";
import { startNodeRed } from "../node-red.ts";
import { PeerRounds } from "../peers.ts";
import { end, startUntilAnswer } from "../process.ts";
import { devicesOf } from "../registry.ts";
import type { Row } from "../report.ts";
import type { Stage } from "../stage.ts";
import type { Measure } from "./measure.ts";

const times = 5;
const sizes = [10, 100, 1_000] as const;
const judged = 100;

async function run(stage: Stage): Promise<Row[]> {
  const ports = await Promise.all(sizes.map(() => freePort()));
  const prepared = sizes.map((size, at) => {
    const port = ports[at] ?? 0;
    return { port, ...stage.prepare({ devices: devicesOf(size) }, port) };
  });
  const flow = new PeerRounds("node-red 4.1.8");
  const once = async (command: readonly string[], options: Parameters<typeof startUntilAnswer>[1]) => {
    const { child, first_ms } = await startUntilAnswer(command, options);
    await end(child);
    return first_ms;
  };
  const rounds = await stage.rounds(async () => {
    const empty: number[] = [];
    const zapd: number[][] = sizes.map(() => []);
    for (let time = 0; time < times; time++) {
      const began = performance.now();
      spawnSync("node", ["-e", "0"]);
      empty.push(performance.now() - began);
      for (const [at, { port, command, env }] of prepared.entries())
        zapd[at]?.push(await once(command, { port, path: "/v1/health", env }));
    }
    await flow.measure(async () => {
      const { child, first_ms } = await startNodeRed(stage, { host: "127.0.0.1", port: 9 });
      await end(child);
      return first_ms;
    });
    return { empty: median(empty), zapd: zapd.map((all) => median(all)) };
  });
  const limits = rounds.map(({ empty }) => empty);
  const of = (at: number) => rounds.map(({ zapd }) => zapd[at] ?? Number.NaN);
  const ours = of(sizes.indexOf(judged));
  return [
    {
      measure: 3,
      what: `start to the first 200, ${judged} devices`,
      limit: 1,
      how: `${short(median(ours))} ms ÷ node -e 0 ${short(median(limits))} ms`,
      figure: ratios(ours, limits),
      must: { at: "most", value: 1 },
      growth: sizes.map((size, at) => ({ size: `${size} devices`, figure: ratios(of(at), limits).median })),
      peers: [flow.against(limits, "one flow of three nodes")],
    },
  ];
}

export const start: Measure = { number: 3, title: "start", run };
