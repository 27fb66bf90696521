/** 1: a key through the daemon, with all that it checks, against two hops of the same key. */
import { median, ratios, short } from "../figures.ts";
import type { Target } from "../load-worker.ts";
import { startNodeRed } from "../node-red.ts";
import { otherPlatforms } from "../other-platforms.ts";
import { drive, nameOf, PeerRounds } from "../peers.ts";
import type { Growth, Row } from "../report.ts";
import { keyStraight, keyThrough, type Stage } from "../stage.ts";
import type { Measure } from "./measure.ts";

const forMs = 500;
/** Callers at once. The most is what a set's queue takes before it turns callers away. */
const counts = [1, 10, 30] as const;
type Count = (typeof counts)[number];

/** Milliseconds per key that is done: what each of so many callers waits, divided by how many there are. */
interface Round {
  /** To one set. */
  readonly straight: Record<Count, number>;
  readonly through: Record<Count, number>;
  /** Each caller to a set of his own. */
  readonly straightApart: Record<Count, number>;
  readonly throughApart: Record<Count, number>;
}

async function run(stage: Stage): Promise<Row[]> {
  const sets = await stage.plugIn(Math.max(...counts));
  const [set] = sets;
  if (!set) throw new Error("no set started");
  const daemon = await stage.daemon({ sets });
  const load = stage.load();
  const bridge = await startNodeRed(stage, set).catch((error: unknown) => error as Error);
  const client = { 1: new PeerRounds(nameOf("roku-client")), 10: new PeerRounds(nameOf("roku-client")) };
  const flow = { 1: new PeerRounds("node-red 4.1.8"), 10: new PeerRounds("node-red 4.1.8") };
  const perKey = async (...targets: readonly Target[]) => {
    const { done, failed, wall_ms } = await load.ask("run", { targets, for_ms: forMs });
    if (failed > 0) throw new Error(`${failed} of ${done} keys failed at ${targets[0]?.calls[0]?.path}`);
    return wall_ms / done;
  };
  const straightTo = (place: typeof set, connections = 1): Target => ({ place, calls: [keyStraight], connections });
  const throughTo = (name: string, connections = 1): Target => ({
    place: daemon.place,
    calls: [keyThrough(name)],
    connections,
  });
  const once = async (): Promise<Round> => {
    const round: Round = {
      straight: { 1: 0, 10: 0, 30: 0 },
      through: { 1: 0, 10: 0, 30: 0 },
      straightApart: { 1: 0, 10: 0, 30: 0 },
      throughApart: { 1: 0, 10: 0, 30: 0 },
    };
    for (const count of counts) {
      const some = sets.slice(0, count);
      round.straight[count] = await perKey(straightTo(set, count));
      round.through[count] = await perKey(throughTo("S0", count));
      round.straightApart[count] = await perKey(...some.map((one) => straightTo(one)));
      round.throughApart[count] = await perKey(...some.map((_, at) => throughTo(`S${at}`)));
    }
    for (const count of [1, 10] as const) {
      const driver = ["keys", set.host, set.port, count, forMs] as const;
      await client[count].measure(async () => (await drive("roku-client.mjs", ...driver))["ms_per_key"] ?? Number.NaN);
      await flow[count].measure(async () => {
        if (bridge instanceof Error) throw bridge;
        return perKey({ place: bridge.place, calls: [{ method: "POST", path: "/key?key=Home" }], connections: count });
      });
    }
    return round;
  };
  // A daemon is warm after its first minutes, not after its first second: the runtime compiles what is used often.
  for (let time = 0; time < 2; time++) await perKey(throughTo("S0", 10));
  const rounds = await stage.rounds(once);
  const of = (what: keyof Round, count: Count) => rounds.map((round) => round[what][count]);
  const twice = (what: keyof Round, count: Count) => of(what, count).map((ms) => 2 * ms);
  const us = (values: readonly number[]) => `${short(median(values) * 1_000)} µs`;
  const row = (what: string, ours: readonly number[], limits: readonly number[], growth: Growth[]): Row => ({
    measure: 1,
    what: `key relay, ${what}`,
    limit: 1,
    how: `${us(ours)} a key ÷ 2 × ${us(limits.map((ms) => ms / 2))} straight`,
    figure: ratios(ours, limits),
    must: { at: "most", value: 1.3 },
    growth,
    peers: [],
  });
  const growthOf = (limit: (count: Count) => readonly number[], ours: keyof Round): Growth[] =>
    counts.map((count) => ({ size: `${count} callers`, figure: ratios(of(ours, count), limit(count)).median }));
  return [
    {
      ...row("1 connection", of("through", 1), twice("straight", 1), []),
      peers: [
        client[1].against(twice("straight", 1), "no daemon: a library in one script"),
        flow[1].against(twice("straight", 1)),
        ...(await otherPlatforms(stage)),
      ],
    },
    {
      ...row(
        "10 connections, a set for each",
        of("throughApart", 10),
        twice("straightApart", 10),
        growthOf((count) => twice("straightApart", count), "throughApart"),
      ),
      // Through the daemon three processes share the cores, straight there are two.
      must: { at: "most", value: 1.8 },
      peers: [
        client[10].against(twice("straight", 10), "one set, in any order"),
        flow[10].against(twice("straight", 10), "one set, in any order"),
      ],
    },
    {
      ...row(
        "10 connections to one set, in order",
        of("through", 10),
        twice("straight", 1),
        growthOf(() => twice("straight", 1), "through"),
      ),
      note: `the daemon presses one key of a set at a time, in order of arrival, so its limit there is the key of one caller; compared with ten direct callers at once, in any order, it is ${short(ratios(of("through", 10), twice("straight", 10)).median)}`,
    },
  ];
}

export const keyRelay: Measure = { number: 1, title: "key relay", run };
