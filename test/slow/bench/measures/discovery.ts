/** 6: how soon a set that answers a search is reported, and whether known ones are there at once. */
import { freePort } from "../../../support/daemon.ts";
import { lane } from "../../../support/lane.ts";
import { median, ratios, short, spreadOf } from "../figures.ts";
import { drive, nameOf, PeerRounds } from "../peers.ts";
import { end, startUntilAnswer } from "../process.ts";
import { devicesOf } from "../registry.ts";
import type { Row } from "../report.ts";
import type { Daemon, Stage } from "../stage.ts";
import type { Measure } from "./measure.ts";

/** How long the sets wait before they answer, in milliseconds: real ones take up to a second. */
const delays = [100, 300, 900] as const;
const judged = 300;
const knownDevices = 100;

async function run(stage: Stage): Promise<Row[]> {
  return [await firstReported(stage), await knownAtStart(stage)];
}

async function firstReported(stage: Stage): Promise<Row> {
  const sets = await Promise.all(
    delays.map(async (ssdpDelayMs, at) => {
      const host = `127.${20 + lane}.7.${at + 1}`;
      const [set] = await stage.plugIn(1, { name: `Found ${process.pid} ${at}`, host, ssdp: true, ssdpDelayMs });
      if (!set) throw new Error("no set started");
      return set;
    }),
  );
  const load = stage.load();
  const client = new PeerRounds(nameOf("roku-client"));
  const rounds = await stage.rounds(async () => {
    const ours = await Promise.all(sets.map(() => 0));
    // A new daemon each time: it knows none of them.
    const daemon = await stage.daemon();
    const seen = waitFor(
      daemon,
      sets.map(({ serial }) => serial),
    );
    await daemon.api("POST", "/devices/discover");
    for (const [at, ms] of (await seen).entries()) ours[at] = ms;
    await end(daemon.child);
    const own: number[] = [];
    for (const { serial } of sets) own.push(await load.ask("search", { serial, target: "roku:ecp", within_ms: 3_000 }));
    const port = sets[delays.indexOf(judged)]?.port ?? 0;
    await client.measure(async () => (await drive("roku-client.mjs", "find", port))["ms"] ?? Number.NaN);
    return { ours, own };
  });
  const of = (at: number, side: "ours" | "own") => rounds.map((round) => round[side][at] ?? Number.NaN);
  const at = delays.indexOf(judged);
  return {
    measure: 6,
    what: "a new set reported",
    limit: 1,
    how: `${short(median(of(at, "ours")))} ms ÷ its own answer ${short(median(of(at, "own")))} ms`,
    figure: ratios(of(at, "ours"), of(at, "own")),
    must: { at: "most", value: 1.1 },
    growth: delays.map((delay, index) => ({
      size: `answers after ${delay} ms`,
      figure: ratios(of(index, "ours"), of(index, "own")).median,
    })),
    peers: [client.against(of(at, "own"), "found on the network, not yet asked who it is")],
    note: "from POST /devices/discover until GET /devices has it with its name and model, polled; its own answer is that to a bare search",
  };
}

/** Milliseconds until each serial stands in the list, from now. */
async function waitFor(daemon: Daemon, serials: readonly string[]): Promise<number[]> {
  const began = performance.now();
  const seen = serials.map(() => Number.NaN);
  while (seen.some(Number.isNaN)) {
    if (performance.now() - began > 5_000)
      throw new Error("a set was not found: is multicast on loopback possible here?");
    const devices = (await daemon.api("GET", "/devices")) as { serial: string | null }[];
    for (const [at, serial] of serials.entries())
      if (Number.isNaN(seen[at]) && devices.some((device) => device.serial === serial))
        seen[at] = performance.now() - began;
    await Bun.sleep(1);
  }
  return seen;
}

async function knownAtStart(stage: Stage): Promise<Row> {
  const sizes = [10, knownDevices, 1_000] as const;
  const rounds = await stage.rounds(() =>
    Promise.all(
      sizes.map(async (size) => {
        const port = await freePort();
        const { command, env } = stage.prepare(
          { devices: devicesOf(size), config: { discovery: { on_start: true } } },
          port,
        );
        const started = await startUntilAnswer(command, { port, path: "/v1/health", env });
        const known = async () => {
          const response = await fetch(`http://127.0.0.1:${port}/v1/devices`);
          return ((await response.json()) as { data: unknown[] }).data.length;
        };
        // All in the first answer is no wait at all; else it counts from then.
        let count = await known();
        const answered = performance.now();
        while (count < size && performance.now() - answered < 5_000) {
          await Bun.sleep(1);
          count = await known();
        }
        const waited = count === size && performance.now() - answered < 1 ? 0 : performance.now() - answered;
        await end(started.child);
        return waited;
      }),
    ),
  );
  const of = (at: number) => rounds.map((round) => round[at] ?? Number.NaN);
  const at = sizes.indexOf(knownDevices);
  return {
    measure: 6,
    what: `known devices at the start, ${knownDevices}`,
    limit: 0,
    how: "time from the first answer until the list has all of them",
    figure: spreadOf(of(at)),
    must: { at: "most", value: 0, unit: "ms" },
    growth: sizes.map((size, index) => ({ size: `${size} devices`, figure: median(of(index)) })),
    peers: [],
  };
}

export const discovery: Measure = { number: 6, title: "discovery", run };
