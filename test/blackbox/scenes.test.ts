/** Scenes over HTTP: each kind of step, failures, callers that hang up, runs at the same time, and mistakes in files. */
import { beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SceneResult, StepResult } from "../../src/api/client.ts";
import { createKodiSimulator } from "../../src/simulators/kodi.ts";
import { createRokuSimulator, type RokuSimulator } from "../../src/simulators/roku.ts";
import { EventStream } from "../support/event-stream.ts";
import { until } from "../support/http-device.ts";
import { daemonForFile } from "./daemon-for-file.ts";

/** The events of the sets, in order: `Den key up`. */
const done: string[] = [];
const roku = (name: string, more: object = {}): RokuSimulator =>
  createRokuSimulator({
    name,
    serial: `X0SCENE${name.toUpperCase()}`,
    kind: "tv",
    ssdp: false,
    launchMs: 0,
    ...more,
    onEvent: ({ type, text }) => type !== "discovery" && done.push(`${name} ${type} ${text}`),
  });
const [den, bar, guest] = [roku("Den"), roku("Bar"), roku("Guest", { kind: "stick", access: "limited" })];
const cinema = createKodiSimulator({ name: "Cinema", port: 0, tcpPort: 0, mdns: false, startMs: 0 });
const sets = [den, bar, guest, cinema];

const { daemon, startSimulator } = await daemonForFile({ config: { devices: { request_timeout_ms: 3_000 } } });
const folder = join(daemon.folder, "scenes");
for (const set of sets) {
  await startSimulator(set);
  expect((await daemon.api("POST", "/devices", { host: set.host, port: set.port })).status).toBe(200);
}
for (const name of ["Den", "Bar"]) await daemon.api("PATCH", `/devices/${name}`, { labels: ["pub"] });
beforeEach(() => {
  done.length = 0;
});

type Steps = readonly object[];
const post = (body: object) => daemon.api("POST", "/run", body);

async function run(steps: Steps, more: object = {}): Promise<SceneResult> {
  const { status, body } = await post({ device: "Den", steps, ...more });
  expect([status, body.error]).toEqual([200, undefined]);
  return body.data;
}

/** The outcome of each step, in short. */
const outcomes = ({ steps }: SceneResult) =>
  steps.map(({ at, status, reason }) => [at, status, ...(reason ? [reason] : [])].join(" "));
const keys = () => done.flatMap((one) => /^(\w+) key key (\S+)$/.exec(one)?.slice(1).join(" ") ?? []);

