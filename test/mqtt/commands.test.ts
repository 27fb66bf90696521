/** A log that is published for as long as a lease lasts: it ends with the connection over which it goes. */
import { expect, spyOn, test } from "bun:test";
import { Commands } from "../../src/mqtt/commands.ts";
import { topicsOf } from "../../src/mqtt/topics.ts";
import { createLog } from "../../src/system/log.ts";
import { until } from "../support/http-device.ts";
import { MemoryBroker } from "./memory-bus.ts";

test("logs of leases end with the connection, and leave no listener on it", async () => {
  const topics = topicsOf("zapd", "home");
  const followed: AbortSignal[] = [];
  const commands = new Commands({
    topics,
    level: "developer",
    url: "http://zapd/v1",
    log: createLog({ level: "error", format: "text", colour: false, write() {} }),
    artifacts: { origins: () => [], folder: "none", ca: () => undefined },
    publish() {},
    async fetch(request) {
      if (request.method === "POST") return Response.json({ ok: true, data: { device: { id: "d1" }, token: "t" } });
      followed.push(request.signal);
      return new Response(new ReadableStream());
    },
  });
  const bus = new MemoryBroker().client();
  const waiting = spyOn(bus.ended, "then");
  const take = { op: "take_lease", args: { device: "Den", owner: "ci", ttl_s: 60, log: true } };
  const payload = Buffer.from(JSON.stringify(take));
  const nothing = { retained: false, expiresInS: null, sentAt: null, replyTo: null, correlation: null };
  for (let lease = 1; lease <= 3; lease++) {
    commands.handle({ ...nothing, topic: topics.rpc, payload }, bus);
    await until("its log is followed", () => followed.length === lease);
  }
  expect(followed.map(({ aborted }) => aborted)).toEqual([true, true, false]);
  expect(waiting).not.toHaveBeenCalled();
  commands.detach();
  expect(followed.at(-1)?.aborted).toBe(true);
});
