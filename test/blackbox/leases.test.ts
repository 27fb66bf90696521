/** Leases: one holder, others wait in order of arrival, and a lease that ends leaves nothing behind. */
import { expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { type ApiError, createClient } from "../../src/api/client.ts";
import { type Answered, startTestDaemon } from "../support/daemon.ts";
import { EventStream } from "../support/event-stream.ts";
import { until } from "../support/http-device.ts";
import { roomForFile } from "./daemon-for-file.ts";

const room = await roomForFile();

const path = "/devices/set/lease";
const carrying = (token: string) => ({ "zapd-lease": token });
const take = (more: object = {}, token?: string) =>
  room.daemon.api("POST", path, { owner: "ada", ttl_s: 600, ...more }, token === undefined ? {} : carrying(token));
const free = (token?: string, query = "") =>
  room.daemon.api("DELETE", path + query, undefined, token === undefined ? {} : carrying(token));
const press = (token?: string) =>
  room.daemon.api("POST", "/devices/set/remote/key", { key: "home" }, token === undefined ? {} : carrying(token));
const codeOf = ({ body }: Answered): string => (body.ok ? "ok" : body.error.code);
const shown = async () => (await room.daemon.api("GET", "/devices/set")).body.data.lease;
/** Takes the set, and returns the token. */
async function taken(more: object = {}): Promise<string> {
  const { body } = await take(more);
  if (!body.ok) throw new Error(JSON.stringify(body));
  return body.data.token;
}

test("a wrong lease is refused", async () => {
  for (const body of [
    {},
    { owner: "ada" },
    { ttl_s: 60 },
    { owner: " ", ttl_s: 60 },
    { owner: "a\u0007", ttl_s: 60 },
    { owner: "a".repeat(129), ttl_s: 60 },
    { owner: "ada", ttl_s: 0 },
    { owner: "ada", ttl_s: 3_601 },
    { owner: "ada", ttl_s: 1.5 },
    { owner: "ada", ttl_s: 60, wait_s: 61 },
    { owner: "ada", ttl_s: 60, note: "" },
    { owner: "ada", ttl_s: 60, extra: 1 },
  ])
    expect([body, codeOf(await room.daemon.api("POST", path, body))]).toEqual([body, "invalid_payload"]);
  expect(codeOf(await free(undefined, "?force=yes"))).toBe("invalid_payload");
  expect((await room.daemon.api("POST", "/devices/none/lease", { owner: "ada", ttl_s: 1 })).status).toBe(404);
  expect([(await free()).body.data.freed, await shown()]).toEqual([false, null]);
});

test("the holder may change the device, all others only read it", async () => {
  const events = new EventStream({ to: room.daemon.port, path: "/events?types=lease.changed" });
  await events.until(({ type }) => type === "snapshot");
  const { status, body } = await take({ note: "nightly" });
  const { token, until, action, device } = body.data;
  expect([status, action, device.lease]).toEqual([200, "lease", { owner: "ada", until, note: "nightly" }]);
  const left = Date.parse(until) - Date.now();
  expect(left).toBeWithin(500_000, 600_001);

  const failures = new EventStream({ to: room.daemon.port, path: "/events?types=action.finished" });
  await failures.until(({ type }) => type === "snapshot");
  const before = room.countOf("key");
  const refused = await press();
  expect([refused.status, codeOf(refused), room.countOf("key")]).toEqual([500, "device_leased", before]);
  const told = await failures.until(({ type }) => type === "action.finished");
  expect(told).toMatchObject({ action: "key", key: "home", ok: false, error: { code: "device_leased" } });
  expect(Object.keys(told.error).toSorted()).toEqual(["code", "hint", "message"]);
  failures.close();
  expect(refused.body.error.details).toEqual({ lease: { owner: "ada", until, note: "nightly" } });
  for (const word of ["ada", until, "zapd lease break -d set"]) expect(refused.body.error.hint).toContain(word);
  expect(codeOf(await press("nonsense"))).toBe("device_leased");
  expect([codeOf(await press(token)), codeOf(await press(`nonsense, ${token}`))]).toEqual(["ok", "ok"]);
  expect(room.countOf("key")).toBe(before + 2);

  // All operations but reads, by their table; in a group each device has its own error.
  for (const [method, of, given] of [
    ["POST", "/remote/sequence", { keys: ["up"] }],
    ["POST", "/apps/launch", { app: "12" }],
    ["POST", "/apps/refresh", {}],
    ["POST", "/volume", { step: 1 }],
    ["POST", "/dev/install", undefined],
    ["POST", "/dev/reload", {}],
    ["DELETE", "/dev", undefined],
    ["POST", "/pair", {}],
    ["DELETE", "/pair", undefined],
    ["POST", "/trust", undefined],
    ["POST", "/split", { platform: "roku" }],
    ["PATCH", "", { name: "Other" }],
    ["DELETE", "", undefined],
  ] as const)
    expect([of, codeOf(await room.daemon.api(method, `/devices/set${of}`, given))]).toEqual([of, "device_leased"]);
  const { host, port } = room.set;
  const add = (more: object, own?: string) =>
    room.daemon.api("POST", "/devices", { host, port, ...more }, own === undefined ? {} : carrying(own));
  for (const more of [{ name: "Other" }, { ports: { wake: 7 } }]) expect(codeOf(await add(more))).toBe("device_leased");
  expect([codeOf(await add({})), codeOf(await add({ name: "set" }, token))]).toEqual(["ok", "ok"]);
  const group = await room.daemon.api("POST", "/groups/all/remote/key", { key: "up" });
  expect(group.body.error.details.results[0].error.code).toBe("device_leased");
  for (const of of ["", "/state", "/apps", "/dev/logs"])
    expect([of, codeOf(await room.daemon.api("GET", `/devices/set${of}`))]).toEqual([of, "ok"]);

  const key = { id: "set", body: { key: "home" as const } };
  await createClient({ url: room.daemon.url, lease: token }).pressKey(key);
  await createClient({ url: room.daemon.url }).pressKey({ ...key, lease: token });
  const failed = await createClient({ url: room.daemon.url })
    .pressKey(key)
    .catch((error: ApiError) => error);
  expect(failed).toMatchObject({ code: "device_leased", details: { lease: { owner: "ada" } } });

  const again = await take({ owner: "ada's script", ttl_s: 900 }, token);
  expect([again.body.data.token, again.body.data.until > until]).toEqual([token, true]);
  expect(codeOf(await free())).toBe("device_leased");
  expect((await free(token)).body.data).toMatchObject({ action: "free", freed: true, device: { lease: null } });
  expect((await free(token)).body.data.freed).toBe(false);
  await events.until(({ why }) => why === "freed");
  // A heartbeat may have come between.
  const changes = events.frames.filter(({ type }) => type === "lease.changed");
  expect(changes.map(({ why, owner, lease }) => [why, owner, lease?.owner])).toEqual([
    ["taken", "ada", "ada"],
    ["renewed", "ada's script", "ada's script"],
    ["freed", "ada's script", undefined],
  ]);
  events.close();
  // The token of an ended lease opens nothing, even while nobody has the device.
  const stale = await press(token);
  expect([codeOf(stale), stale.body.error.details]).toEqual(["device_leased", { lease: null }]);
  expect([codeOf(await take({}, token)), await shown()]).toEqual(["device_leased", null]);
  expect(codeOf(await press())).toBe("ok");
});

test("a device is given in order of arrival; a client that disconnects, or has waited long enough, leaves the queue", async () => {
  const first = await taken({ owner: "first" });
  const order: string[] = [];
  const waiting = async (owner: string, signal?: AbortSignal) => {
    const answer = await fetch(room.daemon.url + path, {
      method: "POST",
      body: JSON.stringify({ owner, ttl_s: 600, wait_s: 60 }),
      ...(signal && { signal }),
    });
    const { data } = (await answer.json()) as { data: { token: string } };
    order.push(owner);
    return data.token;
  };
  const gone = new AbortController();
  const second = waiting("second");
  // Each has a connection of its own: on a busy machine they may arrive in another order.
  await Bun.sleep(400);
  const left = waiting("left", gone.signal).catch((error: unknown) => error);
  await Bun.sleep(400);
  const third = waiting("third");
  const late = await take({ owner: "late", wait_s: 1 });
  expect([codeOf(late), late.body.error.hint.includes("first")]).toEqual(["device_leased", true]);
  gone.abort();
  await left;
  await free(first);
  const token = await second;
  expect([order, (await shown()).owner]).toEqual([["second"], "second"]);
  await free(token);
  expect((await free(await third)).body.data.freed).toBe(true);
  expect([order, await shown()]).toEqual([["second", "third"], null]);
});

test("a command ends before the device is given, and with the lease of its caller", async () => {
  const keys = Array(8).fill("down");
  const presses = () => room.countOf("key");
  const begun = presses();
  const running = room.daemon.api("POST", "/devices/set/remote/sequence", { keys, delay_ms: 100 });
  await until("the sequence has begun", () => presses() > begun);
  const busy = await take({});
  expect([200, 500]).toContain(busy.status);
  if (busy.body.ok) await free(busy.body.data.token);
  const token = await taken({ wait_s: 30 });
  const at = presses();
  expect([(await running).body.data.sent, at]).toEqual([8, begun + 8]);

  const held = room.daemon.api("POST", "/devices/set/remote/key", { key: "up", hold_ms: 10_000 }, carrying(token));
  await until("the key is held", () => presses() >= at + 2);
  const next = take({ owner: "next", wait_s: 60 });
  await room.daemon.sleep(200);
  expect((await free(undefined, "?force=true")).body.data.freed).toBe(true);
  const given = (await next).body.data.token;
  // Once the next holder has it, no key of the one before comes.
  const then = presses();
  expect(codeOf(await held)).toBe("device_leased");
  await room.daemon.sleep(600);
  expect(presses()).toBe(then);
  await free(given);
});

/** Whether the set's console is free: it serves one program at a time. */
async function takesConsole(): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = net.connect(room.set.ports.console ?? 0, "127.0.0.1");
  socket.on("data", (bytes) => resolve(!bytes.includes("in use")));
  socket.on("connect", () => room.set.log("is anybody there?"));
  socket.on("error", () => resolve(false));
  try {
    return await promise;
  } finally {
    socket.destroy();
  }
}

