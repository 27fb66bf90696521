/** The stream of events as any client reads it, and waiting for a state (issue "Live", guarantees 1 to 8). */
import { describe, expect, test } from "bun:test";
import net from "node:net";
import { join } from "node:path";
import { strToU8, zipSync } from "fflate";
import { createClient } from "../../src/api/client.ts";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { startTestDaemon } from "../support/daemon.ts";
import { validPackage } from "../support/daemon-with-roku.ts";
import { EventStream, seqOf } from "../support/event-stream.ts";
import { until } from "../support/http-device.ts";
import { daemonForFile } from "./daemon-for-file.ts";
import { install } from "./packages.ts";

// A search finds none of the sets of other tests.
const { daemon, startRoku, startSimulator } = await daemonForFile({ config: { discovery: { interfaces: ["none"] } } });
const set = await startSimulator(
  createRokuSimulator({ name: "Live", serial: "X0LIVE000001", kind: "tv", ssdp: false, launchMs: 0 }),
);
const { id } = (await daemon.api("POST", "/devices", { host: set.host, port: set.port, name: "Den" })).body.data;

/** Follows the events in JSON Lines; the snapshot, where there is one, has come. */
async function follow(query = "", headers: readonly string[] = []): Promise<EventStream> {
  const stream = new EventStream({ to: daemon.port, path: `/events${query}`, headers });
  await stream.until(({ type }) => type === "snapshot" || type === "heartbeat" || headers.length > 0);
  return stream;
}

