/** Following the events, where the runtime's own fetch does less than it should. */
import { expect, test } from "bun:test";
import { type Followed, follow } from "../../src/api/client-stream.ts";
import { until } from "../support/http-device.ts";

/** A stream that says this, and then nothing more, whoever gives its request up. */
function silentAfter(line: string) {
  const ended: string[] = [];
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode(`${line}\n`)),
    cancel: () => void ended.push("cancelled"),
  });
  return { body, ended };
}

const stopping = JSON.stringify({ type: "daemon.stopping", at: "2026-07-30T07:12:00.000Z", restart: true, id: "a.1" });

test("a body that does not end with its request is left when the caller leaves, and nothing is said to be broken", async () => {
  const { body, ended } = silentAfter(stopping);
  const over = new AbortController();
  const told: Followed[] = [];
  const broken: boolean[] = [];
  const options = { open: async () => body, passes: () => true, broken: (is: boolean) => void broken.push(is) };
  const following = (async () => {
    for await (const event of follow<Followed>({ ...options, signal: over.signal })) told.push(event);
  })();
  await until("it is followed", () => told.length === 1);
  over.abort();
  await following;
  expect([ended, broken]).toEqual([["cancelled"], []]);
});

test("what was followed before is waited for from the first opening on, and said to be back", async () => {
  const over = new AbortController();
  const broken: boolean[] = [];
  let opened = 0;
  const open = async () => {
    if (++opened === 1) throw new Error("nobody is there");
    return silentAfter(stopping).body;
  };
  const options = { open, passes: () => true, broken: (is: boolean) => void broken.push(is), signal: over.signal };
  for await (const event of follow<Followed>({ ...options, resumed: true })) {
    expect([event.type, broken]).toEqual(["daemon.stopping", [true, false]]);
    over.abort();
  }
  opened = 0;
  const first = follow<Followed>({ ...options, signal: undefined }).next();
  await expect(first).rejects.toThrow("nobody is there");
});
