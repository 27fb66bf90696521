/** A set that has a new address: the first command finds it there, and is sent once. */
import { expect, test } from "bun:test";
import { announce, type Voice } from "../support/announce.ts";
import { startTestDaemon } from "../support/daemon.ts";
import type { WiredOptions, WiredRoku } from "../support/wired-roku.ts";
import { add, type Name, refuse, succeed } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";

const { daemon, atEnd, startRoku } = await daemonForFile(
  { config: { devices: { request_timeout_ms: 6_000 }, discovery: { timeout_ms: 2_000 } }, speed: 1 },
  { cleans: "each test" },
);
async function announced(set: WiredRoku): Promise<Voice> {
  const voice = await announce(set);
  atEnd(() => voice.stop());
  return voice;
}
const twin = (fake: WiredRoku): WiredOptions => ({
  serial: fake.serial,
  mac: fake.identity.mac,
  name: fake.identity.name,
});

/** A set that was added, and has a new address now. */
async function movedSet(): Promise<{ id: string; now: WiredRoku }> {
  const was = await startRoku();
  const { id } = await add(daemon, was);
  await succeed(daemon, "listApps", { id });
  await was.stop();
  const now = await startRoku(twin(was));
  await announced(now);
  return { id, now };
}

test.each<[Name, object | undefined, readonly string[]]>([
  ["pressKey", { key: "home" }, ["/keypress/Home"]],
  [
    "pressKeys",
    { keys: ["up", "down", "literal:a"], delay_ms: 0 },
    ["/keypress/Up", "/keypress/Down", "/keypress/Lit_a"],
  ],
  ["launchApp", { app: "12" }, ["/launch/12"]],
  ["getState", undefined, []],
  ["refreshApps", undefined, []],
])("%s reaches the set at its new address, once, by the first call", async (name, body, sent) => {
  const { id, now } = await movedSet();
  await succeed(daemon, name, { id, ...(body && { body }) });
  expect(now.commands).toEqual([...sent]);
  const { host, port } = now;
  expect(await succeed(daemon, "getDevice", { id })).toMatchObject({ host, port, status: "online" });
});

test("the next command searches again, however soon after the first", async () => {
  const was = await startRoku();
  const { id } = await add(daemon, was);
  await was.stop();
  await refuse(daemon, "pressKey", { id, body: { key: "home" } }, "device_unreachable");
  const now = await startRoku(twin(was));
  await announced(now);
  await succeed(daemon, "pressKey", { id, body: { key: "up" } });
  expect(now.commands).toEqual(["/keypress/Up"]);
});

test("many commands at once are each sent once, in their order", async () => {
  const { id, now } = await movedSet();
  const keys = ["up", "down", "left", "right"];
  const pressed: Promise<unknown>[] = [];
  for (const key of keys) {
    pressed.push(succeed(daemon, "pressKey", { id, body: { key } }));
    // Sent at once, they might come in another order: what is answered after a key was sent came after it.
    await succeed(daemon, "health");
  }
  await Promise.all(pressed);
  expect(now.commands).toEqual(["/keypress/Up", "/keypress/Down", "/keypress/Left", "/keypress/Right"]);
});

test("a command that may have reached the set is not sent again", async () => {
  const was = await startRoku();
  const { id } = await add(daemon, was);
  await succeed(daemon, "pressKey", { id, body: { key: "up" } });
  was.broken.set("/keypress/Home", "reset");
  const now = await startRoku(twin(was));
  await announced(now);
  await refuse(
    daemon,
    "pressKey",
    { id, body: { key: "home" } },
    "device_error",
    "device_timeout",
    "device_unreachable",
  );
  expect(now.commands).toEqual([]);
});

test("a set that is gone costs one search", async () => {
  const fake = await startRoku();
  const other = await startRoku();
  const voice = await announced(other);
  const { id } = await add(daemon, fake);
  await fake.stop();
  const began = performance.now();
  await refuse(daemon, "pressKey", { id, body: { key: "home" } }, "device_unreachable");
  // No more than the time of one answer: a wait until it is awake takes thirty seconds.
  expect(performance.now() - began).toBeLessThan(15_000);
  expect(voice.searches).toBeGreaterThan(0);
});

test("a set that is known to be off costs no search", async () => {
  const searchMs = 25_000;
  const config = { devices: { request_timeout_ms: searchMs }, discovery: { timeout_ms: searchMs } };
  await using patient = await startTestDaemon({ config, speed: 1 });
  const sleeper = await startRoku();
  const { id } = await add(patient, sleeper);
  sleeper.facts.set("power-mode", "DisplayOff");
  await succeed(patient, "getState", { id });
  await sleeper.sleep();
  const asked = performance.now();
  expect((await succeed(patient, "getState", { id })).state.power).toBe("off");
  expect((await succeed(patient, "getDevice", { id })).power).toBe("off");
  // Where a machine refuses, a search may begin behind the answer: it is not waited for.
  expect(performance.now() - asked).toBeLessThan(searchMs / 2);
});

test("two sets that swapped their addresses are each driven under their own name, by the first command", async () => {
  const [one, two] = [await startRoku({ name: "Links" }), await startRoku({ name: "Rechts" })];
  const [left, right] = [await add(daemon, one), await add(daemon, two)];
  const places = [one.address, two.address] as const;
  await Promise.all([one.stop(), two.stop()]);
  const here = await startRoku({ ...twin(one), host: places[1].host, port: places[1].port });
  const there = await startRoku({ ...twin(two), host: places[0].host, port: places[0].port });
  await Promise.all([announced(here), announced(there)]);
  await succeed(daemon, "pressKey", { id: left.id, body: { key: "left" } });
  await succeed(daemon, "pressKey", { id: right.id, body: { key: "right" } });
  expect([here.commands, there.commands]).toEqual([["/keypress/Left"], ["/keypress/Right"]]);
});
