/** Sessions of earlier protocols over HTTP: what they keep open, and for how long. */
import { afterEach, expect, spyOn, test } from "bun:test";
import type { Followed } from "../../src/api/client.ts";
import { createMcp, type Mcp } from "../../src/mcp/http.ts";
import { ResourceChanges } from "../../src/mcp/resources.ts";
import { device as deviceOf } from "../cli/examined.ts";
import { testFolder } from "../support/folder.ts";
import { until } from "../support/http-device.ts";

const state = testFolder();
let mcp: Mcp;
afterEach(() => mcp.close());

/** A server whose API never answers, a session of it, and the number of running API calls. `begins`: whether there is a first event. */
async function session(begins = true) {
  const underWay = { events: 0, others: 0 };
  const fetch = (request: Request) => {
    const what = request.url.includes("/events") ? "events" : "others";
    underWay[what]++;
    request.signal.addEventListener("abort", () => underWay[what]--);
    const snapshot = `${JSON.stringify({ id: "a.1", type: "snapshot", reason: "start", devices: [], part: 1, last: true })}\n`;
    const begin = new TextEncoder().encode(begins ? snapshot : "");
    const body = new ReadableStream({ start: (stream) => stream.enqueue(begin) });
    return what === "events"
      ? new Response(body, { headers: { "content-type": "application/x-ndjson" } })
      : new Promise<Response>((_, reject) => request.signal.addEventListener("abort", () => reject(new Error("left"))));
  };
  mcp = createMcp({ state, fetch });
  const json = "application/json";
  const fresh = { "content-type": json, accept: `${json}, text/event-stream` };
  const headers: Record<string, string> = { ...fresh };
  const post = (message: object, own: Record<string, string> = headers) => {
    const body = JSON.stringify(message);
    return mcp.answer(new Request("http://zapd/mcp", { method: "POST", headers: own, body }), JSON.parse(body));
  };
  const say = (method: string, params: object = {}, id?: number) => post({ jsonrpc: "2.0", method, params, id });
  const who = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "a test", version: "1" } };
  const initialize = (accept = fresh.accept) =>
    post({ jsonrpc: "2.0", method: "initialize", params: who, id: 0 }, { ...fresh, accept });
  const begun = await initialize();
  headers["mcp-session-id"] = begun.headers.get("mcp-session-id") ?? "";
  await say("notifications/initialized");
  const listen = (method = "GET") => mcp.answer(new Request("http://zapd/mcp", { method, headers }), undefined);
  return { underWay, headers, post, say, listen, initialize };
}

test("a new session replaces the least recently used of 32; one that is refused replaces none", async () => {
  const { say, initialize } = await session();
  const status = async () => (await say("ping", {}, 1)).status;
  for (let more = 1; more < 32; more++) await initialize();
  expect((await initialize("application/json")).status).toBe(406);
  expect(await status()).toBe(200);
  await initialize();
  expect(await status()).toBe(200);
  for (let more = 0; more < 32; more++) await initialize();
  expect(await status()).toBe(404);
});

test("clients of the newer protocol may listen beside 64 others: the limit on streams is that of the API", async () => {
  const { post } = await session();
  const version = "2026-07-28";
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": version,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": { name: "a test", version: "1" },
  };
  const method = "subscriptions/listen";
  const listen = {
    jsonrpc: "2.0",
    id: 1,
    method,
    params: { _meta, notifications: { resourceSubscriptions: ["zapd://devices"] } },
  };
  for (let open = 0; open <= 64; open++) {
    const { headers } = await post(listen, {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": version,
      "mcp-method": method,
    });
    expect([open, headers.get("content-type")]).toEqual([open, "text/event-stream"]);
  }
});

test("a client that asks for progress hears of a long call until it is over; another hears nothing", async () => {
  const { say } = await session();
  const often = globalThis.setInterval;
  const timers = spyOn(globalThis, "setInterval").mockImplementation(((work: () => void) => often(work, 5)) as never);
  const call = (id: number, _meta: object) => say("tools/call", { name: "get_state", arguments: {}, _meta }, id);
  const [silent, told] = [await call(1, {}), await call(2, { progressToken: "mine" })];
  timers.mockRestore();
  let heard = "";
  for await (const part of told.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    heard += part;
    if (/"progress":3\b/.test(heard)) break;
  }
  expect(heard).toContain('"method":"notifications/progress","params":{"progressToken":"mine","progress":1}');
  await say("notifications/cancelled", { requestId: 1 });
  expect(await silent.text()).not.toContain("progress");
});

test("changes are followed only while a session has a stream for them", async () => {
  const { underWay, say, listen } = await session();
  await (await say("resources/subscribe", { uri: "zapd://devices" }, 1)).text();
  expect(underWay.events).toBe(0);
  for (let times = 0; times < 2; times++) {
    const stream = await listen();
    expect([stream.status, underWay.events]).toEqual([200, 1]);
    const second = await listen();
    expect([second.status, (await second.text()).includes("listening"), underWay.events]).toEqual([409, false, 1]);
    await stream.body?.cancel();
    await until("nothing is followed", () => underWay.events === 0);
  }
  const last = await listen();
  expect(underWay.events).toBe(1);
  await listen("DELETE");
  await last.text();
  await until("nothing is followed after the session", () => underWay.events === 0);
});