describe("the stream", () => {
  test("begins with a snapshot, then has an event for each change and each command", async () => {
    const stream = await follow();
    const first = await stream.until(({ type }) => type === "snapshot");
    expect(first).toMatchObject({ reason: "start", part: 1, last: true, devices: [{ device: { id, name: "Den" } }] });
    await stream.until(({ type, state }) => type === "state.changed" && state.power === "on");
    await daemon.api("POST", `/devices/${id}/apps/launch`, { app: "netflix" });
    const changed = await stream.until(({ type, state }) => type === "state.changed" && state.app?.id === "netflix");
    expect(changed).toMatchObject({ device_id: id, cause: "command", state: { power: "on" } });
    expect(changed["changed"]).toContain("app");
    const finished = await stream.until(({ type }) => type === "action.finished");
    expect(finished).toMatchObject({ action: "launch", ok: true, by: "http", confirmed: true, app: { id: "netflix" } });
    expect(finished["action_id"]).toBe(changed["action_id"]);
    stream.close();
  });

  test("is server-sent events by default, with the type, the id and the whole event in each frame", async () => {
    const response = await fetch(`${daemon.url}/events?types=device.changed`);
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("\n\n", text.indexOf("event: snapshot"))) text += (await reader?.read())?.value ?? "";
    await reader?.cancel();
    expect(text).toMatch(/^retry: 2000\n\nevent: snapshot\nid: [0-9a-f]{8}\.\d+\ndata: \{"type":"snapshot","at":/);
  });

  test("refuses a filter of no types, with the types that there are", async () => {
    for (const types of ["nope", "state.changed,devices.*", "", " , ", "State.Changed"]) {
      const { status, body } = await daemon.api("GET", `/events?types=${types}`);
      expect([types, status, body.error?.code]).toEqual([types, 400, "invalid_payload"]);
      expect(body.error.message).toContain("state.changed");
    }
  });

  test("an empty id counts as none", async () => {
    const stream = await follow("?since=", ["last-event-id: "]);
    expect(await stream.until(({ type }) => type === "snapshot")).toMatchObject({ reason: "start" });
    stream.close();
    const changes = await follow("?snapshot=false&since=");
    await changes.until(({ type }) => type === "heartbeat");
    expect(changes.frames.map(({ type }) => type)).not.toContain("snapshot");
    changes.close();
  });

  test("has an event for a device that is added, and for one that is removed", async () => {
    const stream = await follow("?types=device.*,");
    const other = await startSimulator(createRokuSimulator({ name: "Guest", serial: "X0LIVE000002", ssdp: false }));
    const { body } = await daemon.api("POST", "/devices", { host: other.host, port: other.port, name: "Guest" });
    const added = body.data;
    await stream.until(({ type, device_id }) => type === "device.added" && device_id === added.id);
    await daemon.api("DELETE", `/devices/${added.id}`);
    expect(await stream.until(({ type }) => type === "device.removed")).toMatchObject({ device: { name: "Guest" } });
    stream.close();
  });

  test("the end of a command names its device, though that was renamed meanwhile and another has its name", async () => {
    const stream = await follow("?types=action.finished");
    const slow = await startSimulator(createRokuSimulator({ name: "Slow", serial: "X0LIVE000003", ssdp: false }));
    const { data } = (await daemon.api("POST", "/devices", { host: slow.host, port: slow.port, name: "Slow" })).body;
    const keys = ["home", "up"];
    const sequence = daemon.api("POST", "/devices/Slow/remote/sequence", { keys, delay_ms: 500 });
    await until("its first key is pressed", () => slow.keys.length > 0);
    await daemon.api("PATCH", `/devices/${data.id}`, { name: "Renamed" });
    await daemon.api("PATCH", `/devices/${id}`, { name: "Slow" });
    expect((await sequence).status).toBe(200);
    const told = await stream.until(({ type, keys }) => type === "action.finished" && keys);
    expect(told).toMatchObject({ device_id: data.id, action: "sequence", ok: true });
    await daemon.api("PATCH", `/devices/${id}`, { name: "Den" });
    await daemon.api("DELETE", `/devices/${data.id}`);
    stream.close();
  });

  test("typed text is in no event, only its number of characters", async () => {
    const stream = await follow("?types=action.finished");
    await daemon.api("POST", `/devices/${id}/remote/key`, { key: "literal:geheim" }, { "zapd-client": "page" });
    const told = await stream.until(({ type }) => type === "action.finished");
    expect(told).toMatchObject({ action: "key", ok: true, characters: 6, by: "page" });
    expect(JSON.stringify(told)).not.toContain("geheim");
    await daemon.api("POST", `/devices/${id}/remote/sequence`, { keys: ["literal:geheim", "up"], delay_ms: 0 });
    const typed = await stream.until(({ action }) => action === "sequence");
    expect(typed).toMatchObject({ keys: ["literal", "up"], characters: 6 });
    // Whatever the failure says.
    const { token } = (await daemon.api("POST", `/devices/${id}/lease`, { owner: "me", ttl_s: 60 })).body.data;
    await daemon.api("POST", `/devices/${id}/remote/key`, { key: "literal:geheim" });
    const refused = await stream.until(({ error }) => error);
    expect(refused).toMatchObject({ error: { code: "device_leased", message: "The text was not typed" } });
    await daemon.api("DELETE", `/devices/${id}/lease`, undefined, { "zapd-lease": token });
    await daemon.api("POST", `/devices/${id}/remote/key`, { key: "stop" });
    const failed = await stream.until(({ key }) => key === "stop");
    expect(failed).toMatchObject({ action: "key", ok: false, error: { code: "unsupported_key" } });
    stream.close();
  });

  test("a text that is no key is cut in its event, which would drop all others if it were as large as a body may be", async () => {
    const stream = await follow("?types=action.finished");
    const long = "x".repeat(1_000_000);
    await daemon.api("POST", `/devices/${id}/remote/key`, { key: long });
    expect(await stream.until(({ action }) => action === "key")).toMatchObject({ ok: false, key: "x".repeat(64) });
    await daemon.api("POST", `/devices/${id}/remote/sequence`, { keys: ["up", long] });
    const told = await stream.until(({ action }) => action === "sequence");
    expect(told).toMatchObject({ ok: false, keys: ["up", "x".repeat(64)] });
    stream.close();
  });

  test("has events for searches, settings, apps and the progress of a package", async () => {
    const stream = await follow();
    await daemon.api("POST", "/devices/discover");
    expect(await stream.until(({ type }) => type === "discovery.finished")).toMatchObject({ added: 0 });
    await daemon.api("PATCH", "/config", { "devices.request_timeout_ms": 4_000, "dev.vendor_password": "geheim" });
    const settings = await stream.until(({ type }) => type === "config.changed");
    expect(settings["keys"]).toEqual(["devices.request_timeout_ms", "dev.vendor_password"]);
    // What it was already: the event does not tell that a guess was right.
    await daemon.api("PATCH", "/config", { "dev.vendor_password": "geheim" });
    // zapd itself writes the new name of the default device.
    await daemon.api("PATCH", "/config", { "daemon.default_device": "Den" });
    for (const name of ["Renamed", "Den"]) await daemon.api("PATCH", `/devices/${id}`, { name });
    await daemon.api("PATCH", "/config", { "daemon.default_device": null });
    const changes = () => stream.frames.filter(({ type }) => type === "config.changed").map(({ keys }) => keys);
    await until("all are told", () => changes().length === 6);
    expect(changes().slice(1)).toEqual([["dev.vendor_password"], ...Array(4).fill(["daemon.default_device"])]);
    const bench = await startSimulator(
      createRokuSimulator({ name: "Bench", ssdp: false, developer: { password: "geheim" } }),
    );
    const ports = { installer: bench.ports.installer };
    await daemon.api("POST", "/devices", { host: bench.host, port: bench.port, name: "Bench", ports });
    await daemon.api("POST", "/devices/Bench/apps/refresh");
    expect((await install(daemon, "Bench", validPackage)).status).toBe(200);
    expect(await stream.until(({ type }) => type === "apps.changed")).toMatchObject({ added: ["dev"], removed: [] });
    await stream.until(({ type, phase }) => type === "install.progress" && phase === "done");
    // The first of each phase: a busy machine may tell of one twice.
    const steps = stream.frames
      .filter(({ type }) => type === "install.progress")
      .filter(({ phase }, at, all) => phase !== all[at - 1]?.phase);
    expect(steps.map(({ phase }) => phase)).toEqual(["receiving", "checking", "sending", "done"]);
    const { length: total } = validPackage;
    expect(steps.slice(1).map((step) => [step["bytes"], step["total"]])).toEqual([
      [total, total],
      [0, total],
      [total, total],
    ]);
    await daemon.api("DELETE", "/devices/Bench");
    stream.close();
  });

  test("wrong parameters are refused in the envelope", async () => {
    expect((await daemon.api("GET", "/events?devices=Nowhere")).body.error.code).toBe("device_not_found");
    expect((await daemon.api("GET", "/events?snapshot=perhaps")).body.error.code).toBe("invalid_payload");
    for (const none of ["", ","])
      expect((await daemon.api("GET", `/events?devices=${none}`)).body.error.message).toEndWith(
        "devices must name a device",
      );
    const conditions = Array(9).fill("wait_for=power:on").join("&");
    const { error } = (await daemon.api("GET", `/devices/${id}/state?${conditions}`)).body;
    expect(error.message).toEndWith("wait_for must have at most 8 entries");
    expect((await daemon.api("POST", "/events", {})).status).toBe(405);
  });
});