describe("what steps do", () => {
  test("each kind of step has its place, its outcome and its devices in the result", async () => {
    const ran = await run([
      { power: "on" },
      { launch: "netflix", name: "film" },
      { input: "hdmi1" },
      { key: "up" },
      { key: "up", repeat: 2, delay_ms: 0 },
      { keys: ["down", { key: "left", repeat: 2 }, { key: "right", hold_ms: 10 }, "select"], delay_ms: 0 },
      { key: "literal:ab" },
      { volume: { muted: true } },
      { device: "Cinema", volume: 35 },
      { device: "Cinema", notify: "soon" },
      { device: "Cinema", play: { url: "http://127.0.0.1:9/film.mp4", title: "Film" } },
      { device: "Cinema", wait_for: ["power:on", "playback:playing"] },
      { wait_ms: 1 },
      { group: "pub", key: "info" },
      { device: ["Den", "Bar"], key: "back" },
      { parallel: [{ key: "home" }, [{ wait_ms: 1 }, { device: "Bar", key: "home" }]] },
    ]);
    expect([ran.outcome, ran.failed, ran.scene]).toEqual(["done", 0, null]);
    const statuses = Object.groupBy(ran.steps, ({ status }) => status);
    expect([statuses.failed, statuses.not_run]).toEqual([undefined, undefined]);
    const one = (at: string) => ran.steps.find((step) => step.at === at) as StepResult;
    expect(one("1")).toMatchObject({ status: "skipped", reason: "already_so", confirmed: true });
    expect(one("2")).toMatchObject({ name: "film", does: "launch netflix", confirmed: true });
    expect(one("9")).toMatchObject({ does: "volume 35", confirmed: true, devices: [{ device: { name: "Cinema" } }] });
    expect(one("7").does).toBe("type 2 characters");
    expect(JSON.stringify(one("10"))).not.toContain("soon");
    expect(one("14").devices.map(({ device, status }) => [device.name, status])).toEqual([
      ["Den", "did"],
      ["Bar", "did"],
    ]);
    expect(one("16.parallel.2.2")).toMatchObject({ status: "did", does: "press home" });
    const ofDen = keys().filter((one) => one.startsWith("Den"));
    expect(ofDen.slice(0, 7).map((one) => one.split(" ")[1])).toEqual([
      "up",
      "up",
      "up",
      "down",
      "left",
      "left",
      "right",
    ]);
  });

  test("a step that has nothing to do is skipped, with the wait behind it", async () => {
    await run([{ launch: "netflix" }, { device: "Cinema", volume: 20 }]);
    done.length = 0;
    const steps = [
      { power: "on" },
      { wait_ms: 60_000 },
      { wait_ms: 60_000 },
      { launch: "netflix" },
      { wait_ms: 60_000 },
    ];
    const always = [
      { device: "Cinema", volume: { step: 1 } },
      { launch: "netflix", params: { content_id: "1" } },
    ];
    const end = [{ wait_for: "app:netflix" }, ...always, { key: "up" }];
    const ran = await run([...steps, { device: "Cinema", volume: 20 }, ...end]);
    const so = "skipped already_so";
    const none = "skipped nothing_before";
    const expected = [so, none, none, so, none, so, "did", "did", "did", "did"].map((what, at) => `${at + 1} ${what}`);
    expect([outcomes(ran), keys()]).toEqual([expected, ["Den up"]]);
  });

  test("an app called none is launched, or is missing: only in a condition is it the home screen", async () => {
    await run([{ key: "home" }, { wait_for: "app:none" }]);
    const ran = await run([{ launch: "none", on_error: "continue" }, { wait_for: "app:none" }]);
    expect(outcomes(ran)).toEqual(["1 failed", "2 did"]);
    expect(ran.steps[0]?.devices[0]?.error?.code).toBe("app_not_found");
  });

  test("if runs one branch, and a wait behind an if that ran none is skipped", async () => {
    const steps = {
      yes: { if: { power: "on", app: "netflix" }, ["th" + "en"]: [{ key: "up" }], else: [{ key: "down" }] },
      no: { if: ["power:on", "app:youtube"], ["th" + "en"]: [{ key: "left" }] },
    };
    const ran = await run([
      { launch: "netflix" },
      steps.yes,
      { wait_ms: 1 },
      steps.no,
      { wait_ms: 60_000 },
      { key: "right" },
    ]);
    expect(outcomes(ran).slice(1)).toEqual([
      "2 did",
      "2.then.1 did",
      "2.else.1 not_run other_branch",
      "3 did",
      "4 skipped no_match",
      "4.then.1 not_run other_branch",
      "5 skipped nothing_before",
      "6 did",
    ]);
    expect(keys()).toEqual(["Den up", "Den right"]);
    expect(ran.steps.map(({ matched }) => matched).filter((one) => one !== undefined)).toEqual([true, false]);
  });

  test("a set in standby is turned on, which is confirmed", async () => {
    await den.sleep("standby");
    const ran = await run([{ power: "on" }, { wait_ms: 1 }]);
    expect([outcomes(ran), ran.steps[0]?.confirmed]).toEqual([["1 did", "2 did"], true]);
  });

  test("a dry run runs nothing", async () => {
    const ran = await run([{ key: "up" }], { dry_run: true });
    expect([ran.outcome, outcomes(ran), done]).toEqual(["checked", ["1 not_run dry_run"], []]);
  });
});

