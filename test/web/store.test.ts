/** What the page keeps of the events and of its requests. */
import { expect, spyOn, test } from "bun:test";
import { signal } from "@preact/signals";
import type { Device, Followed } from "../../src/api/client-types.ts";
import { CallError, noAnswer } from "../../src/web/calls.ts";
import {
  addHistory,
  applyEvent,
  applySnapshot,
  attempt,
  command,
  connection,
  type Entry,
  entries,
  entryOf,
  events,
  lostBecause,
  setConnection,
  setVolume,
  updateDevice,
} from "../../src/web/store.ts";
import { startStream } from "../../src/web/stream.ts";
import { deliver, deliverTo, deliveryTo } from "../../src/web/views/developer-delivery.ts";
import { until } from "../support/http-device.ts";

test("the progress of a package leaves the other events in the activity", () => {
  const event = (number: number, type: Followed["type"]) =>
    ({ id: `boot.${number}`, type, device_id: "tv" }) as Followed;
  applyEvent(event(0, "action.finished"));
  for (let number = 1; number <= 300; number++) applyEvent(event(number, "install.progress"));
  expect(events.value.map(({ type }) => type)).toEqual(["action.finished"]);
});

test("a request that succeeds takes away only the failure that was shown when it began", async () => {
  updateDevice({ id: "tv" } as Device);
  const entry = entryOf("tv");
  if (!entry) throw new Error("no entry");
  const first = Promise.withResolvers<void>();
  const slow = attempt(entry, "pressing", () => first.promise);
  await attempt(entry, "pressing", () => Promise.reject(new CallError(noAnswer)));
  first.resolve();
  await slow;
  expect(entry.refusal.peek()).toBe(noAnswer);
  await attempt(entry, "pressing", async () => {});
  expect(entry.refusal.peek()).toBeNull();
});

const told = (event: object) => applyEvent({ id: "boot.0", ...event } as Followed);
const ids = () => entries.value.map(({ id }) => id);

test("a snapshot in parts is shown with the last; a set keeps what the page knows of it, and its place until the next", () => {
  const part = (part: number, last: boolean, ...ids: string[]) =>
    told({ type: "snapshot", part, last, devices: ids.map((id) => ({ device: { id }, state: null })) });
  part(1, true, "tv", "den");
  const [tv] = entries.value;
  part(1, false, "attic");
  part(1, false, "den");
  expect(ids()).toEqual(["tv", "den"]);
  part(2, true, "tv");
  expect(ids()).toEqual(["den", "tv"]);
  expect(entries.value[1]).toBe(tv);
  told({ type: "device.removed", device_id: "den" });
  told({ type: "state.changed", device_id: "tv", state: { power: "on" } });
  told({ type: "state.changed", device_id: "den", state: { power: "on" } });
  expect([ids(), entryOf("den"), entryOf("tv")?.state.value?.power]).toEqual([["tv"], undefined, "on"]);
});

test("who has a device is said no longer once it is free, also where a snapshot says so", () => {
  const leased = { code: "device_leased", message: "tv is leased to ci", hint: null, reason: null } as const;
  const device = { id: "tv", lease: null } as unknown as Device;
  for (const frees of [
    () => updateDevice(device),
    () => told({ type: "snapshot", part: 1, last: true, devices: [{ device, state: null }] }),
  ]) {
    const [entry] = entries.value;
    if (!entry) throw new Error("no entry");
    entry.refusal.value = leased;
    frees();
    expect(entry.refusal.value).toBeNull();
  }
});

test("what was before this page follows what it has seen, each once, and no more than 200", () => {
  const event = (number: number, type = "action.finished") => ({ id: `boot.${number}`, type, devices: [] });
  told(event(900));
  const past = Array.from({ length: 300 }, (_, at) => event(601 + at, at === 298 ? "install.progress" : undefined));
  addHistory(past as unknown as Followed[]);
  const numbers = events.value.map(({ id }) => Number(id.split(".")[1]));
  expect([numbers.length, numbers[0], numbers.filter((one) => one === 900).length]).toEqual([200, 900, 1]);
  expect(numbers.includes(899)).toBe(false);
  expect(numbers.at(-1)).toBeGreaterThan(700);
});

test("what a tab missed while it was frozen stands above what it had seen before", () => {
  const event = (number: number) => {
    const at = new Date(number * 1_000).toISOString();
    return { id: `again.${number}`, at, type: "action.finished" } as Followed;
  };
  for (let number = 0; number < 200; number++) applyEvent(event(number));
  addHistory([event(300), event(301)]);
  expect(events.value.slice(0, 3).map(({ id }) => id)).toEqual(["again.301", "again.300", "again.199"]);
});

test("a package is on its way to two sets at a time, also where one is sent it again meanwhile", async () => {
  const ends: ((answer: object) => void)[] = [];
  const fetching = spyOn(globalThis, "fetch").mockImplementation(
    (() => new Promise((resolve) => ends.push((answer) => resolve(Response.json(answer))))) as unknown as typeof fetch,
  );
  const deliveries = ["a", "b", "c"].map((id) => deliveryTo({ id, install: signal(null) } as unknown as Entry));
  const [first] = deliveries;
  if (!first) throw new Error("no delivery");
  const upload = { archive: new Blob(["PK"]), params: {} };
  const all = deliver(deliveries, upload);
  await until("two are sent", () => ends.length === 2);
  ends[0]?.({ ok: false, error: { code: "dev_auth_failed", message: "no" } });
  await until("the third is sent", () => ends.length === 3);
  const again = deliverTo(first, upload, "its own");
  await Bun.sleep(20);
  expect([ends.length, first.step.value]).toEqual([3, "waiting"]);
  const done = { ok: true, data: { package: {} } };
  for (const at of [1, 2]) ends[at]?.(done);
  await until("its turn has come", () => ends.length === 4);
  ends[3]?.(done);
  await Promise.all([all, again]);
  expect(deliveries.map(({ step }) => step.value)).toEqual(["done", "done", "done"]);
  fetching.mockRestore();
});