describe("T33 streams and foreign pages", () => {
  test.each<[string, Record<string, string>]>([
    ["of another origin", { origin: "http://evil.example" }],
    ["without an origin", { origin: "null" }],
    ["of another site", { "sec-fetch-site": "cross-site" }],
    ["of another port", { origin: "http://127.0.0.1:1", "sec-fetch-site": "same-site" }],
  ])("a page %s opens none, though it tries 100 times, and holds no slot", async (_who, headers) => {
    for (let round = 0; round < 100; round++) {
      const { status, body } = await daemon.api("GET", "/events", undefined, headers);
      expect([status, body.error.code]).toEqual([403, "forbidden_origin"]);
    }
    (await follow()).close();
  });

  test("100 HEADs on a followed log, and on a wait, hold no slot and ask nothing of the set", async () => {
    const fake = await startRoku();
    await using own = await startTestDaemon({ speed: 1 });
    const { id } = (await own.api("POST", "/devices", fake.address)).body.data;
    fake.forget();
    const head = (path: string) => fetch(`${own.url}/devices/${id}/${path}`, { method: "HEAD" });
    for (let round = 0; round < 100; round++) {
      expect((await head("dev/logs?follow=true")).status).toBe(200);
      expect((await head("state?wait_for=app:nothing&timeout_ms=60000")).status).toBe(200);
    }
    // What a HEAD had started would send requests now.
    await Bun.sleep(1_000);
    expect([fake.wire.requests, fake.console.taken]).toEqual([[], 0]);
    const streams = Array.from({ length: 64 }, () => new EventStream({ to: own.port }));
    for (const stream of streams) await stream.until(({ type }) => type === "snapshot");
    for (const stream of streams) stream.close();
  }, 60_000);

  test("100 HEADs hold no slot; 64 streams are open over TCP at most, any number over the control socket, and one that ends makes room", async () => {
    for (let round = 0; round < 100; round++) {
      const response = await fetch(`${daemon.url}/events`, { method: "HEAD" });
      expect(response.status).toBe(200);
    }
    const streams = await Promise.all(Array.from({ length: 64 }, () => follow()));
    const { status, body } = await daemon.api("GET", "/events");
    expect([status, body.error]).toMatchObject([
      429,
      { code: "too_many_streams", hint: expect.stringContaining("control socket") },
    ]);
    expect((await fetch(`${daemon.url}/events`, { method: "HEAD" })).status).toBe(429);
    const socket = join(daemon.stateFolder, "zapd.sock");
    for (let count = 0; count < 70; count++) streams.push(new EventStream({ to: socket }));
    for (const stream of streams) await stream.until(({ type }) => type === "snapshot");
    for (const stream of streams) stream.close();
    await until("the slots are given back", async () => {
      const response = await fetch(`${daemon.url}/events`);
      await response.body?.cancel();
      return response.status === 200;
    });
    // Deno prints a stream that fails.
    expect(daemon.log()).not.toContain("AbortError");
  });
});