describe("a failure stops the scene, or is passed over", () => {
  const pressed = { device: "Bar", key: "up" };
  /** A scene whose first step fails: once it stops, once it goes on. */
  async function both(step: object, code: string, field = "on_error", after: object = pressed) {
    done.length = 0;
    const stopped = await run([step, after], { device: "Guest" });
    expect([stopped.outcome, stopped.failed, outcomes(stopped)]).toEqual([
      "stopped",
      1,
      ["1 failed", "2 not_run stopped"],
    ]);
    expect([stopped.steps[0]?.error?.code as string, keys()]).toEqual([code, []]);
    const passed = await run([{ ...step, [field]: "continue" }, after], { device: "Guest" });
    expect([passed.outcome, passed.failed, outcomes(passed)]).toEqual(["done", 1, ["1 failed", "2 did"]]);
    expect(keys()).toEqual(after === pressed ? ["Bar up"] : []);
    return stopped.steps[0];
  }

  test("a set that refuses, with the hint", async () => {
    const step = await both({ key: "home" }, "device_refused");
    expect(step).toMatchObject({
      confirmed: null,
      error: { hint: expect.stringContaining("Network access: Enabled") },
    });
    const whole = await run([{ key: "home" }, pressed], { device: "Guest", on_error: "continue" });
    expect(outcomes(whole)).toEqual(["1 failed", "2 did"]);
  });

  test.each([
    ["hangs", "hang", { key: "up" }, "device_timeout"],
    ["is off, and does not wake", "refuse", { launch: "netflix" }, "device_unreachable"],
  ] as const)("a set that %s", async (_what, fault, step, code) => {
    const patience = (ms: number) =>
      daemon.api("PATCH", "/config", { "devices.request_timeout_ms": ms * daemon.speed });
    await den.fault(fault);
    await patience(200);
    // No other set is asked while the timeout is so short.
    await both({ device: "Den", ...step }, code, "on_error", { wait_ms: 1 });
    const tested = { if: "power:on", ["th" + "en"]: [{ wait_ms: 1 }], on_error: "continue" };
    expect(outcomes(await run([tested]))).toEqual(["1 failed", "1.then.1 not_run other_branch"]);
    await patience(3_000);
    await den.fault(null);
  });

  test("an app that is not there", async () => {
    await both({ device: "Den", launch: "nothing-like-it" }, "app_not_found");
  });

  test("a wait that runs out", async () => {
    const step = await both({ device: "Den", wait_for: "app:spotify", timeout_ms: 50 }, "device_timeout", "else");
    expect(step).toMatchObject({ matched: false, error: { hint: expect.stringContaining('else = "continue"') } });
    const passed = await run([{ device: "Den", wait_for: "app:spotify", timeout_ms: 50, else: "continue" }]);
    expect(passed.steps[0]?.error?.hint).toBe("Give it more time with timeout_ms");
    const ended = { wait_for: "app:spotify", timeout_ms: 50, else: "stop", on_error: "continue" };
    expect((await run([ended])).outcome).toBe("stopped");
  });

  test("in a group each device has its own outcome, and one failure fails the step", async () => {
    const ran = await run([{ device: ["Bar", "Guest"], key: "up" }, pressed]);
    expect(ran.steps[0]?.devices.map(({ device, status }) => [device.name, status])).toEqual([
      ["Bar", "did"],
      ["Guest", "failed"],
    ]);
    expect(ran.outcome).toBe("stopped");
  });

  test("in one of several parallel steps: the waits of the others end, and no step follows", async () => {
    const parallel = [{ device: "Guest", key: "up" }, [{ wait_ms: 60_000 }, pressed]];
    const ran = await run([{ parallel }, pressed]);
    expect([ran.outcome, keys()]).toEqual(["stopped", []]);
    expect(ran.took_ms).toBeLessThan(30_000);
  });
});

/** Runs steps, with the answer as a stream. */
async function streamed(body: object, signal?: AbortSignal) {
  const headers = { accept: "application/x-ndjson" };
  const init = { method: "POST", body: JSON.stringify(body), headers, ...(signal && { signal }) };
  const response = await fetch(`${daemon.url}/run`, init);
  expect(response.headers.get("content-type")).toStartWith("application/x-ndjson");
  return response;
}

test("each step is reported as it happens, to the caller and in the stream of events", async () => {
  const stream = new EventStream({ to: daemon.port, path: "/events?types=scene.*&snapshot=false" });
  await stream.until(({ type }) => type === "heartbeat");
  const response = await streamed({
    device: "Den",
    steps: [{ key: "up" }, { key: "literal:sQ9x" }, { key: "down" }],
  });
  const lines = (await response.text())
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const types = ["scene.started", "scene.step", "scene.step", "scene.step", "scene.finished"];
  expect(lines.map(({ type }) => type)).toEqual(types);
  expect(lines[4].data.steps.map(({ at }: StepResult) => at)).toEqual(["1", "2", "3"]);
  await stream.until(({ type }) => type === "scene.finished");
  const told = stream.frames.filter(({ type }) => type.startsWith("scene."));
  expect(told.map(({ type }) => type)).toEqual(types);
  expect(new Set([...told, ...lines].map((one) => one["run"])).size).toBe(1);
  expect(JSON.stringify(told)).not.toContain("sQ9x");
  stream.close();
});

test.each(["a stream", "one answer"])(
  "a caller that disconnects from %s ends the run: no further step is done",
  async (form) => {
    const events = new EventStream({ to: daemon.port, path: "/events?types=scene.*&snapshot=false" });
    await events.until(({ type }) => type === "heartbeat");
    const leave = new AbortController();
    const body = { device: "Den", steps: [{ key: "up" }, { wait_ms: 60_000 }, { key: "down" }] };
    const { signal } = leave;
    const asked =
      form === "a stream"
        ? streamed(body, signal)
        : fetch(`${daemon.url}/run`, { method: "POST", body: JSON.stringify(body), signal });
    asked.catch(() => {});
    await events.until(({ type }) => type === "scene.step");
    leave.abort();
    expect(await events.until(({ type }) => type === "scene.finished")).toMatchObject({ outcome: "cancelled" });
    expect(keys()).toEqual(["Den up"]);
    events.close();
  },
);

