/** Calls over the bus: a log that is published ends with its lease and its connection, and no message takes long to read. */
import { expect, spyOn, test } from "bun:test";
import { BusError } from "../../src/mqtt/bus.ts";
import { Commands, type CommandsOptions } from "../../src/mqtt/commands.ts";
import { topicsOf } from "../../src/mqtt/topics.ts";
import { createLog } from "../../src/system/log.ts";
import { until } from "../support/http-device.ts";
import { MemoryBroker } from "./memory-bus.ts";

const topics = topicsOf("zapd", "home");
const nothing = { retained: false, expiresInS: null, sentAt: null, replyTo: null, correlation: null };
const call = { op: "take_lease", args: { device: "Den", owner: "ci", ttl_s: 60, log: true } };
const take = Buffer.from(JSON.stringify(call));
const done = async () => Response.json({ ok: true, data: {} });
const options = (events: object[] = [], fetch: (request: Request) => Promise<Response> = done): CommandsOptions => ({
  topics,
  level: "developer",
  api: { url: "http://zapd/v1", fetch },
  log: createLog({ level: "error", format: "text", colour: false, write() {} }),
  artifacts: { origins: () => [], folder: "none", ca: () => undefined },
  publish: (event) => events.push(event),
});

test("logs of leases end with the connection, and leave no listener on it", async () => {
  const followed: AbortSignal[] = [];
  let token = "";
  const fetch = async (request: Request) => {
    if (request.method === "POST") return Response.json({ ok: true, data: { device: { id: "d1" }, token } });
    followed.push(request.signal);
    return new Response(new ReadableStream());
  };
  const commands = new Commands(options([], fetch));
  const bus = new MemoryBroker().client();
  const waiting = spyOn(bus.ended, "then");
  for (let lease = 1; lease <= 3; lease++) {
    token = `t${lease}`;
    commands.handle({ ...nothing, topic: topics.rpc, payload: take }, bus);
    await until("its log is followed", () => followed.length === lease);
  }
  // A lease that is renewed goes on, and tells no line again.
  commands.handle({ ...nothing, topic: topics.rpc, payload: take }, bus);
  await Bun.sleep(20);
  expect(followed.map(({ aborted }) => aborted)).toEqual([true, true, false]);
  expect(waiting).not.toHaveBeenCalled();
  commands.detach();
  expect(followed.at(-1)?.aborted).toBe(true);
});

test("lines that are too many bytes for one message are counted, and the log goes on", async () => {
  const batches = [1, 2, 3].map((n) => `${JSON.stringify({ id: `c.${n}`, lines: [`${n}`, "more"] })}\n`).join("");
  const log = () => new ReadableStream({ start: (stream) => stream.enqueue(new TextEncoder().encode(batches)) });
  const fetch = async ({ method }: Request) =>
    method === "POST"
      ? Response.json({ ok: true, data: { device: { id: "d1" }, token: "t" } })
      : new Response(log(), { headers: { "content-type": "application/x-ndjson" } });
  const published: unknown[] = [];
  const bus = Object.assign(new MemoryBroker().client(), {
    publish: async (_topic: string, json: string) => {
      const told = JSON.parse(json);
      if (told.lines[0] === "2") throw new BusError("too_large", "a packet may have fewer bytes");
      published.push(told);
    },
  });
  const commands = new Commands(options([], fetch));
  commands.handle({ ...nothing, topic: topics.rpc, payload: take }, bus);
  await until("the last line is published", () => published.length === 2);
  expect(published).toEqual([{ lines: ["1", "more"] }, { lines: ["3", "more"], dropped: 2 }]);
  commands.detach();
});

test("a call that is not run is answered: one of too many, one that was retained, and one that has expired", async () => {
  const events: object[] = [];
  const commands = new Commands(options(events, () => new Promise(() => {})));
  const bus = new MemoryBroker().client();
  const told: { readonly error: { readonly message: string } }[] = [];
  await bus.subscribe(["answers"], ({ payload }) => told.push(JSON.parse(Buffer.from(payload).toString())));
  const message = { ...nothing, topic: topics.rpc, payload: take, replyTo: "answers" };
  commands.handle({ ...message, retained: true }, bus);
  commands.handle({ ...message, expiresInS: 0 }, bus);
  for (let count = 0; count < 65; count++) commands.handle(message, bus);
  // It is reported, but not told to a topic of commands.
  commands.handle({ ...message, replyTo: topics.set("d1", "text") }, bus);
  await until("all four are reported", () => events.length === 4);
  expect(told.map(({ error }) => error.message)).toEqual([
    expect.stringMatching(/^A retained command is not run/),
    expect.stringMatching(/has expired$/),
    expect.stringMatching(/64 commands from the broker are running already$/),
  ]);
});

test("the arguments of a query may be lists", async () => {
  const sent: string[] = [];
  const fetch = async ({ url }: Request) => {
    sent.push(decodeURIComponent(new URL(url).search));
    return done();
  };
  const commands = new Commands(options([], fetch));
  const args = { device: "Den", wait_for: ["power:on", "app:none"], timeout_ms: 50 };
  const payload = Buffer.from(JSON.stringify({ op: "get_state", args }));
  commands.handle({ ...nothing, topic: topics.rpc, payload }, new MemoryBroker().client());
  await until("it is asked", () => sent.length === 1);
  expect(sent).toEqual(["?wait_for=power:on&wait_for=app:none&timeout_ms=50"]);
});

test("a call of nothing but quotes is read in one pass", async () => {
  const events: object[] = [];
  const commands = new Commands(options(events));
  const payload = Buffer.from(`"${'\\"'.repeat(32_000)}`);
  const took = [1, 2, 3].map(() => {
    const since = performance.now();
    commands.handle({ ...nothing, topic: topics.rpc, payload }, new MemoryBroker().client());
    return performance.now() - since;
  });
  await until("they are refused", () => events.length === 3);
  // The quickest: a busy machine may hold one up. A pass from each quote on takes 400 ms.
  expect(Math.min(...took)).toBeLessThan(100);
  expect(events).toMatchObject(Array(3).fill({ error: { code: "invalid_payload", message: "The call is not JSON" } }));
});