test("a changed state is told by id and by name, as clients encode it who expand the template, too", async () => {
  const device = { ...deviceOf("Kid's Room"), id: "d1" };
  const changes = new ResourceChanges(async function* () {
    const snapshot = { type: "snapshot", reason: "start", devices: [{ device, state: null }], part: 1, last: true };
    yield* [snapshot, { type: "state.changed", device_id: "d1" }] as Followed[];
  });
  const told: string[] = [];
  changes.subscribe((uri) => told.push(uri));
  await until("all is told", () => told.length >= 3);
  expect(told).toEqual(["d1", "Kid's%20Room", "Kid%27s%20Room"].map((word) => `zapd://devices/${word}/state`));
  // The events have ended, and are followed anew for whoever comes later.
  changes.subscribe((uri) => told.push(uri));
  await until("it is told again", () => told.length > 3);
});

test("where the default device is another, the state of the default one is told as changed", async () => {
  const [den, bedroom] = [deviceOf("Den", { is_default: true }), deviceOf("Bedroom")];
  const changes = new ResourceChanges(async function* () {
    const devices = [den, bedroom].map((device) => ({ device, state: null }));
    const changed = (device: object) => ({ type: "device.changed", changed: ["is_default"], device });
    const after = [changed({ ...den, is_default: false }), changed({ ...bedroom, is_default: true })];
    yield* [{ type: "snapshot", reason: "start", devices, part: 1, last: true }, ...after] as unknown as Followed[];
  });
  const told: string[] = [];
  changes.subscribe((uri) => told.push(uri));
  await until("all is told", () => told.filter((uri) => uri === "zapd://devices/default/state").length === 2);
  expect(told).toContain("zapd://devices/Den/state");
});

test("the events are followed while anybody listens, and by nobody once they are closed", () => {
  const followed: AbortSignal[] = [];
  const changes = new ResourceChanges(async function* (signal) {
    followed.push(signal);
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    yield* [];
  });
  const ended = () => followed.map(({ aborted }) => aborted);
  const [leave, leaveToo] = [changes.subscribe(() => {}), changes.subscribe(() => {})];
  leave();
  expect(ended()).toEqual([false]);
  leaveToo();
  changes.subscribe(() => {});
  expect(ended()).toEqual([true, false]);
  changes.close();
  changes.subscribe(() => {});
  expect(ended()).toEqual([true, true]);
});

test("a subscription is kept, also where an earlier one ends only after it has begun", async () => {
  const { underWay, say, listen } = await session(false);
  await listen();
  const uri = "zapd://devices";
  const first = await say("resources/subscribe", { uri }, 1);
  await until("the events are followed", () => underWay.events === 1);
  const others = [await say("resources/unsubscribe", { uri }, 2), await say("resources/subscribe", { uri }, 3)];
  for (const answer of [first, ...others]) await answer.text();
  await Bun.sleep(50);
  expect(underWay.events).toBe(1);
});

test("a cancelled request leaves no stream open; one of a batch leaves it to the others, and it ends with them", async () => {
  const { underWay, post, say } = await session();
  const wait = (id: number) => ({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { name: "get_state", arguments: {} },
  });
  const alone = await post(wait(1));
  await until("the call has reached the API", () => underWay.others === 1);
  await say("notifications/cancelled", { requestId: 1 });
  expect(await alone.text()).toBe("");
  expect(underWay.others).toBe(0);
  const both = await post([wait(2), { jsonrpc: "2.0", id: 3, method: "ping" }]);
  await say("notifications/cancelled", { requestId: 2 });
  // The whole text: the stream has ended, whichever of the two was settled last.
  expect(await both.text()).toContain('"id":3');
  const waiting = (await post([wait(4), wait(5)])).text();
  await say("notifications/cancelled", { requestId: 4 });
  expect(await Promise.race([waiting, Bun.sleep(20)])).toBe(undefined);
  await say("notifications/cancelled", { requestId: 5 });
  expect(await waiting).toBe("");
  expect(underWay.others).toBe(0);
});

test("a request with the id of an unanswered one is refused, and that one goes on; once it has ended, the id is free", async () => {
  const { underWay, headers, post, say } = await session();
  const call = { name: "get_state", arguments: {} };
  const first = await say("tools/call", call, 1);
  await until("the call has reached the API", () => underWay.others === 1);
  const ping = (id: number) => ({ jsonrpc: "2.0", id, method: "ping" });
  for (const repeating of [ping(1), [ping(2), ping(1)], [ping(3), ping(1), ping(3)]]) {
    const refused = await post(repeating);
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ id: 1, error: { code: -32_600 } });
  }
  expect((await post([ping(4), ping(4)])).status).toBe(400);
  // So is one in a form that is refused.
  expect((await post(ping(4), { ...headers, accept: "application/json" })).status).toBe(406);
  // An answer of the client's is no request.
  expect((await post({ jsonrpc: "2.0", id: 1, result: {} })).status).toBe(202);
  const answered = await post([ping(2), ping(3), ping(4)]);
  expect([answered.status, (await answered.text()).includes('"id":4')]).toEqual([200, true]);
  await say("notifications/cancelled", { requestId: 1 });
  expect(await first.text()).toBe("");
  for (let times = 0; times < 2; times++) expect(await (await post(ping(1))).text()).toContain('"id":1');
});

test("a resource request without its argument has invalid params", async () => {
  const { say } = await session();
  for (const what of ["read", "subscribe", "unsubscribe"])
    expect(await (await say(`resources/${what}`, {}, 1)).text()).toContain('"code":-32602');
});