test("the step that a caller leaves is said to have ended for that, and not for a failure of zapd", async () => {
  const events = new EventStream({ to: daemon.port, path: "/events?types=scene.*,action.finished&snapshot=false" });
  await events.until(({ type }) => type === "heartbeat");
  const leavingAt = async (steps: object[], isThere: () => Promise<unknown>) => {
    const leave = new AbortController();
    const body = JSON.stringify({ device: "Den", steps });
    const before = events.frames.length;
    fetch(`${daemon.url}/run`, { method: "POST", body, signal: leave.signal }).catch(() => {});
    await isThere();
    leave.abort();
    const isStep = (one: (typeof events.frames)[number]) =>
      one.type === "scene.step" && events.frames.indexOf(one) >= before;
    return (await events.until(isStep))["step"];
  };
  const message = "The caller disconnected before it was done";
  const within = [{ keys: ["up", "down"], delay_ms: 60_000 }];
  const arrives = () => until("the first key arrives", () => keys().length === 1);
  expect(await leavingAt(within, arrives)).toMatchObject({ error: { message: expect.stringContaining(message) } });
  // A held key is a command of its own.
  const between = [{ keys: ["up", { key: "down", hold_ms: 10 }], delay_ms: 60_000 }];
  const isSent = () => events.until(({ type, ok }) => type === "action.finished" && ok === true);
  expect(await leavingAt(between, isSent)).toMatchObject({
    status: "failed",
    error: { code: "internal_error", message },
  });
  events.close();
});

test("a second run for a set waits for the first, and one for another does not", async () => {
  const events = new EventStream({ to: daemon.port, path: "/events?types=scene.*&snapshot=false" });
  await events.until(({ type }) => type === "heartbeat");
  const first = run([{ key: "up" }, { wait_for: "app:youtube", timeout_ms: 60_000 }, { key: "up" }]);
  await events.until(({ type }) => type === "scene.step");
  const second = run([{ group: "pub", key: "down" }]);
  const other = await run([{ key: "left" }], { device: "Cinema" });
  expect(other.waited_ms).toBeLessThan(5_000);
  // A key from outside the scene does not wait.
  expect((await daemon.api("POST", "/devices/Den/remote/key", { key: "info" })).status).toBe(200);
  expect(keys()).toEqual(["Den up", "Den info"]);
  await daemon.api("POST", "/devices/Den/apps/launch", { app: "youtube" });
  expect([(await first).outcome, (await second).outcome]).toEqual(["done", "done"]);
  expect(keys().slice(0, 3)).toEqual(["Den up", "Den info", "Den up"]);
  expect(keys().slice(3).toSorted()).toEqual(["Bar down", "Den down"]);
  events.close();
});

