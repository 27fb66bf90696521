/** 5: how exactly the steps of a sequence fall while others ask, as the set sees it. */
import { median, percentile, ratios, short, spreadOf } from "../figures.ts";
import type { Row } from "../report.ts";
import type { SetPlace } from "../sets-worker.ts";
import { keyStraight, type Stage } from "../stage.ts";
import type { Measure } from "./measure.ts";

const steps = 100;
const delayMs = 20;
/** Requests per second beside it. */
const loads = [0, 1_000, 5_000] as const;
const judged = 1_000;

interface Timing {
  /** p99 of how far a step fell from its due time, in milliseconds. */
  readonly error_ms: number;
  /** How far the last ten steps were off, their middle, in milliseconds. */
  readonly drift_ms: number;
}

async function run(stage: Stage): Promise<Row[]> {
  const [set, bareSet] = await stage.plugIn(2);
  if (!set || !bareSet) throw new Error("no sets started");
  const daemon = await stage.daemon({ sets: [set] });
  // Two processes: the timer that is the limit has nothing else to do.
  const [side, bare] = [stage.load(), stage.load()];
  const calls = ["/devices", "/devices/S0", "/health"].map((path) => ({ method: "GET", path: `/v1${path}` }));
  const body = { keys: Array.from({ length: steps }, () => "down"), delay_ms: delayMs };
  const rounds = await stage.rounds(async () => {
    const timings: { ours: Timing; bare: Timing }[] = [];
    for (const per_s of loads) {
      await stage.sets.ask("keys", set);
      await stage.sets.ask("keys", bareSet);
      if (per_s > 0) await side.ask("pace", { place: daemon.place, calls, connections: 10, per_s });
      await Bun.sleep(100);
      // At the same moment: what the machine does to one, it does to the other.
      await Promise.all([
        daemon.api("POST", "/devices/S0/remote/sequence", body),
        bare.ask("steps", { place: bareSet, call: keyStraight, steps, delay_ms: delayMs }),
      ]);
      const paced = await side.ask("unpace", {});
      if (paced && (paced.failed > 0 || paced.per_s < per_s * 0.9))
        throw new Error(`the side load came to ${short(paced.per_s)} a second, ${paced.failed} failed`);
      timings.push({ ours: await timingOf(stage, set), bare: await timingOf(stage, bareSet) });
    }
    return timings;
  });
  const of = (at: number, side: "ours" | "bare", what: keyof Timing) =>
    rounds.map((timings) => timings[at]?.[side][what] ?? Number.NaN);
  const at = loads.indexOf(judged);
  const drifts = of(at, "ours", "drift_ms").map(Math.abs);
  return [
    {
      measure: 5,
      what: `sequence step error (p99), ${judged} req/s meanwhile`,
      limit: 1,
      how: `${short(median(of(at, "ours", "error_ms")))} ms ÷ bare timer ${short(median(of(at, "bare", "error_ms")))} ms`,
      figure: ratios(of(at, "ours", "error_ms"), of(at, "bare", "error_ms")),
      must: { at: "most", value: 2 },
      growth: loads.map((load, index) => ({
        size: `${load} req/s`,
        figure: ratios(of(index, "ours", "error_ms"), of(index, "bare", "error_ms")).median,
      })),
      peers: [],
      note: `${steps} steps of ${delayMs} ms, timed at the set; the bare timer presses another set from an idle process at the same moment`,
    },
    {
      measure: 5,
      what: `sequence drift over ${steps} steps`,
      limit: 0,
      how: "the median error of the last ten steps",
      figure: spreadOf(drifts),
      must: { at: "most", value: 2, unit: "ms" },
      growth: loads.map((load, index) => ({
        size: `${load} req/s`,
        figure: median(of(index, "ours", "drift_ms").map(Math.abs)),
      })),
      peers: [],
    },
  ];
}

/** Reads when the keys of a set came, against a schedule that begins with the first. The bare timer presses once before. */
async function timingOf(stage: Stage, set: SetPlace): Promise<Timing> {
  const came = (await stage.sets.ask("keys", set)).slice(-steps);
  const [first = 0] = came;
  if (came.length < steps) throw new Error(`only ${came.length} of ${steps} keys came`);
  const errors = came.map((at, step) => at - first - step * delayMs);
  return { error_ms: percentile(errors.map(Math.abs), 0.99), drift_ms: median(errors.slice(-10)) };
}

export const sequence: Measure = { number: 5, title: "sequence", run };
