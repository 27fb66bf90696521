/** A set that has another address than zapd knows: what was asked of it goes there, once, or an error says why not. */
import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { announce, type Voice } from "../support/announce.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { type WiredOptions, WiredRoku } from "../support/wired-roku.ts";
import { add, refuse, succeed } from "./checked.ts";

let daemon: TestDaemon;
const cleanups: (() => unknown)[] = [];

beforeAll(async () => {
  daemon = await startTestDaemon({
    config: { devices: { request_timeout_ms: 3_000 }, discovery: { timeout_ms: 1_000 } },
  });
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
afterAll(() => daemon.dispose());

async function start(options: WiredOptions = {}): Promise<WiredRoku> {
  const fake = await WiredRoku.start(options);
  cleanups.push(() => fake.stop());
  return fake;
}
async function heard(fake: WiredRoku): Promise<Voice> {
  const voice = await announce(fake);
  cleanups.push(() => voice.stop());
  return voice;
}
const twin = (fake: WiredRoku): WiredOptions => ({
  serial: fake.serial,
  mac: fake.identity.mac,
  name: fake.identity.name,
});

/** A set that was added, and is somewhere else by now. */
async function movedSet(): Promise<{ id: string; now: WiredRoku; was: WiredRoku }> {
  const was = await start();
  const { id } = await add(daemon, was);
  await succeed(daemon, "listApps", { id });
  await was.stop();
  const now = await start(twin(was));
  await heard(now);
  return { id, now, was };
}

test("a key is pressed where the set is now, once, by the call that missed it", async () => {
  const { id, now } = await movedSet();
  await succeed(daemon, "pressKey", { id, body: { key: "home" } });
  expect(now.commands).toEqual(["/keypress/Home"]);
  expect(await succeed(daemon, "getDevice", { id })).toMatchObject({
    host: now.host,
    port: now.port,
    status: "online",
  });
});

test("so are a sequence, a launch and a read", async () => {
  for (const [name, body] of [
    ["pressKeys", { keys: ["up", "down", "literal:a"], delay_ms: 0 }],
    ["launchApp", { app: "12" }],
    ["getState", undefined],
    ["refreshApps", undefined],
  ] as const) {
    const { id, now } = await movedSet();
    await succeed(daemon, name, { id, ...(body && { body }) });
    expect(await succeed(daemon, "getDevice", { id })).toMatchObject({ host: now.host });
    if (name === "pressKeys") expect(now.commands).toEqual(["/keypress/Up", "/keypress/Down", "/keypress/Lit_a"]);
    if (name === "launchApp") expect(now.commands).toEqual(["/launch/12"]);
  }
});

test("a set whose address another has by now is driven where it is, and the other one is not", async () => {
  const { id, now, was } = await movedSet();
  const stranger = await start({ host: was.host, port: was.port });
  await succeed(daemon, "pressKey", { id, body: { key: "left" } });
  expect([now.commands, stranger.commands]).toEqual([["/keypress/Left"], []]);
});

test("it is looked for a second time by the next command, however short a time after the first", async () => {
  const was = await start();
  const { id } = await add(daemon, was);
  await was.stop();
  await refuse(daemon, "pressKey", { id, body: { key: "home" } }, "device_unreachable");
  const now = await start(twin(was));
  await heard(now);
  await succeed(daemon, "pressKey", { id, body: { key: "up" } });
  expect(now.commands).toEqual(["/keypress/Up"]);
});

test("many commands at once to a moved set are each sent once, in their order", async () => {
  const { id, now } = await movedSet();
  const keys = ["up", "down", "left", "right"];
  await Promise.all(keys.map((key) => succeed(daemon, "pressKey", { id, body: { key } })));
  expect(now.commands).toEqual(["/keypress/Up", "/keypress/Down", "/keypress/Left", "/keypress/Right"]);
});

test("a command that may have reached the set is not sent anywhere again", async () => {
  const was = await start();
  const { id } = await add(daemon, was);
  await succeed(daemon, "pressKey", { id, body: { key: "up" } });
  was.broken.set("/keypress/Home", "reset");
  const now = await start(twin(was));
  await heard(now);
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

test("a set that is nowhere costs no more than one answer more, and for one that is known to be off nobody waits for a search", async () => {
  const fake = await start();
  const other = await start();
  const voice = await heard(other);
  const { id } = await add(daemon, fake);
  await fake.stop();
  const began = performance.now();
  await refuse(daemon, "pressKey", { id, body: { key: "home" } }, "device_unreachable");
  expect(performance.now() - began).toBeLessThan(3_500);
  expect(voice.searches).toBeGreaterThan(0);
  const sleeper = await start();
  const off = await add(daemon, sleeper);
  sleeper.facts.set("power-mode", "DisplayOff");
  await succeed(daemon, "getState", { id: off.id });
  await sleeper.sleep();
  const asked = performance.now();
  expect((await succeed(daemon, "getState", { id: off.id })).state.power).toBe("off");
  expect((await succeed(daemon, "getDevice", { id: off.id })).power).toBe("off");
  // A search takes a second. Where a machine refuses, one may begin behind the answer.
  expect(performance.now() - asked).toBeLessThan(900);
});

test("sets that changed their addresses with one another are each driven under their own name by the first command", async () => {
  const [one, two] = [await start({ name: "Links" }), await start({ name: "Rechts" })];
  const [left, right] = [await add(daemon, one), await add(daemon, two)];
  const places = [one.address, two.address] as const;
  await Promise.all([one.stop(), two.stop()]);
  const here = await start({ ...twin(one), host: places[1].host, port: places[1].port });
  const there = await start({ ...twin(two), host: places[0].host, port: places[0].port });
  await Promise.all([heard(here), heard(there)]);
  await succeed(daemon, "pressKey", { id: left.id, body: { key: "left" } });
  await succeed(daemon, "pressKey", { id: right.id, body: { key: "right" } });
  expect([here.commands, there.commands]).toEqual([["/keypress/Left"], ["/keypress/Right"]]);
});
