/** 7: `GET /devices` with ever more devices, against the runtime serving the same bytes. */
import { execFile, spawnSync } from "node:child_process";
import { promisify } from "node:util";
import { median, ratios, short, spreadOf } from "../figures.ts";
import { processorOf } from "../process.ts";
import { devicesOf } from "../registry.ts";
import type { Row } from "../report.ts";
import type { BareServer, Stage } from "../stage.ts";
import type { Measure } from "./measure.ts";

const sizes = [10, 100, 1_000] as const;
const connections = 10;
const forMs = 1_000;

interface Side {
  readonly per_s: number;
  /** Processor time of the server for one request, in microseconds: it does not depend on who asks. */
  readonly processor_us: number;
}

async function run(stage: Stage): Promise<Row[]> {
  const wrk = spawnSync("wrk", ["--version"]).error === undefined;
  const load = stage.load();
  const rate = async (server: BareServer, path: string): Promise<Side> => {
    const before = processorOf(server.pid);
    const { done, wall_ms } = wrk
      ? await runWrk(`http://127.0.0.1:${server.port}${path}`)
      : await load.ask("run", {
          targets: [{ place: server.place, calls: [{ method: "GET", path }], connections }],
          for_ms: forMs,
        });
    return { per_s: (done / wall_ms) * 1_000, processor_us: ((processorOf(server.pid) - before) / done) * 1_000 };
  };
  const pairs = await Promise.all(
    sizes.map(async (size) => {
      const zapd = await stage.daemon({ devices: devicesOf(size) });
      const bytes = await (await fetch(`http://127.0.0.1:${zapd.port}/v1/devices`)).text();
      return { size, zapd, bare: await stage.hello(bytes) };
    }),
  );
  const rounds = await stage.rounds(async () => {
    const sides: { zapd: Side; bare: Side }[] = [];
    for (const { zapd, bare } of pairs)
      sides.push({ bare: await rate(bare, "/"), zapd: await rate(zapd, "/v1/devices") });
    return sides;
  });
  const of = (at: number, side: "zapd" | "bare", what: keyof Side) =>
    rounds.map((sides) => sides[at]?.[side][what] ?? Number.NaN);
  const growth = sizes.map((size, at) => ({
    size: `${size} devices`,
    figure: median(of(at, "zapd", "per_s")),
  }));
  const processor = ratios(of(0, "bare", "processor_us"), of(0, "zapd", "processor_us")).median;
  return [
    {
      measure: 7,
      what: `GET /devices, ${sizes[0]} devices`,
      limit: Math.round(median(of(0, "bare", "per_s"))),
      how: "requests a second; the limit is the same bytes from a bare server",
      figure: spreadOf(of(0, "zapd", "per_s")),
      must: { at: "least", value: 10_000, unit: "req/s" },
      growth,
      peers: [],
      note: `${connections} connections of ${wrk ? "wrk" : "zapd's own load client, since wrk is not installed"}; by processor time of the servers per request, the ratio is ${short(processor)}`,
    },
  ];
}

/** One thread is enough, and leaves the other core to the server. */
async function runWrk(url: string): Promise<{ done: number; wall_ms: number }> {
  const words = ["-t1", `-c${connections}`, `-d${Math.ceil(forMs / 1_000)}s`, url];
  const { stdout } = await promisify(execFile)("wrk", words);
  const bad = /Non-2xx.*|Socket errors.*/.exec(stdout)?.[0];
  if (bad !== undefined) throw new Error(`${url}: ${bad}`);
  const done = Number(/(\d+) requests in/.exec(stdout)?.[1]);
  return { done, wall_ms: (done / Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1])) * 1_000 };
}

export const listing: Measure = { number: 7, title: "GET /devices", run };