describe("what following costs the set", () => {
  /** Requests that reach the set while so many follow, in the same time. */
  async function costOf(readers: number): Promise<number> {
    const streams = await Promise.all(Array.from({ length: readers }, () => follow()));
    // Neither the first look is measured, nor those of a reader before whose end the daemon has not seen yet.
    const isQuiet = async () => {
      const before = set.requests.at(-1);
      await daemon.sleep(3_000);
      return set.requests.at(-1) === before;
    };
    if (readers > 0) await daemon.sleep(1_000);
    else await until("nobody looks any more", isQuiet);
    const last = set.requests.at(-1);
    await daemon.sleep(6_000);
    const asked = last === undefined ? set.requests.length : set.requests.length - 1 - set.requests.lastIndexOf(last);
    for (const stream of streams) stream.close();
    return asked;
  }

  test("twenty followers cost a set as much as one, and no follower costs nothing", async () => {
    // What plays is looked at every 2 s.
    set.play({ durationMs: 3_600_000 });
    const one = await costOf(1);
    expect(one).toBeGreaterThan(0);
    const twenty = await costOf(20);
    // Looks come with a jitter: one more or less falls into the time. Each asking for itself would be twenty times.
    expect(twenty).toBeLessThanOrEqual(3 * one);
    expect(await costOf(0)).toBe(0);
  });
});