describe("files", () => {
  const write = (name: string, text: string) => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, name), text);
  };

  test("are read at each call, checked in the list, and take a device for steps that name none", async () => {
    expect((await daemon.api("GET", "/scenes")).body.data).toEqual({ folder, scenes: [] });
    write("up.toml", 'about = "Up"\n[[steps]]\nkey = "up"\n[[steps]]\ndevice = "Bar"\nkey = "up"\n');
    const missing = await daemon.api("POST", "/scenes/up");
    expect([missing.status, missing.body.error.code]).toEqual([400, "invalid_scene"]);
    const ran = await daemon.api("POST", "/scenes/up", { device: "Den" });
    expect(ran.body.data).toMatchObject({ scene: "up", outcome: "done", steps: [{ line: 2 }, { line: 4 }] });
    expect(keys()).toEqual(["Den up", "Bar up"]);
    write("up.toml", 'about = "Up"\ndevice = "Bar"\n[[steps]]\nkey = "down"\n');
    // A page that sends no body need not declare one; its steps have bodies.
    await fetch(`${daemon.url}/scenes/up`, { method: "POST", headers: { origin: new URL(daemon.url).origin } });
    expect(keys().at(-1)).toBe("Bar down");
    // As editors leave them.
    write(".up.toml", "");
    const { scenes } = (await daemon.api("GET", "/scenes")).body.data;
    expect(scenes).toEqual([{ name: "up", about: "Up", steps: 1, devices: ["Bar"], ok: true, mistakes: [] }]);
  });

  test("no name and no link leads out of the folder, and no file is run that is too large, or that everyone may write", async () => {
    write("up.toml", 'device = "Bar"\n[[steps]]\nkey = "down"\n');
    writeFileSync(join(daemon.folder, "out.toml"), 'device = "Bar"\n[[steps]]\nkey = "down"\n');
    symlinkSync(join(daemon.folder, "out.toml"), join(folder, "link.toml"));
    for (const name of ["..%2Fout", "%2e%2e%2fout", "../out", "up.toml", "UP", "%00up", "nothing", "x".repeat(65)])
      expect([name, (await daemon.api("POST", `/scenes/${name}`)).status]).toEqual([name, 404]);
    write("large.toml", `#${"x".repeat(64 * 1024)}`);
    write("anybody.toml", 'device = "Bar"\n[[steps]]\nkey = "down"\n');
    chmodSync(join(folder, "anybody.toml"), 0o666);
    for (const name of ["link", "large", "anybody"])
      expect([name, (await daemon.api("POST", `/scenes/${name}`)).body.error?.code]).toEqual([name, "invalid_scene"]);
    expect(done).toEqual([]);
  });

  test("an app without a name is one mistake among the others, with its place", async () => {
    const { status, body } = await post({ device: "Den", steps: [{ launch: " " }, { key: "hoem" }] });
    expect([status, body.error.code]).toEqual([400, "invalid_scene"]);
    expect(body.error.details.mistakes.map(({ at }: { at: string }) => at)).toEqual(["step 1: launch", "step 2: key"]);
  });

  test("ten kinds of mistakes are told at once, each with its line and a hint, and nothing runs", async () => {
    const lines = [
      'device = "Den"',
      "",
      "[[steps]]",
      'device = "Dne"',
      'key = "up"',
      "[[steps]]",
      'key = "hoem"',
      "[[steps]]",
      'key = "stop"',
      "[[steps]]",
      'notify = "x"',
      "[[steps]]",
      'volume = "loud"',
      "[[steps]]",
      'key = "up"',
      'power = "on"',
      "[[steps]]",
      'wait_for = "pwer:on"',
      "[[steps]]",
      'name = "a"',
      'key = "up"',
      "[[steps]]",
      'name = "a"',
      'key = "up"',
      "[[steps]]",
      "wait_sm = 5",
      "wait_ms = 5",
      "[[steps]]",
      "parallel = [",
      "  { key = 'up' },",
      "  { keys = ['up', { key = 'down', repeat = 99 }] },",
      "]",
    ];
    write("wrong.toml", lines.join("\n"));
    const { status, body } = await daemon.api("POST", "/scenes/wrong");
    const { code, message, details } = body.error;
    expect([status, code, done]).toEqual([400, "invalid_scene", []]);
    const at = (text: string, from = 0) => lines.findIndex((line, index) => index >= from && line.includes(text)) + 1;
    const expected = [
      at("Dne"),
      at("hoem"),
      at('"stop"'),
      at("notify"),
      at("loud"),
      at("power"),
      at("pwer"),
      at('name = "a"', at('name = "a"')),
      at("wait_sm"),
      at("keys"),
    ];
    const mistakes = details.mistakes as { line: number; message: string; hint: string }[];
    expect(mistakes.map(({ line }) => line)).toEqual(expected);
    expect(mistakes.filter(({ message, hint }) => message === "" || hint === "")).toEqual([]);
    const told = String(message).split("\n");
    expect(told[0]).toBe("wrong.toml has 10 mistakes:");
    expect(told.slice(1).map((line) => Number(/^line (\d+), /.exec(line)?.[1]))).toEqual(expected);
    expect(told[2]).toBe('line 7, step 2: key: "hoem" is not a key. Did you mean home?');
  });

  test("errors of TOML are told together with other mistakes", async () => {
    write(
      "broken.toml",
      'device = "Den"\n[[steps]]\nkey = "up"\nkey = "down"\n[[steps]]\nvolume =\n[[steps]]\nkey = "hoem"\n',
    );
    const { details } = (await daemon.api("POST", "/scenes/broken")).body.error;
    expect(details.mistakes.map(({ line }: { line: number }) => line)).toEqual([4, 6, 8]);
    write("open.toml", "steps = [");
    const { mistakes } = (await daemon.api("POST", "/scenes/open")).body.error.details;
    expect(mistakes.map(({ at }: { at: string }) => at)).toEqual(["text"]);
  });
  test("a text that is too deep or too long is refused before it takes time", async () => {
    const deep = `a${".a".repeat(20_000)} = 1`;
    for (const [toml, message] of [
      [deep, "is not TOML: it is nested deeper than 64 levels"],
      [`[a]\n${deep}`, "is not TOML: it is nested deeper than 64 levels"],
      ["x\n".repeat(40_000), "must be the text of a scene, with at most 65536 characters"],
    ]) {
      const { mistakes } = (await post({ toml })).body.error.details;
      expect(mistakes.map((one: { message: string }) => one.message)).toEqual([message]);
    }
  });
  test("a mistake within a step names the field, with an example", async () => {
    const toml = [
      'device = "Den"',
      'steps = [{ play = { url = "http://192.168.1.5/a.mp4", mime = "film" } },',
      "  { parallel = [[]] },",
      "  { parallel = [5] },",
      '  { launch = { app = "netflix", params = { a = "1" } }, params = { b = "2" } },',
      '  { device = "a/b", key = "up" }]',
    ];
    const { mistakes } = (await post({ toml: toml.join("\n") })).body.error.details;
    const told = mistakes.map(({ line, at, message, hint }: Record<string, string>) => [line, at, message, hint]);
    expect(told.map(([line, at]: string[]) => `${line} ${at}`)).toEqual([
      "2 step 1: play mime",
      "3 step 2, parallel 1",
      "4 step 3, parallel 1",
      "5 step 4: params",
      "6 step 5: device",
    ]);
    expect(told[1][3]).toBe('Such as [{ key = "home" }]');
    expect(told[2][3]).toBe('Such as { key = "home" }');
    expect(told[3].slice(2)).toEqual(["cannot be combined with the params of launch", "Leave one of them out"]);
    expect(told[4][2]).toStartWith("This is not a device name");
  });
  test("each rule of a step has its own mistake, at its place", async () => {
    const pair = { device: ["Den", "Bar"], notify: "x" };
    const rules: readonly (readonly [step: object, ...told: string[]])[] = [
      [{ name: "idle" }, ": does nothing"],
      [{ pwer: "on" }, ': pwer: "pwer" is not a field of a step'],
      [{ ["z".repeat(80)]: 1, key: "up" }, `: ${"z".repeat(80)}: "${"z".repeat(64)}" is not a field of a step`],
      [{ power: "dim" }, ": power: must be `on` or `off`"],
      [{ key: "up", params: { a: "1" } }, ": params: is only allowed with launch"],
      [{ wait_ms: 1, device: "Den" }, ": device: is not allowed with wait_ms"],
      [{ key: "up", device: "Den", group: "pub" }, ": group: cannot be combined with device"],
      [{ key: "up", device: "" }, ": device: must have at least 1 character"],
      [{ key: "up", device: ["Den", "Bar", "Den"] }, ": device 3: means Den, which is already in the list"],
      [{ ...pair, device: ["Den", "Cinema"] }, ': notify: Den cannot do that: it lacks the capability "notify"'],
      [{ ...pair, device: ["Den", "Cinema"], on_error: "continue" }],
      [pair, ': notify: Den cannot do that: it lacks the capability "notify" (and 1 more like it)'],
      [
        { ...pair, on_error: "continue" },
        ': notify: Den cannot do that: it lacks the capability "notify" (and 1 more like it)',
      ],
      [{ wait_for: ["power:on", "pwer:on"] }, ': wait_for 2: "pwer:on" is not a condition'],
      [{ wait_for: {} }, ": wait_for: is empty"],
      [{ wait_for: "power:on", else: [] }, ": else: must be `stop` or `continue`"],
      [
        { if: 5, ["th" + "en"]: [{ volume: "loud" }], else: [{ volume: "loud" }] },
        ": if: must be a condition such as `power:on`, or a list of conditions",
        ", then 1: volume: must be 0 to 100, or a table of `level`, `step` and `muted`",
        ", else 1: volume: must be 0 to 100, or a table of `level`, `step` and `muted`",
      ],
      [{ parallel: [] }, ": parallel: must be a list of at least one step"],
      [{ parallel: 5 }, ": parallel: must be a list of at least one step"],
      [{ parallel: [[{ key: "up" }, { key: "hoem" }]] }, ', parallel 1, 2: key: "hoem" is not a key'],
      [{ keys: ["hoem", { key: "hoem" }] }, ': keys 1: "hoem" is not a key', ': keys 2 key: "hoem" is not a key'],
      [{ key: "power", repeat: 2 }, ": key: cannot be held or repeated"],
      [{ key: "literal:a", hold_ms: 10 }, ": key: cannot be held or repeated"],
      [{ keys: Array(6).fill({ key: "up", repeat: 50 }) }, ": keys: has 300 presses; at most 256 are allowed"],
      [{ key: "xyzzyxyzzy" }, ': key: "xyzzyxyzzy" is not a key'],
      [{ key: "literal:" }, ": key: literal: must be followed by text"],
      [{ volume: { muted: true }, device: "Guest" }, ': volume: Guest cannot do that: it lacks the capability "mute"'],
      [{ volume: 5, device: "Guest" }],
      [{ volume: { step: 1 }, device: "Guest" }],
      [{ play: "film", device: "Cinema" }, ": play: must be a full URL that begins with http:// or https://"],
    ];
    const { mistakes } = (await post({ device: "Den", steps: rules.map(([step]) => step) })).body.error.details;
    const told = mistakes.map(({ at, message }: Record<string, string>) => `${at}: ${message}`);
    expect(told).toEqual(rules.flatMap(([, ...all], index) => all.map((one) => `step ${index + 1}${one}`)));
    const hints = mistakes.map(({ hint }: { hint: string }) => hint);
    expect(hints[2]).toStartWith("It takes: name, device, ");
    expect(hints[4]).toBe("Leave it out: this step has key");
    expect(hints[5]).toBe("Leave it out: set it on the steps that use devices");
    expect([hints.at(-4).split(":")[0], hints.at(-3)]).toEqual(["The keys are", "Leave it out"]);
    expect(hints[9]).toEndWith('. Or skip those that cannot: "on_error": "continue"');
  });

  test("mistakes are in the order of the lines, at most fifty, and none is told twice", async () => {
    const told = async (given: object) => {
      const { mistakes } = (await post(given)).body.error.details;
      return mistakes.map(({ line, at, hint }: Record<string, string>) => [line, at, hint].join(" "));
    };
    // Step 2 does nothing; the lines of the others cannot be read.
    const toml = 'device = "Den"\n[[steps]]\nkey = up\n[[steps]]\nname = "x"\n[[steps]]\nkey = up';
    expect((await told({ toml })).map((one: string) => one.slice(0, 8))).toEqual(["3 text P", "4 step 2", "7 text P"]);
    expect(await told({ toml: 'device = "Den"' })).toEqual([' steps Such as [[steps]], and below it key = "home"']);
    expect(await told({ device: "Den", steps: Array(60).fill({ key: "hoem" }) })).toHaveLength(50);
    expect(
      await told({
        device: "Den",
        ...Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`f${n}`, n])),
        steps: [],
      }),
    ).toHaveLength(50);
    expect(await told({ device: "Dne", steps: Array(2).fill({ key: "up" }) })).toHaveLength(1);
    expect(await told({ device: "x".repeat(300), steps: [{ key: "up" }] })).toHaveLength(1);
  });

  test("a step is described, without what it types", async () => {
    const params = { content_id: "1" };
    const { steps } = await run(
      [
        { launch: "netflix", params },
        { launch: { app: "netflix", params } },
        { device: "Cinema", volume: { step: 5 } },
        { device: "Cinema", volume: { step: -5, muted: false } },
        { device: "Cinema", play: "http://127.0.0.1:9/a/film.mp4" },
        { device: "Cinema", play: "http://127.0.0.1:9/" },
        { wait_for: "power:on", else: "stop" },
        { keys: Array(32).fill("volume-down") },
        ...Array(192).fill({ wait_ms: 1 }),
      ],
      { dry_run: true },
    );
    const long =
      "press volume-down, volume-down, volume-down, volume-down, volume-down, volume-down, volume-down, volume-down, volume-do…";
    expect(steps.slice(0, 9).map(({ does }) => does)).toEqual([
      "launch netflix",
      "launch netflix",
      "volume +5",
      "volume -5, unmute",
      "play film.mp4",
      "play a file",
      "wait for power:on",
      long,
      "wait 0.001 s",
    ]);
    expect(steps).toHaveLength(200);
  });

  test("an unknown device is a mistake, even where each step names its own", async () => {
    write("own.toml", '[[steps]]\ndevice = "Den"\nkey = "up"\n');
    const { error } = (await daemon.api("POST", "/scenes/own", { device: "Dne" })).body;
    expect([error.code, error.details.mistakes[0].at]).toEqual(["invalid_scene", "device of the call"]);
    expect((await post({ device: ["Den", "Dne"], steps: [{ device: "Den", key: "up" }] })).status).toBe(400);
    expect(done).toEqual([]);
  });
  test("a file with an impossible scene name is reported", async () => {
    write("Bad Name.toml", '[[steps]]\ndevice = "Den"\nkey = "up"\n');
    const { error } = (await daemon.api("POST", "/scenes/Bad%20Name")).body;
    expect([error.code, error.details.mistakes[0].hint]).toEqual(["invalid_scene", "Such as bad-name.toml"]);
    // The command line begins a message with a small letter, which a name in quotes is kept from.
    expect(error.message).toStartWith('"Bad Name.toml" has 1 mistake');
    rmSync(join(folder, "Bad Name.toml"));
  });

  test("the scenes in the README and on the page about scenes have no mistakes", async () => {
    const pages = ["README.md", "src/scenes/README.md"];
    const text = pages.map((page) => readFileSync(join(import.meta.dir, "../..", page), "utf8")).join("\n");
    const scenes = [...text.matchAll(/```toml\n((?:(?!```).)*steps(?:(?!```).)*)```/gs)].map(([, text = ""]) => text);
    expect(scenes).toHaveLength(3);
    for (const text of scenes) {
      const toml = text
        .replaceAll("Living Room", "Den")
        .replaceAll("label:upstairs", "label:pub")
        .replaceAll("Workbench", "Bar");
      expect((await post({ toml, dry_run: true })).body.data?.outcome).toBe("checked");
    }
  });

  test("TOML in the call has line numbers; too many steps, too long waits and wrong steps are mistakes", async () => {
    const told = async (given: object) => {
      const { body } = await post({ device: "Den", ...given });
      return body.error?.details?.mistakes.map((one: { line: number; at: string }) => `${one.line} ${one.at}`);
    };
    expect(await told({ toml: '[[steps]]\nkey = "hoem"' })).toEqual(["2 step 1: key"]);
    expect(await told({ toml: '[[steps]]\nkey = "up"', about: "x" })).toEqual(["null about"]);
    expect(await told({ steps: Array(203).fill({ key: "up" }) })).toEqual(["null step 201"]);
    expect(await told({ steps: [{ parallel: Array(200).fill({ wait_ms: 1 }) }] })).toEqual([
      "null step 1, parallel 200",
    ]);
    const held = { keys: Array(31).fill({ key: "up", hold_ms: 10_000 }), delay_ms: 3_000 };
    // The longer branch counts; of a held key its time, and of several the pauses between them.
    for (const [steps, wanted] of [
      [[{ parallel: [{ wait_ms: 500_000 }, { wait_ms: 600_000 }] }], undefined],
      [[{ parallel: [{ wait_ms: 500_000 }, { wait_ms: 600_000 }] }, { wait_ms: 1 }], ["null steps"]],
      [[held, { wait_ms: 200_000 }], undefined],
      [[held, { wait_ms: 200_001 }], ["null steps"]],
      [[{ keys: ["up", "up", "up"], delay_ms: 60_000 }, { wait_ms: 480_000 }], undefined],
      [[{ keys: ["up", "up", "up"], delay_ms: 60_000 }, { wait_ms: 480_001 }], ["null steps"]],
    ] as const)
      expect(await told({ steps, dry_run: true })).toEqual(wanted as never);
    expect(await told({ steps: [{ key: "hoem", repeat: 99, device: "Dne", nmae: "x" }] })).toHaveLength(4);
    for (const steps of [undefined, [], "x", [1], [[]], [null]]) expect(await told({ steps })).toHaveLength(1);
    expect(done).toEqual([]);
    expect((await post([])).body.error.code).toBe("invalid_payload");
    const right = { toml: '[[steps]]\nkey = "up"' };
    expect(await told({ ...right, dry_run: "true" })).toEqual(["null dry_run"]);
    expect(await told({ steps: [{ key: "up" }], dry_run: 1 })).toEqual(["null dry_run"]);
    expect(await told({ ...right, device: 5 })).toEqual(["null device"]);
    expect(await told({ toml: 5 })).toEqual(["null toml"]);
    expect(await told({ toml: "steps = [" })).toEqual(["1 text"]);
    for (const open of ["steps = [\n", 'steps = [1\n"x"'])
      expect([open, await told({ toml: open })]).toEqual([open, ["2 text"]]);
    expect(done).toEqual([]);
  });
});

test("a lease holds for the steps of a scene, and its holder's token opens them", async () => {
  const leased = await daemon.api("POST", "/devices/Den/lease", { owner: "lab", ttl_s: 60 });
  const { token } = leased.body.data;
  const refused = await run([{ key: "up" }]);
  expect([refused.outcome, refused.steps[0]?.error?.code]).toEqual(["stopped", "device_leased"]);
  expect(Object.keys(refused.steps[0]?.error ?? {})).not.toContain("details");
  const { body } = await daemon.api("POST", "/run", { device: "Den", steps: [{ key: "up" }] }, { "zapd-lease": token });
  expect([body.data.outcome, keys()]).toEqual(["done", ["Den up"]]);
  await daemon.api("DELETE", "/devices/Den/lease", undefined, { "zapd-lease": token });
});