test("a daemon that is lost before its first word has nothing to show; when it is back, its silence is no failure any more", () => {
  setConnection("lost");
  expect([connection.value, lostBecause.value]).toEqual(["connecting", noAnswer]);
  setConnection("live");
  setConnection("lost");
  expect(connection.value).toBe("lost");
  const [entry] = entries.value;
  if (!entry) throw new Error("no entry");
  entry.refusal.value = noAnswer;
  setConnection("live");
  expect([connection.value, lostBecause.value, entry.refusal.value]).toEqual(["live", null, null]);
});

test("commands to a set go one after another, and with one that is not answered those behind it end; the last volume is set", async () => {
  const [entry] = entries.value;
  if (!entry) throw new Error("no entry");
  const begun: string[] = [];
  const ends: ((failure?: Error) => void)[] = [];
  const ask = (name: string) =>
    command(entry, name, () => {
      begun.push(name);
      return new Promise((resolve, reject) => ends.push((failure) => (failure ? reject(failure) : resolve(name))));
    });
  const refused = new CallError({ code: "device_refused", message: "no", hint: null, reason: null });
  const asked = ["a", "b", "c", "d"].map(ask);
  expect(begun).toEqual(["a"]);
  ends[0]?.(refused);
  expect([await asked[0], begun, entry.refusal.value]).toEqual([null, ["a", "b"], refused.failure]);
  ends[1]?.(new CallError({ ...noAnswer, code: "device_timeout" }));
  expect([await Promise.all(asked), begun]).toEqual([
    [null, null, null, null],
    ["a", "b"],
  ]);
  expect(entry.refusal.value?.code).toBe("device_timeout");

  const levels: unknown[] = [];
  const fetching = spyOn(globalThis, "fetch").mockImplementation((async (_: unknown, init: RequestInit) => {
    levels.push(JSON.parse(String(init.body)).level);
    return Response.json({ ok: true, data: {} });
  }) as typeof fetch);
  await Promise.all([10, 20, 30].map((level) => setVolume(entry, level)));
  await setVolume(entry, 40);
  expect(levels).toEqual([10, 30, 40]);
  fetching.mockRestore();
});

test("the activity keeps the newest of the events", () => {
  for (let number = 0; number < 300; number++)
    applyEvent({ id: `boot.${number}`, type: "action.finished", device_id: "tv" } as Followed);
  expect(events.value.map(({ id }) => id)).toEqual(Array.from({ length: 200 }, (_, at) => `boot.${299 - at}`));
});

test("a snapshot that breaks off is begun anew, and the page is live with the last part of it", async () => {
  const document = Object.assign(new EventTarget(), { baseURI: "http://127.0.0.1/", hidden: false });
  Object.assign(globalThis, { document });
  const streams: ReadableStreamDefaultController<Uint8Array>[] = [];
  const fetching = spyOn(globalThis, "fetch").mockImplementation((async () => {
    const body = new ReadableStream<Uint8Array>({ start: (stream) => void streams.push(stream) });
    return new Response(body, { headers: { "content-type": "application/x-ndjson" } });
  }) as unknown as typeof fetch);
  try {
    setConnection("live");
    const tell = (at: number, part: number, last: boolean) => {
      const devices = [{ device: { id: `tv ${part}` }, state: null }];
      const line = JSON.stringify({ type: "snapshot", id: `boot.0.${part}`, part, last, devices });
      streams[at]?.enqueue(new TextEncoder().encode(`${line}\n`));
    };
    startStream();
    await until("it follows", () => streams.length === 1);
    tell(0, 1, false);
    await Bun.sleep(50);
    streams[0]?.close();
    await until("it follows again", () => streams.length === 2);
    tell(1, 1, false);
    await Bun.sleep(50);
    expect(connection.value).toBe("lost");
    tell(1, 2, true);
    await until("it is live", () => connection.value === "live");
    expect(ids()).toEqual(["tv 1", "tv 2"]);
  } finally {
    document.dispatchEvent(new Event("freeze"));
    fetching.mockRestore();
    Reflect.deleteProperty(globalThis, "document");
  }
});

test("what happened while the page did not follow is in its activity, as often as it begins with the whole again", async () => {
  const document = Object.assign(new EventTarget(), { baseURI: "http://127.0.0.1/", hidden: false });
  Object.assign(globalThis, { document });
  applySnapshot({ devices: [], events: [], connection: "live" });
  let boot = 0;
  const fetching = spyOn(globalThis, "fetch").mockImplementation((async (address: string) => {
    const isHistory = address.includes("since=oldest");
    if (!isHistory) boot++;
    const event = isHistory ? { type: "action.finished" } : { type: "snapshot", part: 1, last: true, devices: [] };
    const line = JSON.stringify({ id: `${boot}.7`, at: "2026-11-22T21:00:00.000Z", ...event });
    return new Response(`${line}\n`, { headers: { "content-type": "application/x-ndjson" } });
  }) as unknown as typeof fetch);
  try {
    startStream();
    for (const past of ["1.7", "2.7"])
      await until(`${past} is there`, () => events.value.some(({ id }) => id === past));
  } finally {
    document.dispatchEvent(new Event("freeze"));
    fetching.mockRestore();
    Reflect.deleteProperty(globalThis, "document");
  }
});