describe("waiting", () => {
  test("answers as soon as the conditions match, and 200 when they do not in time", async () => {
    await daemon.api("POST", `/devices/${id}/apps/stop`);
    const waiting = daemon.api("GET", `/devices/${id}/state?wait_for=app:youtube&wait_for=power:on&timeout_ms=20000`);
    await daemon.api("POST", `/devices/${id}/apps/launch`, { app: "youtube" });
    expect((await waiting).body.data).toMatchObject({ matched: true, state: { app: { id: "youtube" } } });
    const { status, body } = await daemon.api("GET", `/devices/${id}/state?wait_for=app:hulu&timeout_ms=30`);
    expect([status, body.data.matched, body.data.state.app.id]).toEqual([200, false, "youtube"]);
    const refused = await daemon.api("GET", `/devices/${id}/state?wait_for=app:x&timeout_ms=60001`);
    expect(refused.body.error.code).toBe("invalid_payload");
    const twice = await daemon.api("GET", `/devices/${id}/state?wait_for=app:x&timeout_ms=30&timeout_ms=40`);
    expect(twice.body.error.message).toBe("The request is not valid: timeout_ms must be a string, not a list");
  });
});

test("the client reconnects after a restart of the daemon, whose end has an event", async () => {
  const own = await startTestDaemon();
  const stopped = new AbortController();
  const seen: string[] = [];
  const following = (async () => {
    for await (const event of createClient({ url: own.url }).events({ signal: stopped.signal })) {
      seen.push(event.type === "snapshot" ? `snapshot ${event.reason}` : event.type);
      if (event.type === "snapshot" && event.reason === "restarted") return;
    }
  })();
  await until("the snapshot has come", () => seen.includes("snapshot start"));
  expect(await own.stop()).toBe(0);
  // The event may still be on its way to the client.
  await until("the end is told", () => seen.length > 1);
  expect(seen).toEqual(["snapshot start", "daemon.stopping"]);
  await using _again = await startTestDaemon({ folder: own.folder });
  await following;
  expect(seen).toEqual(["snapshot start", "daemon.stopping", "snapshot restarted"]);
});

test("the progress of a large package is reported at most four times a second, each phase with its bytes", async () => {
  await using own = await startTestDaemon({ speed: 1, config: { dev: { vendor_password: "geheim" } } });
  const bench = await startSimulator(
    createRokuSimulator({ name: "Slow", ssdp: false, developer: { password: "geheim" } }),
  );
  const ports = { installer: bench.ports.installer };
  await own.api("POST", "/devices", { host: bench.host, port: bench.port, name: "Slow", ports });
  const stream = new EventStream({ to: own.port, path: "/events?types=install.*" });
  await stream.until(({ type }) => type === "snapshot");
  const large = zipSync(
    { manifest: strToU8("title=Large\nmajor_version=1\n"), "big.bin": crypto.getRandomValues(new Uint8Array(65_536)) },
    { level: 0 },
  );
  const [boundary, name] = ["----zapd-test", 'name="archive"; filename="large.zip"'];
  const head = strToU8(
    `--${boundary}\r\ncontent-disposition: form-data; ${name}\r\ncontent-type: application/zip\r\n\r\n`,
  );
  const form = Buffer.concat([head, large, strToU8(`\r\n--${boundary}--\r\n`)]);
  const socket = net.connect(own.port, "127.0.0.1");
  const type = `content-type: multipart/form-data; boundary=${boundary}`;
  const lines = [
    "POST /v1/devices/Slow/dev/install HTTP/1.1",
    "host: 127.0.0.1",
    type,
    `content-length: ${form.length}`,
  ];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  // Over some two seconds, in many pieces.
  for (let at = 0; at < form.length; at += 2_000) {
    socket.write(form.subarray(at, at + 2_000));
    await Bun.sleep(60);
  }
  const done = await stream.until(({ phase }) => phase === "done");
  expect(done).toMatchObject({ bytes: large.length, total: large.length });
  const steps = stream.frames.filter(({ type: one }) => one === "install.progress");
  expect([...new Set(steps.map(({ phase }) => phase))]).toEqual(["receiving", "checking", "sending", "done"]);
  const receiving = steps.filter(({ phase }) => phase === "receiving");
  expect(receiving.length).toBeGreaterThan(3);
  expect(receiving.map(({ total }) => total)).toEqual(receiving.map(() => form.length));
  expect(receiving.map(({ bytes }) => bytes)).toEqual(
    receiving.map(({ bytes }) => bytes).toSorted((one, other) => one - other),
  );
  const times = steps.map(({ at }) => Date.parse(at));
  for (const [at, since] of times.entries())
    expect(times.slice(at).filter((time) => time - since < 1_000).length).toBeLessThanOrEqual(4);
  socket.destroy();
  stream.close();
}, 60_000);

