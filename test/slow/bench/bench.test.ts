/** The benchmark's arithmetic; bench.timed.ts runs a measure of it. Its figures are judged by `npm run bench -- --check`. */
import { expect, test } from "bun:test";
import net from "node:net";
import { listening } from "../../support/listening.ts";
import { median, percentile, ratios, short, spreadOf } from "./figures.ts";
import { curlToSet } from "./measures/sideload.ts";
import { PeerRounds } from "./peers.ts";
import { type Row, reaches, shortfalls, withBenchmark } from "./report.ts";

const row = (median: number, must: Row["must"]): Row => ({
  measure: 7,
  what: "listing | all",
  how: "2 ÷ 1",
  limit: 1,
  figure: { median, least: 0, most: 9 },
  must,
  growth: [{ size: "10 devices", figure: 0.5 }],
  peers: [{ name: "other 1.0", figure: null, note: "npm is not there" }],
});

test("middles, percentiles and ratios", () => {
  expect([median([3, 1, 2]), median([4, 1, 3, 2]), median([5])]).toEqual([2, 2.5, 5]);
  const hundred = Array.from({ length: 100 }, (_, at) => at + 1);
  expect([percentile(hundred, 0.99), percentile(hundred, 0.5), percentile([7], 0.99)]).toEqual([99, 50, 7]);
  expect(spreadOf([2, 9, 4])).toEqual({ median: 4, least: 2, most: 9 });
  // Round by round: a machine that was slow for a while was so for both.
  expect(ratios([2, 20, 3], [1, 10, 3])).toEqual({ median: 2, least: 1, most: 2 });
  expect(() => ratios([1], [])).toThrow("as many limits");
  expect([0, 0.0512, 1.277, 31_415, Number.NaN].map((one) => short(one))).toEqual([
    "0",
    "0.0512",
    "1.28",
    "31415",
    "none",
  ]);
});

test("a bound is reached from the right side, and what falls short is named", () => {
  const most = { at: "most", value: 1.3 } as const;
  const least = { at: "least", value: 0.7 } as const;
  expect([1.3, 1.31, Number.NaN].map((value) => reaches(row(value, most)))).toEqual([true, false, false]);
  expect([0.7, 0.69, Number.NaN].map((value) => reaches(row(value, least)))).toEqual([true, false, false]);
  expect(reaches(row(31, null))).toBe(true);
  expect(shortfalls([row(31, null), row(1, most), row(30, { at: "most", value: 24, unit: "MB" })])).toEqual([
    "7 listing | all: 30.0 MB, must be at most 24 MB",
  ]);
});

test("the page is rewritten between its marks", () => {
  const page = "a\n<!-- benchmark -->\nold\n<!-- /benchmark -->\nz\n";
  expect(withBenchmark(page, "new\n")).toBe("a\n<!-- benchmark -->\nnew\n<!-- /benchmark -->\nz\n");
  expect(() => withBenchmark("a", "new")).toThrow("benchmark");
});

test("a peer that fails once is reported as failed, and is not measured again", async () => {
  const peer = new PeerRounds("peer 1.0");
  for (const value of [9, 2, 3]) await peer.measure(async () => value);
  expect(peer.against([1, 1])).toEqual({ name: "peer 1.0", figure: 2.5 });
  await peer.measure(() => Promise.reject(new Error("line one\nError: it broke")));
  expect(peer.against([1, 1])).toEqual({ name: "peer 1.0", figure: null, note: "Error: it broke" });
});

const noCurl = Bun.which("curl") === null ? " (skipped: there is no curl)" : "";
test.skipIf(noCurl !== "")(
  `a connection that a set closes under curl is tried again, a refusal is not${noCurl}`,
  async () => {
    let calls = 0;
    const set = net.createServer((socket) => {
      socket.once("data", () => {
        calls++;
        if (calls < 3) socket.destroy();
        else socket.end(`HTTP/1.1 ${calls === 3 ? "200 OK" : "404 Not Found"}\r\ncontent-length: 0\r\n\r\n`);
      });
    });
    const { port, stop } = await listening(set);
    expect(await curlToSet(`http://127.0.0.1:${port}/`)).toBeGreaterThan(0);
    expect(calls).toBe(3);
    await expect(curlToSet(`http://127.0.0.1:${port}/`)).rejects.toThrow("404");
    await stop();
  },
);
