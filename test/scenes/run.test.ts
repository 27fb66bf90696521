/** What hardly happens in a house: the longest run, for which test/blackbox/scenes.test.ts would have to wait ten minutes. */
import { expect, test } from "bun:test";
import type { StepResult } from "../../src/api/scenes.ts";
import type { State } from "../../src/api/schemas.ts";
import { readCondition } from "../../src/devices/conditions.ts";
import type { Act, Plan, Wait, WaitFor } from "../../src/scenes/plan.ts";
import { type RunOptions, runPlan } from "../../src/scenes/run.ts";
import { Scenes } from "../../src/scenes/scenes.ts";
import { app, state } from "../cli/remote-model.ts";
import { neverAborted, openHouse } from "../devices/harness.ts";
import { until } from "../support/http-device.ts";
import { passTime, wakeUp } from "../support/test-clock.ts";

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

async function run(steps: Plan["steps"], totalMs: number, signal = neverAborted) {
  const published: StepResult[] = [];
  const send = () => Promise.reject(new Error("no command is sent"));
  const result = await runPlan(
    { name: null, steps, devices: [] },
    { send, onStep: (step) => published.push(step), signal, totalMs },
  );
  return { ...result, published: published.map(({ at, status }) => `${at} ${status}`) };
}

test("a run ends by itself when its time is over, also with on_error = continue", async () => {
  const result = await run([wait("1", 0), wait("2", 60_000), wait("3", 0)], 300);
  expect([result.outcome, result.failed, result.published]).toEqual(["stopped", 1, ["1 did", "2 failed"]]);
  expect(result.steps[1]?.error).toMatchObject({
    code: "device_timeout",
    hint: expect.stringContaining("the scene into two"),
  });
  expect(result.steps[2]).toMatchObject({ status: "not_run", reason: "stopped" });
});

test("also during parallel steps", async () => {
  const parallel = {
    ...wait("1", 0),
    kind: "parallel",
    branches: [[wait("1.parallel.1", 60_000)], [wait("1.parallel.2", 0)]],
  };
  // Long enough for the second branch, also on a busy machine.
  const result = await run([parallel as Plan["steps"][number], wait("2", 0)], 500);
  expect([result.outcome, result.published.at(-1)]).toEqual(["stopped", "1 failed"]);
  expect(result.steps.map(({ status }) => status)).toEqual(["failed", "failed", "did", "not_run"]);
});

test("a branch of parallel steps goes no further once another has failed, which is reported in words", async () => {
  const house = await openHouse();
  const device = house.devices.deviceOf(await house.add("1", { name: "TV" }));
  const press = (at: string, key: string): Act => {
    const commands = [{ operation: "pressKey" as const, body: { key } }];
    return { ...wait(at, 0), kind: "act", devices: [device], commands, delayMs: 0, isTyped: false, onError: "stop" };
  };
  const branches = [[press("1.parallel.1", "up")], [press("1.parallel.2.1", "down"), press("1.parallel.2.2", "left")]];
  const parallel: Plan["steps"][number] = { ...wait("1", 0), kind: "parallel", branches };
  const published: StepResult[] = [];
  const sent: object[] = [];
  const error = { code: "device_error", message: "has no such key" } as const;
  const result = await runPlan(
    { name: null, steps: [parallel], devices: [device] },
    {
      send: async ({ body }) => {
        if (sent.push(body) === 1) return { ok: false, error };
        await until("the other has failed", () => published.length === 1);
        return { ok: true, data: {} };
      },
      onStep: (step) => published.push(step),
      signal: neverAborted,
    },
  );
  expect([result.outcome, sent]).toEqual(["stopped", [{ key: "up" }, { key: "down" }]]);
  expect(published[0]).toMatchObject({ at: "1.parallel.1", status: "failed", error });
  await house.remove();
});

test("a run that is cancelled during a wait has no failed step, and its steps say so", async () => {
  const house = await openHouse();
  const devices = [house.devices.deviceOf(await house.add("1", { name: "TV" }))];
  const conditions = [readCondition("app:nowhere")];
  const until: WaitFor = { ...wait("1", 0), kind: "wait_for", devices, conditions, timeoutMs: 60_000, orElse: "stop" };
  const parallel: Plan["steps"][number] = { ...wait("1", 0), kind: "parallel", branches: [[wait("1.1", 60_000)]] };
  for (const first of [wait("1", 60_000), until, parallel]) {
    const leave = new AbortController();
    setTimeout(() => leave.abort(), 20);
    const { outcome, failed, steps, published } = await run([first, wait("2", 0)], 60_000, leave.signal);
    expect([outcome, failed, published]).toEqual(["cancelled", 0, []]);
    expect(new Set(steps.map(({ reason }) => reason))).toEqual(new Set(["cancelled"]));
  }
  await house.remove();
});

