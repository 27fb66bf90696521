/** Keys that are held: however their holder leaves, no set scrolls on for more than 2 s. */
import { describe, expect, test } from "bun:test";
import { type ChildProcess, spawn } from "node:child_process";
import { createKodiSimulator } from "../../src/simulators/kodi.ts";
import { createWebosSimulator } from "../../src/simulators/webos.ts";
import { type Answered, startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { startDaemonWithRoku } from "../support/daemon-with-roku.ts";
import { until } from "../support/http-device.ts";
import { freeHost } from "../support/lane.ts";
import { succeed } from "./checked.ts";

/** Most of it is waiting: each test has a daemon and a set of its own, and they wait side by side. */
async function inRoom(run: (presses: () => number, hold: Hold) => Promise<void>): Promise<void> {
  // Time is measured here.
  const room = await startDaemonWithRoku({ speed: 1 });
  const hold = (body: object) => room.daemon.api("POST", "/devices/set/remote/key", { key: "down", ...body });
  await run(() => room.countOf("key"), hold).finally(() => room.dispose());
}
/** A busy machine comes so much later to what is due. */
const busyMs = 900;
type Hold = (body: object) => Promise<Answered>;

/** Waits until no press has come for half a second; milliseconds until the last one came. */
async function lastPress(counted: () => number): Promise<number> {
  const since = performance.now();
  let seen = counted();
  let last = since;
  while (performance.now() - last < 500) {
    await Bun.sleep(10);
    if (counted() === seen) continue;
    seen = counted();
    last = performance.now();
  }
  return last - since;
}

test.concurrent("so often, and for so long, with the presses counted", () =>
  inRoom(async (presses, hold) => {
    const often = await hold({ repeat: 4 });
    expect([often.status, often.body.data.presses, presses()]).toEqual([200, 4, 4]);
    const long = await hold({ hold_ms: 400 });
    expect([long.status, long.body.data.presses]).toEqual([200, presses() - 4]);
    expect(presses() - 4).toBeWithin(1, 5);
    const once = await hold({});
    expect(once.body.data).not.toHaveProperty("presses");
    for (const body of [{ repeat: 51 }, { hold_ms: 10_001 }, { repeat: 2, phase: "down" }, { phase: "sideways" }])
      expect([body, (await hold(body)).body.error.code]).toEqual([body, "invalid_payload"]);
    for (const key of ["power", "literal:a"])
      expect((await hold({ key, repeat: 2 })).body.error.code).toBe("invalid_key");
  }));

test.concurrent("down goes on until up, and no press comes after up has been answered", () =>
  inRoom(async (presses, hold) => {
    expect((await hold({ phase: "down" })).status).toBe(200);
    await until("three presses", () => presses() >= 3);
    expect((await hold({ phase: "up" })).status).toBe(200);
    const then = presses();
    await Bun.sleep(500);
    expect(presses()).toBe(then);
  }));

test.concurrent("down, and never again: it is let go after 2 s; said again, it goes on", () =>
  inRoom(async (presses, hold) => {
    await hold({ phase: "down" });
    expect(await lastPress(presses)).toBeLessThan(2_000 + busyMs);
    const before = presses();
    expect(before).toBeGreaterThan(3);
    await hold({ phase: "down" });
    await Bun.sleep(1_500);
    await hold({ phase: "down" });
    expect(await lastPress(presses)).toBeGreaterThan(1_000);
  }));

test.concurrent("another key takes its place", () =>
  inRoom(async (presses, hold) => {
    await hold({ phase: "down" });
    await hold({ key: "up", phase: "down" });
    await hold({ key: "up", phase: "up" });
    const then = presses();
    await Bun.sleep(500);
    expect(presses()).toBe(then);
  }));

/** A set of one platform as the device `set`, and how many presses have reached it. */
interface Stage {
  readonly daemon: TestDaemon;
  presses(): number;
  dispose(): Promise<unknown>;
}

const stages: Readonly<Record<string, () => Promise<Stage>>> = {
  "a Roku": async () => {
    const room = await startDaemonWithRoku({ speed: 1 });
    return { daemon: room.daemon, presses: () => room.countOf("key"), dispose: () => room.dispose() };
  },
  "a Kodi": async () => {
    const set = createKodiSimulator({ name: "set", host: freeHost(), port: 0, tcpPort: 0, mdns: false });
    await set.start();
    const daemon = await startTestDaemon({ speed: 1 });
    const ports = { websocket: set.ports.tcp ?? 0 };
    await succeed(daemon, "addDevice", {
      body: { host: set.host, port: set.port, platform: "kodi", name: "set", ports },
    });
    return {
      daemon,
      presses: () => set.calls.filter(({ method }) => method === "Input.Down" || method === "Input.Up").length,
      dispose: () => Promise.all([daemon.dispose(), set.stop()]),
    };
  },
  "an LG set": async () => {
    const set = createWebosSimulator({
      name: "set",
      host: freeHost(),
      securePort: 0,
      plainPort: null,
      ssdp: false,
      prompt: "none",
    });
    await set.start();
    const daemon = await startTestDaemon({ speed: 1 });
    const body = { host: set.host, port: set.ports.secure, platform: "webos", name: "set" };
    const { id } = await succeed(daemon, "addDevice", { body });
    await succeed(daemon, "pairDevice", { id });
    return {
      daemon,
      presses: () => set.received.buttons.length,
      dispose: () => Promise.all([daemon.dispose(), set.stop()]),
    };
  },
};

describe.each(Object.entries(stages))("%s", (_platform, prepare) => {
  const press = ({ daemon }: Stage, body: object) =>
    daemon.api("POST", "/devices/set/remote/key", { key: "down", ...body });
  const pressed = (stage: Stage, count: number) => until(`${count} presses`, () => stage.presses() >= count);

  /** Both ways of holding at once, when the second is under way: neither outlives what comes then. */
  async function downThen(stage: Stage, leave: () => unknown): Promise<void> {
    press(stage, { hold_ms: 10_000, key: "up" }).catch(() => {});
    await press(stage, { phase: "down" });
    await pressed(stage, 3);
    await leave();
  }

  /** The one who holds it is a process of its own. */
  async function heldByAnother(stage: Stage): Promise<ChildProcess> {
    const body = JSON.stringify({ key: "down", hold_ms: 10_000 });
    const url = `${stage.daemon.url}/devices/set/remote/key`;
    const code = `await fetch(${JSON.stringify(url)}, { method: "POST", body: ${JSON.stringify(body)} })`;
    const caller = spawn(process.execPath, ["-e", code], { stdio: "ignore" });
    await pressed(stage, 2);
    return caller;
  }

  test.concurrent.each<[string, (stage: Stage) => Promise<unknown>]>([
    [
      "the call is broken off",
      async (stage) => {
        const over = new AbortController();
        const held = fetch(`${stage.daemon.url}/devices/set/remote/key`, {
          method: "POST",
          body: JSON.stringify({ key: "down", hold_ms: 10_000 }),
          signal: over.signal,
        }).catch(() => {});
        await pressed(stage, 2);
        over.abort();
        await held;
      },
    ],
    ["the caller dies", async (stage) => (await heldByAnother(stage)).kill("SIGKILL")],
    ["the device is removed", (stage) => downThen(stage, () => stage.daemon.api("DELETE", "/devices/set"))],
    ["the daemon stops", (stage) => downThen(stage, () => stage.daemon.process.kill("SIGTERM"))],
    ["the daemon is killed by -9", (stage) => downThen(stage, () => stage.daemon.process.kill("SIGKILL"))],
  ])("within 2 s when %s", async (_name, leave) => {
    const stage = await prepare();
    try {
      await leave(stage);
      expect(await lastPress(stage.presses)).toBeLessThan(2_000 + busyMs);
    } finally {
      await stage.dispose();
    }
  });

  test.concurrent("it is not pressed again when the machine wakes", async () => {
    const stage = await prepare();
    try {
      await downThen(stage, () => stage.daemon.process.kill("SIGSTOP"));
      await Bun.sleep(300);
      const then = stage.presses();
      // More than 5 s beyond what was due is a sleep.
      await Bun.sleep(6_500);
      stage.daemon.process.kill("SIGCONT");
      await Bun.sleep(1_000);
      // What the set was sent before, and answers now, is no new press.
      expect(stage.presses() - then).toBeLessThan(2);
    } finally {
      await stage.dispose();
    }
  }, 60_000);
});
