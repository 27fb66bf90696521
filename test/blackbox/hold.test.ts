/** Keys that are held: however their holder leaves, no set scrolls on for more than 2 s. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type ChildProcess, spawn } from "node:child_process";
import { createKodiSimulator } from "../../src/simulators/kodi.ts";
import { createWebosSimulator } from "../../src/simulators/webos.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { furnish, type Room } from "../support/room.ts";
import { succeed } from "./checked.ts";
import { freeHost } from "./fake-roku.ts";

let room: Room;
beforeEach(async () => {
  // Time is measured here.
  room = await furnish({ speed: 1 });
});
afterEach(() => room.dispose());

const hold = (body: object) => room.daemon.api("POST", "/devices/set/remote/key", { key: "down", ...body });
const presses = () => room.done("key");

/** Waits until no press has come for half a second; milliseconds until the last one came. */
async function lastPress(counted = presses): Promise<number> {
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

test("so often, and for so long, with the presses counted", async () => {
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
});

test("down goes on until up, and no press comes after up has been answered", async () => {
  expect((await hold({ phase: "down" })).status).toBe(200);
  while (presses() < 3) await Bun.sleep(10);
  expect((await hold({ phase: "up" })).status).toBe(200);
  const then = presses();
  await Bun.sleep(500);
  expect(presses()).toBe(then);
});

test("down, and never again: it is let go after 2 s; said again, it goes on", async () => {
  await hold({ phase: "down" });
  expect(await lastPress()).toBeLessThan(2_300);
  const before = presses();
  expect(before).toBeGreaterThan(3);
  await hold({ phase: "down" });
  await Bun.sleep(1_500);
  await hold({ phase: "down" });
  expect(await lastPress()).toBeGreaterThan(1_000);
});

test("another key takes its place", async () => {
  await hold({ phase: "down" });
  await hold({ key: "up", phase: "down" });
  await hold({ key: "up", phase: "up" });
  const then = presses();
  await Bun.sleep(500);
  expect(presses()).toBe(then);
});

/** A set of one platform as the device `set`, and how many presses have reached it. */
interface Stage {
  readonly daemon: TestDaemon;
  presses(): number;
  dispose(): Promise<unknown>;
}

const stages: Readonly<Record<string, () => Promise<Stage>>> = {
  "a Roku": async () => ({ daemon: room.daemon, presses, dispose: async () => {} }),
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
      ...{ name: "set", host: freeHost(), securePort: 0, plainPort: null, ssdp: false, prompt: "none" },
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
  let stage: Stage;
  beforeEach(async () => {
    stage = await prepare();
  });
  afterEach(() => stage.dispose());

  const press = (body: object) => stage.daemon.api("POST", "/devices/set/remote/key", { key: "down", ...body });
  const pressed = async (count: number) => {
    while (stage.presses() < count) await Bun.sleep(10);
  };

  /** Both ways of holding at once, when the second is under way: neither outlives what comes then. */
  async function downThen(leave: () => unknown): Promise<void> {
    press({ hold_ms: 10_000, key: "up" }).catch(() => {});
    await press({ phase: "down" });
    await pressed(3);
    await leave();
  }

  /** The one who holds it is a process of its own. */
  async function heldByAnother(): Promise<ChildProcess> {
    const body = JSON.stringify({ key: "down", hold_ms: 10_000 });
    const url = `${stage.daemon.url}/devices/set/remote/key`;
    const code = `await fetch(${JSON.stringify(url)}, { method: "POST", body: ${JSON.stringify(body)} })`;
    const caller = spawn(process.execPath, ["-e", code], { stdio: "ignore" });
    await pressed(2);
    return caller;
  }

  test.each<[string, () => Promise<unknown>]>([
    [
      "the call is broken off",
      async () => {
        const over = new AbortController();
        const held = fetch(`${stage.daemon.url}/devices/set/remote/key`, {
          method: "POST",
          body: JSON.stringify({ key: "down", hold_ms: 10_000 }),
          signal: over.signal,
        }).catch(() => {});
        await pressed(2);
        over.abort();
        await held;
      },
    ],
    ["the caller dies", async () => (await heldByAnother()).kill("SIGKILL")],
    ["the device is removed", () => downThen(() => stage.daemon.api("DELETE", "/devices/set"))],
    ["the daemon stops", () => downThen(() => stage.daemon.process.kill("SIGTERM"))],
    ["the daemon is killed by -9", () => downThen(() => stage.daemon.process.kill("SIGKILL"))],
  ])("within 2 s when %s", async (_name, leave) => {
    await leave();
    expect(await lastPress(stage.presses)).toBeLessThan(2_000);
  });

  test("it is not pressed again when the machine wakes", async () => {
    await downThen(() => stage.daemon.process.kill("SIGSTOP"));
    await Bun.sleep(300);
    const then = stage.presses();
    // More than 5 s beyond what was due is a sleep.
    await Bun.sleep(6_500);
    stage.daemon.process.kill("SIGCONT");
    await Bun.sleep(1_000);
    // What the set was sent before, and answers now, is no new press.
    expect(stage.presses() - then).toBeLessThan(2);
  }, 30_000);
});