test("a failure about typed text is published without the words of the device, which may repeat it", async () => {
  const house = await openHouse();
  const device = house.devices.deviceOf(await house.add("1", { name: "TV" }));
  const commands = [{ operation: "pressKey" as const, body: { key: "literal:sQ9x" } }];
  const act: Act = { ...wait("1", 0), kind: "act", devices: [device], commands, delayMs: 0, isTyped: true };
  const published: StepResult[] = [];
  const error = { code: "device_error", message: "has no field for sQ9x" } as const;
  const result = await runPlan(
    { name: null, steps: [act], devices: [device] },
    { send: async () => ({ ok: false, error }), onStep: (step) => published.push(step), signal: neverAborted },
  );
  expect(result.steps[0]?.error).toMatchObject(error);
  expect(published).toMatchObject([{ status: "failed", error: { code: "device_error" } }]);
  expect(JSON.stringify(published)).not.toContain("sQ9x");
  // The time of the run is over during its last step, or while that is read back.
  const left = { code: "internal_error", message: "The caller disconnected" } as const;
  const hangs: RunOptions["send"] = (_command, _device, signal) =>
    new Promise((resolve) => signal.addEventListener("abort", () => resolve({ ok: false, error: left })));
  const accepts: RunOptions["send"] = async () => ({ ok: true, data: {} });
  for (const [send, readsBack] of [[hangs], [accepts, readCondition("app:nowhere")]] as const) {
    const late = await runPlan(
      { name: null, steps: [{ ...act, readsBack }], devices: [device] },
      { send, onStep: () => {}, signal: neverAborted, totalMs: 50 },
    );
    expect([late.outcome, late.steps[0]?.error?.code]).toEqual(["stopped", "device_timeout"]);
  }
  await house.remove();
});

test("R14 after a sleep of this machine, the rest of a step is not sent either", async () => {
  const house = await openHouse();
  const device = house.devices.deviceOf(await house.add("1", { name: "TV" }));
  const commands = ["home", "down", "select"].map((key) => ({ operation: "pressKey" as const, body: { key } }));
  const act: Act = { ...wait("1", 0), kind: "act", devices: [device], commands, delayMs: 0, isTyped: false };
  const sent: unknown[] = [];
  const result = await runPlan(
    { name: null, steps: [act, wait("2", 0)], devices: [device] },
    {
      send: async (one) => {
        sent.push(one);
        if (sent.length === 2) passTime(8_000);
        return { ok: true, data: {} };
      },
      onStep: () => {},
      signal: neverAborted,
    },
  );
  expect([sent.length, result.outcome, result.failed]).toEqual([2, "stopped", 2]);
  expect(result.steps[0]?.error?.message).toContain("this machine slept");
  wakeUp();
  await house.remove();
});

test("a run waits for one that began before its device was removed and added again", async () => {
  const house = await openHouse();
  const scenes = new Scenes(house.folder, house.devices);
  const send = () => Promise.reject(new Error("no command is sent"));
  const runOne = (ms: number, signal = neverAborted) => {
    const plan = { name: null, steps: [wait("1", ms)], devices: [house.devices.find("TV")] };
    return scenes.run(plan, { send, signal }, () => {});
  };
  await house.add("1", { name: "TV" });
  const end = new AbortController();
  const first = runOne(60_000, end.signal);
  await house.devices.remove(house.devices.find("TV"));
  await house.add("1", { name: "TV" });
  const second = runOne(0);
  await Bun.sleep(120);
  end.abort();
  expect((await second).waited_ms).toBeGreaterThan(100);
  await first;
  // One that runs, and the others that wait for it.
  const all = Array.from({ length: 32 }, (_, at) => runOne(at === 0 ? 200 : 0));
  await expect(runOne(0)).rejects.toMatchObject({ code: "device_busy", hint: expect.stringContaining("Try again") });
  await Promise.all(all);
  await house.remove();
});

test("R14 a run that waited for another while this machine slept does not begin", async () => {
  const house = await openHouse();
  const scenes = new Scenes(house.folder, house.devices);
  const device = house.devices.deviceOf(await house.add("1", { name: "TV" }));
  const send = () => Promise.reject(new Error("no command is sent"));
  const runOne = () =>
    scenes.run({ name: null, steps: [wait("1", 100)], devices: [device] }, { send, signal: neverAborted }, () => {});
  const first = runOne();
  // It has begun.
  await Bun.sleep(1);
  const second = runOne();
  passTime(8_000);
  await expect(second).rejects.toMatchObject({ code: "device_busy" });
  await first;
  wakeUp();
  await house.remove();
});

test("an app or an input has its effect only on a screen that is on, an app not under a screensaver", async () => {
  const inputs = { list: async () => [], select: async () => {} };
  const house = await openHouse((set) => ({ ...set.connection(), inputs }));
  await house.add("1", { name: "TV" });
  const scenes = new Scenes(house.folder, house.devices);
  const { steps } = scenes.ofSteps({ device: "TV", steps: [{ launch: "netflix" }, { input: "hdmi1" }] });
  const shown = { app: app("netflix"), input: "hdmi1" };
  const effects = (more: Partial<State> = {}) =>
    steps.map((step) => (step as Act).hasEffect?.(state({ ...shown, ...more })));
  expect([effects(), effects({ power: "standby" }), effects({ screensaver: true })]).toEqual([
    [true, true],
    [false, false],
    [false, true],
  ]);
  await house.remove();
});
