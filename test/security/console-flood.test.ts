/** A set whose console floods (SECURITY.md T34): its cost for the daemon, and the answers to its readers. */
import { afterAll, expect, test } from "bun:test";
import { type ChildProcess, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { succeed, until } from "../blackbox/checked.ts";
import { daemonForFile } from "../blackbox/daemon-for-file.ts";
import { residentMiB } from "../support/resident.ts";
import { isQuick, slowTest } from "../support/whole.ts";

const mebibyte = 1024 * 1024;
/** SECURITY.md T34. */
const mostMiB = 16;
const answerAtMost = mebibyte + 16 * 1024;

const { daemon, startRoku, addRoku } = await daemonForFile({
  speed: 1,
  fromSource: true,
  config: { daemon: { log_level: "warn" } },
});
const floods: ChildProcess[] = [];

afterAll(() => {
  for (const flood of floods) flood.kill("SIGKILL");
});

/** The id of a set whose console is a process that prints one piece without an end. */
async function flooding(piece: string): Promise<string> {
  const fake = await startRoku();
  const program = `
    const piece = Buffer.from(${JSON.stringify(piece)}.repeat(${Math.ceil(mebibyte / Buffer.byteLength(piece))}));
    const server = require("node:net").createServer((socket) => {
      socket.on("error", () => {});
      const more = () => { while (!socket.destroyed && socket.write(piece)); };
      socket.on("drain", more);
      more();
    }).listen(0, "${fake.host}", () => process.stdout.write(String(server.address().port)));`;
  const flood = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
  floods.push(flood);
  const port = await new Promise<number>((resolve) =>
    flood.stdout?.once("data", (said: Buffer) => resolve(Number(said))),
  );
  const { host, port: control, ports } = fake.address;
  const { id } = await succeed(daemon, "addDevice", {
    body: { host, port: control, ports: { ...ports, console: port } },
  });
  return id;
}

const proc = (file: string) => `/proc/${daemon.process.pid}/${file}`;

/** One answer of `GET dev/logs`, with its size in bytes. */
async function read(id: string, cursor?: string) {
  const query = cursor === undefined ? "" : `?cursor=${encodeURIComponent(cursor)}`;
  const response = await fetch(`${daemon.url}/devices/${id}/dev/logs${query}`);
  const text = await response.text();
  expect([response.status, text.slice(0, 10)]).toEqual([200, '{"ok":true']);
  const { data } = JSON.parse(text) as { data: { lines: string[]; cursor: string; dropped?: number } };
  return { ...data, bytes: Buffer.byteLength(text) };
}

/** The id of a set that has said much, and says no more: a long answer loads code, and takes memory that is given back late. */
async function quietSet(): Promise<string> {
  const { set, id } = await addRoku();
  for (let at = 0; at < 2_500; at++) set.simulator.log(`${at} `.padEnd(1_000, "y"));
  return id;
}

test("T34 a console that floods costs 16 MiB at most, its answers 1 MiB, and what was dropped is counted", async () => {
  const quiet = await quietSet();
  // What the answers cost, of any console, is not the flood's: under load it came to half of the 16 MiB.
  for (let times = 0; times < 10; times++) await read(quiet);
  const id = await flooding(`${'a line that says "something" \\\\ é'.padEnd(1_000, "x")}\r\n`);
  writeFileSync(proc("clear_refs"), "5");
  const before = residentMiB(daemon.process);
  let slowest = 0;
  let first = await read(id);
  await until("it has said much", async () => {
    first = await read(id);
    return first.lines.length > 1_000;
  });
  let last = first;
  for (const end = performance.now() + (isQuick ? 1_500 : 4_000); performance.now() < end; ) {
    const start = performance.now();
    await daemon.api("GET", "/health");
    slowest = Math.max(slowest, performance.now() - start);
    last = await read(id, last.cursor);
    expect(last.bytes).toBeLessThan(answerAtMost);
    await Bun.sleep(50);
  }
  const grown = residentMiB(daemon.process, "VmHWM") - before;
  expect(grown).toBeLessThan(mostMiB);
  expect(slowest).toBeLessThan(3_000);
  expect(first.bytes).toBeLessThan(answerAtMost);

  // Every line is in the answer or counted as dropped, from any cursor.
  const place = (cursor: string) => Number(cursor.split(".")[1]);
  let behind = first;
  await until("it has said more than is kept", async () => {
    behind = await read(id, first.cursor);
    return behind.dropped !== undefined;
  });
  expect(behind.dropped).toBeGreaterThan(0);
  expect(behind.lines.length + (behind.dropped ?? 0)).toBe(place(behind.cursor) - place(first.cursor));
  expect(behind.bytes).toBeLessThan(answerAtMost);
});

slowTest("T34 a line that never ends, and lines of nothing, cost no more", async () => {
  const quiet = await quietSet();
  const first = residentMiB(daemon.process);
  for (const piece of [
    "x",
    "\r\n",
    "\u0001",
    "\u00ff\u00ff\u0000",
    '"'.repeat(8_000) + "\n",
    "📺".repeat(3_000) + "\n",
  ]) {
    await read(quiet);
    writeFileSync(proc("clear_refs"), "5");
    const before = residentMiB(daemon.process);
    const id = await flooding(piece);
    for (let times = 0; times < 3; times++) expect((await read(id)).bytes).toBeLessThan(answerAtMost);
    expect([piece.slice(0, 2), residentMiB(daemon.process, "VmHWM") - before < mostMiB]).toEqual([
      piece.slice(0, 2),
      true,
    ]);
    await succeed(daemon, "removeDevice", { id });
    floods.pop()?.kill("SIGKILL");
  }
  // Of removed devices nothing is kept; the runtime gives memory back late.
  expect(residentMiB(daemon.process) - first).toBeLessThan(3 * mostMiB);
});

test("a console that says little drops nothing, and says nothing of it", async () => {
  const { set, id } = await addRoku();
  for (const line of ["one", "two"]) set.simulator.log(line);
  const { lines, cursor } = await read(id);
  expect(lines).toEqual(["one", "two"]);
  set.simulator.log("three");
  for (const at of [undefined, cursor, "nonsense"]) expect("dropped" in (await read(id, at))).toBe(false);
});
