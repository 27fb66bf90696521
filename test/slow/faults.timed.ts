/** SECURITY.md R4 with its exact bound, for a machine that does nothing else: each fault ends within its deadline and half a second. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../../src/api/operations.ts";
import { add, at, type Name } from "../blackbox/checked.ts";
import { faults, fullBacklog } from "../blackbox/fault-server.ts";
import { type Runtime, startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { figure } from "../support/figure.ts";
import { root } from "../support/sources.ts";
import { WiredRoku } from "../support/wired-roku.ts";
import { isSample, part } from "./length.ts";

const requestMs = 400;
/** One request to identify the set, one for what was asked. */
const deadlineMs = 2 * requestMs;
const calls: readonly [Name, unknown][] = [
  ["getState", undefined],
  ["listApps", undefined],
  ["pressKey", { key: "home" }],
  ["launchApp", { app: "12" }],
];
const isBuilt = existsSync(join(root, "dist/zapd"));
/** In `npm run test:binary` and `test:deno` blackbox/faults tries the others. */
const runtimes: readonly Runtime[] = isSample ? ["bun"] : isBuilt ? ["bun", "deno", "binary"] : ["bun", "deno"];

describe.each(runtimes)("under %s", (runtime) => {
  let daemon: TestDaemon;
  const fakes: WiredRoku[] = [];
  beforeAll(async () => {
    daemon = await startTestDaemon({ runtime, speed: 1, config: { devices: { request_timeout_ms: requestMs } } });
    // The first call loads and compiles code, which is no fault of a set.
    const { set, id } = await plugIn();
    for (const [name, body] of calls) expect((await call(name, id, body)).status).toBe(200);
    await set.stop();
  }, 60_000);
  afterAll(async () => {
    await daemon.dispose();
    await Promise.all(fakes.map((fake) => fake.stop()));
  });

  async function plugIn(): Promise<{ set: WiredRoku; id: string }> {
    const set = await WiredRoku.start();
    fakes.push(set);
    return { set, id: (await add(daemon, set)).id };
  }

  const call = (name: Name, id: string, body: unknown) =>
    daemon.api(name.startsWith("get") || name.startsWith("list") ? "GET" : "POST", at(name, { id }), body);

  async function drive(what: string, id: string): Promise<void> {
    for (const [name, body] of calls) {
      const since = performance.now();
      const answered = await call(name, id, body);
      const took = performance.now() - since;
      expect([what, name, answered.status]).toEqual([what, name, 500]);
      expect(Failure.parse(answered.body).error.code).toMatch(/^device_(unreachable|timeout|error|refused|busy)$/);
      figure(`${runtime}: ${what}: ${name}: ${took.toFixed(0)} ms`);
      expect([what, name, took <= deadlineMs + (part === 1 ? 500 : 3_000)]).toEqual([what, name, true]);
    }
  }

  test.each(Object.keys(faults))(
    "R4 %s",
    async (what) => {
      const { set, id } = await plugIn();
      set.wire.fault = faults[what] ?? null;
      await set.wire.close();
      await set.wire.listen(set.host, set.port);
      await drive(what, id);
    },
    30_000,
  );

  test("R4 refused", async () => {
    const { set, id } = await plugIn();
    await set.stop();
    await drive("refused", id);
  }, 30_000);

  test("R4 hung before it was accepted", async () => {
    const { set, id } = await plugIn();
    await set.stop();
    const deaf = await fullBacklog(set.host, set.port);
    if (!deaf) throw new Error("this machine does not fill a backlog");
    try {
      await drive("full backlog", id);
    } finally {
      await deaf.release();
    }
  }, 60_000);
});
