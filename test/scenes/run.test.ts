/** How long a run may take: what test/blackbox/scenes.test.ts would have to wait ten minutes for. */
import { expect, test } from "bun:test";
import type { StepResult } from "../../src/api/scenes.ts";
import type { Plan, Wait } from "../../src/scenes/plan.ts";
import { runPlan } from "../../src/scenes/run.ts";

const wait = (at: string, ms: number): Wait => ({
  kind: "wait",
  at,
  ms,
  line: null,
  name: null,
  does: "wait",
  onError: "continue",
  devices: [],
});

async function run(steps: Plan["steps"], totalMs: number) {
  const told: StepResult[] = [];
  const { signal } = new AbortController();
  const ask = () => Promise.reject(new Error("nobody is asked"));
  const ran = await runPlan(
    { name: null, steps, devices: [] },
    { ask, told: (step) => told.push(step), signal, totalMs },
  );
  return { ...ran, told: told.map(({ at, status }) => `${at} ${status}`) };
}

test("a run ends by itself when its time is over, whatever its steps say of failures", async () => {
  const ran = await run([wait("1", 0), wait("2", 60_000), wait("3", 0)], 50);
  expect([ran.outcome, ran.failed, ran.told]).toEqual(["stopped", 1, ["1 did", "2 failed"]]);
  expect(ran.steps[1]?.error).toMatchObject({ code: "device_timeout", hint: expect.stringContaining("two scenes") });
  expect(ran.steps[2]).toMatchObject({ status: "not_run", reason: "stopped" });
});

test("in several at the same moment, too", async () => {
  const parallel = {
    ...wait("1", 0),
    kind: "parallel",
    branches: [[wait("1.parallel.1", 60_000)], [wait("1.parallel.2", 0)]],
  };
  const ran = await run([parallel as Plan["steps"][number], wait("2", 0)], 50);
  expect([ran.outcome, ran.told.at(-1)]).toEqual(["stopped", "1 failed"]);
  expect(ran.steps.map(({ status }) => status)).toEqual(["failed", "failed", "did", "not_run"]);
});
