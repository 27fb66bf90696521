/** Power: on from standby, on from deep sleep by a magic packet, off, and what is said of a set that sleeps. */
import { expect, test } from "bun:test";
import { createKodiSimulator } from "../../src/simulators/kodi.ts";
import { add, refuse, succeed } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";

const { daemon, startRoku, addRoku } = await daemonForFile({ config: { devices: { request_timeout_ms: 1_000 } } });

const on = (id: string) => succeed(daemon, "pressKey", { id, body: { key: "power-on" } });

test.concurrent("from standby by its key, and a set that is on stays on", async () => {
  const { set, id } = await addRoku();
  await on(id);
  expect(set.simulator.state.power).toBe("on");
  await set.simulator.sleep("standby");
  expect((await succeed(daemon, "getState", { id })).state.power).toBe("standby");
  await on(id);
  expect(set.simulator.state.power).toBe("on");
  expect(set.wakes).toBe(0);
  await succeed(daemon, "pressKey", { id, body: { key: "power-off" } });
  await succeed(daemon, "pressKey", { id, body: { key: "power-off" } });
  expect((await succeed(daemon, "getState", { id })).state.power).toBe("standby");
  await succeed(daemon, "pressKey", { id, body: { key: "power" } });
  expect((await succeed(daemon, "getState", { id })).state.power).toBe("on");
});

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

test.concurrent("silent though its last word was that it is on, it is called only as long as one answer may take", async () => {
  const { set, id } = await addRoku();
  set.wakeMs = 3_600_000;
  await set.sleep();
  const started = performance.now();
  await refuse(daemon, "pressKey", { id, body: { key: "home" } }, "device_unreachable", "device_timeout");
  await refuse(daemon, "launchApp", { id, body: { app: "12" } }, "device_unreachable", "device_timeout");
  await refuse(daemon, "pressKeys", { id, body: { keys: ["up", "down"] } }, "device_unreachable", "device_timeout");
  expect(performance.now() - started).toBeLessThan(5_000);
  expect(set.wakes).toBeGreaterThan(0);
});

test.concurrent("a sequence may begin with power-on, and waits for the set before the next key", async () => {
  const { set, id } = await addRoku();
  set.wakeMs = 400;
  await set.sleep();
  const done = await succeed(daemon, "pressKeys", { id, body: { keys: ["power-on", "home", "right"], delay_ms: 50 } });
  expect(done.sent).toBe(3);
  expect(set.commands.slice(-2)).toEqual(["/keypress/Home", "/keypress/Right"]);
});

test.concurrent("a set that never wakes, and one whose hardware address nobody knows, end in an error that says what to do", async () => {
  const [never, unknown] = await Promise.all([addRoku(), addRoku({ kind: "stick", facts: { "wifi-mac": null } })]);
  never.set.wakeMs = 3_600_000;
  await Promise.all([never.set.sleep(), unknown.set.sleep()]);
  const started = performance.now();
  const quitter = new AbortController();
  const [, lost] = await Promise.all([
    fetch(`${daemon.url}/devices/${never.id}/remote/key`, {
      method: "POST",
      body: '{"key":"power-on"}',
      signal: quitter.signal,
    }).catch(() => null),
    refuse(
      daemon,
      "pressKey",
      { id: unknown.id, body: { key: "power-on" } },
      "device_unreachable",
      "unsupported_key",
    ).finally(() => quitter.abort()),
  ]);
  expect(lost.hint ?? "").not.toBe("");
  expect(performance.now() - started).toBeLessThan(6_000);
  // The one who asked has hung up: the line of the set is free again, and other devices never stood in it.
  await refuse(daemon, "pressKey", { id: never.id, body: { key: "home" } }, "device_unreachable", "device_timeout");
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
