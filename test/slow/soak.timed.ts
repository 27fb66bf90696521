/**
 * A soak (SECURITY.md R5): 200 mixed requests a second while sets come, go and hang. What is measured are slopes, after a time to
 * warm up: memory, descriptors, and how late the daemon answers. Thirty minutes.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { createRokuSimulator, type RokuSimulator } from "../../src/simulators/roku.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { lane } from "../support/lane.ts";
import { requestOf } from "../support/raw-http.ts";
import { residentMiB } from "../support/resident.ts";
import { Connection } from "./bench/connection.ts";
import { percentile } from "./bench/figures.ts";
import { part } from "./length.ts";
import { untilQuiet } from "./quiet.ts";
import { slopeOf } from "./slope.ts";

const minutes = Math.max(0.5, 30 * part);
const perSecond = 200;
const setCount = 12;
const linux = process.platform === "linux";

let daemon: TestDaemon;
const sets: RokuSimulator[] = [];
beforeAll(untilQuiet, 200_000);
beforeAll(async () => {
  daemon = await startTestDaemon({
    config: { daemon: { log_level: "warn" }, devices: { request_timeout_ms: 1_000 }, discovery: { timeout_ms: 500 } },
  });
  for (let at = 0; at < setCount; at++) {
    const host = `127.${20 + lane}.8.${1 + at}`;
    const set = createRokuSimulator({ name: `Soak ${process.pid} ${at}`, host, ssdp: false, launchMs: 0 });
    await set.start();
    sets.push(set);
    const { host: to, port } = set;
    const { status } = await daemon.api("POST", "/devices", { host: to, port, name: `S${at}` });
    expect(status).toBe(200);
  }
}, 60_000);
afterAll(async () => {
  await daemon.dispose();
  await Promise.all(sets.map((set) => set.stop().catch(() => {})));
});

/** The requests, in turn: mostly reads, some keys and launches, some errors. */
const mix: readonly ((turn: number) => [method: string, path: string, body?: string])[] = [
  () => ["GET", "/health"],
  () => ["GET", "/devices"],
  (turn) => ["GET", `/devices/S${turn % setCount}/state`],
  (turn) => ["POST", `/devices/S${turn % setCount}/remote/key`, '{"key":"home"}'],
  (turn) => ["GET", `/devices/S${turn % setCount}/apps`],
  () => ["GET", "/config"],
  (turn) => ["POST", `/devices/S${turn % setCount}/apps/launch`, '{"app":"netflix"}'],
  () => ["POST", "/devices/nobody/remote/key", '{"key":"home"}'],
  () => ["POST", "/devices/S0/remote/key", '{"key":'],
  (turn) => ["GET", `/devices/S${turn % setCount}`],
];
const rare: typeof mix = [
  (turn) => ["PATCH", "/config", JSON.stringify({ "discovery.timeout_ms": 500 + (turn % 2) })],
  () => ["POST", "/devices/discover"],
  (turn) => ["POST", `/devices/S${turn % setCount}/apps/refresh`],
];

/** `at` is in minutes since the start. */
function sample(at: number) {
  const rssMiB = residentMiB(daemon.process);
  return { at, rssMiB, descriptors: readdirSync(`/proc/${daemon.process.pid}/fd`).length };
}

test.skipIf(!linux)(
  `R5 mixed requests: memory, descriptors and latency stay flat for ${minutes} minutes${linux ? "" : " (skipped: there is no /proc)"}`,
  async () => {
    const host = `Host: 127.0.0.1:${daemon.port}`;
    const began = performance.now();
    const elapsed = () => (performance.now() - began) / 60_000;
    const statuses = new Map<number, number>();
    const samples: ReturnType<typeof sample>[] = [];
    const lateness: number[] = [];
    let sent = 0;
    let over = false;

    const caller = async (index: number, callers: number) => {
      let connection = await Connection.open({ host: "127.0.0.1", port: daemon.port });
      for (let turn = index; !over; turn += callers) {
        const due = began + (turn * 1_000) / perSecond;
        await Bun.sleep(Math.max(0, due - performance.now()));
        const [method, path, body] = (turn % 97 === 0 ? rare[(turn / 97) % rare.length] : mix[turn % mix.length])?.(
          turn / 10 < 1 ? turn : Math.floor(turn / 10),
        ) ?? ["GET", "/health"];
        const { status, ms } = await connection.exchange(requestOf(method, `/v1${path}`, [host], body));
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        sent++;
        // A request that needs no set shows the lag of the event loop.
        if (path === "/health") lateness.push(ms);
        if (status === 0) {
          connection.close();
          connection = await Connection.open({ host: "127.0.0.1", port: daemon.port });
        }
      }
      connection.close();
    };
    /** One set after the other is off for two seconds, and comes back at its address. */
    const comings = async () => {
      for (let turn = 0; !over; turn++) {
        const set = sets[turn % setCount];
        const { port, host } = set ?? { port: 0, host: "" };
        await set?.stop();
        await Bun.sleep(2_000);
        const again = createRokuSimulator({
          name: `Soak ${process.pid} ${turn % setCount}`,
          host,
          port,
          ssdp: false,
          launchMs: 0,
        });
        await again.start();
        sets[turn % setCount] = again;
        await Bun.sleep(3_000);
      }
    };
    const sampling = async () => {
      while (!over) {
        samples.push(sample(elapsed()));
        await Bun.sleep(Math.min(2_000, (minutes * 60_000) / 60));
      }
    };
    const work = [...Array.from({ length: 40 }, (_, index) => caller(index, 40)), comings(), sampling()];
    await Bun.sleep(minutes * 60_000);
    over = true;
    await Promise.all(work);

    expect(daemon.process.exitCode).toBeNull();
    expect(statuses.get(0) ?? 0).toBe(0);
    expect(daemon.log()).not.toMatch(/"level":"error"|nhandled|ncaught/);
    expect(sent).toBeGreaterThan(perSecond * minutes * 60 * 0.8);
    const warm = samples.filter(({ at }) => at > minutes / 3);
    const perTenMinutes = 10 * slopeOf(warm.map(({ at, rssMiB }) => [at, rssMiB]));
    const descriptors = 10 * slopeOf(warm.map(({ at, descriptors }) => [at, descriptors]));
    const late = percentile(lateness, 0.99);
    const last = samples.at(-1);
    const figure = [
      `${sent} requests in ${minutes} min`,
      `memory ${last?.rssMiB.toFixed(0)} MiB, ${perTenMinutes.toFixed(2)} MiB in 10 min`,
      `descriptors ${last?.descriptors}, ${descriptors.toFixed(1)} in 10 min`,
      `health p99 ${late.toFixed(1)} ms`,
    ].join("; ");
    process.stderr.write(`${figure}; ${JSON.stringify([...statuses])}\n`);
    expect(late).toBeLessThan(50);
    // Over a short time the slope is that of the garbage collector.
    if (minutes < 15) return;
    expect(perTenMinutes).toBeLessThan(1);
    expect(Math.abs(descriptors)).toBeLessThan(3);
  },
  (minutes + 3) * 60_000,
);
