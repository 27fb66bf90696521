/** The developer console: one connection for all, lines told once by cursor, and another program in the way. */
import { expect, test } from "bun:test";
import { once } from "node:events";
import net from "node:net";
import type { WiredRoku } from "../support/wired-roku.ts";
import { refuse, succeed, until } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";

const { daemon, addRoku } = await daemonForFile({ speed: 1, config: { devices: { request_timeout_ms: 3_000 } } });

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

/** Bytes as they are, cut in the middle. */
async function raw(set: WiredRoku, bytes: Buffer): Promise<void> {
  const half = Math.floor(bytes.length / 2);
  set.console.say(bytes.subarray(0, half));
  await Bun.sleep(5);
  set.console.say(bytes.subarray(half));
}

test.concurrent("what was printed before is there, what comes later is told once, and one connection serves all", async () => {
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
  // An older cursor tells the same again; without one, all there is.
  expect((await read(id, cursor)).lines).toEqual(later.lines);
  expect((await read(id)).lines.slice(-5)).toEqual([...printed, ...later.lines]);
  expect(set.console.taken).toBe(1);
  expect(set.console.heard).toBe(0);
});

test.concurrent("bytes of every kind become clean lines: CR, NUL, telnet commands, escapes, a long line, half a character", async () => {
  const { set, id } = await addRoku();
  print(set, "start");
  const { cursor } = await read(id);
  await raw(set, Buffer.from([0xff, 0xfb, 0x01, 0xff, 0xf1]));
  await Bun.sleep(30);
  await raw(
    set,
    Buffer.concat([
      Buffer.from("a\u0000b\u001b[31mred\u001b[0m\r\n"),
      Buffer.from([0xe2, 0x82]),
      Buffer.from([0xac]),
      Buffer.from("uro\r\n"),
    ]),
  );
  await Bun.sleep(30);
  await raw(set, Buffer.from(`${"x".repeat(200_000)}\r\n`));
  await Bun.sleep(60);
  print(set, "end");
  const { lines } = await follow(id, cursor, "end");
  expect(lines).toContain("€uro");
  for (const line of lines) {
    expect(line).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f\ufffd]/);
    expect(line.length).toBeLessThan(100_000);
  }
});

test.concurrent("a flood is bounded, and the cursor of who fell behind still tells the newest", async () => {
  const { set, id } = await addRoku();
  print(set, "before");
  const { cursor } = await read(id);
  for (let block = 0; block < 40; block++) {
    await raw(
      set,
      Buffer.from(Array.from({ length: 1_000 }, (_, line) => `line ${block * 1_000 + line}\r\n`).join("")),
    );
    await Bun.sleep(8);
  }
  await Bun.sleep(60);
  print(set, "the last");
  await follow(id, (await read(id)).cursor, "the last").catch(() => null);
  const behind = await read(id, cursor);
  expect(behind.lines.at(-1)).toBe("the last");
  expect(behind.lines.length).toBeLessThan(20_001);
});

test.concurrent("another program holds the console: its own error, and well again when it lets go", async () => {
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

test.concurrent("a set that reboots is listened to again, and old lines are not told twice", async () => {
  const { set, id } = await addRoku();
  print(set, "run 1");
  const { cursor } = await read(id);
  await set.console.cut();
  print(set, "run 2");
  const { lines } = await follow(id, cursor, "run 2");
  expect(lines.filter((line) => line === "run 2")).toHaveLength(1);
  expect(set.console.taken).toBe(2);
});

test.concurrent("no console at all, a cursor from elsewhere, and a device that is removed lets go", async () => {
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

test.concurrent("followed, lines are told as they come, and whoever comes back with the cursor misses none", async () => {
  const { set, id } = await addRoku();
  print(set, "before");
  const stream = async (headers: Record<string, string>) => {
    const over = new AbortController();
    const url = `${daemon.url}/devices/${id}/dev/logs?follow=true`;
    const response = await fetch(url, { headers, signal: over.signal });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const told = async (word: string) => {
      while (!text.includes(word)) text += (await reader?.read())?.value ?? "";
      return text;
    };
    return { type: response.headers.get("content-type"), told, close: () => over.abort() };
  };
  const first = await stream({ accept: "application/x-ndjson" });
  expect(first.type).toBe("application/x-ndjson");
  await first.told("before");
  print(set, "one");
  const lines = (await first.told("one")).trim().split("\n");
  const { id: cursor } = JSON.parse(lines.at(-1) ?? "") as { id: string };
  first.close();
  print(set, "two", "three");
  const second = await stream({ "last-event-id": cursor });
  expect(second.type).toBe("text/event-stream");
  const text = await second.told("three");
  expect(text).toContain('data: {"lines":["two","three"]}');
  expect(text).not.toContain("one");
  second.close();
});

test("a log cannot be followed where there is none, and HEAD follows nothing", async () => {
  const { id } = await addRoku();
  await refuse(daemon, "readLogs", { id, query: "follow=perhaps" }, "invalid_payload");
  await refuse(daemon, "readLogs", { id: "Nowhere", query: "follow=true" }, "device_not_found");
  const response = await fetch(`${daemon.url}/devices/${id}/dev/logs?follow=true`, { method: "HEAD" });
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
});
