/** Following events where the runtime's fetch does not end a body with its signal. */
import { expect, jest, test } from "bun:test";
import { type Followed, follow } from "../../src/api/client-stream.ts";
import { until } from "../support/http-device.ts";

/** A stream with this text that never ends, even when its request is aborted. */
function silentAfter(line: string) {
  const ended: string[] = [];
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode(`${line}\n`)),
    cancel: () => void ended.push("cancelled"),
  });
  return { body, ended };
}

const stopping = JSON.stringify({ type: "daemon.stopping", at: "2026-07-30T07:12:00.000Z", restart: true, id: "a.1" });

test("a body that does not end with its request is cancelled when the caller stops, and no break is reported", async () => {
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

test("the same, where the caller stops while the stream is opened", async () => {
  const { body, ended } = silentAfter(stopping);
  const over = new AbortController();
  const open = async () => {
    over.abort();
    return body;
  };
  for await (const _ of follow<Followed>({ open, passes: () => true, signal: over.signal })) throw new Error("told");
  expect(ended).toEqual(["cancelled"]);
});

test("a stream that breaks off is opened again behind its last line, and a break is reported only where that fails", async () => {
  const broken: boolean[] = [];
  const opened: (string | null)[] = [];
  const open = async (lastId: string | null) => {
    opened.push(lastId);
    if (opened.length === 3) throw new Error("nobody is there");
    return new ReadableStream<Uint8Array>({
      start: (body) => body.enqueue(new TextEncoder().encode(`{"type":"lines","id":"${opened.length}"}\n`)),
      pull: (body) => body.error(new Error("it broke off")),
    });
  };
  const following = follow({ open, passes: () => true, broken: (is) => void broken.push(is), resumed: true });
  const told: [string, boolean[]][] = [];
  for await (const { id } of following) if (told.push([id, [...broken]]) === 3) break;
  expect(opened).toEqual([null, "1", "2", "2"]);
  expect(told).toEqual([
    ["1", [false]],
    ["2", [false]],
    ["4", [false, true, false]],
  ]);
});

test("a stream is opened again 45 s after its last line", async () => {
  const over = new AbortController();
  const bodies: ReadableStreamDefaultController<Uint8Array>[] = [];
  const open = async () => new ReadableStream<Uint8Array>({ start: (body) => void bodies.push(body) });
  const following = follow({ open, passes: () => true, signal: over.signal });
  const pass = async (ms: number) => {
    jest.advanceTimersByTime(ms);
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    return bodies.length;
  };
  jest.useFakeTimers();
  try {
    const line = following.next();
    await pass(40_000);
    bodies[0]?.enqueue(new TextEncoder().encode(`{"type":"lines","id":"1"}\n`));
    await line;
    const next = following.next();
    expect([await pass(44_000), await pass(1_000), await pass(250)]).toEqual([1, 1, 2]);
    over.abort();
    expect((await next).done).toBe(true);
  } finally {
    jest.useRealTimers();
  }
});

test("nothing is opened for a caller who has stopped already", async () => {
  const opened: unknown[] = [];
  const open = (lastId: unknown) => Promise.reject(opened.push(lastId));
  for await (const _ of follow({ open, passes: () => false, signal: AbortSignal.abort() })) throw new Error("told");
  expect(opened).toEqual([]);
});

test("a resumed stream repeats its first attempt too, and reports when it is open again", async () => {
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
