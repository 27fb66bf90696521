/** 4: resident memory at rest with known devices, and after a million requests. */
import { median, ratios, short, spreadOf } from "../figures.ts";
import { startNodeRed } from "../node-red.ts";
import { PeerRounds } from "../peers.ts";
import { end, memoryOf } from "../process.ts";
import { devicesOf } from "../registry.ts";
import type { Growth, Row } from "../report.ts";
import { keyThrough, type Stage } from "../stage.ts";
import type { Measure } from "./measure.ts";

const sizes = [20, 100, 1_000] as const;
const restMs = 2_000;
const requests = 1_000_000;
const stops = [100_000, 300_000, requests] as const;
const connections = 10;

async function run(stage: Stage): Promise<Row[]> {
  return [await idle(stage), await afterRequests(stage)];
}

async function idle(stage: Stage): Promise<Row> {
  const flow = new PeerRounds("node-red 4.1.8");
  const rounds = await stage.rounds(async () => {
    const bare = await stage.hello();
    const daemons = await Promise.all(sizes.map((size) => stage.daemon({ devices: devicesOf(size) })));
    // As after a first look at them: each has its connection's object.
    await Promise.all(daemons.map((daemon) => daemon.api("GET", "/devices")));
    const bridge = await startNodeRed(stage, { host: "127.0.0.1", port: 9 }).catch((error: unknown) => error as Error);
    await Bun.sleep(restMs);
    await flow.measure(async () => {
      if (bridge instanceof Error) throw bridge;
      return memoryOf(bridge.pid);
    });
    const round = { hello: memoryOf(bare.pid), zapd: daemons.map(({ pid }) => memoryOf(pid)) };
    const others = bridge instanceof Error ? [] : [bridge];
    await Promise.all([bare, ...daemons, ...others].map(({ child }) => end(child)));
    return round;
  });
  const limits = rounds.map(({ hello }) => hello);
  const of = (at: number) => rounds.map(({ zapd }) => zapd[at] ?? Number.NaN);
  return {
    measure: 4,
    what: `memory at rest, ${sizes[0]} devices`,
    limit: 1,
    how: `${short(median(of(0)))} MB ÷ hello-world ${short(median(limits))} MB`,
    figure: ratios(of(0), limits),
    must: { at: "most", value: 2 },
    growth: sizes.map((size, at) => ({ size: `${size} devices`, figure: ratios(of(at), limits).median })),
    peers: [flow.against(limits, "one flow of three nodes")],
  };
}

/** Once, not in rounds: a million take long enough. */
async function afterRequests(stage: Stage): Promise<Row> {
  const [set] = await stage.plugIn();
  if (!set) throw new Error("no set started");
  const daemon = await stage.daemon({ devices: devicesOf(sizes[0] - 1), sets: [set] });
  const load = stage.load();
  const get = (path: string) => ({ method: "GET", path: `/v1${path}` });
  const calls = [
    get("/health"),
    get("/devices/S0"),
    get("/devices"),
    get("/devices/TV%205"),
    get("/config"),
    keyThrough("S0"),
  ];
  const targets = [{ place: daemon.place, calls, connections }];
  // Warm: all that is loaded late is loaded.
  await load.ask("run", { targets, count: 6_000 });
  await Bun.sleep(restMs);
  const before = memoryOf(daemon.pid);
  const growth: Growth[] = [];
  let done = 0;
  let failed = 0;
  for (const stop of stops) {
    const result = await load.ask("run", { targets, count: stop - done });
    done += result.done;
    failed += result.failed;
    await Bun.sleep(restMs);
    growth.push({ size: `${short(stop)} requests`, figure: memoryOf(daemon.pid) / before });
  }
  if (failed > 0) throw new Error(`${failed} of ${done} requests failed`);
  const after = (growth.at(-1)?.figure ?? Number.NaN) * before;
  return {
    measure: 4,
    what: "memory after 1 000 000 requests",
    limit: 1,
    how: `${short(after)} MB ÷ ${short(before)} MB before`,
    figure: spreadOf([after / before]),
    must: { at: "most", value: 1.5 },
    growth,
    peers: [],
    note: `of the million, five in six are reads, and one in six is a key to a set; measured once, ${restMs / 1_000} s of rest before each measurement`,
  };
}

export const memory: Measure = { number: 4, title: "memory", run };