test("a lease that ends by itself ends the held key, the log and the console of its holder", async () => {
  const token = await taken();
  const log = new EventStream({
    to: room.daemon.port,
    path: "/devices/set/dev/logs?follow=true",
    headers: [`zapd-lease: ${token}`, "connection: close"],
  });
  await until("the log is answered", () => log.status !== 0);
  expect(await takesConsole()).toBe(false);
  const down = { key: "down", phase: "down" };
  expect(codeOf(await room.daemon.api("POST", "/devices/set/remote/key", down, carrying(token)))).toBe("ok");
  const [, isOver, next] = await Promise.all([
    take({ ttl_s: 1 }, token),
    log.ended(),
    take({ owner: "next", wait_s: 60 }),
  ]);
  expect([isOver, next.body.data.device.lease.owner]).toEqual([true, "next"]);
  const then = room.countOf("key");
  await until("the console is free", takesConsole);
  await room.daemon.sleep(600);
  expect(room.countOf("key")).toBe(then);
  await free(next.body.data.token);
});

test("a lease survives kill -9 of the daemon, for its holder alone; its token is nowhere on disk", async () => {
  const { daemon } = room;
  const token = await taken({ owner: "kept", ttl_s: 3_600 });
  await daemon.stop("SIGKILL");
  const file = join(daemon.stateFolder, "leases.json");
  expect([(statSync(file).mode & 0o777).toString(8), readFileSync(file, "utf8").includes(token)]).toEqual([
    "600",
    false,
  ]);
  const again = await startTestDaemon({ folder: daemon.folder });
  try {
    const headers = carrying(token);
    const key = { key: "home" };
    expect(codeOf(await again.api("POST", "/devices/set/remote/key", key))).toBe("device_leased");
    expect(codeOf(await again.api("POST", path, { owner: "other", ttl_s: 9 }))).toBe("device_leased");
    expect(codeOf(await again.api("POST", "/devices/set/remote/key", key, headers))).toBe("ok");
    expect((await again.api("DELETE", path, undefined, headers)).body.data.freed).toBe(true);
    expect(daemon.log() + again.log()).not.toContain(token);
  } finally {
    await again.stop();
  }
});
