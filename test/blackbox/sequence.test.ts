/** Sequences of keys: their delays and limits, and what ends one early. */
import { expect, test } from "bun:test";
import { EventStream } from "../support/event-stream.ts";
import type { WiredRoku } from "../support/wired-roku.ts";
import { at, refuse, succeed, until } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";

const { daemon, addRoku } = await daemonForFile({ speed: 1, config: { devices: { request_timeout_ms: 2_500 } } });

const pressed = (set: WiredRoku): string[] => set.commands.map((command) => command.replace("/keypress/", ""));

test("the delay is 200 ms where none is given, and a single key has none", async () => {
  const { id } = await addRoku();
  let started = performance.now();
  expect((await succeed(daemon, "pressKeys", { id, body: { keys: ["up", "up"] } })).delay_ms).toBe(200);
  expect(performance.now() - started).toBeGreaterThan(190);
  started = performance.now();
  await succeed(daemon, "pressKeys", { id, body: { keys: ["up"], delay_ms: 60_000 } });
  expect(performance.now() - started).toBeLessThan(20_000);
});

test.concurrent("every key is checked against the set before the first one is sent", async () => {
  const { set, id } = await addRoku({ kind: "stick", facts: { "supports-cec-audio-volume-control": null } });
  await refuse(daemon, "pressKeys", { id, body: { keys: ["up", "volume-up"] } }, "unsupported_key");
  expect(set.commands).toEqual([]);
  expect((await succeed(daemon, "pressKeys", { id, body: { keys: Array(256).fill("up"), delay_ms: 0 } })).sent).toBe(
    256,
  );
  expect(set.commands).toHaveLength(256);
});

test.concurrent("a caller that hangs up ends its sequence, and the next command runs", async () => {
  const { set, id } = await addRoku();
  const quitter = new AbortController();
  const gone = fetch(daemon.url + at("pressKeys", { id }), {
    method: "POST",
    body: JSON.stringify({ keys: Array.from({ length: 40 }, () => "left"), delay_ms: 60 }),
    signal: quitter.signal,
  }).catch(() => "hung up");
  await until("three keys", () => set.commands.length >= 3);
  const next = succeed(daemon, "pressKeys", { id, body: { keys: ["right", "right"], delay_ms: 0 } });
  quitter.abort();
  expect(await gone).toBe("hung up");
  await next;
  const sent = set.commands.length;
  expect(sent).toBeLessThan(15);
  expect(pressed(set).slice(-2)).toEqual(["Right", "Right"]);
  await Bun.sleep(250);
  expect(set.commands).toHaveLength(sent);
});

test.concurrent("a key whose caller hangs up ends with that, not with a set that is late", async () => {
  const { set, id } = await addRoku();
  set.broken.set("/keypress/Select", "hang");
  const quitter = new AbortController();
  const body = JSON.stringify({ key: "select" });
  fetch(daemon.url + at("pressKey", { id }), { method: "POST", body, signal: quitter.signal }).catch(() => {});
  await until("it is sent", () => set.commands.length > 0);
  quitter.abort();
  const query = `types=action.finished&since=oldest&devices=${id}`;
  const stream = new EventStream({ to: daemon.port, path: at("events", { query }) });
  const { error } = await stream.until(({ type }) => type === "action.finished");
  expect(error).toMatchObject({ message: "The caller disconnected before it was done" });
  stream.close();
});

test.concurrent("a failure says how many keys were sent, and no key is sent twice", async () => {
  const [refusing, hanging, closing] = await Promise.all([addRoku(), addRoku(), addRoku()]);
  refusing.set.broken.set("/keypress/Select", { status: 403 });
  hanging.set.broken.set("/keypress/Select", "hang");
  closing.set.broken.set("/keypress/Select", "reset");
  const body = { keys: ["up", "down", "select", "left"], delay_ms: 5 };
  const [first, second, third] = await Promise.all([
    refuse(daemon, "pressKeys", { id: refusing.id, body }, "device_refused"),
    refuse(daemon, "pressKeys", { id: hanging.id, body }, "device_timeout"),
    refuse(daemon, "pressKeys", { id: closing.id, body }, "device_error", "device_unreachable"),
  ]);
  for (const error of [first, second, third]) expect(error.message).toMatch(/\b2 of 4\b/);
  for (const { set } of [refusing, hanging, closing]) expect(pressed(set)).toEqual(["Up", "Down", "Select"]);
  // The line is free again.
  hanging.set.broken.clear();
  await succeed(daemon, "pressKey", { id: hanging.id, body: { key: "home" } });
});

test.concurrent("during a sequence of minutes other commands are refused at once, with the time when it ends", async () => {
  const { set, id } = await addRoku();
  const caller = new AbortController();
  const press = (keys: unknown, signal?: AbortSignal) =>
    fetch(`${daemon.url}/devices/${id}/remote/${Array.isArray(keys) ? "sequence" : "key"}`, {
      method: "POST",
      keepalive: false,
      body: JSON.stringify(Array.isArray(keys) ? { keys, delay_ms: 60_000 } : { key: keys }),
      ...(signal && { signal }),
    });
  const long = press(
    Array.from({ length: 11 }, () => "up"),
    caller.signal,
  ).catch(() => null);
  await until("the sequence has begun", () => set.commands.length === 1);
  for (const [path, body] of [
    ["remote/key", { key: "down" }],
    ["apps/launch", { app: "12" }],
    ["apps/stop", undefined],
  ] as const) {
    const began = performance.now();
    const { status, body: said } = await daemon.api("POST", `/devices/${id}/${path}`, body);
    expect(performance.now() - began).toBeLessThan(4_000);
    expect([status, said.error.code]).toEqual([500, "device_busy"]);
    const seconds = Number(/ends in (\d+) s/.exec(said.error.message)?.[1]);
    expect(seconds).toBeGreaterThan(590);
    expect(seconds).toBeLessThanOrEqual(600);
    expect(said.error.hint).toContain(`Nothing was sent. Try again in ${seconds} s`);
  }
  // What only looks is answered as ever.
  expect((await daemon.api("GET", `/devices/${id}/state`)).status).toBe(200);
  expect(set.commands).toHaveLength(1);
  // As the hint says: who hangs up ends it.
  caller.abort();
  await long;
  await until(
    "the set is free",
    async () => (await daemon.api("POST", `/devices/${id}/remote/key`, { key: "down" })).status === 200,
  );
  expect(pressed(set)).toEqual(["Up", "Down"]);
}, 60_000);