describe("the end of the daemon", () => {
  test("has an event on each stream, and comes in time, while a command runs", async () => {
    await using own = await startTestDaemon({ speed: 1, config: { devices: { request_timeout_ms: 20_000 } } });
    const hanging = await startRoku();
    const { id: device } = (await own.api("POST", "/devices", hanging.address)).body.data;
    const following = (["sse", "lines", "lines"] as const).map((form) => new EventStream({ to: own.port, form }));
    const socket = join(own.stateFolder, "zapd.sock");
    const streams = [
      ...following,
      new EventStream({ to: socket }),
      new EventStream({ to: own.port, path: "/events?types=apps.changed" }),
    ];
    for (const stream of streams) await stream.until(({ type }) => type === "snapshot");
    hanging.broken.set("/keypress/Home", "hang");
    const waiting = own.api("GET", `/devices/${device}/state?wait_for=app:nothing&timeout_ms=60000`).catch(() => null);
    const pressing = own.api("POST", `/devices/${device}/remote/key`, { key: "home" }).catch(() => null);
    await until("the key is at the set", () => hanging.commands.length > 0);
    const began = performance.now();
    const exit = own.stop("SIGTERM");
    for (const stream of streams) {
      expect(await stream.until(({ type }) => type === "daemon.stopping")).toMatchObject({ restart: false });
      expect(stream.frames.at(-1)?.type).toBe("daemon.stopping");
    }
    expect(await exit).toBe(0);
    expect(performance.now() - began).toBeLessThan(6_500);
    for (const stream of streams) expect(await stream.ended(1_000)).toBe(true);
    for (const answer of [await pressing, await waiting])
      expect(answer?.body.error).toMatchObject({ message: "zapd is stopping" });
  }, 60_000);

  test("by -9: a client that comes back with an id gets a new snapshot, with a new sequence of ids", async () => {
    const own = await startTestDaemon();
    const stream = new EventStream({ to: own.port });
    await stream.until(({ type }) => type === "snapshot");
    await own.api("PATCH", "/config", { "devices.request_timeout_ms": 4_001 });
    const last = await stream.until(({ type }) => type === "config.changed");
    await own.stop("SIGKILL");
    expect(await stream.ended()).toBe(true);
    await using again = await startTestDaemon({ folder: own.folder });
    for (const [form, how] of [
      ["sse", { headers: [`last-event-id: ${last.id}`] }],
      ["lines", { path: `/events?since=${last.id}` }],
    ] as const) {
      const back = new EventStream({ to: again.port, form, ...how });
      const first = await back.until(() => true);
      expect(first).toMatchObject({ type: "snapshot", reason: "restarted", last: true });
      expect(first.id.split(".")[0]).not.toBe(last.id.split(".")[0]);
      await again.api("PATCH", "/config", { "devices.request_timeout_ms": 4_002 + seqOf(first) });
      const next = await back.until(({ type }) => type === "config.changed");
      expect(seqOf(next)).toBe(seqOf(first) + 1);
      back.close();
    }
  }, 60_000);
});
