/** Calls over the bus: a log that is published ends with its lease and its connection, and no message takes long to read. */
import { expect, spyOn, test } from "bun:test";
import { Commands, type CommandsOptions } from "../../src/mqtt/commands.ts";
import { topicsOf } from "../../src/mqtt/topics.ts";
import { createLog } from "../../src/system/log.ts";
import { until } from "../support/http-device.ts";
import { MemoryBroker } from "./memory-bus.ts";

const topics = topicsOf("zapd", "home");
const nothing = { retained: false, expiresInS: null, sentAt: null, replyTo: null, correlation: null };
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
  const fetch = async (request: Request) => {
    if (request.method === "POST") return Response.json({ ok: true, data: { device: { id: "d1" }, token: "t" } });
    followed.push(request.signal);
    return new Response(new ReadableStream());
  };
  const commands = new Commands(options([], fetch));
  const bus = new MemoryBroker().client();
  const waiting = spyOn(bus.ended, "then");
  const take = { op: "take_lease", args: { device: "Den", owner: "ci", ttl_s: 60, log: true } };
  const payload = Buffer.from(JSON.stringify(take));
  for (let lease = 1; lease <= 3; lease++) {
    commands.handle({ ...nothing, topic: topics.rpc, payload }, bus);
    await until("its log is followed", () => followed.length === lease);
  }
  expect(followed.map(({ aborted }) => aborted)).toEqual([true, true, false]);
  expect(waiting).not.toHaveBeenCalled();
  commands.detach();
  expect(followed.at(-1)?.aborted).toBe(true);
});

test("a call of nothing but quotes is read in one pass", async () => {
  const events: object[] = [];
  const commands = new Commands(options(events));
  const payload = Buffer.from(`"${'\\"'.repeat(32_000)}`);
  const since = performance.now();
  commands.handle({ ...nothing, topic: topics.rpc, payload }, new MemoryBroker().client());
  await until("it is refused", () => events.length === 1);
  expect(performance.now() - since).toBeLessThan(500);
  expect(events).toMatchObject([{ error: { code: "invalid_payload", message: "The call is not JSON" } }]);
});
