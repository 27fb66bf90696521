/** The developer console over HTTP: one connection for all readers, each line once by cursor, and a stream of lines. */
import { expect, test } from "bun:test";
import { once } from "node:events";
import net from "node:net";
import { EventStream, type Form } from "../support/event-stream.ts";
import type { WiredRoku } from "../support/wired-roku.ts";
import { refuse, succeed, until } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";

const { daemon, addRoku, atEnd } = await daemonForFile({
  speed: 1,
  config: { devices: { request_timeout_ms: 3_000 } },
});

const read = (id: string, cursor?: string) =>
  succeed(daemon, "readLogs", {
    id,
    ...(cursor === undefined ? {} : { query: `cursor=${encodeURIComponent(cursor)}` }),
  });

/** Lines as they come after a cursor, until one of them is `last`. */
async function follow(id: string, cursor: string, last: string): Promise<{ lines: string[]; cursor: string }> {
  const lines: string[] = [];
  let at = cursor;
  await until(`the line "${last}"`, async () => {
    const more = await read(id, at);
    lines.push(...more.lines);
    at = more.cursor;
    return lines.includes(last);
  });
  return { lines, cursor: at };
}

const print = (set: WiredRoku, ...lines: string[]) => {
  for (const line of lines) set.simulator.log(line);
};

test.concurrent("earlier lines are there, a later one comes once, and one connection serves all readers", async () => {
  const { set, id } = await addRoku();
  const printed = ["------ Compiling dev 'Fjord' ------", "------ Running dev 'Fjord' main ------", "first 📺"];
  print(set, ...printed);
  const readers = await Promise.all(Array.from({ length: 6 }, () => read(id)));
  for (const { lines } of readers) expect(lines.slice(-3)).toEqual(printed);
  expect(set.console.taken).toBe(1);
  const cursor = readers[0]?.cursor ?? "";
  expect((await read(id, cursor)).lines).toEqual([]);
  print(set, "zweite Zeile — größer", "third");
  const later = await follow(id, cursor, "third");
  expect(later.lines).toEqual(["zweite Zeile — größer", "third"]);
  // An older cursor gives the same lines again; without a cursor all lines come.
  expect((await read(id, cursor)).lines).toEqual(later.lines);
  expect((await read(id)).lines.slice(-5)).toEqual([...printed, ...later.lines]);
  expect(set.console.taken).toBe(1);
  expect(set.console.heard).toBe(0);
});

test.concurrent("while another program holds the console it has its own error code; afterwards it is read again", async () => {
  const { set, id } = await addRoku();
  const { console } = set.simulator.ports;
  const other = net.connect(console ?? 0, set.host);
  await once(other, "connect");
  expect((await refuse(daemon, "readLogs", { id }, "console_in_use")).hint ?? "").not.toBe("");
  other.destroy();
  print(set, "free again");
  await until("the console let go", async () => (await daemon.api("GET", `/devices/${id}/dev/logs`)).status === 200);
  expect((await read(id)).lines).toContain("free again");
});

test.concurrent("an unknown cursor gives all lines, a removed device closes the connection, and without a console the hint says what to turn on", async () => {
  const { set, id } = await addRoku();
  print(set, "here");
  await read(id);
  for (const odd of ["nonsense", "-1", "99999999.5", "a.b", "0"]) expect((await read(id, odd)).lines).toContain("here");
  await refuse(daemon, "readLogs", { id, query: `cursor=${"9".repeat(65)}` }, "invalid_payload");
  expect(set.console.open).toBe(1);
  await succeed(daemon, "removeDevice", { id });
  await until("the console free", () => set.console.open === 0);
  const none = await addRoku();
  await none.set.console.stop();
  expect(
    (await refuse(daemon, "readLogs", { id: none.id }, "device_unreachable", "device_refused")).hint ?? "",
  ).toMatch(/developer/i);
});

test.concurrent("a stream of lines goes on behind its last id", async () => {
  const { set, id } = await addRoku();
  print(set, "before");
  const stream = (form: Form, header = "zapd-client: cli", query = "") => {
    const path = `/devices/${id}/dev/logs?follow=true${query}`;
    const opened = new EventStream({ to: daemon.port, form, path, headers: [header] });
    atEnd(() => opened.close());
    return opened;
  };
  const first = stream("lines");
  await first.until(({ lines }) => lines?.includes("before"));
  print(set, "one");
  const { id: cursor } = await first.until(({ lines }) => lines?.includes("one"));
  first.close();
  print(set, "two", "three");
  // An empty id counts as none.
  for (const next of [
    stream("sse", `last-event-id: ${cursor}`),
    stream("lines", "last-event-id: ", `&cursor=${cursor}`),
  ]) {
    await next.until(({ lines }) => lines?.includes("three"));
    expect(next.frames.flatMap(({ lines = [] }) => lines)).toEqual(["two", "three"]);
  }
  const { id: last } = await stream("lines").until(({ lines }) => lines?.includes("three"));
  // Where nothing is new, the stream says at once that it is open, not after a heartbeat of 15 s.
  const quiet = stream("lines", "zapd-client: cli", `&cursor=${last}`);
  expect(await quiet.until(() => true, 10_000)).toMatchObject({ type: "heartbeat", id: last });
});

test("HEAD opens no stream, and what cannot be followed is refused", async () => {
  const { id } = await addRoku();
  await refuse(daemon, "readLogs", { id, query: "follow=perhaps" }, "invalid_payload");
  await refuse(daemon, "readLogs", { id: "Nowhere", query: "follow=true" }, "device_not_found");
  const response = await fetch(`${daemon.url}/devices/${id}/dev/logs?follow=true`, { method: "HEAD" });
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
});
