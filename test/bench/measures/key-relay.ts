/** 1: a key through the daemon, with all that it checks, against two hops of the same key. */
import { median, ratios, short } from "../figures.ts";
import { startNodeRed } from "../node-red.ts";
import { otherPlatforms } from "../other-platforms.ts";
import { drive, nameOf, PeerRounds } from "../peers.ts";
import type { Row } from "../report.ts";
import { keyStraight, keyThrough, type Stage } from "../stage.ts";
import type { Measure } from "./measure.ts";

const forMs = 400;
/** More than 32 that wait for one set are turned away, so that is where it ends. */
const counts = [1, 10, 30] as const;
type Count = (typeof counts)[number];
/** Those of the table; the third only shows how the cost grows. */
const judged = [1, 10] as const;

/** Milliseconds per key: how long a caller of so many at once waits for one, divided by how many there are. */
interface Round {
  readonly straight: Record<Count, number>;
  readonly through: Record<Count, number>;
}

async function run(stage: Stage): Promise<Row[]> {
  const [set] = await stage.plugIn();
  if (!set) throw new Error("no set started");
  const daemon = await stage.daemon({ sets: [set] });
  const load = stage.load();
  const bridge = await startNodeRed(stage, set).catch((error: unknown) => error as Error);
  const peers = new Map(
    judged.map((count) => [
      count,
      { client: new PeerRounds(nameOf("roku-client")), flow: new PeerRounds("node-red 4.1.8") },
    ]),
  );
  const perKey = async (place: typeof daemon.place, call: typeof keyStraight, connections: number) => {
    const { done, failed, wall_ms } = await load.ask("run", { place, calls: [call], connections, for_ms: forMs });
    if (failed > 0) throw new Error(`${failed} of ${done} keys failed at ${call.path}`);
    return wall_ms / done;
  };
  const straight = { host: set.host, port: set.port };
  const rounds = await stage.rounds(async (): Promise<Round> => {
    const round: Round = { straight: { 1: 0, 10: 0, 30: 0 }, through: { 1: 0, 10: 0, 30: 0 } };
    for (const count of counts) {
      round.straight[count] = await perKey(straight, keyStraight, count);
      round.through[count] = await perKey(daemon.place, keyThrough("S0"), count);
    }
    for (const [count, { client, flow }] of peers) {
      await client.measure(
        async () =>
          (await drive("roku-client.mjs", "keys", set.host, set.port, count, forMs))["ms_per_key"] ?? Number.NaN,
      );
      await flow.measure(async () => {
        if (bridge instanceof Error) throw bridge;
        return perKey(bridge.place, { method: "POST", path: "/key?key=Home" }, count);
      });
    }
    return round;
  });
  const of = (count: Count) => ({
    straight: rounds.map((round) => 2 * round.straight[count]),
    through: rounds.map((round) => round.through[count]),
  });
  const growth = counts.map((count) => ({
    size: `${count} connections`,
    figure: ratios(of(count).through, of(count).straight).median,
  }));
  const others = await otherPlatforms(stage);
  return judged.map((count): Row => {
    const { straight, through } = of(count);
    const us = (values: readonly number[]) => `${short(median(values) * 1_000)} µs`;
    return {
      ...{ measure: 1, what: `key relay, ${count} connection${count === 1 ? "" : "s"}`, limit: 1 },
      how: `${us(through)} a key ÷ 2 × ${us(straight.map((ms) => ms / 2))} straight`,
      figure: ratios(through, straight),
      must: { at: "most", value: 1.3 },
      growth: count === 1 ? growth : [],
      peers: [
        peers.get(count)?.client.against(straight, "no daemon: a library in one script") ?? [],
        peers.get(count)?.flow.against(straight) ?? [],
        count === 1 ? others : [],
      ].flat(),
      ...(count === 10 && {
        note: "all connections press the same set, to which the daemon sends one key at a time, in order; straight, ten are under way at once",
      }),
    };
  });
}

export const keyRelay: Measure = { number: 1, title: "key relay", run };
