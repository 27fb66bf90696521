/**
 * A thousand sites of ten sets on one Mosquitto: all are seen, half of them are killed, are reported offline and come back; the
 * retained messages are right then. Figures are written to stderr.
 */
import { afterAll, expect, test } from "bun:test";
import { type ChildProcess, spawn } from "node:child_process";
import { connectBus } from "../../src/mqtt/broker.ts";
import { Fleet } from "../../src/mqtt/fleet.ts";
import { isObject } from "../../src/system/json.ts";
import { figure } from "../support/figure.ts";
import { until } from "../support/http-device.ts";
import { Mosquitto, noMosquitto } from "../support/mosquitto.ts";
import { residentMiB } from "../support/resident.ts";
import { root } from "../support/sources.ts";
import { some } from "./length.ts";

const children: ChildProcess[] = [];
let mosquitto: Mosquitto | undefined;
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await mosquitto?.dispose();
});

/** Megabytes that a process has in memory. */
const memory = (process: Parameters<typeof residentMiB>[0]) => Math.round(residentMiB(process));

function levelOf(volume: unknown): unknown {
  return isObject(volume) ? volume["level"] : undefined;
}

const sites = some(1_000, 100);
const sets = 10;

const why = noMosquitto === null ? "" : ` (skipped: ${noMosquitto})`;

test.skipIf(noMosquitto !== null)(
  `${sites} sites of ${sets} sets on one broker: all seen, half killed, all back${why}`,
  async () => {
    mosquitto = await Mosquitto.start(() => ["allow_anonymous true", "set_tcp_nodelay true", "log_type error"]);
    const { port, pid } = mosquitto;
    const url = `mqtt://127.0.0.1:${port}`;
    const half = Math.ceil(sites / 2);
    const startSites = (first: number, count: number, each: number, level: number) => {
      const words = ["test/slow/fleet-sites.ts", ...[url, first, count, each, level].map(String)];
      const child = spawn(process.execPath, words, { stdio: ["ignore", "ignore", "inherit"], cwd: root });
      children.push(child);
      return child;
    };
    const broker = { host: "127.0.0.1", port, secure: false, url };
    const bus = await connectBus(broker, { clientId: "watcher" });
    let began = performance.now();
    const took = () => Math.round(performance.now() - began);
    const first = startSites(0, half, sets, 11);
    const second = startSites(half, sites - half, sets, 11);
    const fleet = await Fleet.open(bus, "zapd", { states: true });
    const online = () => fleet.sites.filter((one) => one.online).length;
    const states = () => fleet.select().filter(({ state }) => state !== null).length;
    await until("all are online", () => online() === sites, 240_000);
    figure(`${sites} sites are online: ${took()} ms`);
    const isSeen = () => fleet.select().length === sites * sets && states() === sites * sets;
    await until("all sets are seen", isSeen, 240_000);
    figure(`${sites * sets} sets are seen, with their states: ${took()} ms`);
    figure(
      `memory of the broker; of both processes of sites: ${memory({ pid })} MB; ${memory(first)} and ${memory(second)} MB`,
    );

    // A later client gets all of it from retained messages.
    began = performance.now();
    const later = await connectBus(broker, { clientId: "later" });
    const seen = await Fleet.open(later, "zapd", { states: true });
    expect([seen.sites.length, seen.select().length]).toEqual([sites, sites * sets]);
    figure(`a client that comes later has read all of it: ${took()} ms`);
    expect(seen.select({ labels: ["tenth", "row=3"] })).toHaveLength(Math.ceil(sites / 10));
    await later.close();

    began = performance.now();
    first.kill("SIGKILL");
    await until("half of them are offline", () => online() === sites - half, 60_000);
    figure(`${half} sites killed at once are seen as offline: ${took()} ms`);
    // Their devices stay known, and a command to them fails at once.
    expect(fleet.select()).toHaveLength(sites * sets);
    const target = fleet.select({ site: "site-00000" }).slice(0, 1);
    const results = await fleet.run(target, (send) => send({ op: "press_key", args: {} }), {
      timeoutMs: 30_000,
      replyTo: () => "zapd/1/site-00000/reply/watcher",
      onResult() {},
    });
    expect(results).toMatchObject([{ ok: false, error: { code: "site_offline" } }]);

    // They come back with one set less, and louder.
    began = performance.now();
    startSites(0, half, sets - 1, 22);
    await until("all are online", () => online() === sites, 240_000);
    figure(`${half} sites are back online: ${took()} ms`);
    const levels = () => fleet.select().map(({ site, state }) => ({ site: site.site, volume: state?.["volume"] }));
    const isConverged = () =>
      levels().length === sites * sets - half &&
      levels().filter(({ volume }) => levelOf(volume) === 22).length === half * (sets - 1);
    await until("what they keep is what they are", isConverged, 240_000);
    figure(`what they keep is what they are now: ${took()} ms`);
    expect(levels().filter(({ volume }) => levelOf(volume) === 11)).toHaveLength((sites - half) * sets);
    await bus.close();
  },
  900_000,
);
