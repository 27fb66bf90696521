/**
 * Load (SECURITY.md R1, R2, R3): as many reads as possible, a thousand keys a second over a hundred sets, and the same while
 * twenty of them hang.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { lane } from "../support/lane.ts";
import { requestOf } from "../support/raw-http.ts";
import { Connection } from "./bench/connection.ts";
import { percentile } from "./bench/figures.ts";
import { type SetPlace, startSets } from "./bench/sets-worker.ts";
import { some } from "./length.ts";
import { untilQuiet } from "./quiet.ts";

const seconds = some(60, 4);
const noWrk = Bun.which("wrk") === null ? "there is no wrk" : null;
const count = 100;
const hanging = 20;
const letters = "abcdefghijklmnopqrstuvwxyz0123456789";

let daemon: TestDaemon;
let sets: ReturnType<typeof startSets>;
let places: readonly SetPlace[];
beforeAll(async () => {
  daemon = await startTestDaemon({ config: { daemon: { log_level: "warn" }, devices: { request_timeout_ms: 1_000 } } });
  sets = startSets();
  const each = (at: number) => ({ name: `Typed ${process.pid} ${at}`, host: `127.${20 + lane}.9.${1 + at}` });
  places = await sets.ask("start", { sets: Array.from({ length: count }, (_, at) => each(at)) });
  for (const [at, { host, port }] of places.entries()) {
    const { status, body } = await daemon.api("POST", "/devices", { host, port, name: `S${at}` });
    expect([status, body.error]).toEqual([200, undefined]);
  }
}, 60_000);
beforeEach(untilQuiet, 200_000);
afterAll(async () => {
  sets.stop();
  await daemon.dispose();
});

test.skipIf(noWrk !== null)(
  `R1 health is answered at least 10 000 times a second over 50 connections, the slowest in a hundred within 20 ms${noWrk ? ` (skipped: ${noWrk})` : ""}`,
  () => {
    const words = ["-t2", "-c50", `-d${seconds}s`, "--latency", `${daemon.url}/health`];
    const said = execFileSync("wrk", words, { encoding: "utf8" });
    const rate = Number(/Requests\/sec:\s+([\d.]+)/.exec(said)?.[1]);
    const [, slowest = "", unit] = /99%\s+([\d.]+)(us|ms|s)/.exec(said) ?? [];
    const p99 = Number(slowest) * (unit === "us" ? 0.001 : unit === "s" ? 1_000 : 1);
    expect(said).not.toMatch(/Socket errors|Non-2xx/);
    expect(rate).toBeGreaterThan(10_000);
    expect(p99).toBeLessThan(20);
  },
  (seconds + 30) * 1_000,
);

/** Types on all sets from index `from` on: ten letters a second on each. */
async function type(from: number) {
  const latencies: number[] = [];
  /** The letters that each set took, by the daemon's answers, in order. */
  const taken = Array<string>(count).fill("");
  let failed = 0;
  const began = performance.now();
  const host = `Host: 127.0.0.1:${daemon.port}`;
  await Promise.all(
    Array.from({ length: count - from }, async (_, index) => {
      const at = from + index;
      const connection = await Connection.open({ host: "127.0.0.1", port: daemon.port });
      // The sets are spread over the tenth of a second.
      for (let turn = 0; turn < seconds * 10; turn++) {
        const due = began + (turn + index / (count - from)) * 100;
        await Bun.sleep(Math.max(0, due - performance.now()));
        const letter = letters[turn % letters.length] ?? "";
        const body = JSON.stringify({ key: `literal:${letter}` });
        const { status, ms } = await connection.exchange(
          requestOf("POST", `/v1/devices/S${at}/remote/key`, [host], body),
        );
        // The first key of a connection waits until the set has shown that it keeps connections.
        if (turn >= 10) latencies.push(ms);
        if (status === 200) taken[at] += letter;
        else failed++;
      }
      connection.close();
    }),
  );
  const perSecond = (seconds * 10 * (count - from)) / ((performance.now() - began) / 1_000);
  return { taken, failed, p99: percentile(latencies, 0.99), perSecond };
}

/** The same, and compares what each set received: nothing lost, nothing twice, nothing out of order. */
async function typeAndCompare(from: number) {
  const before = await sets.ask("typed", {});
  const typed = await type(from);
  expect(typed.failed).toBe(0);
  const now = await sets.ask("typed", {});
  expect(now.slice(from)).toEqual(before.slice(from).map((text, at) => text + typed.taken[from + at]));
  return typed;
}

let r2: Awaited<ReturnType<typeof type>>;
test(
  "R2 a thousand keys a second over a hundred sets: none lost, none twice, none out of order",
  async () => {
    r2 = await typeAndCompare(0);
    // A pause of the machine is among the slowest hundredth of a short run: only three slow runs count.
    for (let again = 0; again < 2 && r2.p99 >= 50; again++) r2 = await typeAndCompare(0);
    expect(r2.p99).toBeLessThan(50);
    expect(r2.perSecond).toBeGreaterThan(950);
  },
  (3 * seconds + 60) * 1_000,
);

/** Presses keys on the hanging sets until `work` is done. */
async function pressingInVain<Result>(work: () => Promise<Result>): Promise<Result> {
  let over = false;
  const stuck = Array.from({ length: hanging }, async (_, at) => {
    while (!over) {
      const { status, body } = await daemon.api("POST", `/devices/S${at}/remote/key`, { key: "home" });
      expect([status, /^device_/.test(body.error.code)]).toEqual([500, true]);
    }
  });
  try {
    return await work();
  } finally {
    over = true;
    await Promise.all(stuck);
  }
}

test(
  "R3 while twenty sets hang the others are as quick as before, within twice the time",
  async () => {
    for (const place of places.slice(0, hanging)) await sets.ask("hang", place);
    let [most, beside] = [Number.NaN, Number.NaN];
    for (let turn = 0; turn < 3 && !(beside < most); turn++) {
      // The machine may have become slow since R2: the same sets are measured just before.
      const before = await typeAndCompare(hanging);
      // Below a few milliseconds a ratio measures the machine.
      most = 2 * Math.max(r2.p99, before.p99, 5);
      beside = (await pressingInVain(() => typeAndCompare(hanging))).p99;
    }
    expect(beside).toBeLessThan(most);
  },
  (6 * seconds + 60) * 1_000,
);
