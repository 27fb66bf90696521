/** Power: on from standby, on from deep sleep by a magic packet, off, and what is said of a set that sleeps. */
import { expect, test } from "bun:test";
import { createKodiSimulator } from "../../src/simulators/kodi.ts";
import { add, succeed } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";

const { daemon, startRoku, addRoku } = await daemonForFile({ config: { devices: { request_timeout_ms: 1_000 } } });

const on = (id: string) => succeed(daemon, "pressKey", { id, body: { key: "power-on" } });

test.concurrent("from deep sleep by a magic packet to its hardware address, then by its key", async () => {
  const { set, id } = await addRoku();
  set.wakeMs = 700;
  await set.sleep();
  expect((await daemon.api("GET", `/devices/${id}/state`)).status).toBeOneOf([200, 500]);
  expect((await succeed(daemon, "getDevice", { id })).status).toBe("offline");
  const started = performance.now();
  await on(id);
  expect(performance.now() - started).toBeGreaterThan(600);
  expect(set.wakes).toBeGreaterThan(0);
  expect(set.simulator.state.power).toBe("on");
  expect((await succeed(daemon, "getDevice", { id })).status).toBe("online");
});

test.concurrent("off by its own word, it is off in its state, and every other command wakes it first", async () => {
  const { set, id } = await addRoku();
  set.wakeMs = 1_500;
  await set.simulator.sleep("standby");
  expect((await succeed(daemon, "getState", { id })).state.power).toBe("standby");
  await set.sleep();
  expect((await succeed(daemon, "getState", { id })).state.power).toBe("off");
  expect((await succeed(daemon, "getDevice", { id })).status).toBe("offline");
  expect(set.wakes).toBe(0);
  await succeed(daemon, "pressKey", { id, body: { key: "power-off" } });
  expect((await succeed(daemon, "stopApp", { id })).app).toBeNull();
  expect(set.wakes).toBe(0);
  await succeed(daemon, "launchApp", { id, body: { app: "12" } });
  expect(set.wakes).toBeGreaterThan(0);
  expect(set.commands.slice(-2)).toEqual(["/keypress/PowerOn", "/launch/12"]);
});

test.concurrent("what is found says at once whether it is on, before anybody has asked it anything", async () => {
  const sets = [new Map([["power-mode", "PowerOn"]]), new Map([["power-mode", "Ready"]])];
  for (const [at, facts] of sets.entries()) {
    const set = await startRoku({ facts: Object.fromEntries(facts) });
    expect((await add(daemon, set)).power).toBe(at === 0 ? "on" : "standby");
  }
  const kodi = createKodiSimulator({ name: "Den", mdns: false });
  await kodi.start();
  try {
    const body = { host: kodi.host, port: kodi.port };
    expect((await succeed(daemon, "addDevice", { body })).power).toBe("on");
  } finally {
    await kodi.stop();
  }
});
